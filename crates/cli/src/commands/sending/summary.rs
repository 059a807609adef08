//! What was sent, said at the end.

mod json;
mod text;

use std::io::{self, Write as _};

use anyhow::Result;
use linerate::transmit::Report;
use linerate::transmit::replay::{Counts, Timing};
use linerate::transmit::sink::Offloads;

use crate::output;

/// What is known of the sending beside its report.
pub(in super::super) struct Facts<'a> {
    pub(in super::super) interface: &'a str,
    pub(in super::super) taker: Taker<'a>,
    pub(in super::super) asked: Timing,
    /// What decides what is random.
    pub(in super::super) seed: Option<u64>,
    /// What was read for it.
    pub(in super::super) replayed: Option<Replayed>,
}

/// Who took the packets.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Taker<'a> {
    /// An interface, by this back end, whose driver does that beside sending.
    BackEnd(&'a str, Offloads),
    /// A savefile.
    Savefile,
}

impl Taker<'_> {
    /// The back end's name, for programs.
    fn name(&self) -> &str {
        match self {
            Self::BackEnd(name, _) => name,
            Self::Savefile => "file",
        }
    }

    /// What became of packets that it took.
    fn verb(&self) -> &'static str {
        match self {
            Self::BackEnd(..) => "sent",
            Self::Savefile => "written",
        }
    }

    /// What was done with packets beside sending them.
    fn offloads(&self) -> Offloads {
        match self {
            Self::BackEnd(_, offloads) => *offloads,
            Self::Savefile => Offloads::default(),
        }
    }
}

/// What savefiles were read, and what became of their packets before any was sent.
pub(in super::super) struct Replayed {
    pub(in super::super) counts: Counts,
    /// Packets that the filter turned away.
    pub(in super::super) filtered: u64,
}

/// Prints the summary: for people on standard error, for programs as the last line of standard output.
///
/// # Errors
/// When standard output does not take it.
pub(in super::super) fn report(report: &Report, facts: &Facts<'_>, as_json: bool) -> Result<()> {
    if as_json {
        return output::text(json::of(report, facts));
    }
    // A terminal that is gone is no reason to fail.
    let _ = io::stderr().write_all(text::of(report, facts).as_bytes());
    Ok(())
}

/// Of fewer packets the mean rate is that of the beginning and the end.
const MANY: u64 = 100;

/// Packets a second, and bits a second on the wire; none of a few, and of a savefile, which takes packets as they come.
fn achieved(report: &Report, facts: &Facts<'_>) -> Option<(f64, f64)> {
    if facts.taker == Taker::Savefile || report.stats.sent < MANY {
        return None;
    }
    let seconds = report.elapsed.as_secs_f64().max(1e-9);
    let share = report.stats.sent as f64 / report.stats.submitted.max(1) as f64;
    Some((report.stats.sent as f64 / seconds, report.wire_bits as f64 * share / seconds))
}

/// The median, the 99th percentile, the longest.
const SHARES: [f64; 3] = [0.5, 0.99, 1.0];

#[cfg(test)]
mod examples {
    use std::time::Duration;

    use linerate::base::{Histogram, SinkStats};
    use linerate::sys::xsk::PartialChecksum;
    use linerate::transmit::pacing::{Pace, Rate};
    use linerate::transmit::replay::{Skipped, Speed};

    use super::*;

    pub(super) const RING: Taker<'_> =
        Taker::BackEnd("ring", Offloads { checksum: None, launches: false });

    /// One whose driver does all that there is to do.
    pub(super) const XDP: Taker<'_> = Taker::BackEnd(
        "xdp",
        Offloads { checksum: Some(PartialChecksum { start: 34, offset: 6 }), launches: true },
    );

    pub(super) fn sent_on(taker: Taker<'_>) -> Facts<'_> {
        let asked = Timing::Paced(Pace::new(Rate::Frames(1_000_000)));
        Facts { interface: "eth0", taker, asked, seed: Some(7), replayed: None }
    }

    /// Of 1,010 packets of which 10 were skipped, and 40 more that were filtered.
    pub(super) fn replayed() -> Facts<'static> {
        let skipped = Skipped { cut: 7, too_long: 3, ..Skipped::default() };
        let counts = Counts { taken: 1010, submitted: 1000, skipped, ..Counts::default() };
        let asked = Timing::Recorded { speed: Speed::RECORDED, max_gap: None };
        let replayed = Some(Replayed { counts, filtered: 40 });
        Facts { seed: None, replayed, asked, ..sent_on(RING) }
    }

    /// So many of `submitted` packets in a second.
    pub(super) fn report(sent: u64, submitted: u64) -> Report {
        let refused = submitted - sent;
        let stats = SinkStats { submitted, sent, refused, ..SinkStats::default() };
        let mut gaps = Histogram::new();
        gaps.record(500, submitted.saturating_sub(2));
        gaps.record(0, 1);
        let elapsed = Duration::from_secs(1);
        Report { stats, wire_bits: submitted * 672, elapsed, gaps, ..Report::default() }
    }
}
