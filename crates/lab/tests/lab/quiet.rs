//! On a quiet wire is nothing but what was sent there.

use std::net::IpAddr;
use std::thread;
use std::time::Duration;

use crate::common::bind;
use linerate_lab::{Host, Lab, need};

fn received(host: &Host) -> u64 {
    host.counters().unwrap().received
}

#[test]
fn kernels_are_silent_and_both_families_work() {
    if !need::root() {
        return;
    }
    let plan = Lab::plan().host("a").host("b").host("c").quiet();
    let lab = plan.build().unwrap();
    // Left to themselves, kernels report multicast groups within a second.
    thread::sleep(Duration::from_millis(1500));
    assert_eq!(lab.hosts().iter().map(received).sum::<u64>(), 0);

    let (a, b) = (lab.host("a"), lab.host("b"));
    for address in [b.ipv4().into(), b.ipv6().into()] {
        deliver(a, b, address);
    }
    // The bridge has not heard of `b` yet and floods the first packet of each family.
    assert_eq!((received(a), received(b)), (0, 2));
}

fn deliver(from: &Host, to: &Host, address: IpAddr) {
    let receiver = to.run(|| bind((address, 0)));
    let peer = receiver.local_addr().unwrap();
    let sender = from.run(|| bind((if peer.is_ipv6() { "::" } else { "0.0.0.0" }, 0)));
    sender.send_to(b"hello", peer).unwrap();
    let mut buffer = [0; 5];
    assert_eq!(receiver.recv(&mut buffer).unwrap(), 5);
}
