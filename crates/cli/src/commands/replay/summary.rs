//! What was sent, said at the end.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use linerate::transmit::pacing::Rate;
use linerate::transmit::replay::{Report, Skipped, Speed, Timing};
use serde::Serialize;

use super::super::send::summary::{achieved, end_name, limits};
use crate::units::grouped;

/// What is known of the replay beside its report.
pub(super) struct Facts<'a> {
    pub(super) interface: &'a str,
    pub(super) backend: &'a str,
    pub(super) timing: Timing,
    /// Packets that the filter turned away.
    pub(super) filtered: u64,
}

/// Prints the summary on standard error.
pub(super) fn report(report: &Report, facts: &Facts<'_>, as_json: bool) {
    let text = if as_json { json(report, facts) } else { text(report, facts) };
    // A terminal that is gone is no reason to fail.
    let _ = io::stderr().write_all(text.as_bytes());
}

fn text(report: &Report, facts: &Facts<'_>) -> String {
    let (sent, counts) = (&report.sent, &report.counts);
    let (frames, bits) = achieved(sent);
    let mut text = format!(
        "{} packets sent in {:.3} s\n{} read = {} sent + {} refused + {} filtered + {} skipped\n",
        grouped(sent.stats.sent),
        sent.elapsed.as_secs_f64(),
        grouped(counts.taken + facts.filtered),
        grouped(sent.stats.sent),
        grouped(sent.stats.refused),
        grouped(facts.filtered),
        grouped(counts.skipped.total()),
    );
    for (count, reason) in reasons(&counts.skipped).into_iter().filter(|(count, _)| *count > 0) {
        let _ = writeln!(text, "{} skipped: {reason}", grouped(count));
    }
    let _ = writeln!(
        text,
        "{} packets/s and {:.3} Mbit/s on the wire; asked: {}",
        grouped(frames.round() as u64),
        bits / 1e6,
        asked(&facts.timing)
    );
    if counts.backwards > 0 {
        let _ = writeln!(
            text,
            "{} packets have earlier times than packets before them; they left at once",
            grouped(counts.backwards)
        );
    }
    if !sent.lost.is_zero() {
        let behind = sent.lost.as_secs_f64();
        let _ = writeln!(text, "{behind:.3} s behind: packets could not leave when they were due");
    }
    text
}

/// Each reason to skip packets, and what to do about it.
fn reasons(skipped: &Skipped) -> [(u64, &'static str); 5] {
    [
        (skipped.cut, "they were cut when they were recorded (--pad sends them with zeroes)"),
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

#[derive(Serialize)]
struct Record<'a> {
    interface: &'a str,
    backend: &'a str,
    /// Why it ended: `complete`, `time`, `stopped`; null for an error.
    end: Option<&'static str>,
    /// `read = sent + refused + filtered + skipped`, of all reasons.
    read: u64,
    sent: u64,
    refused: u64,
    filtered: u64,
    skipped: Reasons,
    sent_bytes: u64,
    seconds: f64,
    packets_per_second: f64,
    wire_bits_per_second: f64,
    /// What was asked for, in one of the three; all null without a limit.
    asked_speed: Option<f64>,
    asked_packets_per_second: Option<f64>,
    asked_wire_bits_per_second: Option<u64>,
    backwards: u64,
    seconds_behind: f64,
}

#[derive(Serialize)]
struct Reasons {
    cut: u64,
    too_long: u64,
    too_short: u64,
    link_type: u64,
    blocklist: u64,
}

fn json(report: &Report, facts: &Facts<'_>) -> String {
    let (sent, counts) = (&report.sent, &report.counts);
    let (frames, bits) = achieved(sent);
    let (asked_speed, rate) = match facts.timing {
        Timing::Paced(pace) => (None, pace.rate),
        Timing::Recorded { speed, .. } => (Some(speed.factor()), Rate::Unlimited),
    };
    let (asked_packets_per_second, asked_wire_bits_per_second) = limits(rate);
    let Skipped { cut, too_short, too_long, foreign, blocked } = counts.skipped;
    let record = Record {
        interface: facts.interface,
        backend: facts.backend,
        end: sent.end.map(end_name),
        read: counts.taken + facts.filtered,
        sent: sent.stats.sent,
        refused: sent.stats.refused,
        filtered: facts.filtered,
        skipped: Reasons { cut, too_long, too_short, link_type: foreign, blocklist: blocked },
        sent_bytes: sent.stats.sent_bytes,
        seconds: sent.elapsed.as_secs_f64(),
        packets_per_second: frames,
        wire_bits_per_second: bits,
        asked_speed,
        asked_packets_per_second,
        asked_wire_bits_per_second,
        backwards: counts.backwards,
        seconds_behind: sent.lost.as_secs_f64(),
    };
    serde_json::to_string(&record).expect("a record has text keys only") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate::base::SinkStats;
    use linerate::transmit;
    use linerate::transmit::replay::Counts;
    use std::time::Duration;

    const TIMING: Timing = Timing::Recorded { speed: Speed::RECORDED, max_gap: None };
    const FACTS: Facts<'_> =
        Facts { interface: "eth0", backend: "ring", timing: TIMING, filtered: 40 };

    fn some() -> Report {
        let stats = SinkStats { submitted: 1000, sent: 1000, ..SinkStats::default() };
        let skipped = Skipped { cut: 7, too_long: 3, ..Skipped::default() };
        let counts = Counts { taken: 1010, submitted: 1000, skipped, ..Counts::default() };
        let elapsed = Duration::from_secs(1);
        let wire_bits = 1000 * 672;
        let sent = transmit::Report { stats, wire_bits, elapsed, ..transmit::Report::default() };
        Report { counts, sent }
    }

    #[test]
    fn the_sum_is_written_out_with_the_reasons() {
        assert_eq!(
            text(&some(), &FACTS),
            "1,000 packets sent in 1.000 s\n1,050 read = 1,000 sent + 0 refused + 40 filtered + 10 skipped\n\
             7 skipped: they were cut when they were recorded (--pad sends them with zeroes)\n\
             3 skipped: longer than the MTU allows (raise it with `ip link set mtu`)\n\
             1,000 packets/s and 0.672 Mbit/s on the wire; asked: as recorded\n"
        );
    }

    #[test]
    fn programs_get_the_same_numbers() {
        let value: serde_json::Value = serde_json::from_str(&json(&some(), &FACTS)).expect("JSON");
        assert_eq!((&value["read"], &value["skipped"]["cut"]), (&1050.into(), &7.into()));
        assert_eq!((&value["asked_speed"], &value["end"]), (&1.0.into(), &serde_json::Value::Null));
    }
}
