//! `linerate bench`: ours and the peers, in one run, on this machine.
//!
//! - [`runner`]: warm-up, then the subjects in turn (A B A B ...), so that a machine whose speed
//!   drifts treats all alike
//! - [`row`]: what one subject reached in one case, and how many times better than the baseline
//! - [`search`]: the highest rate without loss
//! - [`wire`]: two hosts, a core for each
//! - [`peer`]: programs that others wrote
//! - [`processor`]: processor time of threads and programs
//! - [`progress`]: how far a long bench is
//! - [`report`]: a table for people, one JSON object a row for programs
//!
//! Each other module is one bench.

mod capture;
mod compile;
mod disk;
mod filter;
mod peer;
mod processor;
mod progress;
mod read;
mod report;
mod row;
mod runner;
mod search;
mod send;
mod sets;
mod wire;

use std::fs;

use anyhow::Result;

use crate::args::{BenchArgs, BenchName};
use crate::exit::Outcome;
use crate::output;

/// Runs the bench that was asked for.
///
/// # Errors
/// When a subject fails; a peer that is not installed is named as missing instead.
pub(crate) fn run(args: &BenchArgs) -> Result<Outcome> {
    warn_when_busy();
    let rows = match args.name {
        BenchName::Compile => compile::run(args)?,
        BenchName::Filter => filter::run(args)?,
        BenchName::Sets => sets::run(args)?,
        BenchName::Read => read::run(args)?,
        BenchName::Capture => capture::run(args)?,
        BenchName::Send => send::run(args)?,
        BenchName::Disk => disk::run(args)?,
    };
    report::print(&rows, args.json)?;
    Ok(Outcome::Success)
}

/// Above this load, as a share of one core, something else runs on the machine.
const BUSY: f64 = 0.5;

fn warn_when_busy() {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = text.split(' ').next().and_then(|word| word.parse().ok());
    if let Some(load) = load.filter(|load: &f64| *load > BUSY) {
        output::tell(format_args!(
            "the machine is busy (load {load}): figures will be worse than on a quiet one"
        ));
    }
}
