//! Every field lies where its RFC has it, and is filled in where it is not given.

use etherparse::{
    EtherType, Icmpv4Header, Icmpv4Type, IpHeaders, NetSlice, PacketHeaders, SlicedPacket,
    TransportHeader,
};

use crate::checked::check;
use crate::{GATEWAY, MAC, packet, template};

fn only(text: &str) -> Vec<u8> {
    let template = template(text);
    assert_eq!(template.count(), 1);
    let bytes = packet(&template, 0);
    check(&bytes);
    bytes
}

#[test]
fn what_is_not_given_is_filled_in() {
    let bytes = only("IP(dst=\"192.0.2.7\")/TCP()");
    let headers = PacketHeaders::from_ethernet_slice(&bytes).unwrap();
    let ethernet = headers.link.unwrap().ethernet2().unwrap();
    assert_eq!((ethernet.source, ethernet.destination), (MAC, GATEWAY));
    assert_eq!(ethernet.ether_type, EtherType::IPV4);
    let Some(etherparse::NetHeaders::Ipv4(ip, _)) = headers.net else { panic!("no IPv4") };
    assert_eq!((ip.source, ip.destination), ([10, 9, 0, 1], [192, 0, 2, 7]));
    assert_eq!((ip.time_to_live, ip.identification, ip.total_len), (64, 1, 40));
    let Some(TransportHeader::Tcp(tcp)) = headers.transport else { panic!("no TCP") };
    assert_eq!((tcp.source_port, tcp.destination_port, tcp.window_size), (20, 80, 8192));
    assert!(tcp.syn && !tcp.ack);
}

#[test]
fn the_whole_is_what_etherparse_makes_of_the_same_fields() {
    let bytes = only(
        "Ether(src='02:00:00:00:00:aa', dst='02:00:00:00:00:bb')/Dot1Q(vlan=5, prio=3, dei=1)/\
         IP(src='1.2.3.4', dst='5.6.7.8', tos=0xb8, id=9, ttl=7, flags='DF')/\
         TCP(sport=1, dport=2, seq=3, ack=4, flags='FSRPAUECN', window=5, urgptr=6)/Raw('hello')",
    );
    let mut tcp = etherparse::TcpHeader::new(1, 2, 3, 5);
    (tcp.acknowledgment_number, tcp.urgent_pointer) = (4, 6);
    (tcp.fin, tcp.syn, tcp.rst, tcp.psh, tcp.ack) = (true, true, true, true, true);
    (tcp.urg, tcp.ece, tcp.cwr, tcp.ns) = (true, true, true, true);
    let mut ip =
        etherparse::Ipv4Header::new(25, 7, etherparse::IpNumber::TCP, [1, 2, 3, 4], [5, 6, 7, 8])
            .unwrap();
    (ip.identification, ip.dont_fragment) = (9, true);
    (ip.dscp, ip.ecn) = (0x2e.try_into().unwrap(), etherparse::IpEcn::NotEct);
    let tag = etherparse::SingleVlanHeader {
        pcp: 3.try_into().unwrap(),
        drop_eligible_indicator: true,
        vlan_id: 5.try_into().unwrap(),
        ether_type: EtherType::IPV4,
    };
    let builder =
        etherparse::PacketBuilder::ethernet2([2, 0, 0, 0, 0, 0xaa], [2, 0, 0, 0, 0, 0xbb])
            .vlan(etherparse::VlanHeader::Single(tag))
            .ip(IpHeaders::Ipv4(ip, etherparse::Ipv4Extensions::default()))
            .tcp_header(tcp);
    let mut expected = Vec::new();
    builder.write(&mut expected, b"hello").unwrap();
    assert_eq!(bytes, expected);
}

#[test]
fn ipv6_fields_lie_in_their_places() {
    let bytes = only(
        "IPv6(dst='2001:db8::2', src='2001:db8::1', tc=0xa5, fl=0x12345, hlim=9)/UDP(sport=1, dport=2)",
    );
    let sliced = SlicedPacket::from_ethernet(&bytes).unwrap();
    let Some(NetSlice::Ipv6(ip)) = sliced.net else { panic!("no IPv6") };
    let ip = ip.header().to_header();
    assert_eq!((ip.traffic_class, ip.flow_label.value(), ip.hop_limit), (0xa5, 0x12345, 9));
    assert_eq!(ip.source_addr().to_string(), "2001:db8::1");
    assert_eq!(ip.destination_addr().to_string(), "2001:db8::2");
}

