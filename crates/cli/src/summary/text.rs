//! The summary for people.

use std::fmt::Write as _;

use linerate::base::Stats;
use linerate::capture::disk::Stalls;

use super::Summary;
use crate::units::{grouped, packets};

/// All of it, one statement a line; with the share of each thread where `threads` asks for it.
pub(super) fn of(summary: &Summary, threads: bool) -> String {
    let mut text = counters(&summary.sum) + &waits(summary.stalls);
    if summary.overwritten > 0 {
        let count = packets(summary.overwritten);
        let _ = writeln!(text, "{count} were in files of the ring that were overwritten since");
    }
    if threads && summary.threads.len() > 1 {
        for (number, stats) in summary.threads.iter().enumerate() {
            let _ = write!(text, "thread {number}: {}", balance(stats));
        }
    }
    text
}

/// The counters, one statement a line.
pub(crate) fn counters(stats: &Stats) -> String {
    let mut text = format!("{} captured\n", packets(stats.delivered));
    text += &balance(stats);
    if stats.dropped > stats.oversized {
        text += &drops(stats);
    }
    if stats.oversized > 0 {
        let count = packets(stats.oversized);
        let remedy = "begin the capture anew, or use the back end tap";
        let _ = writeln!(
            text,
            "{count} dropped, longer than the MTU was when the capture began: {remedy}"
        );
    }
    if stats.unstamped > 0 {
        let count = packets(stats.unstamped);
        let _ = writeln!(text, "{count} had no time of the card's: they have the kernel's");
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
        packets(stats.dropped - stats.oversized)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_written_out() {
        let stats = Stats { seen: 1300, delivered: 1234, filtered: 66, ..Stats::default() };
        assert_eq!(
            counters(&stats),
            "1,234 packets captured\n1,300 seen = 1,234 captured + 66 filtered + 0 dropped\n"
        );
    }

    #[test]
    fn losses_come_with_advice() {
        let stats = Stats { seen: 3, delivered: 1, dropped: 2, freezes: 1, ..Stats::default() };
        let text = counters(&stats);
        assert!(text.contains("2 packets dropped for want of buffer space (it was full once)"));
        assert!(text.contains("-B"));
    }

    #[test]
    fn no_larger_buffer_is_advised_for_packets_that_are_too_long() {
        let stats = Stats { seen: 9, dropped: 9, oversized: 9, ..Stats::default() };
        let text = counters(&stats);
        assert!(text.contains("9 packets dropped, longer than the MTU was"), "{text}");
        assert!(!text.contains("-B"), "{text}");
        let text = counters(&Stats { oversized: 2, ..stats });
        assert!(
            text.contains("7 packets dropped for want") && text.contains("2 packets dropped, l")
        );
    }

    #[test]
    fn packets_that_the_card_did_not_stamp_are_told() {
        let stats = Stats { seen: 5, delivered: 5, unstamped: 2, ..Stats::default() };
        let text = counters(&stats);
        let told = "2 packets had no time of the card's: they have the kernel's\n";
        assert!(text.ends_with(told), "{text}");
        assert!(!counters(&Stats { unstamped: 0, ..stats }).contains("card"));
    }

    #[test]
    fn waits_for_the_disk_are_told() {
        let stalls = Stalls { count: 1200, time: std::time::Duration::from_millis(2500) };
        assert_eq!(waits(stalls), "the disk was waited for 1,200 times, 2.500 s in all\n");
        assert_eq!(waits(Stalls::default()), "");
    }

    #[test]
    fn threads_are_listed_where_there_are_several() {
        let share = |delivered| Stats { seen: delivered, delivered, ..Stats::default() };
        let mut summary = Summary { threads: vec![share(7), share(8)], ..Summary::default() };
        summary.overwritten = 3;
        let text = of(&summary, true);
        assert!(
            text.contains("thread 1: 8 seen = 8 captured + 0 filtered + 0 dropped\n"),
            "{text}"
        );
        assert!(text.contains("3 packets were in files"), "{text}");
        assert!(!of(&summary, false).contains("thread"));
        summary.threads.pop();
        assert!(!of(&summary, true).contains("thread"));
    }
}
