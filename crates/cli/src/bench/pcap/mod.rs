//! `linerate bench pcap`: the same programs by the system's libpcap and by ours.
//!
//! - [`library`]: which of the two a program finds
//! - [`sending`]: frames one by one and by a queue
//! - [`reading`]: tcpdump reads a savefile, and starts with a long filter
//! - [`receiving`]: tcpdump captures to a disk and to nowhere
//!
//! `docs/benchmarks.md` says how each figure comes about.

mod library;
mod reading;
mod receiving;
pub(crate) mod sending;

use anyhow::Result;

use super::row::Row;
use crate::args::BenchArgs;
use library::Libraries;

const EXPERIMENT: &str = "pcap";

/// The parts by their names, which `--only` takes.
type Part = fn(&BenchArgs, &Libraries) -> Result<Vec<Row>>;
const PARTS: [(&str, Part); 5] = [
    ("send", sending::rows),
    ("read", reading::savefile),
    ("filter", reading::filter),
    ("capture", receiving::nowhere),
    ("disk", receiving::to_disk),
];

pub(super) fn run(args: &BenchArgs) -> Result<Vec<Row>> {
    args.check_only(PARTS.map(|(name, _)| name))?;
    let libraries = Libraries::find()?;
    let mut rows = Vec::new();
    for (name, part) in PARTS {
        if args.wants(name) {
            rows.extend(part(args, &libraries)?);
        }
    }
    Ok(rows)
}
