//! Live frames: what was asked for is what the other host's interface took, and arrives.

use std::collections::BTreeSet;
use std::net::UdpSocket;
use std::time::{Duration, Instant};

use crate::common::bind;
use linerate_base::ErrorKind;
use linerate_lab::traffic::gaps::GapMeter;
use linerate_lab::traffic::live::{Frame, Load, Report, Sender};
use linerate_lab::{Lab, Offload, Plan, need};

fn quiet_pair() -> Plan {
    Lab::plan().host("a").host("b").quiet()
}

fn ready_pair() -> Lab {
    quiet_pair().offload(Offload::GenericReceive, true).build().unwrap()
}

fn mirrored(lab: &Lab, count: u64) -> Load {
    Load::new(Frame::mirrored(lab.host("a"), lab.host("b"), 60), count)
}

fn udp(lab: &Lab, count: u64, size: usize) -> Load {
    Load::new(Frame::udp(lab.host("a"), lab.host("b"), PORT, size), count)
}

/// A socket that the frames of [`udp`] reach.
// Few frames only: each counts as a whole page in the socket's buffer.
fn receiver(lab: &Lab) -> UdpSocket {
    let host = lab.host("b");
    host.run(|| bind((host.ipv4(), PORT)))
}

const PORT: u16 = 2000;

fn send(lab: &Lab, load: &Load) -> Report {
    Sender::start(lab.host("a"), lab.host("b"), load).unwrap().finish().unwrap()
}

#[test]
fn every_datagram_has_its_own_number() {
    if !need::root() {
        return;
    }
    let lab = ready_pair();
    let socket = receiver(&lab);
    let report = send(&lab, &udp(&lab, 40, 128));
    assert_eq!((report.packets, report.bytes, report.lost), (40, 5120, 0));
    let mut buffer = [0; 128];
    let mut number = || {
        assert_eq!(socket.recv(&mut buffer).unwrap(), 128 - 42);
        u64::from_be_bytes(buffer[..8].try_into().unwrap())
    };
    assert!((0..40).map(|_| number()).eq(0..40));
}

#[test]
fn the_number_of_frames_is_exact_at_any_rate() {
    if !need::root() {
        return;
    }
    let lab = ready_pair();
    for (count, rate) in [(1, None), (100_003, None), (20_001, Some(1e5)), (50_000, Some(4e6))] {
        let report = send(&lab, &Load { rate, ..mirrored(&lab, count) });
        assert_eq!(report.packets + report.lost, count, "{report:?}");
        assert_eq!(report.bytes, report.packets * 60, "{report:?}");
        assert!(rate.is_none_or(|rate| report.rate() < rate * 1.01), "{report:?}");
    }
}

#[test]
fn cores_share_a_load_and_its_numbers() {
    if !need::root() {
        return;
    }
    let cores = linerate_sys::cpu::allowed().unwrap();
    let lab = quiet_pair().queues(2).offload(Offload::GenericReceive, true).build().unwrap();
    let socket = receiver(&lab);
    let two = [cores[0], *cores.last().unwrap()].into();
    let report = send(&lab, &Load { cores: two, rate: Some(1e5), ..udp(&lab, 41, 60) });
    assert_eq!((report.packets, report.lost), (41, 0));
    let mut buffer = [0; 64];
    let mut number = || {
        let length = socket.recv(&mut buffer).unwrap();
        u64::from_be_bytes(buffer[..8.min(length)].try_into().unwrap())
    };
    let numbers: BTreeSet<_> = (0..41).map(|_| number()).collect();
    assert!(numbers.into_iter().eq(0..41));
}

#[test]
fn the_limit_ends_a_load() {
    if !need::root() {
        return;
    }
    let lab = ready_pair();
    let limit = Duration::from_millis(50);
    let report = send(&lab, &Load { rate: Some(1e4), limit, ..mirrored(&lab, 1_000_000) });
    assert!((1..=501).contains(&report.packets), "{report:?}");
    let report = send(&lab, &Load { rate: Some(0.001), limit, ..mirrored(&lab, 2) });
    assert_eq!(report.packets, 1);
}

#[test]
fn a_load_that_is_dropped_stops() {
    if !need::root() {
        return;
    }
    let lab = ready_pair();
    let load = Load { rate: Some(1e4), ..mirrored(&lab, 1_000_000) };
    let began = Instant::now();
    let sender = Sender::start(lab.host("a"), lab.host("b"), &load).unwrap();
    while sender.sent().unwrap() == 0 {
        assert!(began.elapsed() < load.limit);
    }
    drop(sender);
    assert!(began.elapsed() < load.limit, "it went on to its limit");
}

#[test]
fn an_interface_that_takes_no_frames_is_an_error() {
    if !need::root() {
        return;
    }
    let lab = quiet_pair().offload(Offload::GenericReceive, false).build().unwrap();
    let sender = Sender::start(lab.host("a"), lab.host("b"), &mirrored(&lab, 10)).unwrap();
    let error = sender.finish().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("GRO"), "{error}");
}

#[test]
fn gaps_are_counted_where_frames_arrive() {
    if !need::root() {
        return;
    }
    let lab = quiet_pair().build().unwrap();
    let meter = GapMeter::start(lab.host("b")).unwrap();
    assert_eq!(meter.arrivals().unwrap().packets, 0);
    let report = send(&lab, &Load { rate: Some(1e4), ..mirrored(&lab, 500) });
    let arrivals = meter.arrivals().unwrap();
    assert_eq!((arrivals.packets, report.lost), (500, 0));
    assert_eq!(arrivals.gaps.count(), 499);
    // However late single frames are, the sender may only be late as a whole, and half of the gaps or more are no
    // longer than was asked for.
    assert!(arrivals.rate() < 1.01e4, "{}", arrivals.rate());
    let sum: u64 = arrivals.gaps.rows(256).iter().map(|(gap, count)| gap.start() * count).sum();
    assert!(sum <= arrivals.span && arrivals.span < sum + sum / 100, "{sum} {}", arrivals.span);
}
