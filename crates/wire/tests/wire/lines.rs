//! Frames made by hand, and the lines about them.

use etherparse::{PacketBuilder, TcpOptionElement};
use linerate_base::{LinkType, Packet, Timestamp};
use linerate_wire::{Names, Options, Paint, Summary, Transport};

const A: [u8; 6] = [2, 0, 0, 0, 0, 1];
const B: [u8; 6] = [2, 0, 0, 0, 0, 2];

fn packet(link_type: LinkType, data: &[u8]) -> Packet<'_> {
    Packet {
        time: Timestamp::EPOCH,
        data,
        length: data.len() as u32,
        interface: 0,
        link_type,
        direction: Default::default(),
    }
}

fn print(summary: &mut Summary, packet: &Packet<'_>) -> String {
    let mut out = String::new();
    summary.write(packet, &mut out);
    out
}

fn line(options: Options, data: &[u8]) -> String {
    print(&mut Summary::new(options), &packet(LinkType::ETHERNET, data))
}

fn plain(data: &[u8]) -> String {
    line(Options::default(), data)
}

/// A frame of Ethernet with this type and payload.
fn frame(ethertype: u16, payload: &[u8]) -> Vec<u8> {
    [&B[..], &A, &ethertype.to_be_bytes(), payload].concat()
}

/// A TCP segment from `from`'s port to `to`'s.
fn segment(ports: (u16, u16), sequence: u32, ack: Option<u32>, syn: bool, data: &[u8]) -> Vec<u8> {
    let (from, to) = if ports.0 > ports.1 { (1, 2) } else { (2, 1) };
    let mut tcp = PacketBuilder::ethernet2(A, B)
        .ipv4([10, 0, 0, from], [10, 0, 0, to], 64)
        .tcp(ports.0, ports.1, sequence, 64240);
    if let Some(ack) = ack {
        tcp = tcp.ack(ack);
    }
    if syn {
        tcp = tcp.syn();
    }
    let mut out = Vec::new();
    tcp.write(&mut out, data).expect("writing to memory");
    out
}

fn udp(ports: (u16, u16), data: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let udp =
        PacketBuilder::ethernet2(A, B).ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).udp(ports.0, ports.1);
    udp.write(&mut out, data).expect("writing to memory");
    out
}

