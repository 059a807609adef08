//! What became of every packet, said at the end and whenever the user asks.

mod json;
mod text;

use std::io::{self, Write as _};

use linerate::base::Stats;
use linerate::capture::disk::Stalls;

use crate::live::LiveLine;

pub(crate) use json::Facts;
pub(crate) use text::counters;

/// All that there is to say.
#[derive(Clone, Debug, Default)]
pub(crate) struct Summary {
    /// The counters of all threads together.
    pub(crate) sum: Stats,
    /// Those of each thread.
    pub(crate) threads: Vec<Stats>,
    pub(crate) stalls: Stalls,
    /// Packets that are in no file any more: a ring of files keeps the newest.
    pub(crate) overwritten: u64,
}

/// How to say it.
#[derive(Clone, Debug)]
pub(crate) enum Form {
    /// In lines for people.
    Text {
        /// With the share of each thread.
        threads: bool,
    },
    /// As one JSON object on a line, with what is known of the capture.
    Json(Facts),
}

/// The source's counters as the application sees them: of the packets handed over, `taken` were
/// used; the others of the last batch count as left in the buffer.
pub(crate) fn settle(mut stats: Stats, taken: u64) -> Stats {
    stats.pending += stats.delivered - taken;
    stats.delivered = taken;
    stats
}

/// The counters of all sources together.
pub(crate) fn sum(all: &[Stats]) -> Stats {
    let mut sum = Stats::default();
    all.iter().for_each(|stats| sum += *stats);
    sum
}

/// Prints the summary on standard error, beside the live line.
pub(crate) fn report(summary: &Summary, form: &Form, live: &mut LiveLine) {
    live.clear();
    let text = match form {
        Form::Text { threads } => text::of(summary, *threads),
        Form::Json(facts) => json::of(summary, facts),
    };
    // A terminal that is gone is no reason to fail.
    let _ = io::stderr().write_all(text.as_bytes());
}

/// True when packets were lost, by us or by the interface.
pub(crate) fn lost(stats: &Stats) -> bool {
    stats.dropped > 0 || stats.interface_dropped.is_some_and(|lost| lost > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_handed_over_but_not_taken_stay_in_the_balance() {
        let stats = Stats { seen: 100, delivered: 100, ..Stats::default() };
        let settled = settle(stats, 10);
        assert_eq!((settled.delivered, settled.pending), (10, 90));
        assert!(settled.balances());
    }
}
