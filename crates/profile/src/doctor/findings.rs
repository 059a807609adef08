//! From what was seen to what is wrong.

use super::examination::KernelDrop;
use super::{Activity, Cause, Finding, Observation, Stage, advice};
use crate::counters::{Buffer, Capture, InterfaceCounts};

/// The kernel's reasons for want of room in the host's stack.
const NO_ROOM: [&str; 5] = ["SOCKET_RCVBUFF", "SOCKET_BACKLOG", "PROTO_MEM", "NOMEM", "FULL_RING"];

/// The kernel's reasons for packets that are not for this host.
const WRONG_DESTINATION: [&str; 5] =
    ["OTHERHOST", "IP_RPFILTER", "IP_INADDRERRORS", "IP_INVALID_DEST", "UNICAST_IN_L2_MULTICAST"];

/// The reason for a full backlog.
const BACKLOG: &str = "CPU_BACKLOG";

/// Reasons for which the interface's own counter of drops goes up as well (`__netif_receive_skb_core` and
/// `enqueue_to_backlog` in net/core/dev.c, Linux 6.18).
const COUNTED_BY_INTERFACE: [&str; 3] = [BACKLOG, "UNHANDLED_PROTO", "PTYPE_ABSENT"];

/// From this part of the time on, the filter is to blame.
const MUCH: f64 = 0.3;

/// What is wrong, from the card to the file; what is only worth knowing comes last.
pub fn diagnose(seen: &Observation) -> Vec<Finding> {
    let mut findings = Vec::new();
    for interface in &seen.difference.interfaces {
        findings.extend(card(interface));
        findings.extend(queue(seen, interface));
        findings.extend(backlog(seen, interface));
        findings.extend(no_room(seen, interface));
        findings.extend(wrong_destination(seen, interface));
    }
    findings.extend(seen.difference.captures.iter().filter_map(|capture| reader(seen, capture)));
    findings.sort_by_key(|finding| (!finding.is_loss, finding.stage));
    findings
}

fn card(interface: &InterfaceCounts) -> Option<Finding> {
    let lost = interface.counters.received_missed;
    let explanation = "the card's receive ring was full when they came".to_owned();
    (lost > 0).then(|| of(interface, Stage::Card, lost, Cause::CardOverrun, explanation))
}

/// What the interface lost beyond what the kernel gives a reason for.
fn queue(seen: &Observation, interface: &InterfaceCounts) -> Option<Finding> {
    let counted = |drop: &&KernelDrop| COUNTED_BY_INTERFACE.contains(&drop.reason.as_str());
    let explained: u64 = drops(seen, interface).filter(counted).map(|drop| drop.packets).sum();
    let lost = interface.counters.received_dropped.saturating_sub(explained);
    if lost == 0 {
        return None;
    }
    let (cause, explanation) = match seen.filter_share {
        Some(share) if share > MUCH => (
            Cause::SlowFilter,
            format!("the kernel spends {:.0} % of receiving in filters", 100.0 * share),
        ),
        _ => (Cause::QueueOverrun, "they come faster than the kernel takes them".to_owned()),
    };
    let mut finding = of(interface, Stage::Queue, lost, cause, explanation);
    if seen.drops.is_none() {
        finding.explanation += "; packets of protocols that nobody takes may be among them";
    }
    Some(finding)
}

/// By the kernel's reason for this interface; where that is not to be had, by the machine's counter.
fn backlog(seen: &Observation, interface: &InterfaceCounts) -> Option<Finding> {
    let by_reason = || drops(seen, interface).filter(|drop| drop.reason == BACKLOG);
    let (lost, whose) = match &seen.drops {
        Some(_) => (by_reason().map(|drop| drop.packets).sum(), ""),
        None => (seen.difference.softnet.dropped, "; of all interfaces, this one or others"),
    };
    let explanation = format!("a CPU had more packets before it than its backlog holds{whose}");
    (lost > 0).then(|| of(interface, Stage::Backlog, lost, Cause::BacklogOverrun, explanation))
}

