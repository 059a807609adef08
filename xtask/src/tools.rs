//! The checks that are other tools' work.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use cargo_metadata::{Metadata, semver::Version};

/// `cargo fmt --check`.
pub(crate) fn formatting(_: &Metadata) -> Result<()> {
    cargo(&["fmt", "--all", "--check"], &[])
}

/// Clippy over every target, warnings as errors.
pub(crate) fn clippy(_: &Metadata) -> Result<()> {
    cargo(&["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"], &[])
}

/// Rustdoc over the workspace, warnings as errors.
pub(crate) fn rustdoc(_: &Metadata) -> Result<()> {
    cargo(&["doc", "--workspace", "--no-deps", "--quiet"], &[("RUSTDOCFLAGS", "-D warnings")])
}

/// The fuzz targets, a workspace of their own, still compile.
pub(crate) fn fuzz_targets(_: &Metadata) -> Result<()> {
    let place = ["--manifest-path", "fuzz/Cargo.toml", "--target-dir", "target/fuzz"];
    cargo(&[&["check", "--quiet"], &place[..]].concat(), &[])
}

/// Known vulnerabilities, where cargo-deny is installed and its database within reach.
pub(crate) fn advisories(_: &Metadata) -> Result<()> {
    if !answers(Command::new("cargo").args(["deny", "--version"])) {
        println!("  not checked: cargo-deny is not installed (`cargo install cargo-deny`)");
        return Ok(());
    }
    cargo(&["deny", "check", "advisories"], &[])
}

/// The stated minimum is at least every dependency's, and the tree compiles with it.
pub(crate) fn minimum_rust(metadata: &Metadata) -> Result<()> {
    let stated = metadata
        .workspace_packages()
        .into_iter()
        .find_map(|p| p.rust_version.clone())
        .context("the workspace states no rust-version")?;
    for package in &metadata.packages {
        let needs = package.rust_version.as_ref();
        ensure!(needs.is_none_or(|v| *v <= stated), "{} needs {needs:?}", package.name);
    }
    compile_with(&stated)
}

fn compile_with(stated: &Version) -> Result<()> {
    let current = rustc_version()?;
    if (current.major, current.minor) == (stated.major, stated.minor) {
        return Ok(()); // clippy, below, compiles everything with this very version
    }
    let toolchain = format!("+{stated}");
    if !answers(Command::new("cargo").args([&toolchain, "--version"])) {
        println!("  compiled with {current} only: Rust {stated} is not installed");
        return Ok(());
    }
    cargo(&[&toolchain, "check", "--workspace", "--all-targets", "--quiet"], &[])
}

fn rustc_version() -> Result<Version> {
    let output = Command::new("rustc").arg("--version").output()?;
    let text = String::from_utf8(output.stdout)?;
    let number = text.split_whitespace().nth(1).context("rustc --version")?;
    Ok(Version::parse(number)?)
}

fn answers(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|s| s.success())
}

fn cargo(args: &[&str], environment: &[(&str, &str)]) -> Result<()> {
    let status = Command::new("cargo").args(args).envs(environment.iter().copied()).status()?;
    ensure!(status.success(), "cargo {}: {status}", args.join(" "));
    Ok(())
}
