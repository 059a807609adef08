//! Owned addresses: their packets come to the capture, and the host answers for its own only.

use std::net::UdpSocket;

use linerate_lab::{Host, Lab, need};

use crate::support::{Live, linerate};

/// A datagram through the host's stack, which resolves the address first.
fn send(from: &Host, to: &str) {
    let any = if to.contains('[') { "[::]:0" } else { "0.0.0.0:0" };
    from.run(|| UdpSocket::bind(any).unwrap().send_to(b"hello", to)).expect("sent");
}

fn pair() -> Option<Lab> {
    let plan = Lab::plan().host("a").host("b").without_offloads();
    need::root().then(|| plan.build().expect("a lab"))
}

#[test]
fn neighbours_reach_owned_addresses_and_the_host_beside_them() {
    let Some(lab) = pair() else { return };
    let (a, b) = (lab.host("a"), lab.host("b"));
    for backend in ["tap", "tap-xdp"] {
        let own = ["--own", "10.0.0.64/26", "--own", "fd00::77"];
        let args = [&own[..], &["--backend", backend, "-c", "2", "udp"]].concat();
        let live = Live::start(b, &args);
        send(a, "10.0.0.77:9");
        send(a, "[fd00::77]:9");
        let taker = b.run(|| UdpSocket::bind((b.ipv4(), 9))).expect("a free port");
        send(a, "10.0.0.2:9");
        assert_eq!(taker.recv(&mut [0; 9]).expect("the host's own"), 5);
        let done = live.wait().success();
        let lines: Vec<_> = done.stdout.lines().collect();
        assert_eq!(lines.len(), 2, "{done:?}");
        assert!(done.stdout.contains("10.0.0.77.9") && done.stdout.contains("fd00::77.9"));
    }
}

#[test]
fn what_cannot_be_owned_is_told() {
    let Some(lab) = pair() else { return };
    let b = lab.host("b");
    let refused = |args: &[&str]| {
        let mut command = b.command(env!("CARGO_BIN_EXE_linerate"));
        command.args(["capture", "-i", b.interface(), "-c", "1"]).args(args);
        let output = command.output().expect("run");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, text) = refused(&["--own", "10.0.0.0/24"]);
    assert!(code == Some(1) && text.contains("10.0.0.2 is the host's own there"), "{text}");
    let (code, text) = refused(&["--own", "10.0.0.77", "--backend", "ring"]);
    assert!(code == Some(1) && text.contains("tap-xdp can"), "{text}");
    let usage = linerate(["capture", "--own", "10.0.0.5/24"]);
    assert_eq!(usage.code(), 2, "{usage:?}");
    assert!(usage.stderr.contains("write 10.0.0.0/24, or 10.0.0.5 alone"), "{usage:?}");
}

#[test]
fn all_packets_and_those_to_owned_addresses_are_not_asked_for_together() {
    let done = linerate(["capture", "-i", "lo", "--own", "10.9.0.1", "--exclusive"]);
    assert_eq!(done.code(), 2, "{done:?}");
    assert!(done.stderr.contains("cannot be used with"), "{done:?}");
}
