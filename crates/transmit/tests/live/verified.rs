//! Every field of every packet, by each way out, as our own tap sees it where it arrives.

use std::collections::HashSet;

use linerate_capture::{self as capture, Capture, Directions, Interrupt};
use linerate_lab::Host;
use linerate_transmit::pacing::{Pace, Rate};
use linerate_transmit::sink::Backend;
use linerate_transmit::{Blocklist, Outlet, Plan, Sender, Template};

use crate::common::*;

/// Everything that comes to the host from now on, before its stack sees it: bytes are as they were on the wire, and with
/// the program there the interface takes live frames.
fn tap(host: &Host) -> Capture {
    let config = capture::Config {
        backend: Some(capture::Backend::TapXdp),
        direction: Directions::In,
        exclusive: true,
        force: true,
        ..capture::Config::new(host.interface(), Interrupt::new().unwrap())
    };
    host.run(|| capture::open(&config)).unwrap_or_else(|error| panic!("{error}"))
}

fn send_by(host: &Host, backend: Backend, plan: &Plan<'_>) -> u64 {
    let (report, result) = host.run(|| {
        let sender = Sender::open(plan, host.interface(), Some(backend), 0);
        sender.unwrap_or_else(|error| panic!("{backend}: {error}")).run(plan, &|_| false)
    });
    result.unwrap_or_else(|error| panic!("{backend}: {error}"));
    assert!(report.stats.balances() && report.stats.refused == 0, "{backend}: {report:?}");
    report.stats.sent
}

/// A rate that every back end keeps: none has to refuse anything.
fn gently(template: &Template, count: u64) -> Plan<'_> {
    let pace = Pace::new(Rate::Frames(50_000_000));
    Plan { template, pace, count: Some(count), duration: None, threads: 1 }
}

const SHAPES: &[&str] = &[
    "Ether()/Dot1Q(vlan=1-100, prio=random(0-7))/IP(dst='B4', id=random(0-65535))/UDP(sport=permute(1-200))",
    "Ether(dst='02:00:00:00:00:99')/Dot1Q(vlan=7)/Dot1Q(vlan=permute(1-200))/IPv6(dst='2001:db8::/120')/UDP()/Raw('odd')",
    "IP(dst='B4', ttl=random(1-255), tos=random(0-255))/TCP(dport=[80, 443], flags=['S', 'SE'], \
     seq=random(0-0xffffffff), options=[('MSS', 1460), ('SAckOK', ''), ('Timestamp', (7, 0)), \
     ('NOP', None), ('WScale', 7)])",
    "Ether(dst='02:00:00:00:00:99')/IPv6(dst=permute('2001:db8::/120'), fl=random(0-1048575))/\
     TCP(sport=1024-2047, options=[('MSS', 1440)])/Raw('x')",
    "IP(dst='B4')/ICMP(id=random(0-65535), seq=0-199)/Raw(size=56)",
    "IPv6(dst='B6')/ICMPv6EchoRequest(id=7, seq=permute(0-199), data='abc')",
    "IP(dst='B4')/UDP(sport=random(1024-65535))/DNS(id=0-99, qd=DNSQR(qname=['a.example', 'bc.example.org'], qtype='AAAA'))",
    "IP(dst='B4')/UDP(sport=permute(1024-1223))/Raw(size=random(1-1472))",
    "IPv6(dst='B6')/UDP(dport=9)/Raw(size='imix')",
    "IP(dst='B4')/ICMP(type=3, code=1)/IP(src='B4', dst=permute('10.9.9.0/24'))/UDP(sport=RandShort())/'odd'",
    "ARP(pdst=permute('10.9.9.0/24'), op=[1, 2])",
];

#[test]
fn all_kinds_of_packets_arrive_byte_for_byte_by_every_way_out() {
    let Some(lab) = quiet_pair() else { return };
    let (a, b) = (lab.host("a"), lab.host("b"));
    let shape = |text: &&str| {
        let text = text.replace("B4", &b.ipv4().to_string()).replace("B6", &b.ipv6().to_string());
        template(a, &text)
    };
    let templates: Vec<_> = SHAPES.iter().map(shape).collect();
    for backend in Backend::ALL {
        let mut capture = tap(b);
        let mut sent = Vec::new();
        for template in &templates {
            assert_eq!(send_by(a, backend, &gently(template, 200)), 200);
            sent.extend(expected(template, 200));
        }
        let found = fetch(&mut capture, sent.len());
        let wrong = found.iter().zip(&sent).position(|(found, sent)| found != sent);
        assert_eq!((wrong, found.len()), (None, sent.len()), "{backend}");
    }
}

#[test]
fn a_prefix_is_walked_once_and_what_is_blocked_never() {
    let Some(lab) = quiet_pair() else { return };
    let (a, b) = (lab.host("a"), lab.host("b"));
    let list = "10.64.0.0/24\n10.64.17.5\n10.64.32.0 - 10.64.32.9 # in the middle\n10.127.0.0/16\n";
    let blocklist = Blocklist::parse(list, "list").unwrap();
    let text = "Ether(dst='02:00:00:00:00:99')/IP(dst=permute('10.64.0.0/18'))/TCP(flags='S')";
    let compile = || {
        let outlet = Outlet::find(a.interface()).unwrap();
        Template::compile(text, &outlet, &blocklist, 3)
    };
    let template = a.run(compile).unwrap_or_else(|error| panic!("{error}"));
    let count = (1 << 14) - 256 - 1 - 10;
    assert_eq!(template.count(), count);
    for backend in Backend::ALL {
        let mut capture = tap(b);
        assert_eq!(send_by(a, backend, &gently(&template, count as u64)), count as u64);
        let found = fetch(&mut capture, count as usize);
        let address = |packet: &Vec<u8>| <[u8; 4]>::try_from(&packet[30..34]).unwrap();
        let unique: HashSet<_> = found.iter().map(address).collect();
        assert_eq!((found.len(), unique.len()), (count as usize, count as usize), "{backend}");
        let is_blocked = |address: &[u8; 4]| match address {
            [10, 64, 0, _] | [10, 64, 17, 5] | [10, 64, 32, 0..=9] => true,
            _ => address[..2] != [10, 64] || address[2] > 63,
        };
        assert!(!unique.iter().any(is_blocked), "{backend}");
    }
}
