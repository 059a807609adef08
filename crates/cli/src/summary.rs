//! What became of every packet, said at the end and whenever the user asks.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use linerate::base::Stats;
use linerate::capture::disk::Stalls;
use linerate::savefile::Totals;

use crate::live::LiveLine;
use crate::output;
use crate::units::grouped;

/// The source's counters as the application sees them: of the packets handed over, `taken` were
/// used; the others of the last batch count as left in the buffer.
pub(crate) fn settle(mut stats: Stats, taken: u64) -> Stats {
    stats.pending += stats.delivered - taken;
    stats.delivered = taken;
    stats
}

/// The counters of all sources together.
pub(crate) fn sum(all: impl IntoIterator<Item = Stats>) -> Stats {
    let mut sum = Stats::default();
    all.into_iter().for_each(|stats| sum += stats);
    sum
}

/// Prints the counters on standard error, beside the live line.
pub(crate) fn report(stats: &Stats, stalls: Stalls, live: &mut LiveLine) {
    live.clear();
    // A terminal that is gone is no reason to fail.
    let _ = io::stderr().write_all((text(stats) + &waits(stalls)).as_bytes());
}

/// Says how many packets are in no file any more: a ring of files keeps the newest.
pub(crate) fn report_overwritten(totals: &Totals) {
    if totals.overwritten > 0 {
        let count = packets(totals.overwritten);
        output::tell(format_args!("{count} were in files of the ring that were overwritten since"));
    }
}

/// True when packets were lost, by us or by the interface.
pub(crate) fn lost(stats: &Stats) -> bool {
    stats.dropped > 0 || stats.interface_dropped.is_some_and(|lost| lost > 0)
}

/// The counters, one statement a line.
pub(crate) fn text(stats: &Stats) -> String {
    let mut text = format!("{} captured\n", packets(stats.delivered));
    text += &balance(stats);
    if stats.dropped > 0 {
        text += &drops(stats);
    }
    if let Some(lost @ 1..) = stats.interface_dropped {
        let _ = writeln!(text, "{} lost by the interface, before any capture", packets(lost));
    }
    text
}

fn balance(stats: &Stats) -> String {
    let mut text = format!(
        "{} seen = {} captured + {} filtered + {} dropped",
        grouped(stats.seen),
        grouped(stats.delivered),
        grouped(stats.filtered),
        grouped(stats.dropped)
    );
    if stats.pending > 0 {
        let _ = write!(text, " + {} left in the buffer", grouped(stats.pending));
    }
    if stats.filtered_uncounted {
        text += "; what the kernel's filter turned away is not counted (that needs CAP_BPF)";
    }
    text + "\n"
}

fn drops(stats: &Stats) -> String {
    let freezes = match stats.freezes {
        0 => String::new(),
        1 => " (it was full once)".into(),
        n => format!(" (it was full {} times)", grouped(n)),
    };
    format!(
        "{} dropped for want of buffer space{freezes}: \
         enlarge it with -B, keep less of each packet with -s, or filter more\n",
        packets(stats.dropped)
    )
}

/// How often and how long the disk was waited for, if it was.
fn waits(stalls: Stalls) -> String {
    let seconds = stalls.time.as_secs_f64();
    match stalls.count {
        0 => String::new(),
        1 => format!("the disk was waited for once, for {seconds:.3} s\n"),
        n => format!("the disk was waited for {} times, {seconds:.3} s in all\n", grouped(n)),
    }
}

fn packets(count: u64) -> String {
    match count {
        1 => "1 packet".into(),
        n => format!("{} packets", grouped(n)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_written_out() {
        let stats = Stats { seen: 1300, delivered: 1234, filtered: 66, ..Stats::default() };
        assert_eq!(
            text(&stats),
            "1,234 packets captured\n1,300 seen = 1,234 captured + 66 filtered + 0 dropped\n"
        );
    }

    #[test]
    fn losses_come_with_advice() {
        let stats = Stats { seen: 3, delivered: 1, dropped: 2, freezes: 1, ..Stats::default() };
        let text = text(&stats);
        assert!(text.contains("2 packets dropped for want of buffer space (it was full once)"));
        assert!(text.contains("-B"));
    }

    #[test]
    fn waits_for_the_disk_are_told() {
        let stalls = Stalls { count: 1200, time: std::time::Duration::from_millis(2500) };
        assert_eq!(waits(stalls), "the disk was waited for 1,200 times, 2.500 s in all\n");
        assert_eq!(waits(Stalls::default()), "");
    }

    #[test]
    fn packets_handed_over_but_not_taken_stay_in_the_balance() {
        let stats = Stats { seen: 100, delivered: 100, ..Stats::default() };
        let settled = settle(stats, 10);
        assert_eq!((settled.delivered, settled.pending), (10, 90));
        assert!(settled.balances());
    }
}