#[test]
fn pings_have_numbers() {
    let bytes = only("IP(dst='192.0.2.1')/ICMP(id=0x1234, seq=5)/Raw('ping')");
    let headers = PacketHeaders::from_ethernet_slice(&bytes).unwrap();
    let Some(TransportHeader::Icmpv4(Icmpv4Header { icmp_type, .. })) = headers.transport else {
        panic!("no ICMP")
    };
    let echo = etherparse::IcmpEchoHeader { id: 0x1234, seq: 5 };
    assert_eq!(icmp_type, Icmpv4Type::EchoRequest(echo));
}

#[test]
fn groups_have_hardware_addresses_of_their_own() {
    for (text, mac) in [
        ("IP(dst='239.129.2.3')/UDP()", [0x01, 0x00, 0x5e, 0x01, 0x02, 0x03]),
        ("IP(dst='255.255.255.255')/UDP()", [0xff; 6]),
        ("IPv6(dst='ff02::1:ff00:7')/UDP()", [0x33, 0x33, 0xff, 0, 0, 7]),
        ("ARP(pdst='10.9.0.2')", [0xff; 6]),
        ("Ether()/Dot1Q()/IP(dst='192.0.2.1')/UDP()", GATEWAY),
    ] {
        assert_eq!(only(text)[..6], mac, "{text}");
    }
}

#[test]
fn arp_asks_from_the_interface() {
    let bytes = only("ARP(pdst='10.9.0.2')");
    assert_eq!(bytes[12..22], [8, 6, 0, 1, 8, 0, 6, 4, 0, 1]);
    assert_eq!((&bytes[22..28], &bytes[28..32]), (&MAC[..], &[10, 9, 0, 1][..]));
    assert_eq!(bytes[32..], [0, 0, 0, 0, 0, 0, 10, 9, 0, 2]);
    assert_eq!(only("ARP(op='is-at', pdst='10.9.0.2')")[21], 2);
}

#[test]
fn neighbour_discovery_has_the_highest_hop_limit() {
    let bytes = only("IPv6(dst='ff02::1')/ICMPv6ND_NS(tgt='fe80::1')/ICMPv6NDOptSrcLLAddr()");
    assert_eq!((bytes[21], bytes[54]), (255, 135));
    assert_eq!(bytes[78..], [1, 1, 2, 0, 0, 0, 0, 1]);
}

