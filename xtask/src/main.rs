//! `cargo xtask check`: does the project hold to its own rules?
//!
//! Every step is one function; all of them run, and the failures are listed together at the end.

mod layers;
mod licences;
mod tools;

use std::process::ExitCode;

use anyhow::Result;
use cargo_metadata::{Metadata, MetadataCommand};

type Step = (&'static str, fn(&Metadata) -> Result<()>);

const STEPS: &[Step] = &[
    ("layering", layers::check),
    ("lints in force", layers::check_lints),
    ("licences", licences::check),
    ("minimum Rust", tools::minimum_rust),
    ("formatting", tools::formatting),
    ("clippy", tools::clippy),
    ("rustdoc", tools::rustdoc),
    ("fuzz targets", tools::fuzz_targets),
    ("advisories", tools::advisories),
];

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("check") => check(),
        _ => {
            eprintln!("usage: cargo xtask check");
            ExitCode::from(2)
        }
    }
}

fn check() -> ExitCode {
    let metadata = match MetadataCommand::new().exec() {
        Ok(metadata) => metadata,
        Err(error) => {
            eprintln!("cargo metadata: {error}");
            return ExitCode::FAILURE;
        }
    };
    let failed = STEPS.iter().filter(|step| !run(step, &metadata)).count();
    if failed > 0 {
        eprintln!("{failed} of {} checks failed", STEPS.len());
        return ExitCode::FAILURE;
    }
    println!("all {} checks passed", STEPS.len());
    ExitCode::SUCCESS
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
