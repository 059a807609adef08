//! The summary for programs.

use linerate::base::{Stats, TimestampSource};
use linerate::capture::{Backend, Hook};
use serde::Serialize;

use super::Summary;

/// What is known of a capture beside its counters.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub(crate) interface: String,
    pub(crate) backend: Backend,
    pub(crate) hook: Option<Hook>,
    pub(crate) timestamps: Option<TimestampSource>,
}

#[derive(Serialize)]
struct Record<'a> {
    interface: &'a str,
    backend: &'a str,
    /// Where in the kernel its program stands; null for a packet socket.
    hook: Option<&'a str>,
    timestamps: Option<&'a str>,
    #[serde(flatten)]
    counters: Counters,
    /// Packets that were captured and are in no file any more.
    overwritten: u64,
    /// How often and for how many seconds the disk was waited for.
    disk_waits: u64,
    disk_wait_seconds: f64,
    threads: Vec<Counters>,
}

/// `seen = captured + filtered + dropped + left_in_buffer`.
#[derive(Serialize)]
struct Counters {
    seen: u64,
    captured: u64,
    /// `seen` leaves out what the filter turned away where this is null.
    filtered: Option<u64>,
    /// For want of buffer space, but for the next.
    dropped: u64,
    /// Of those dropped, packets longer than the MTU was when the capture began.
    oversized: u64,
    left_in_buffer: u64,
    /// Packets that have the kernel's time, as the network card told none.
    unstamped: u64,
    buffer_full: u64,
    /// Not among `seen`; null where the driver does not say.
    dropped_by_interface: Option<u64>,
}

/// One line.
pub(super) fn of(summary: &Summary, facts: &Facts) -> String {
    let record = Record {
        interface: &facts.interface,
        backend: facts.backend.name(),
        hook: facts.hook.map(Hook::name),
        timestamps: facts.timestamps.map(TimestampSource::name),
        counters: counters(&summary.sum),
        overwritten: summary.overwritten,
        disk_waits: summary.stalls.count,
        disk_wait_seconds: summary.stalls.time.as_secs_f64(),
        threads: summary.threads.iter().map(counters).collect(),
    };
    serde_json::to_string(&record).expect("a record has text keys only") + "\n"
}

fn counters(stats: &Stats) -> Counters {
    Counters {
        seen: stats.seen,
        captured: stats.delivered,
        filtered: (!stats.filtered_uncounted).then_some(stats.filtered),
        dropped: stats.dropped,
        oversized: stats.oversized,
        left_in_buffer: stats.pending,
        unstamped: stats.unstamped,
        buffer_full: stats.freezes,
        dropped_by_interface: stats.interface_dropped,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_and_the_threads_are_one_object_on_a_line() {
        let facts = Facts {
            interface: "eth0".into(),
            backend: Backend::TapXdp,
            hook: Some(Hook::GenericXdp),
            timestamps: Some(TimestampSource::Kernel),
        };
        let stats = Stats { seen: 9, delivered: 5, dropped: 1, pending: 3, ..Stats::default() };
        let uncounted = Stats { filtered_uncounted: true, ..stats };
        let summary = Summary { sum: uncounted, threads: vec![stats], ..Summary::default() };
        let text = of(&summary, &facts);
        let object: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert!(text.ends_with("}\n") && text.lines().count() == 1);
        assert_eq!(
            (&object["backend"], &object["timestamps"]),
            (&"tap-xdp".into(), &"kernel".into())
        );
        assert_eq!(object["hook"], "generic XDP");
        assert_eq!((&object["captured"], &object["left_in_buffer"]), (&5.into(), &3.into()));
        assert!(object["filtered"].is_null());
        assert_eq!(object["threads"][0]["filtered"], 0);
    }
}