#[test]
fn queries_have_one_question() {
    let bytes =
        only("IP(dst='192.0.2.1')/UDP()/DNS(id=7, qd=DNSQR(qname='a.example.', qtype='MX'))");
    assert_eq!(bytes[42..54], [0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
    assert_eq!(&bytes[54..], b"\x01a\x07example\0\0\x0f\0\x01");
    assert_eq!(&only("IP(dst='192.0.2.1')/UDP()/DNS()")[54..58], b"\x03www");
}

#[test]
fn explicit_values_stand_even_where_they_are_wrong() {
    let bytes =
        packet(&template("IP(dst='192.0.2.1', len=1, chksum=0xbeef)/UDP(chksum=0, len=2)"), 0);
    assert_eq!((&bytes[16..18], &bytes[24..26]), (&[0, 1][..], &[0xbe, 0xef][..]));
    assert_eq!(bytes[38..42], [0, 2, 0, 0]);
}

#[test]
fn tunnels_have_two_headers() {
    let bytes = only("IP(dst='192.0.2.1')/IP(dst='192.0.2.2', src='192.0.2.3')/UDP()");
    assert_eq!((bytes[23], bytes[16..18] == [0, 48], bytes[36..38] == [0, 28]), (4, true, true));
}

#[test]
fn a_load_is_padded_with_zeroes_to_its_size() {
    assert_eq!(only("IP(dst='192.0.2.1')/UDP()/Raw('ab', size=4)")[42..], *b"ab\0\0");
    assert_eq!(only("IP(dst='192.0.2.1')/UDP()/Raw(b'\\x01\\n')")[42..], [1, 10]);
}

#[test]
fn options_of_tcp_are_as_etherparse_writes_them() {
    use etherparse::TcpOptionElement::*;
    let bytes = only(
        "IP(dst='192.0.2.7')/TCP(options=[('MSS', 1460), ('SAckOK', ''), ('Timestamp', (0xffffffff, 0)), \
         ('NOP', None), ('WScale', 7)])/Raw('odd')",
    );
    let headers = PacketHeaders::from_ethernet_slice(&bytes).unwrap();
    let tcp = headers.transport.unwrap().tcp().unwrap();
    let mut expected = etherparse::TcpHeader::default();
    let elements = [
        MaximumSegmentSize(1460),
        SelectiveAcknowledgementPermitted,
        Timestamp(u32::MAX, 0),
        Noop,
        WindowScale(7),
    ];
    expected.set_options(&elements).unwrap();
    assert_eq!((tcp.data_offset(), tcp.options.as_slice()), (10, expected.options.as_slice()));
    assert_eq!(headers.payload.slice(), b"odd");
}

#[test]
fn options_of_tcp_are_padded_and_may_be_numbers() {
    let bytes =
        only("IP(dst='192.0.2.7')/TCP(options=[('SAck', (1, 2)), (254, 'ab'), ('EOL', None)])");
    let options = [5, 10, 0, 0, 0, 1, 0, 0, 0, 2, 254, 4, b'a', b'b', 0, 0];
    assert_eq!((bytes[46] >> 4, &bytes[54..]), (9, &options[..]));
}

#[test]
fn names_are_asked_for_in_turn() {
    let names = ["a.example", "www.longer.example.org", "x"];
    for carrier in ["", "Dot1Q(vlan=7)/"] {
        let text = format!(
            "Ether()/{carrier}IP(dst='192.0.2.7', id=1-2)/UDP()/DNS(qd=DNSQR(qname=['{}'], qtype='AAAA'))",
            names.join("', '")
        );
        let template = template(&text);
        assert_eq!(template.count(), 6);
        for number in 0..6 {
            let bytes = packet(&template, number);
            check(&bytes);
            let labels: Vec<_> = names[number as usize % 3].split('.').collect();
            let encoded = labels.iter().flat_map(|l| [&[l.len() as u8], l.as_bytes()].concat());
            let encoded: Vec<_> = encoded.chain([0, 0, 28, 0, 1]).collect();
            assert!(bytes.ends_with(&encoded), "{bytes:x?}");
        }
    }
}

#[test]
fn names_behind_an_odd_number_of_bytes_have_right_checksums() {
    let text =
        "IP(dst='192.0.2.7')/UDP()/Raw('odd')/DNS(qd=DNSQR(qname=permute('ab.c', 'd.efg.h')))";
    let template = template(text);
    let sizes: std::collections::BTreeSet<_> = (0..2)
        .map(|number| {
            let bytes = packet(&template, number);
            check(&bytes);
            bytes.len()
        })
        .collect();
    assert_eq!(sizes.len(), 2);
}

/// All packets of a text whose destination is known.
fn payloads(text: &str) -> Vec<u8> {
    packet(&template(&format!("IP(dst='192.0.2.7')/UDP()/{text}")), 0)[42..].to_vec()
}

#[test]
fn text_is_a_payload() {
    assert_eq!(payloads("'GET / HTTP/1.0\\r\\n'"), b"GET / HTTP/1.0\r\n");
    for text in ["b'ab'*3", "Raw('ab'*3)", "Raw(load='ababab')", "'ab'*2/'ab'"] {
        assert_eq!(payloads(text), b"ababab", "{text}");
    }
}

#[test]
fn hardware_addresses_come_in_prefixes_ranges_and_lists() {
    for (values, count) in [
        ("'02:00:00:00:00:00/40'", 256),
        ("'02:00:00:00:*:*'", 65_536),
        ("'02:00:00:00:00:01-02:00:00:00:00:05'", 5),
        ("['02:00:00:00:00:01', '02:00:00:00:01:00/44']", 17),
    ] {
        let template = template(&format!("Ether(src={values})/IP(dst='192.0.2.7')/UDP()"));
        assert_eq!(template.count(), count, "{values}");
        check(&packet(&template, count as u64 - 1));
    }
}