/// A query for the type A of these labels.
fn query(labels: &[&[u8]]) -> Vec<u8> {
    let mut out = vec![0x30, 0x39, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in labels {
        out.push(label.len() as u8);
        out.extend(*label);
    }
    out.extend([0, 0, 1, 0, 1]);
    out
}

#[test]
fn a_syn_shows_its_options() {
    let mut out = Vec::new();
    PacketBuilder::ethernet2(A, B)
        .ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
        .tcp(43210, 80, 123, 64240)
        .syn()
        .options(&[
            TcpOptionElement::MaximumSegmentSize(1460),
            TcpOptionElement::SelectiveAcknowledgementPermitted,
            TcpOptionElement::Timestamp(1, 0),
            TcpOptionElement::Noop,
            TcpOptionElement::WindowScale(7),
        ])
        .expect("the options fit")
        .write(&mut out, &[])
        .expect("writing to memory");
    assert_eq!(
        plain(&out),
        "IP 10.0.0.1.43210 > 10.0.0.2.80: Flags [S], seq 123, win 64240, \
         options [mss 1460,sackOK,TS val 1 ecr 0,nop,wscale 7], length 0"
    );
}

#[test]
fn sequence_numbers_count_from_the_start_of_the_connection() {
    let connection = [
        segment((43210, 9), 1000, None, true, b""),
        segment((9, 43210), 5000, Some(1001), true, b""),
        segment((43210, 9), 1001, Some(5001), false, b"hello"),
        segment((9, 43210), 5001, Some(1006), false, b""),
    ];
    let lines = |options: Options| {
        let mut summary = Summary::new(options);
        let show = |data: &Vec<u8>| {
            let line = print(&mut summary, &packet(LinkType::ETHERNET, data));
            line.split_once(": ").expect("addresses first").1.to_owned()
        };
        connection.iter().map(show).collect::<Vec<_>>()
    };
    assert_eq!(
        lines(Options::default()),
        [
            "Flags [S], seq 1000, win 64240, length 0",
            "Flags [S.], seq 5000, ack 1001, win 64240, length 0",
            "Flags [.], seq 1:6, ack 1, win 64240, length 5",
            "Flags [.], ack 6, win 64240, length 0",
        ]
    );
    let absolute = lines(Options { absolute_sequence: true, ..Options::default() });
    assert_eq!(absolute[2], "Flags [.], seq 1001:1006, ack 5001, win 64240, length 5");
}

#[test]
fn verbose_shows_the_ip_header_and_checksums_on_the_same_line() {
    let mut data = segment((43210, 9), 7, None, true, b"");
    let verbose = Options { verbosity: 1, ..Options::default() };
    assert_eq!(
        line(verbose.clone(), &data),
        "IP (tos 0x0, ttl 64, id 0, offset 0, flags [DF], proto TCP (6), length 40) \
         10.0.0.1.43210 > 10.0.0.2.9: Flags [S], cksum 0xf814 (correct), seq 7, win 64240, length 0"
    );
    data[50] ^= 1;
    data[24] ^= 1;
    let line = line(verbose, &data);
    assert!(line.contains("cksum 0xf914 (incorrect -> 0xf814)"), "{line}");
    assert!(line.contains(", bad cksum 27ce (->26ce)!)"), "{line}");
}

#[test]
fn the_link_header_names_addresses_types_and_tags() {
    let options = Options { link_header: true, ..Options::default() };
    let inner = udp((1000, 2000), b"abc");
    let tagged = [&[0x20, 5, 0x08, 0][..], &inner[14..]].concat();
    let stacked = [&[0, 7, 0x81, 0][..], &tagged].concat();
    assert_eq!(
        line(options.clone(), &frame(0x88a8, &stacked)),
        "02:00:00:00:00:01 > 02:00:00:00:00:02, ethertype 802.1Q-QinQ (0x88a8), length 53: \
         vlan 7, p 0, ethertype 802.1Q (0x8100), vlan 5, p 1, ethertype IPv4 (0x0800), \
         10.0.0.1.1000 > 10.0.0.2.2000: UDP, length 3"
    );
    assert_eq!(plain(&frame(0x8100, &tagged)), "IP 10.0.0.1.1000 > 10.0.0.2.2000: UDP, length 3");
}

#[test]
fn quick_shows_the_transport_only() {
    let quick = Options { quick: true, ..Options::default() };
    let dns = udp((1000, 53), &query(&[b"example", b"org"]));
    assert_eq!(line(quick.clone(), &dns), "IP 10.0.0.1.1000 > 10.0.0.2.53: UDP, length 29");
    let tcp = segment((43210, 80), 1, Some(1), false, b"GET / HTTP/1.0\r\n");
    assert_eq!(line(quick, &tcp), "IP 10.0.0.1.43210 > 10.0.0.2.80: tcp 16");
}

#[test]
fn names_of_dns_cannot_steer_the_terminal() {
    assert_eq!(
        plain(&udp((1000, 53), &query(&[b"example", b"org"]))),
        "IP 10.0.0.1.1000 > 10.0.0.2.53: 12345+ A? example.org. (29)"
    );
    assert_eq!(
        plain(&udp((1000, 53), &query(&[b"\x1b[31m", b"\n"]))),
        "IP 10.0.0.1.1000 > 10.0.0.2.53: 12345+ A? \\x1b[31m.\\x0a. (25)"
    );
}

#[test]
fn text_protocols_show_their_first_line() {
    let request = segment((43210, 80), 1, Some(1), false, b"GET /\x07 HTTP/1.0\r\nHost: a\r\n");
    let line = plain(&request);
    assert!(line.ends_with("length 26: HTTP: GET /\\x07 HTTP/1.0"), "{line}");
}

#[test]
fn arp_asks_and_answers() {
    let arp = |operation: u8, target_mac: [u8; 6]| {
        let head = [0, 1, 8, 0, 6, 4, 0, operation];
        [&head[..], &A, &[10, 0, 0, 1], &target_mac, &[10, 0, 0, 2]].concat()
    };
    assert_eq!(
        plain(&frame(0x0806, &arp(1, [0; 6]))),
        "ARP, Request who-has 10.0.0.2 tell 10.0.0.1, length 28"
    );
    assert_eq!(
        plain(&frame(0x0806, &arp(2, B))),
        "ARP, Reply 10.0.0.1 is-at 02:00:00:00:00:01, length 28"
    );
}

#[test]
fn unknown_types_and_truncations_say_so() {
    assert_eq!(
        plain(&frame(0xabcd, &[0; 46])),
        "02:00:00:00:00:01 > 02:00:00:00:00:02, ethertype Unknown (0xabcd), length 60"
    );
    assert_eq!(plain(&frame(0x88cc, &[0; 46])), "LLDP, length 46");
    assert_eq!(plain(&frame(3, &[0x42, 0x42, 3])), "STP, length 0");
    let full = segment((43210, 9), 1, None, true, b"");
    let cut = Packet { data: &full[..40], ..packet(LinkType::ETHERNET, &full) };
    let line = print(&mut Summary::new(Options::default()), &cut);
    assert_eq!(line, "IP 10.0.0.1 > 10.0.0.2:  [|tcp]");
}

#[test]
fn any_other_link_type_shows_its_name_and_length() {
    let show = |link_type, data: &[u8]| {
        print(&mut Summary::new(Options::default()), &packet(link_type, data))
    };
    assert_eq!(show(LinkType::IEEE802_11, &[0; 20]), "IEEE802_11, length 20");
    assert_eq!(show(LinkType(9999), &[]), "link-type 9999, length 0");
}

#[test]
fn cooked_packets_show_their_direction() {
    let udp = udp((1000, 2000), b"");
    let show = |summary: &mut Summary, link_type, header: &[u8]| {
        let data = [header, &udp[14..]].concat();
        print(summary, &packet(link_type, &data))
    };
    let v1 = [0, 4, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0, 8, 0];
    let v2 = [8, 0, 0, 0, 0, 0, 0, 7, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0];
    let line = "10.0.0.1.1000 > 10.0.0.2.2000: UDP, length 0";
    let mut plain = Summary::new(Options::default());
    assert_eq!(show(&mut plain, LinkType::LINUX_SLL, &v1), format!("IP {line}"));
    assert_eq!(show(&mut plain, LinkType::LINUX_SLL2, &v2), format!("if7   In  IP {line}"));
    let mut link = Summary::new(Options { link_header: true, ..Options::default() });
    assert_eq!(
        show(&mut link, LinkType::LINUX_SLL, &v1),
        format!("Out 02:00:00:00:00:01 ethertype IPv4 (0x0800), length 44: {line}")
    );
    assert_eq!(
        show(&mut link, LinkType::LINUX_SLL2, &v2),
        format!("if7   In  ifindex 7 02:00:00:00:00:01 ethertype IPv4 (0x0800), length 48: {line}")
    );
}

#[test]
fn loopback_and_ppp_headers_of_every_kind() {
    let udp = udp((1000, 2000), b"");
    let headers: [(LinkType, &[u8]); 7] = [
        (LinkType::NULL, &[2, 0, 0, 0]),
        (LinkType::NULL, &[0, 0, 0, 2]),
        (LinkType::LOOP, &[0, 0, 0, 2]),
        (LinkType::PPP, &[0xff, 3, 0, 0x21]),
        (LinkType::PPP, &[0, 0x21]),
        (LinkType::PPP, &[0x21]),
        (LinkType::RAW, &[]),
    ];
    for (link_type, header) in headers {
        let data = [header, &udp[14..]].concat();
        let line = print(&mut Summary::new(Options::default()), &packet(link_type, &data));
        assert_eq!(line, "IP 10.0.0.1.1000 > 10.0.0.2.2000: UDP, length 0", "{header:?}");
    }
}

#[test]
fn tunnels_show_the_packet_they_carry() {
    let inner = udp((1000, 2000), b"");
    let line = "IP 10.0.0.1.1000 > 10.0.0.2.2000: UDP, length 0";
    let vxlan = [&[8, 0, 0, 0, 0, 0, 5, 0][..], &inner].concat();
    assert_eq!(
        plain(&udp((999, 4789), &vxlan)),
        format!("IP 10.0.0.1.999 > 10.0.0.2.4789: VXLAN, flags [I] (0x08), vni 5 {line}")
    );
    let mpls = [&[0, 1, 0, 64, 0, 1, 0x11, 63][..], &inner[14..]].concat();
    assert_eq!(
        plain(&frame(0x8847, &mpls)),
        format!("MPLS (label 16, tc 0, ttl 64) (label 17, tc 0, [S], ttl 63) {line}")
    );
    let pppoe = [&[0x11, 0, 0, 0x17, 0, 30, 0, 0x21][..], &inner[14..]].concat();
    assert_eq!(plain(&frame(0x8864, &pppoe)), format!("PPPoE  [ses 0x17] {line}"));
}

struct Known;

impl Names for Known {
    fn host(&self, address: std::net::IpAddr) -> Option<std::borrow::Cow<'_, str>> {
        (address == std::net::IpAddr::from([10, 0, 0, 1])).then_some("me\x1b[0m".into())
    }

    fn port(&self, transport: Transport, port: u16) -> Option<std::borrow::Cow<'_, str>> {
        (transport == Transport::Udp && port == 2000).then_some("service".into())
    }
}

#[test]
fn names_stand_in_for_numbers_and_colours_surround_them() {
    let paint = Paint { port: "<".into(), reset: ">".into(), ..Paint::default() };
    let options = Options { paint, ..Options::default() };
    let mut summary = Summary::with_names(options, Box::new(Known));
    let data = udp((1000, 2000), b"");
    assert_eq!(
        print(&mut summary, &packet(LinkType::ETHERNET, &data)),
        "IP> me\\x1b[0m>.<1000> > 10.0.0.2>.<service>: UDP>, length 0"
    );
}
