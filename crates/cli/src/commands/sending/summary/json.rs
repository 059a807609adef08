//! The summary for programs.

use linerate::base::Histogram;
use linerate::transmit::pacing::Rate;
use linerate::transmit::replay::{Skipped, Timing};
use linerate::transmit::{End, Report};
use serde::Serialize;

use super::{Facts, Replayed, SHARES, achieved};

#[derive(Serialize)]
struct Record<'a> {
    interface: &'a str,
    backend: &'a str,
    /// What the driver did: completed checksums, kept packets until their times.
    checksum_offload: bool,
    launch_times: bool,
    /// Why it ended: `complete`, `time`, `stopped`; null for an error.
    end: Option<&'static str>,
    /// `submitted = sent + refused`. What a savefile takes counts as sent.
    submitted: u64,
    sent: u64,
    refused: u64,
    sent_bytes: u64,
    seconds: f64,
    /// Null for less than a hundred packets, and for savefiles.
    packets_per_second: Option<f64>,
    wire_bits_per_second: Option<f64>,
    /// What was asked for, in one of the three; all null without a limit.
    asked_packets_per_second: Option<f64>,
    asked_wire_bits_per_second: Option<u64>,
    asked_speed: Option<f64>,
    seconds_behind: f64,
    /// Decides what is random; null where nothing is.
    seed: Option<u64>,
    /// Of packets as they were handed over; null where a program in the kernel sends, and for savefiles.
    handover_gaps: Option<GapsRecord>,
    #[serde(flatten)]
    replayed: Option<ReplayedRecord>,
}

#[derive(Serialize)]
struct GapsRecord {
    count: u64,
    median_ns: u64,
    p99_ns: u64,
    longest_ns: u64,
    /// From, to, how often; eight to each doubling.
    histogram_ns: Vec<(u64, u64, u64)>,
}

/// `read = submitted + filtered + skipped`, of all reasons.
#[derive(Serialize)]
struct ReplayedRecord {
    read: u64,
    filtered: u64,
    skipped: Reasons,
    backwards: u64,
}

#[derive(Serialize)]
struct Reasons {
    cut: u64,
    too_long: u64,
    too_short: u64,
    link_type: u64,
    blocklist: u64,
}

/// One line.
pub(super) fn of(report: &Report, facts: &Facts<'_>) -> String {
    let stats = &report.stats;
    let achieved = achieved(report, facts);
    let (asked_packets_per_second, asked_wire_bits_per_second, asked_speed) = asked(&facts.asked);
    let record = Record {
        interface: facts.interface,
        backend: facts.taker.name(),
        checksum_offload: facts.taker.offloads().checksum.is_some(),
        launch_times: facts.taker.offloads().launches,
        end: report.end.map(end_name),
        submitted: stats.submitted,
        sent: stats.sent,
        refused: stats.refused,
        sent_bytes: stats.sent_bytes,
        seconds: report.elapsed.as_secs_f64(),
        packets_per_second: achieved.map(|(packets, _)| packets),
        wire_bits_per_second: achieved.map(|(_, bits)| bits),
        asked_packets_per_second,
        asked_wire_bits_per_second,
        asked_speed,
        seconds_behind: report.lost.as_secs_f64(),
        seed: facts.seed,
        handover_gaps: GapsRecord::of(&report.gaps),
        replayed: facts.replayed.as_ref().map(ReplayedRecord::of),
    };
    serde_json::to_string(&record).expect("a record has text keys only") + "\n"
}

/// Packets and bits a second, and times the recorded speed.
fn asked(timing: &Timing) -> (Option<f64>, Option<u64>, Option<f64>) {
    match timing {
        Timing::Recorded { speed, .. } => (None, None, Some(speed.factor())),
        Timing::Paced(pace) => match pace.rate {
            Rate::Frames(thousandths) => (Some(thousandths as f64 / 1e3), None, None),
            Rate::Bits(bits) => (None, Some(bits), None),
            Rate::Unlimited => (None, None, None),
        },
    }
}

fn end_name(end: End) -> &'static str {
    match end {
        End::Complete => "complete",
        End::Time => "time",
        End::Stopped => "stopped",
    }
}

impl GapsRecord {
    fn of(gaps: &Histogram) -> Option<Self> {
        let nanos = |share| gaps.quantile(share).map(|time| time.as_nanos() as u64);
        let [median, p99, longest] = SHARES.map(nanos);
        let rows = gaps.rows(8).into_iter();
        Some(Self {
            count: gaps.count(),
            median_ns: median?,
            p99_ns: p99?,
            longest_ns: longest?,
            histogram_ns: rows.map(|(gap, count)| (*gap.start(), *gap.end(), count)).collect(),
        })
    }
}

impl ReplayedRecord {
    fn of(Replayed { counts, filtered }: &Replayed) -> Self {
        let Skipped { cut, too_short, too_long, foreign, blocked } = counts.skipped;
        Self {
            read: counts.taken + filtered,
            filtered: *filtered,
            skipped: Reasons { cut, too_long, too_short, link_type: foreign, blocklist: blocked },
            backwards: counts.backwards,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::Taker;
    use super::super::examples::{RING, XDP, replayed, report, sent_on};
    use super::*;

    fn value(report: &Report, facts: &Facts<'_>) -> Value {
        serde_json::from_str(&of(report, facts)).expect("JSON")
    }

    #[test]
    fn programs_get_the_numbers_and_the_seed() {
        let value = value(&report(1000, 2000), &sent_on(RING));
        assert_eq!(value["packets_per_second"], 1000.0);
        assert_eq!(value["asked_packets_per_second"], 1000.0);
        let gaps = &value["handover_gaps"];
        assert_eq!((&gaps["count"], &gaps["p99_ns"]), (&1_999.into(), &500.into()));
        assert_eq!(gaps["histogram_ns"], json!([[0, 31, 1], [480, 511, 1998]]));
        assert_eq!((&value["end"], &value["refused"]), (&Value::Null, &1000.into()));
        assert_eq!((&value["seed"], value.get("read")), (&7.into(), None));
    }

    #[test]
    fn what_the_driver_did_is_told() {
        let offloads = |taker| {
            let value = value(&report(1000, 1000), &sent_on(taker));
            (value["checksum_offload"].clone(), value["launch_times"].clone())
        };
        assert_eq!(offloads(XDP), (true.into(), true.into()));
        assert_eq!(offloads(RING), (false.into(), false.into()));
    }

    #[test]
    fn a_replay_tells_what_was_read_as_well() {
        let value = value(&report(1000, 1000), &replayed());
        assert_eq!((&value["read"], &value["skipped"]["cut"]), (&1050.into(), &7.into()));
        assert_eq!((&value["asked_speed"], &value["submitted"]), (&1.0.into(), &1000.into()));
        assert_eq!(value["seed"], Value::Null);
    }

    #[test]
    fn a_rate_of_nothing_much_is_null() {
        let few = value(&report(99, 99), &sent_on(RING));
        let written = value(&report(1000, 1000), &sent_on(Taker::Savefile));
        for value in [few, written] {
            assert_eq!(value["packets_per_second"], Value::Null);
            assert_eq!(value["wire_bits_per_second"], Value::Null);
        }
    }
}
