//! What was sent, said at the end.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::time::Duration;

use linerate::base::Histogram;
use linerate::transmit::pacing::Rate;
use linerate::transmit::{End, Report};
use serde::Serialize;

use crate::units::grouped;

/// What is known of the sending beside its report.
pub(super) struct Facts<'a> {
    pub(super) interface: &'a str,
    pub(super) backend: &'a str,
    pub(super) asked: Rate,
}

/// Prints the summary on standard error.
pub(super) fn report(report: &Report, facts: &Facts<'_>, as_json: bool) {
    let text = if as_json { json(report, facts) } else { text(report, facts) };
    // A terminal that is gone is no reason to fail.
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Packets a second, and bits a second on the wire.
pub(in super::super) fn achieved(report: &Report) -> (f64, f64) {
    let seconds = report.elapsed.as_secs_f64().max(1e-9);
    let share = report.stats.sent as f64 / report.stats.submitted.max(1) as f64;
    (report.stats.sent as f64 / seconds, report.wire_bits as f64 * share / seconds)
}

fn text(report: &Report, facts: &Facts<'_>) -> String {
    let stats = &report.stats;
    let (frames, bits) = achieved(report);
    let mut text = format!(
        "{} packets sent in {:.3} s\n{} submitted = {} sent + {} refused\n",
        grouped(stats.sent),
        report.elapsed.as_secs_f64(),
        grouped(stats.submitted),
        grouped(stats.sent),
        grouped(stats.refused)
    );
    let _ = writeln!(
        text,
        "{} packets/s and {:.3} Mbit/s on the wire; asked: {}",
        grouped(frames.round() as u64),
        bits / 1e6,
        facts.asked
    );
    text += &gaps(&report.gaps);
    if !report.lost.is_zero() {
        let _ = writeln!(
            text,
            "{:.3} s behind: the packets of that time were not made up for; ask for less, or for larger bursts",
            report.lost.as_secs_f64()
        );
    }
    text
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

/// The median, the 99th percentile, the longest.
const SHARES: [f64; 3] = [0.5, 0.99, 1.0];

fn micros(time: Duration) -> String {
    format!("{:.3} us", time.as_nanos() as f64 / 1e3)
}

#[derive(Serialize)]
struct Record<'a> {
    interface: &'a str,
    backend: &'a str,
    /// Why it ended: `complete`, `time`, `stopped`; null for an error.
    end: Option<&'static str>,
    submitted: u64,
    sent: u64,
    refused: u64,
    sent_bytes: u64,
    seconds: f64,
    packets_per_second: f64,
    wire_bits_per_second: f64,
    /// What was asked for, in one of the two; both null without a limit.
    asked_packets_per_second: Option<f64>,
    asked_wire_bits_per_second: Option<u64>,
    seconds_behind: f64,
    /// Of packets as they were handed over; null where a program in the kernel sends.
    handover_gaps: Option<GapsRecord>,
}

/// Nanoseconds.
#[derive(Serialize)]
struct GapsRecord {
    count: u64,
    median: u64,
    p99: u64,
    longest: u64,
    /// From, to, how often; eight to each doubling.
    histogram: Vec<(u64, u64, u64)>,
}

impl GapsRecord {
    fn of(gaps: &Histogram) -> Option<Self> {
        let nanos = |share| gaps.quantile(share).map(|time| time.as_nanos() as u64);
        let [median, p99, longest] = SHARES.map(nanos);
        let rows = gaps.rows(8).into_iter();
        Some(Self {
            count: gaps.count(),
            median: median?,
            p99: p99?,
            longest: longest?,
            histogram: rows.map(|(gap, count)| (*gap.start(), *gap.end(), count)).collect(),
        })
    }
}

/// Packets and bits a second that were asked for, in one of the two; none without a limit.
pub(in super::super) fn limits(asked: Rate) -> (Option<f64>, Option<u64>) {
    match asked {
        Rate::Frames(thousandths) => (Some(thousandths as f64 / 1e3), None),
        Rate::Bits(bits) => (None, Some(bits)),
        Rate::Unlimited => (None, None),
    }
}

pub(in super::super) fn end_name(end: End) -> &'static str {
    match end {
        End::Complete => "complete",
        End::Time => "time",
        End::Stopped => "stopped",
    }
}

fn json(report: &Report, facts: &Facts<'_>) -> String {
    let (frames, bits) = achieved(report);
    let (asked_packets_per_second, asked_wire_bits_per_second) = limits(facts.asked);
    let record = Record {
        interface: facts.interface,
        backend: facts.backend,
        end: report.end.map(end_name),
        submitted: report.stats.submitted,
        sent: report.stats.sent,
        refused: report.stats.refused,
        sent_bytes: report.stats.sent_bytes,
        seconds: report.elapsed.as_secs_f64(),
        packets_per_second: frames,
        wire_bits_per_second: bits,
        asked_packets_per_second,
        asked_wire_bits_per_second,
        seconds_behind: report.lost.as_secs_f64(),
        handover_gaps: GapsRecord::of(&report.gaps),
    };
    serde_json::to_string(&record).expect("a record has text keys only") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate::base::SinkStats;

    const FACTS: Facts<'_> =
        Facts { interface: "eth0", backend: "ring", asked: Rate::Frames(1_000_000) };

    fn halfway() -> Report {
        let stats =
            SinkStats { submitted: 2000, sent: 1000, refused: 1000, ..SinkStats::default() };
        let mut gaps = Histogram::new();
        gaps.record(500, 1_998);
        gaps.record(0, 1);
        let elapsed = Duration::from_secs(1);
        Report { stats, wire_bits: 2000 * 672, elapsed, gaps, ..Report::default() }
    }

    #[test]
    fn the_sum_and_both_rates_are_written_out() {
        assert_eq!(
            text(&halfway(), &FACTS),
            "1,000 packets sent in 1.000 s\n2,000 submitted = 1,000 sent + 1,000 refused\n\
             1,000 packets/s and 0.672 Mbit/s on the wire; asked: 1 kpps\n\
             gaps as packets were handed over: median 0.500 us, 99 % within 0.500 us, longest 0.500 us\n"
        );
    }

    #[test]
    fn programs_get_the_same_numbers() {
        let value: serde_json::Value =
            serde_json::from_str(&json(&halfway(), &FACTS)).expect("JSON");
        assert_eq!(value["packets_per_second"], 1000.0);
        assert_eq!(value["asked_packets_per_second"], 1000.0);
        let gaps = &value["handover_gaps"];
        assert_eq!((&gaps["count"], &gaps["p99"]), (&1_999.into(), &500.into()));
        assert_eq!(gaps["histogram"], serde_json::json!([[0, 31, 1], [480, 511, 1998]]));
        assert_eq!(
            (&value["end"], value["refused"].as_u64()),
            (&serde_json::Value::Null, Some(1000))
        );
    }
}
