//! The checks that are other tools' work.

use std::path::Path;
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

/// Known vulnerabilities, where cargo-deny is installed and its database within reach.
pub(crate) fn advisories(_: &Metadata) -> Result<()> {
    if !answers(Command::new("cargo").args(["deny", "--version"])) {
        println!("  not checked: cargo-deny is not installed (`cargo install cargo-deny`)");
        return Ok(());
    }
    cargo(&["deny", "check", "advisories"], &[])
}

/// The engines' tests on a 64-bit ARM processor that qemu makes up. What that takes may be missing on a user's machine,
/// and must not in CI.
pub(crate) fn arm(_: &Metadata) -> Result<()> {
    const TARGET: &str = "aarch64-unknown-linux-gnu";
    const LINKER: &str = "aarch64-linux-gnu-gcc";
    if cfg!(target_arch = "aarch64") {
        return Ok(()); // the ordinary tests are such
    }
    let library = output_of("rustc", &["--print", "target-libdir", "--target", TARGET])?;
    let there = answers(Command::new("qemu-aarch64").arg("--version"))
        && answers(Command::new(LINKER).arg("--version"))
        && Path::new(library.trim()).is_dir();
    if !there {
        let remedy = format!(
            "apt install qemu-user gcc-aarch64-linux-gnu libc6-dev-arm64-cross; rustup target add {TARGET}"
        );
        ensure!(std::env::var_os("CI").is_none(), "what it takes is missing: {remedy}");
        println!("  not run: qemu, a linker or Rust's library is missing ({remedy})");
        return Ok(());
    }
    let environment = [
        ("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", LINKER),
        ("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER", "qemu-aarch64 -L /usr/aarch64-linux-gnu"),
        ("PROPTEST_CASES", "100"), // it is some ten times slower
    ];
    cargo(&["test", "--quiet", "-p", "linerate-exec", "--target", TARGET], &environment)
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
    let text = output_of("rustc", &["--version"])?;
    let number = text.split_whitespace().nth(1).context("rustc --version")?;
    Ok(Version::parse(number)?)
}

fn output_of(program: &str, args: &[&str]) -> Result<String> {
    let output = Command::new(program).args(args).output().context(program.to_owned())?;
    Ok(String::from_utf8(output.stdout)?)
}

fn answers(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|s| s.success())
}

fn cargo(args: &[&str], environment: &[(&str, &str)]) -> Result<()> {
    let status = Command::new("cargo").args(args).envs(environment.iter().copied()).status()?;
    ensure!(status.success(), "cargo {}: {status}", args.join(" "));
    Ok(())
}
