//! Owned addresses: their packets reach the application, and the host's stack sees none of them.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;

use etherparse::{ArpEthIpv4Packet, ArpOperation, PacketBuilder};
use linerate_base::ErrorKind;
use linerate_bpf::classic::{Instruction as Classic, Program, opcode};
use linerate_bpf::extended::{Instruction, Predicate, Register};
use linerate_capture::{Backend, Config, Directions, Filter, Owned, Prefix, open};
use linerate_lab::traffic::{send_frames, tagged};
use linerate_lab::{Host, Lab, need};
use linerate_sys::capability::{Capability, limit_capabilities};

use crate::common::{Owned as Packet, *};

const TAPS: [Backend; 2] = [Backend::Tap, Backend::TapXdp];

fn owned(prefixes: &[&str]) -> Owned {
    let prefixes: Vec<Prefix> = prefixes.iter().map(|text| text.parse().unwrap()).collect();
    Owned::new(&prefixes).unwrap()
}

fn owning(host: &Host, backend: Backend, owned: &Owned) -> Config {
    Config { owned: Some(owned.clone()), ..config(host, backend) }
}

/// A counter of the host's stack, such as `Udp: NoPorts`.
fn counter(host: &Host, group: &str, name: &str) -> u64 {
    let text = host.run(|| std::fs::read_to_string("/proc/thread-self/net/snmp").unwrap());
    let mut lines = text.lines().filter(|line| line.starts_with(&format!("{group}: ")));
    let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
    let place = names.split_whitespace().position(|found| found == name).unwrap();
    values.split_whitespace().nth(place).unwrap().parse().unwrap()
}

