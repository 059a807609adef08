//! The summary for people.

use std::fmt::Write as _;
use std::time::Duration;

use linerate::base::Histogram;
use linerate::transmit::Report;
use linerate::transmit::replay::{Skipped, Speed, Timing};
use linerate::transmit::sink::Offloads;

use super::{Facts, Replayed, SHARES, achieved};
use crate::units::{grouped, packets};

/// All of it, one statement a line.
pub(super) fn of(report: &Report, facts: &Facts<'_>) -> String {
    let stats = &report.stats;
    let (verb, seconds) = (facts.taker.verb(), report.elapsed.as_secs_f64());
    let mut text = format!("{} {verb} in {seconds:.3} s\n", packets(stats.sent));
    let ended = format!("{} {verb} + {} refused", grouped(stats.sent), grouped(stats.refused));
    text += &match &facts.replayed {
        None => format!("{} submitted = {ended}\n", grouped(stats.submitted)),
        Some(replayed) => read(replayed, &ended),
    };
    let asked = asked(&facts.asked);
    let _ = match achieved(report, facts) {
        None => writeln!(text, "asked: {asked}"),
        Some((frames, bits)) => writeln!(
            text,
            "{} packets/s and {:.3} Mbit/s on the wire; asked: {asked}",
            grouped(frames.round() as u64),
            bits / 1e6
        ),
    };
    text += &gaps(&report.gaps);
    text += &offloads(facts.taker.offloads());
    if !report.lost.is_zero() {
        let _ = writeln!(
            text,
            "{:.3} s behind: the packets of that time were not made up for; ask for less, or for larger bursts",
            report.lost.as_secs_f64()
        );
    }
    text
}

/// What became of the packets of savefiles.
fn read(replayed: &Replayed, ended: &str) -> String {
    let Replayed { counts, filtered } = replayed;
    let mut text = format!(
        "{} read = {ended} + {} filtered + {} skipped\n",
        grouped(counts.taken + filtered),
        grouped(*filtered),
        grouped(counts.skipped.total()),
    );
    for (count, reason) in reasons(&counts.skipped).into_iter().filter(|(count, _)| *count > 0) {
        let _ = writeln!(text, "{} skipped: {reason}", packets(count));
    }
    if counts.backwards > 0 {
        let count = packets(counts.backwards);
        let _ = writeln!(text, "{count} recorded before others ahead of them: they left at once");
    }
    text
}

/// Each reason to skip packets, and what to do about it.
fn reasons(skipped: &Skipped) -> [(u64, &'static str); 5] {
    [
        (skipped.cut, "cut when they were recorded (--pad sends them with zeroes)"),
        (skipped.too_long, "longer than the MTU allows (raise it with `ip link set mtu`)"),
        (skipped.too_short, "shorter than an Ethernet header"),
        (
            skipped.foreign,
            "not of Ethernet (raw IP and Linux cooked get an Ethernet header with --mac-dst)",
        ),
        (skipped.blocked, "to destinations on the blocklist"),
    ]
}

fn asked(timing: &Timing) -> String {
    match timing {
        Timing::Paced(pace) => pace.rate.to_string(),
        Timing::Recorded { speed: Speed::RECORDED, .. } => "as recorded".into(),
        Timing::Recorded { speed, .. } => format!("{speed} as fast as recorded"),
    }
}

/// What is known of the gaps here; those on the wire are told by whoever receives.
fn gaps(gaps: &Histogram) -> String {
    let [median, most, longest] = SHARES.map(|share| gaps.quantile(share));
    let (Some(median), Some(most), Some(longest)) = (median, most, longest) else {
        return String::new();
    };
    format!(
        "gaps as packets were handed over: median {}, 99 % within {}, longest {}\n",
        micros(median),
        micros(most),
        micros(longest)
    )
}

/// What the driver did beside sending.
fn offloads(Offloads { checksum, launches }: Offloads) -> String {
    let checksums = if checksum.is_some() { "checksums completed by the driver\n" } else { "" };
    let launches = if launches { "gaps kept by the network card, by launch times\n" } else { "" };
    format!("{checksums}{launches}")
}

fn micros(time: Duration) -> String {
    format!("{:.3} us", time.as_nanos() as f64 / 1e3)
}

#[cfg(test)]
mod tests {
    use super::super::Taker;
    use super::super::examples::{RING, XDP, replayed, report, sent_on};
    use super::*;

    #[test]
    fn the_sum_and_both_rates_are_written_out() {
        assert_eq!(
            of(&report(1000, 2000), &sent_on(RING)),
            "1,000 packets sent in 1.000 s\n2,000 submitted = 1,000 sent + 1,000 refused\n\
             1,000 packets/s and 0.672 Mbit/s on the wire; asked: 1 kpps\n\
             gaps as packets were handed over: median 0.500 us, 99 % within 0.500 us, longest 0.500 us\n"
        );
    }

    #[test]
    fn what_the_driver_did_is_told() {
        let text = of(&report(1000, 1000), &sent_on(XDP));
        let told =
            "checksums completed by the driver\ngaps kept by the network card, by launch times\n";
        assert!(text.ends_with(told), "{text}");
    }

    #[test]
    fn of_a_few_packets_and_of_files_no_rate_is_told() {
        let one = of(&report(1, 1), &sent_on(RING));
        let sum = "1 submitted = 1 sent + 0 refused\nasked: 1 kpps\n";
        assert!(one.starts_with(&format!("1 packet sent in 1.000 s\n{sum}gaps as")), "{one}");
        let file = of(&report(1000, 1000), &sent_on(Taker::Savefile));
        let sum = "1,000 submitted = 1,000 written + 0 refused\nasked: 1 kpps\n";
        assert!(file.starts_with(&format!("1,000 packets written in 1.000 s\n{sum}")), "{file}");
    }

    #[test]
    fn what_was_read_is_written_out_with_the_reasons() {
        let text = of(&report(1000, 1000), &replayed());
        assert!(
            text.starts_with(
                "1,000 packets sent in 1.000 s\n1,050 read = 1,000 sent + 0 refused + 40 filtered + 10 skipped\n\
                 7 packets skipped: cut when they were recorded (--pad sends them with zeroes)\n\
                 3 packets skipped: longer than the MTU allows (raise it with `ip link set mtu`)\n\
                 1,000 packets/s and 0.672 Mbit/s on the wire; asked: as recorded\n"
            ),
            "{text}"
        );
    }
}
