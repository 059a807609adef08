//! `cargo xtask fuzz`: the fuzz targets, each for a while.
//!
//! libFuzzer changes bytes towards code that has not run yet, for which the compiler has it counted: by the flags that
//! cargo-fuzz gives, less the address sanitizer, which alone needs a nightly compiler and finds nothing where there is no
//! `unsafe`.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use anyhow::{Context, Result, bail, ensure};
use cargo_metadata::Metadata;

/// What counts (LLVM's SanitizerCoverage), and what keeps the build short.
const FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares \
    -Copt-level=1 -Cdebuginfo=0";

/// Of all checks: as much as finds what has just been broken, in the same way each time.
const BRIEF: [&str; 2] = ["-max_total_time=5", "-seed=1"];

/// Of a libFuzzer that has failed, this much tells why.
const LAST_LINES: usize = 40;

/// Every target for a few seconds.
///
/// # Errors
/// When one does not compile, or fails.
pub(crate) fn briefly(metadata: &Metadata) -> Result<()> {
    run(metadata, None, &BRIEF)
}

/// The target of this name, or every one, for so many seconds.
///
/// # Errors
/// As of [`briefly`]; when there is no such target.
pub(crate) fn at_length(metadata: &Metadata, seconds: &str, name: Option<&str>) -> Result<()> {
    let seconds: u32 = seconds.parse().context("how many seconds for each target?")?;
    run(metadata, name, &[&format!("-max_total_time={seconds}")])
}

fn run(metadata: &Metadata, name: Option<&str>, arguments: &[&str]) -> Result<()> {
    let root = metadata.workspace_root.as_std_path();
    let names = targets(&root.join("fuzz/fuzz_targets"))?;
    let chosen = |target: &&String| name.is_none_or(|name| name == *target);
    ensure!(names.iter().any(|target| chosen(&target)), "the targets are {}", names.join(", "));
    let folder = metadata.target_directory.as_std_path().join("fuzz");
    let host = host()?;
    build(root, &folder, &host)?;
    for name in names.iter().filter(chosen) {
        let program = folder.join(&host).join("debug").join(name);
        let output = fuzz(&program, &folder, name, arguments)?;
        println!("  {name}: {}", outcome(&output).with_context(|| format!("fuzz target {name}"))?);
    }
    Ok(())
}

/// Names of the targets.
fn targets(folder: &Path) -> Result<Vec<String>> {
    let files = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut names = Vec::new();
    for file in files {
        names.extend(file?.path().file_stem().and_then(|name| Some(name.to_str()?.to_owned())));
    }
    names.sort();
    Ok(names)
}

/// The machine that this is, as compilers call it.
fn host() -> Result<String> {
    let output = Command::new("rustc").arg("-vV").output()?;
    let text = String::from_utf8(output.stdout)?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc -vV names no host")?.to_owned())
}

/// Builds all of them. A target that is named keeps the flags from build scripts and procedural macros.
fn build(root: &Path, folder: &Path, host: &str) -> Result<()> {
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--quiet", "--manifest-path"]).arg(root.join("fuzz/Cargo.toml"));
    cargo.arg("--target-dir").arg(folder).args(["--target", host]).env("RUSTFLAGS", FLAGS);
    ensure!(cargo.status()?.success(), "the fuzz targets do not compile");
    Ok(())
}

/// Runs a target. What it learns and what it fails at stays in the folder.
fn fuzz(program: &Path, folder: &Path, name: &str, arguments: &[&str]) -> Result<Output> {
    let learnt = folder.join("corpus").join(name);
    fs::create_dir_all(&learnt).with_context(|| learnt.display().to_string())?;
    let mut fuzz = Command::new(program);
    fuzz.args(["-timeout=60", "-rss_limit_mb=4096"]).args(arguments);
    fuzz.arg(format!("-artifact_prefix={}/{name}-", folder.display())).arg(learnt);
    fuzz.output().with_context(|| program.display().to_string())
}

/// How often it ran without fault.
fn outcome(output: &Output) -> Result<String> {
    let said = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<_> = said.lines().collect();
    let done = lines.iter().rev().find_map(|line| line.strip_prefix("Done "));
    match done.filter(|_| output.status.success()) {
        Some(runs) => Ok(runs.to_owned()),
        None => bail!("{}", lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(script: &str) -> Result<String> {
        outcome(&Command::new("sh").args(["-c", script]).output().unwrap())
    }

    #[test]
    fn a_target_that_fails_tells_why() {
        assert_eq!(said("echo 'Done 7 runs' >&2").unwrap(), "7 runs");
        let error = said("echo panicked >&2; echo 'Done 7 runs' >&2; exit 77").unwrap_err();
        assert_eq!(error.to_string(), "panicked\nDone 7 runs");
        assert!(said("true").is_err());
    }
}
