//! What must hold for every packet: lengths end where it ends, checksums are right.

use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use proptest::prelude::*;

use crate::{packet, template};

/// Reads a packet and panics where a length or a checksum is wrong.
pub(crate) fn check(bytes: &[u8]) {
    let sliced = SlicedPacket::from_ethernet(bytes).unwrap_or_else(|e| panic!("{e}: {bytes:x?}"));
    let ip_length = match &sliced.net {
        Some(NetSlice::Ipv4(ip)) => {
            let header = ip.header().to_header();
            assert_eq!(header.header_checksum, header.calc_header_checksum(), "{header:?}");
            usize::from(header.total_len)
        }
        Some(NetSlice::Ipv6(ip)) => 40 + usize::from(ip.header().payload_length()),
        _ => return,
    };
    let tags = sliced.link_exts.len() * 4;
    assert_eq!(ip_length, bytes.len() - 14 - tags, "{bytes:x?}");
    let Some(transport) = &sliced.transport else { return };
    let (given, computed) = checksums(&sliced, transport);
    assert_eq!(given, computed, "{bytes:x?}");
}

/// The transport's checksum as it stands, and as etherparse computes it.
fn checksums(sliced: &SlicedPacket<'_>, transport: &TransportSlice<'_>) -> (u16, u16) {
    let net = sliced.net.as_ref().expect("a network layer");
    let payload = match transport {
        TransportSlice::Tcp(tcp) => tcp.payload(),
        TransportSlice::Udp(udp) => udp.payload(),
        TransportSlice::Icmpv4(icmp) => icmp.payload(),
        TransportSlice::Icmpv6(icmp) => icmp.payload(),
        TransportSlice::Igmp(_) => panic!("no template has IGMP"),
    };
    match (net, transport) {
        (NetSlice::Ipv4(ip), TransportSlice::Tcp(tcp)) => {
            let header = tcp.to_header();
            (header.checksum, header.calc_checksum_ipv4(&ip.header().to_header(), payload).unwrap())
        }
        (NetSlice::Ipv6(ip), TransportSlice::Tcp(tcp)) => {
            let header = tcp.to_header();
            (header.checksum, header.calc_checksum_ipv6(&ip.header().to_header(), payload).unwrap())
        }
        (NetSlice::Ipv4(ip), TransportSlice::Udp(udp)) => {
            let header = udp.to_header();
            assert_eq!(usize::from(header.length), 8 + payload.len());
            (header.checksum, header.calc_checksum_ipv4(&ip.header().to_header(), payload).unwrap())
        }
        (NetSlice::Ipv6(ip), TransportSlice::Udp(udp)) => {
            let header = udp.to_header();
            (header.checksum, header.calc_checksum_ipv6(&ip.header().to_header(), payload).unwrap())
        }
        (_, TransportSlice::Icmpv4(icmp)) => {
            let header = icmp.header();
            (header.checksum, header.icmp_type.calc_checksum(payload))
        }
        (NetSlice::Ipv6(ip), TransportSlice::Icmpv6(icmp)) => {
            let (source, destination) = (ip.header().source(), ip.header().destination());
            let header = icmp.header();
            let computed = header.icmp_type.calc_checksum(source, destination, payload);
            (header.checksum, computed.unwrap())
        }
        other => panic!("{other:?}"),
    }
}

/// Templates of every layer, each with something that varies.
pub(crate) const TEMPLATES: &[&str] = &[
    "IP(dst=\"192.0.2.1\")/UDP()",
    "Ether()/IP(dst=\"192.0.2.0/24\")/TCP(dport=[80, 443], flags=\"S\")/Raw(size=18)",
    "IP(dst=permute(\"10.64.0.0/10\"), src=random(\"10.0.0.0/9\"), ttl=1-255, tos=random(0-255))/TCP(sport=random(1024-65535), \
     seq=random(0-0xffffffff), flags=[\"S\", \"SA\", \"FPU\", \"N\"], window=(0, 65535))/Raw(load=\"odd\")",
    "IP(dst=\"192.0.2.1\", id=0-65535, frag=0, flags=\"DF\")/UDP(sport=1-65535, dport=random(1-65535))/Raw(\"abc\", size=3-1400)",
    "Ether(src=random(\"02:00:00:00:00:00-02:ff:ff:ff:ff:ff\"))/Dot1Q(vlan=0-4095, prio=0-7)/Dot1Q(vlan=7)/\
     IPv6(dst=random(\"2001:db8::/64\"), fl=random(0-0xfffff), tc=0-255, hlim=1-255)/UDP(dport=9)/Raw(size=\"imix\")",
    "IPv6(dst=\"2001:db8::/100\", src=[\"fd00::1\", \"fe80::1\", \"ff02::1-ff02::ffff\"])/TCP(dport=1-1024)/Raw(size=[0, 1, 2, 1440])",
    "IP(dst=\"192.0.2.0/28\")/ICMP(id=7, seq=0-65535)/Raw(size=0-56)",
    "IPv6(dst=\"2001:db8::/112\")/ICMPv6EchoRequest(id=0-9, seq=random(0-65535), data=\"abc\")",
    "IPv6(dst=\"ff02::1\")/ICMPv6ND_NS(tgt=\"2001:db8::/64\")/ICMPv6NDOptSrcLLAddr()",
    "IPv6(dst=\"ff02::1\")/ICMPv6ND_NA(tgt=\"2001:db8::1\", S=0-1)/ICMPv6NDOptDstLLAddr(lladdr=[\"02:00:00:00:00:01\", \"02:00:00:00:00:02\"])",
    "IP(dst=\"192.0.2.53\")/UDP(sport=random(1024-65535))/DNS(id=0-65535, rd=0-1, qd=DNSQR(qname=\"example.org\", qtype=\"AAAA\"))",
    "IP(dst=\"192.0.2.1\")/ICMP(type=3, code=0-15)/IP(dst=permute(\"10.9.0.0/16\"), id=RandShort())/UDP(sport=1-9)",
    "Ether()/ARP(pdst=\"10.9.0.0/24\")",
];

#[test]
fn lengths_and_checksums_are_right() {
    for text in TEMPLATES {
        let template = template(text);
        for number in (0..2_000).chain(u64::MAX - 100..=u64::MAX) {
            check(&packet(&template, number));
        }
    }
}

#[test]
fn a_udp_checksum_is_never_zero() {
    // RFC 768: zero means that there is none. Some of all sums are zero.
    let template = template("IP(dst=\"192.0.2.1\")/UDP(sport=0-65535)");
    let all_ones = (0..65_536).filter(|n| {
        let bytes = packet(&template, *n);
        check(&bytes);
        assert_ne!(bytes[40..42], [0, 0]);
        bytes[40..42] == [255, 255]
    });
    assert_ne!(all_ones.count(), 0);
}

proptest! {
    #[test]
    fn any_two_values_of_any_field_are_summed_right(
        field in prop::sample::select(vec![
            ("tos", 8), ("id", 16), ("ttl", 8), ("frag", 13), ("flags", 2),
        ]),
        values: (u16, u16),
        payload in "[a-z]{0,9}",
    ) {
        let (name, bits) = field;
        let values = [values.0 >> (16 - bits), values.1 >> (16 - bits)];
        // Of fragments etherparse reads the network header only.
        let text = format!("IP(dst='192.0.2.1', {name}={values:?})/UDP()/Raw('{payload}')");
        let template = template(&text);
        check(&packet(&template, 0));
        check(&packet(&template, 1));
    }
}
