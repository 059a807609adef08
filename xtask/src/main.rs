//! What the project does to itself.
//!
//! - `cargo xtask check`: does it hold to its own rules? Every step is one function; all of them run, and the failures are
//!   listed together at the end
//! - `cargo xtask fuzz`: runs the fuzz targets, for longer than `check` does
//! - `cargo xtask header`: writes libpcap's header from the code of crate `pcap`
//! - `cargo xtask install-pcap`: puts our libpcap where programs are built with it and find it

mod fuzz;
mod header;
mod install;
mod layers;
mod licences;
mod tools;

use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use cargo_metadata::{Metadata, MetadataCommand};

type Step = (&'static str, fn(&Metadata) -> Result<()>);

const STEPS: &[Step] = &[
    ("layering", layers::check),
    ("lints in force", layers::check_lints),
    ("licences", licences::check),
    ("minimum Rust", tools::minimum_rust),
    ("libpcap's header", header::check),
    ("formatting", tools::formatting),
    ("clippy", tools::clippy),
    ("rustdoc", tools::rustdoc),
    ("fuzz targets", fuzz::briefly),
    ("engines on 64-bit ARM", tools::arm),
    ("advisories", tools::advisories),
];

const USAGE: &str = "\
usage: cargo xtask check
       cargo xtask fuzz SECONDS [TARGET]     every target for so long, or one
       cargo xtask header
       cargo xtask install-pcap [PREFIX]     /usr/local without one";

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        ["check"] => with_metadata(check),
        ["fuzz", seconds] => with_metadata(|metadata| fuzz::at_length(metadata, seconds, None)),
        ["fuzz", seconds, name] => {
            with_metadata(|metadata| fuzz::at_length(metadata, seconds, Some(name)))
        }
        ["header"] => with_metadata(header::write),
        ["install-pcap"] => with_metadata(|metadata| install::run(metadata, "/usr/local")),
        ["install-pcap", prefix] => with_metadata(|metadata| install::run(metadata, prefix)),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn with_metadata(work: impl FnOnce(&Metadata) -> Result<()>) -> Result<()> {
    work(&MetadataCommand::new().exec().context("cargo metadata")?)
}

fn check(metadata: &Metadata) -> Result<()> {
    let failed = STEPS.iter().filter(|step| !run(step, metadata)).count();
    ensure!(failed == 0, "{failed} of {} checks failed", STEPS.len());
    println!("all {} checks passed", STEPS.len());
    Ok(())
}

fn run((name, step): &Step, metadata: &Metadata) -> bool {
    println!("check: {name}");
    match step(metadata) {
        Ok(()) => true,
        Err(error) => {
            eprintln!("FAILED {name}: {error:#}");
            false
        }
    }
}
