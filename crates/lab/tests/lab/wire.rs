//! Hosts reach each other, and only each other, over a wire as planned.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::thread;

use crate::common::bind;
use linerate_base::ErrorKind;
use linerate_lab::{Host, Lab, Offload, need};
use linerate_sys::{ethtool, interface};

/// Sends a datagram and gets it back, from inside the threads of both hosts.
fn echo_by_udp(client: &Host, server: &Host, address: IpAddr) {
    let socket = server.run(|| bind((address, 0)));
    let peer = socket.local_addr().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut buffer = [0; 64];
            let (length, from) = socket.recv_from(&mut buffer).unwrap();
            socket.send_to(&buffer[..length], from).unwrap();
        });
        assert_eq!(client.run(|| ask(peer)), b"ping");
    });
}

fn ask(peer: SocketAddr) -> Vec<u8> {
    let any = if peer.is_ipv6() { "[::]:0" } else { "0.0.0.0:0" };
    let socket = bind(any);
    socket.send_to(b"ping", peer).unwrap();
    let mut buffer = [0; 64];
    let length = socket.recv(&mut buffer).unwrap();
    buffer[..length].to_vec()
}

/// The first packet gets through: a lab is ready when it is built.
fn check_udp(lab: &Lab) {
    for server in lab.hosts() {
        for client in lab.hosts() {
            echo_by_udp(client, server, server.ipv4().into());
            echo_by_udp(client, server, server.ipv6().into());
        }
    }
}

#[test]
fn two_hosts_exchange_datagrams_of_both_families() {
    if !need::root() {
        return;
    }
    check_udp(&Lab::pair().unwrap());
}

/// On a busy machine the kernel's background work comes late.
#[test]
fn many_labs_are_ready_when_they_are_built() {
    if !need::root() {
        return;
    }
    thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| check_udp(&Lab::pair().unwrap()));
        }
    });
}

#[test]
fn three_hosts_share_a_wire() {
    if !need::root() {
        return;
    }
    check_udp(&Lab::plan().host("a").host("b").host("c").build().unwrap());
}

#[test]
fn a_transfer_by_tcp_arrives_whole() {
    if !need::root() {
        return;
    }
    let lab = Lab::pair().unwrap();
    let (a, b) = (lab.host("a"), lab.host("b"));
    let listener = b.run(|| TcpListener::bind((b.ipv6(), 0)).unwrap());
    let peer = listener.local_addr().unwrap();
    let sender =
        a.spawn(move || TcpStream::connect(peer).unwrap().write_all(&[7; 1 << 20]).unwrap());
    let mut received = Vec::new();
    listener.accept().unwrap().0.read_to_end(&mut received).unwrap();
    sender.join().unwrap();
    assert!(received == [7; 1 << 20]);
}

#[test]
fn the_wire_is_as_planned() {
    if !need::root() {
        return;
    }
    let plan = Lab::plan().host("left").host("right").queues(3).mtu(9000);
    let lab = plan.offload(Offload::TcpSegmentation, false).build().unwrap();
    for host in lab.hosts() {
        let found = host.run(|| interface::by_name(host.interface())).unwrap();
        assert_eq!((found.receive_queues, found.transmit_queues, found.mtu), (3, 3, 9000));
        assert_eq!(
            (found.index, found.hardware_address.as_slice()),
            (host.interface_index(), &host.mac()[..])
        );
        assert_eq!(found.driver.as_deref(), Some("veth"));
        assert!(found.is_up && found.is_running && !found.is_loopback);
        let addresses: Vec<_> = found.addresses.iter().map(|a| (a.ip, a.prefix)).collect();
        assert_eq!(addresses, [(host.ipv4().into(), 24), (host.ipv6().into(), 64)]);
        let offload = |offload| host.run(|| ethtool::offload(host.interface(), offload)).unwrap();
        assert!(!offload(Offload::TcpSegmentation));
        assert!(offload(Offload::TransmitChecksum));
        assert!(host.run(|| interface::by_name("lo")).unwrap().is_up);
    }
}

#[test]
fn an_offload_that_the_driver_does_not_have_is_refused() {
    if !need::root() {
        return;
    }
    let plan = Lab::plan().host("a").host("b").offload(Offload::LargeReceive, true);
    let error = plan.build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
}

#[test]
fn without_offloads_every_one_is_off() {
    if !need::root() {
        return;
    }
    let lab = Lab::plan().host("a").host("b").without_offloads().build().unwrap();
    for host in lab.hosts() {
        for offload in Offload::ALL {
            assert!(!host.run(|| ethtool::offload(host.interface(), offload)).unwrap());
        }
    }
    check_udp(&lab);
}