fn no_room(seen: &Observation, interface: &InterfaceCounts) -> Vec<Finding> {
    let short = drops(seen, interface).filter(|drop| NO_ROOM.contains(&drop.reason.as_str()));
    let finding = |drop: &KernelDrop| {
        let explanation = format!("no room ({} in {})", drop.reason, drop.function);
        of(interface, Stage::Stack, drop.packets, Cause::NoRoom, explanation)
    };
    short.map(finding).collect()
}

/// No loss: at a mirror port it is how it should be.
fn wrong_destination(seen: &Observation, interface: &InterfaceCounts) -> Vec<Finding> {
    let is_wrong = |drop: &&KernelDrop| WRONG_DESTINATION.contains(&drop.reason.as_str());
    let finding = |drop: &KernelDrop| {
        let explanation = format!(
            "they are not for this host, whose stack threw them away ({} in {}); captures saw them",
            drop.reason, drop.function
        );
        let cause = Cause::WrongDestination;
        let finding = of(interface, Stage::Stack, drop.packets, cause, explanation);
        Finding { is_loss: false, ..finding }
    };
    drops(seen, interface).filter(is_wrong).map(finding).collect()
}

fn drops<'a>(
    seen: &'a Observation,
    interface: &InterfaceCounts,
) -> impl Iterator<Item = &'a KernelDrop> + use<'a> {
    let index = interface.index;
    seen.drops.iter().flatten().filter(move |drop| drop.interface == index)
}

fn of(
    interface: &InterfaceCounts,
    stage: Stage,
    packets: u64,
    cause: Cause,
    explanation: String,
) -> Finding {
    Finding {
        stage,
        subject: interface.name.clone(),
        packets,
        is_loss: true,
        cause,
        explanation,
        advice: advice::against(cause, &interface.name, 0),
    }
}

/// A capture whose buffer was full.
fn reader(seen: &Observation, capture: &Capture) -> Option<Finding> {
    let packets = capture.counts.dropped.filter(|dropped| *dropped > 0)?;
    let unknown = Activity::default();
    let activity = seen.activities.get(&capture.process).unwrap_or(&unknown);
    let cause = activity.cause();
    let stage = match capture.buffer {
        Buffer::Socket | Buffer::Ring => Stage::Socket,
        Buffer::Tap => Stage::Tap,
        Buffer::Xdp => Stage::Xdp,
    };
    let interface = seen.difference.interfaces.first().map_or("IF", |i| i.name.as_str());
    Some(Finding {
        stage,
        subject: subject(capture),
        packets,
        is_loss: true,
        cause,
        explanation: explain(seen, capture, activity, cause),
        advice: advice::against(cause, interface, capture.process),
    })
}

fn subject(capture: &Capture) -> String {
    match capture.process {
        0 => "a process that may not be looked at".to_owned(),
        process => format!("{} (process {process})", capture.program),
    }
}

