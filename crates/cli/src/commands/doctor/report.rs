//! Findings as text and as JSON.

use std::fmt::Write as _;

use linerate::profile::counters::{Capture, CaptureId, InterfaceCounts};
use linerate::profile::doctor::{Finding, Observation};
use serde_json::{Map, Value, json};

use crate::units::grouped;

/// A paragraph for each finding; empty without any.
pub(super) fn text(findings: &[Finding]) -> String {
    let mut text = String::new();
    for finding in findings {
        let verb = if finding.is_loss { "lost" } else { "note:" };
        let packets = grouped(finding.packets);
        let (stage, subject) = (finding.stage.name(), &finding.subject);
        let _ = writeln!(text, "{stage}, {subject}: {verb} {packets} packets");
        let _ = writeln!(text, "    {}", finding.explanation);
        for advice in &finding.advice {
            let _ = writeln!(text, "    - {}; costs {}", advice.change, advice.cost);
        }
    }
    text
}

/// Everything, as one object.
pub(super) fn json(seen: &Observation, findings: &[Finding]) -> String {
    let difference = &seen.difference;
    let value = json!({
        "seconds": difference.elapsed.as_secs_f64(),
        "findings": findings,
        "interfaces": difference.interfaces.iter().map(interface).collect::<Vec<_>>(),
        "captures": difference.captures.iter().map(capture).collect::<Vec<_>>(),
        "kernel_drops": seen.drops,
        "softnet": difference.softnet,
        "softirqs": difference.softirqs,
        "storage_stalled_seconds": difference.storage.map(|time| time.as_secs_f64()),
        "filter_share": seen.filter_share,
        "missing": seen.missing,
    });
    format!("{value:#}\n")
}

fn interface(interface: &InterfaceCounts) -> Value {
    let counters = &interface.counters;
    let by_driver = interface.driver_counters.iter().filter(|(_, count)| *count > 0);
    let by_driver: Map<_, _> =
        by_driver.map(|(name, count)| (name.clone(), json!(count))).collect();
    json!({
        "name": interface.name,
        "driver": interface.driver,
        "received": counters.received,
        "received_dropped": counters.received_dropped,
        "received_missed": counters.received_missed,
        "sent": counters.sent,
        "sent_dropped": counters.sent_dropped,
        "driver_counters": by_driver,
    })
}

fn capture(capture: &Capture) -> Value {
    let (CaptureId::Socket(number) | CaptureId::Tap(number)) = capture.id;
    json!({
        "buffer": capture.buffer,
        "number": number,
        "process": capture.process,
        "program": capture.program,
        "capacity": capture.capacity,
        "waiting": capture.waiting,
        "filter_length": capture.filter_length,
        "seen": capture.counts.seen,
        "dropped": capture.counts.dropped,
    })
}
