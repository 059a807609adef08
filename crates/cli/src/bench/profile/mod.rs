//! `linerate bench profile`: what each step of a capture costs, found by leaving it out, beside what samples say.
//!
//! - [`trials`]: ways to capture, in turn, and how far apart they are
//! - [`whole`]: nobody captures, everything is turned away, everything is kept; samples beside it
//! - [`filter`]: longer filters
//! - [`snaplen`]: more bytes of a packet
//! - [`timestamps`]: other sources of times
//! - [`calls`]: more packets for each system call
//!
//! `docs/benchmarks.md` says how each figure comes about.

pub(super) mod calls;
pub(super) mod filter;
pub(super) mod snaplen;
pub(super) mod timestamps;
pub(super) mod trials;
pub(super) mod whole;

use std::time::Duration;

use anyhow::Result;

use super::capture::measure::Effort;
use super::capture::stage::Stage;
use super::capture::subject::BUFFER;
use super::progress::Progress;
use super::row::Row;
use crate::args::BenchArgs;

const EXPERIMENT: &str = "profile";

/// A part of the bench, and how many steps of progress it has.
type Part = (&'static str, usize, fn(&Stage, &Effort, &mut Progress) -> Result<Vec<Row>>);

const PARTS: [Part; 5] = [
    ("whole", whole::STEPS, whole::rows),
    ("filter", filter::STEPS, filter::rows),
    ("snaplen", snaplen::STEPS, snaplen::rows),
    ("timestamps", timestamps::STEPS, timestamps::rows),
    ("calls", calls::STEPS, calls::rows),
];

pub(super) fn run(args: &BenchArgs) -> Result<Vec<Row>> {
    args.check_only(PARTS.map(|(name, ..)| name))?;
    let effort = effort(args.repeats());
    let stage = Stage::new()?;
    let wanted = PARTS.iter().filter(|(name, ..)| args.wants(name));
    let progress = &mut Progress::new(wanted.clone().map(|(_, steps, _)| steps).sum());
    let rows = wanted.map(|(.., rows)| rows(&stage, &effort, progress));
    Ok(rows.collect::<Result<Vec<_>>>()?.concat())
}

/// Short trials, many times over: differences are small.
pub(super) fn effort(repeats: usize) -> Effort {
    Effort {
        sizes: &[60],
        repeats,
        time: Duration::from_millis(400),
        precision: 0.1,
        fillings: 1.0,
        buffer: BUFFER,
    }
}
