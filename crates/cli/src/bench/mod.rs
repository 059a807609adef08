//! `linerate bench`: ours and the peers, in one run, on this machine.
//!
//! - [`runner`]: warm-up, then the subjects in turn (A B A B ...), so that a machine whose speed
//!   drifts treats all alike
//! - [`row`]: what one subject reached in one case, and how many times better than the baseline
//! - [`samples`]: what all processors do meanwhile
//! - [`search`]: the highest rate without loss
//! - [`wire`]: two hosts, a core for each
//! - [`behind`]: the same with whole networks behind one of them
//! - [`peer`]: programs that others wrote
//! - [`processor`]: processor time of threads and programs
//! - [`progress`]: how far a long bench is
//! - [`report`]: a table for people, one JSON object a row for programs
//!
//! Each other module is one bench.

mod behind;
mod capture;
mod compile;
mod disk;
mod dns;
mod filter;
mod paper;
pub(crate) mod pcap;
mod peer;
mod processor;
mod profile;
mod progress;
mod read;
mod report;
mod row;
mod runner;
mod samples;
mod scan;
mod search;
mod send;
mod sets;
mod tcp;
mod wire;

use anyhow::Result;

use crate::args::{BenchArgs, BenchName};
use crate::exit::Outcome;
use crate::{machine, output};

/// Runs the bench that was asked for.
///
/// # Errors
/// When a subject fails; a peer that is not installed is named as missing instead.
pub(crate) fn run(args: &BenchArgs) -> Result<Outcome> {
    machine::busy().iter().for_each(output::tell);
    let rows = match args.name {
        BenchName::Compile => compile::run(args)?,
        BenchName::Filter => filter::run(args)?,
        BenchName::Sets => sets::run(args)?,
        BenchName::Read => read::run(args)?,
        BenchName::Capture => capture::run(args)?,
        BenchName::Send => send::run(args)?,
        BenchName::Scan => scan::run(args)?,
        BenchName::Dns => dns::run(args)?,
        BenchName::Disk => disk::run(args)?,
        BenchName::Tcp => tcp::run(args)?,
        BenchName::Profile => profile::run(args)?,
        BenchName::Pcap => pcap::run(args)?,
        BenchName::Paper => paper::run(args)?,
    };
    report::print(&rows, args.json)?;
    Ok(Outcome::Success)
}