fn counter6(host: &Host, name: &str) -> u64 {
    let text = host.run(|| std::fs::read_to_string("/proc/thread-self/net/snmp6").unwrap());
    let line = text.lines().find(|line| line.split_whitespace().next() == Some(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// What the host's stack got, and what it did not like of it.
fn stack(host: &Host) -> [u64; 5] {
    [
        counter(host, "Ip", "InReceives"),
        counter(host, "Udp", "NoPorts"),
        counter(host, "Icmp", "OutMsgs"),
        counter6(host, "Udp6NoPorts"),
        counter6(host, "Icmp6OutDestUnreachs"),
    ]
}

/// Sends a datagram through the host's stack, which resolves the address first.
fn send_datagram(from: &Host, to: impl Into<IpAddr>) {
    send_datagram_to(from, SocketAddr::new(to.into(), 9));
}

fn send_datagram_to(from: &Host, to: SocketAddr) {
    let any = if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    from.run(|| UdpSocket::bind(any).unwrap().send_to(b"hello", to)).unwrap();
}

fn is_datagram(packet: &Packet) -> bool {
    packet.data.windows(5).any(|bytes| bytes == b"hello")
}

#[test]
fn neighbours_reach_the_application_at_owned_addresses_and_the_host_at_its_own() {
    if !need::root() {
        return;
    }
    for backend in TAPS {
        let lab = Lab::plan().host("a").host("b").without_offloads().build().unwrap();
        let (a, b) = (lab.host("a"), lab.host("b"));
        let addresses: [IpAddr; 2] = ["10.0.0.77".parse().unwrap(), "fd00::77".parse().unwrap()];
        let owned = owned(&["10.0.0.64/26", "fd00::77"]);
        let mut capture = open_on(b, &owning(b, backend, &owned));
        let before = stack(b);
        let mut packets = Vec::new();
        for address in addresses {
            send_datagram(a, address);
            let arrived = packets.iter().filter(|p| is_datagram(p)).count();
            while packets.iter().filter(|p| is_datagram(p)).count() == arrived {
                packets.extend(fetch(&mut capture.source, 1));
            }
        }
        assert_eq!(stack(b), before, "{backend}");
        let neighbours = a.run(|| std::fs::read_to_string("/proc/thread-self/net/arp").unwrap());
        assert!(neighbours.contains("10.0.0.77") && neighbours.contains("02:00:00:00:00:02"));
        let socket = b.run(|| UdpSocket::bind((b.ipv4(), 9)).unwrap());
        send_datagram(a, b.ipv4());
        assert_eq!(socket.recv(&mut [0; 10]).unwrap(), 5);
        packets.extend(finish(&mut capture.source).0);
        assert_eq!(packets.iter().filter(|p| is_datagram(p)).count(), 2, "{backend}");
        assert!(packets.iter().any(|p| p.data[12..14] == [8, 6]), "the request is delivered, too");
    }
}

/// A UDP frame to 10.0.0.`last`.
fn udp(last: u8) -> Vec<u8> {
    let packet = PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2])
        .ipv4([10, 0, 0, 1], [10, 0, 0, last], 64)
        .udp(9, 9);
    let mut frame = Vec::new();
    packet.write(&mut frame, b"hello, world, and others").unwrap();
    frame
}

#[test]
fn the_set_changes_while_packets_flow() {
    let Some(lab) = quiet_pair() else { return };
    let (a, b) = (lab.host("a"), lab.host("b"));
    for backend in TAPS {
        let owned = owned(&["10.0.0.77"]);
        let mut capture = open_on(b, &owning(b, backend, &owned));
        let both = [udp(77), udp(78), udp(78)];
        send_frames(a, &both).unwrap();
        assert_eq!(data(&fetch(&mut capture.source, 1)), [udp(77)]);
        let other = "10.0.0.78".parse().unwrap();
        owned.insert(other).unwrap();
        send_frames(a, &both).unwrap();
        assert_eq!(data(&fetch(&mut capture.source, 3)), both);
        owned.remove("10.0.0.77".parse().unwrap()).unwrap();
        send_frames(a, &both).unwrap();
        assert_eq!(data(&fetch(&mut capture.source, 2)), both[1..]);
        let (rest, stats) = finish(&mut capture.source);
        assert_eq!((rest.len(), stats.seen, stats.delivered, stats.filtered), (0, 9, 6, 3));
    }
}

#[test]
fn ports_reach_the_application_and_the_rest_the_host() {
    if !need::root() || !need::program("ping", "iputils-ping") {
        return;
    }
    for backend in TAPS {
        let lab = Lab::plan().host("a").host("b").without_offloads().build().unwrap();
        let (a, b) = (lab.host("a"), lab.host("b"));
        let addresses: [IpAddr; 2] = [b.ipv4().into(), b.ipv6().into()];
        let set = owned(&[]);
        for address in addresses {
            set.insert_ports(address, 62_000..=62_009).unwrap();
        }
        let mut capture = open_on(b, &owning(b, backend, &set));
        for address in addresses {
            let socket = b.run(|| UdpSocket::bind((address, 61_999))).unwrap();
            send_datagram_to(a, (address, 61_999).into());
            assert_eq!(socket.recv(&mut [0; 10]).unwrap(), 5);
            let before = stack(b);
            send_datagram_to(a, (address, 62_009).into());
            while !fetch(&mut capture.source, 1).iter().any(is_datagram) {}
            assert_eq!(stack(b)[1..], before[1..], "{backend}: the host knows nothing of it");
            let mut ping = a.command("ping");
            let ping = ping.args(["-c", "1", "-w", "20", &address.to_string()]).output().unwrap();
            assert!(ping.status.success(), "{backend}: the host answers");
            let is_ping = |packet: &Packet| {
                let (at, kind) = if address.is_ipv4() { (34, 8) } else { (54, 128) };
                packet.data.len() > at && packet.data[at] == kind
            };
            while !fetch(&mut capture.source, 1).iter().any(is_ping) {}
        }
        let (rest, _) = finish(&mut capture.source);
        assert!(!rest.iter().any(is_datagram), "{backend}");
    }
}

/// A request for 10.0.0.`last`.
fn request(last: u8) -> Vec<u8> {
    let asker = [2, 0, 0, 0, 0, 1];
    let request = ArpEthIpv4Packet {
        operation: ArpOperation::REQUEST,
        sender_mac: asker,
        sender_ipv4: [10, 0, 0, 1],
        target_mac: [0; 6],
        target_ipv4: [10, 0, 0, last],
    };
    [&[0xff; 6][..], &asker, &[8, 6], &request.to_bytes()].concat()
}

/// Keeps nothing.
fn nothing() -> Filter {
    let tap = Predicate::new(vec![Instruction::mov(Register::R0, 0)], Vec::new());
    let user = Arc::new(Program::new(vec![Classic::new(opcode::RET_K, 0)]).unwrap());
    Filter { text: "nothing".into(), kernel: None, tap: Some(tap), user }
}

#[test]
fn questions_are_answered_whatever_the_filter_keeps_and_in_their_vlan() {
    let Some(lab) = quiet_pair() else { return };
    let (a, b) = (lab.host("a"), lab.host("b"));
    for backend in TAPS {
        let owned = owned(&["10.0.0.77"]);
        let filter = Some(nothing());
        let mut capture = open_on(b, &Config { filter, ..owning(b, backend, &owned) });
        let direction = Directions::In;
        let mut seen = open_on(a, &Config { direction, ..config(a, Backend::Ring) });
        let tagged_request = tagged(&request(77), 7);
        send_frames(a, &[request(77), request(78), udp(77), tagged_request]).unwrap();
        await_seen(&mut capture.source, 4);
        let (packets, stats) = finish(&mut capture.source);
        assert_eq!((packets.len(), stats.seen, stats.filtered), (0, 4, 4), "{backend}");
        let answers = data(&fetch(&mut seen.source, 2));
        let reply = [&[0, 1, 8, 0, 6, 4, 0, 2, 2, 0, 0, 0, 0, 2, 10, 0, 0, 77][..], &[2, 0, 0]];
        let reply = reply.concat();
        assert_eq!(answers[0][..12], [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2]);
        assert!(answers[0][14..].starts_with(&reply) && answers[1][18..].starts_with(&reply));
        assert_eq!(answers[1][12..18], [0x81, 0, 0, 7, 8, 6]);
        assert_eq!(finish(&mut seen.source).1.delivered, 2, "{backend}");
    }
}

#[test]
fn what_would_harm_the_host_or_cannot_be_done_is_refused() {
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    let owns_host = owned(&["10.0.0.0/24"]);
    let refused = |config: Config, kind: ErrorKind, word: &str| {
        let error = b.run(|| open(&config).map(drop)).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(word), "{error}");
    };
    let config = owning(b, Backend::Tap, &owns_host);
    refused(config.clone(), ErrorKind::Invalid, "10.0.0.2 is the host's own there");
    let capture = open_on(b, &Config { force: true, backend: None, ..config });
    assert_eq!((capture.backend, capture.notes.len()), (Backend::Tap, 0));
    let config = owning(b, Backend::TapXdp, &owned(&["10.0.0.77"]));
    let ports = |first: u16, last| {
        let set = owned(&[]);
        set.insert_ports(b.ipv4().into(), first..=last).unwrap();
        owning(b, Backend::Tap, &set)
    };
    refused(ports(60_999, 61_000), ErrorKind::Busy, "it chooses from 32768-60999");
    let _socket = b.run(|| UdpSocket::bind(("0.0.0.0", 62_000))).unwrap();
    refused(ports(61_000, 62_000), ErrorKind::Busy, "a socket of UDP has port 62000");
    b.run(|| open(&Config { force: true, ..ports(61_000, 62_000) }).map(drop)).unwrap();
    refused(Config { snaplen: 93, ..config.clone() }, ErrorKind::Invalid, "94 bytes");
    refused(Config { exclusive: true, ..config.clone() }, ErrorKind::Invalid, "exclude each other");
    refused(Config { direction: Directions::Out, ..config }, ErrorKind::Invalid, "direction");
    for backend in [Backend::Xdp, Backend::Ring, Backend::Socket] {
        refused(owning(b, backend, &owns_host), ErrorKind::Unsupported, "tap-xdp");
    }
}

#[test]
fn three_capabilities_are_enough_and_a_missing_one_is_named() {
    use Capability::{Bpf, NetAdmin, NetRaw};
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    for backend in TAPS {
        let mut capture = b.run(|| {
            limit_capabilities(&[NetRaw, NetAdmin, Bpf]).unwrap();
            let filter = Some(nothing());
            let config = Config { filter, ..owning(b, backend, &owned(&["10.0.0.77"])) };
            open(&config).unwrap_or_else(|e| panic!("{e}"))
        });
        send_frames(lab.host("a"), &[udp(77), udp(78)]).unwrap();
        await_seen(&mut capture.source, 2);
        assert_eq!(finish(&mut capture.source).1.filtered, 2);
    }
    let error = b.run(|| {
        limit_capabilities(&[NetRaw, NetAdmin]).unwrap();
        Owned::new(&[]).unwrap_err()
    });
    assert_eq!(error.kind(), ErrorKind::Permission, "{error}");
    assert!(error.advice().unwrap().contains("lacks CAP_BPF"), "{error}");
}