fn explain(seen: &Observation, capture: &Capture, activity: &Activity, cause: Cause) -> String {
    match cause {
        Cause::StoppedReader => "it has been stopped, and takes no packets".to_owned(),
        Cause::SlowStorage => format!(
            "it waits for {} to take what it writes, {:.0} % of the time",
            activity.file(),
            100.0 * activity.writing()
        ),
        Cause::BusyReader => {
            format!("it keeps {:.1} processors busy, and that is not enough", activity.busy())
        }
        _ => {
            let room = match capture.capacity {
                0 => String::new(),
                bytes => format!(" of {} KiB", bytes / 1024),
            };
            let rate = capture.counts.seen.map_or_else(String::new, |count| {
                let seconds = seen.difference.elapsed.as_secs_f64().max(1e-3);
                format!(", at {:.0} packets/s", count as f64 / seconds)
            });
            format!("its buffer{room} was full between two reads{rate}")
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::time::Duration;

    use linerate_sys::interface::Counters;

    use super::*;
    use crate::counters::{CaptureCounts, CaptureId, Difference, Softirqs, Softnet};

    fn seen() -> Observation {
        let interface = InterfaceCounts {
            name: "eth1".into(),
            index: 3,
            driver: None,
            counters: Counters::default(),
            driver_counters: Vec::new(),
        };
        let difference = Difference {
            elapsed: Duration::from_secs(2),
            interfaces: vec![interface],
            captures: Vec::new(),
            softnet: Softnet::default(),
            softirqs: Softirqs::default(),
            storage: None,
        };
        Observation {
            difference,
            drops: Some(Vec::new()),
            activities: HashMap::new(),
            filter_share: Some(0.1),
            missing: Vec::new(),
        }
    }

    fn drop(reason: &str, interface: u32) -> KernelDrop {
        KernelDrop { reason: reason.into(), function: "f".into(), interface, packets: 10 }
    }

    fn causes(seen: &Observation) -> Vec<(Stage, Cause, u64)> {
        let findings = diagnose(seen);
        assert!(findings.iter().all(|finding| !finding.advice.is_empty()));
        findings.iter().map(|f| (f.stage, f.cause, f.packets)).collect()
    }

    #[test]
    fn without_loss_nothing_is_found() {
        let mut seen = seen();
        seen.drops = Some(vec![drop("NO_SOCKET", 3), drop("CPU_BACKLOG", 7)]);
        assert_eq!(causes(&seen), []);
    }

    #[test]
    fn what_the_interface_lost_is_told_apart_by_the_kernels_reasons() {
        let mut seen = seen();
        seen.difference.interfaces[0].counters.received_dropped = 25;
        seen.difference.interfaces[0].counters.received_missed = 4;
        seen.drops = Some(vec![drop("UNHANDLED_PROTO", 3), drop("CPU_BACKLOG", 3)]);
        let expected = [
            (Stage::Card, Cause::CardOverrun, 4),
            (Stage::Queue, Cause::QueueOverrun, 5),
            (Stage::Backlog, Cause::BacklogOverrun, 10),
        ];
        assert_eq!(causes(&seen), expected);
        seen.filter_share = Some(0.7);
        assert_eq!(causes(&seen)[1].1, Cause::SlowFilter);
        seen.drops = None;
        seen.difference.softnet.dropped = 6;
        assert_eq!(causes(&seen)[1..].iter().map(|f| f.2).collect::<Vec<_>>(), [25, 6]);
    }

    #[test]
    fn packets_for_others_are_no_loss_and_come_last() {
        let mut seen = seen();
        seen.drops = Some(vec![drop("OTHERHOST", 3), drop("SOCKET_RCVBUFF", 3)]);
        let findings = diagnose(&seen);
        let told: Vec<_> = findings.iter().map(|f| (f.cause, f.is_loss)).collect();
        assert_eq!(told, [(Cause::NoRoom, true), (Cause::WrongDestination, false)]);
    }

    #[test]
    fn a_reader_is_told_by_what_it_does() {
        let mut seen = seen();
        let capture = Capture {
            id: CaptureId::Socket(1),
            buffer: Buffer::Ring,
            process: 9,
            program: "tcpdump".into(),
            capacity: 1 << 20,
            waiting: None,
            filter_length: 0,
            counts: CaptureCounts { seen: Some(100), dropped: Some(30) },
        };
        seen.difference.captures.push(capture);
        assert_eq!(causes(&seen), [(Stage::Socket, Cause::SmallBuffer, 30)]);
        assert!(diagnose(&seen)[0].explanation.contains("1024 KiB"));
        seen.activities.insert(9, Activity::seen(0, 9, 0.1));
        let finding = &diagnose(&seen)[0];
        assert!(finding.explanation.contains("/disk/f.pcap"), "{finding:?}");
        seen.activities.insert(9, Activity::seen(9, 0, 0.0));
        assert!(diagnose(&seen)[0].advice[0].change.contains("kill -CONT 9"));
        seen.difference.captures[0].counts.dropped = None;
        assert_eq!(causes(&seen), []);
    }
}
