//! What the generators say was sent is what the other host's interface received.

use std::net::UdpSocket;

use crate::common::bind;
use linerate_base::ErrorKind;
use linerate_lab::traffic::{self, Flow, Sent};
use linerate_lab::{Host, Lab, need};

fn quiet_pair() -> Lab {
    Lab::plan().host("a").host("b").quiet().build().unwrap()
}

/// Packets and bytes that `work` brought to the host.
fn received(host: &Host, work: impl FnOnce()) -> Sent {
    let before = host.counters().unwrap();
    work();
    let after = host.counters().unwrap();
    Sent {
        packets: after.received - before.received,
        bytes: after.received_bytes - before.received_bytes,
    }
}

fn receiver(flow: &Flow<'_>, host: &Host) -> UdpSocket {
    host.run(|| bind(flow.destination()))
}

#[test]
fn frames_arrive_as_datagrams_in_order() {
    if !need::root() {
        return;
    }
    let lab = quiet_pair();
    let (a, b) = (lab.host("a"), lab.host("b"));
    for flow in [Flow::ipv4(a, b, 1000, 2000), Flow::ipv6(a, b, 1000, 2000)] {
        let socket = receiver(&flow, b);
        let header = if flow.source().is_ipv6() { 62 } else { 42 };
        let sent = flow.send_frames(100, 20).unwrap();
        assert_eq!(sent, Sent { packets: 100, bytes: 100 * (header + 20) });
        for number in 0..100 {
            let mut buffer = [0; 64];
            let (length, from) = socket.recv_from(&mut buffer).unwrap();
            assert_eq!(from, flow.source());
            assert_eq!(buffer[..length], traffic::payload(number, 20));
        }
    }
}

#[test]
fn many_frames_are_counted_exactly() {
    if !need::root() {
        return;
    }
    let lab = quiet_pair();
    let (a, b) = (lab.host("a"), lab.host("b"));
    let flow = Flow::ipv4(a, b, 1, 2);
    let _socket = receiver(&flow, b);
    let mut sent = Sent::default();
    let got = received(b, || sent = flow.send_frames(50_000, 18).unwrap());
    assert_eq!((sent.packets, sent), (50_000, got));
}

#[test]
fn datagrams_are_counted_exactly() {
    if !need::root() {
        return;
    }
    let lab = quiet_pair();
    let (a, b) = (lab.host("a"), lab.host("b"));
    for flow in [Flow::ipv4(a, b, 1000, 2000), Flow::ipv6(a, b, 1000, 2000)] {
        let _socket = receiver(&flow, b);
        let mut sent = Sent::default();
        let got = received(b, || sent = flow.send_datagrams(1000, 100).unwrap());
        assert_eq!((sent.packets, sent), (1000, got));
    }
    let error = Flow::ipv4(a, b, 1000, 2000).send_datagrams(1, 1473).unwrap_err();
    assert_eq!(error.answered(), "a datagram of 1473 bytes does not fit a frame");
}

#[test]
fn tagged_frames_go_out_as_they_are() {
    if !need::root() {
        return;
    }
    let lab = quiet_pair();
    let (a, b) = (lab.host("a"), lab.host("b"));
    let frame = Flow::ipv4(a, b, 1, 2).frame(b"hello");
    let frames = [traffic::tagged(&frame, 5), traffic::tagged(&traffic::tagged(&frame, 6), 7)];
    let mut sent = Sent::default();
    let got = received(b, || sent = traffic::send_frames(a, &frames).unwrap());
    assert_eq!((sent.packets, sent), (2, got));
}

#[test]
fn a_transfer_arrives_whole() {
    if !need::root() {
        return;
    }
    let lab = Lab::pair().unwrap();
    let (a, b) = (lab.host("a"), lab.host("b"));
    let transfer = traffic::transfer(a, b, 80, 3_000_000).unwrap();
    assert_eq!(transfer.bytes, 3_000_000);
    assert_eq!((transfer.client.ip(), transfer.server.port()), (a.ipv4().into(), 80));
}

#[test]
fn frames_that_cannot_be_sent_are_errors() {
    if !need::root() {
        return;
    }
    let lab = quiet_pair();
    let (a, b) = (lab.host("a"), lab.host("b"));
    let error = Flow::ipv4(a, b, 1, 2).send_frames(3, 1473).unwrap_err();
    assert_eq!(error.asked(), "send frames");
    b.set_link_up(false).unwrap();
    let error = Flow::ipv4(a, b, 1, 2).send_frames(3, 10).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Down);
}
