//! Raw IP packets, on a route through a wire and on one that ends nowhere.

use std::fs;
use std::io::IoSlice;
use std::net::{IpAddr, Ipv4Addr};

use linerate_sys::raw_ip::RawIp;
use linerate_sys::{interface, netlink};

use crate::support::*;

/// An IPv4 packet without payload (RFC 791, 3.1); the kernel fills in length and checksum.
fn packet(destination: [u8; 4]) -> Vec<u8> {
    let mut packet = vec![0x45, 0, 0, 20, 0, 0, 0, 0, 64, 253, 0, 0, 10, 0, 0, 1];
    packet.extend(destination);
    packet
}

#[test]
fn packets_follow_the_routes_by_the_host_of_their_destinations() {
    let Some(lab) = quiet_pair() else { return };
    let (a, b) = (lab.host("a"), lab.host("b"));
    let (before, ifb) = (b.counters().unwrap().received, "ifb0");
    let forgotten = a.run(|| {
        let gateway = Some(b.ipv4().into());
        let network = |second| IpAddr::V4(Ipv4Addr::new(10, second, 0, 0));
        netlink::add_route(a.interface_index(), network(64), 10, gateway).unwrap();
        netlink::create_ifb(ifb).unwrap();
        let index = interface::index(ifb).unwrap();
        // The host would greet its neighbours there by packets of its own.
        fs::write(format!("/proc/sys/net/ipv6/conf/{ifb}/disable_ipv6"), "1").unwrap();
        netlink::set_link_up(index, true).unwrap();
        netlink::add_route(index, network(128), 10, None).unwrap();
        let before = interface::by_name(ifb).unwrap().counters.received;
        let socket = RawIp::open().unwrap();
        let wired = [packet([10, 64, 0, 0]), packet([10, 127, 255, 255])];
        assert!(socket.send(&wired[0]).unwrap());
        assert_eq!(socket.send_many(&wired.each_ref().map(|p| IoSlice::new(p))).unwrap(), 2);
        assert!(socket.send(&packet([10, 128, 0, 1])).unwrap());
        assert!(socket.send(&packet([192, 0, 2, 1])).is_err(), "no route leads there");
        interface::by_name(ifb).unwrap().counters.received - before
    });
    assert_eq!((b.counters().unwrap().received - before, forgotten), (3, 1));
}
