//! Packets of every kind that the language can tell apart, for each link type.

mod frames;

use linerate_base::LinkType;

const SOURCE: [u8; 4] = [10, 1, 2, 3];
const DESTINATION: [u8; 4] = [192, 168, 1, 9];

/// Packets as they would be captured on `link_type`.
pub(crate) fn packets(link_type: LinkType) -> Vec<Vec<u8>> {
    let mut packets: Vec<_> =
        payloads().into_iter().map(|(kind, bytes)| framed(link_type, kind, &bytes)).collect();
    if link_type == LinkType::ETHERNET {
        packets.extend(ethernet_only());
    }
    packets.extend(frames::others(link_type));
    packets
}

/// Payloads by EtherType, or by 802.2 service access point where it is below 0x100.
fn payloads() -> Vec<(u16, Vec<u8>)> {
    let mut all = vec![
        (0x0806, arp(1)),
        (0x8035, arp(3)),
        (0x8847, mpls(&[5], &ipv4(6, 0, &[], &tcp(80, 1025)))),
        (0x8847, mpls(&[7, 5], &ipv6(17, &udp(53, 1025)))),
        (0x8863, vec![0x11, 9, 0, 0, 0, 0]),
        (0x8864, pppoe(0x21, &ipv4(17, 0, &[], &udp(67, 68)))),
        (0x8864, pppoe(0x57, &ipv6(6, &tcp(22, 443)))),
        (0x809b, (0..20).collect()),
        (0x80f3, (0..20).collect()),
        (0x6003, decnet()),
        (0x6004, vec![1; 8]),
        (0x8137, vec![0xff; 30]),
        (0x9000, vec![0; 8]),
        (0xfe, osi(0x83, 18)),
        (0xfe, osi(0x83, 15)),
        (0xfe, osi(0x81, 1)),
        (0x42, vec![0x42, 0x42, 0x03, 0, 0, 0]),
        (0xe0, vec![0xe0, 0xe0, 0x03, 0, 0, 0]),
        (0xf0, vec![0xf0, 0xf0, 0x7f, 0, 0, 0]),
        (0xaa, [&[0xaa, 0xaa, 0x03, 8, 0, 7, 0x80, 0x9b][..], &[0; 6]].concat()),
        (0xaa, [&[0xaa, 0xaa, 0x03, 0, 0, 0, 0x81, 0x37][..], &[0; 6]].concat()),
        (0x03, vec![0x03, 0x03, 0x01, 0, 5, 5]),
    ];
    all.extend(ipv4_packets().into_iter().map(|bytes| (0x0800, bytes)));
    all.extend(ipv6_packets().into_iter().map(|bytes| (0x86dd, bytes)));
    all
}

fn ipv4_packets() -> Vec<Vec<u8>> {
    let inner = ethernet(0x0800, &ipv4(6, 0, &[], &tcp(80, 1025)));
    vec![
        ipv4(6, 0, &[], &tcp(80, 1025)),
        ipv4(6, 0, &[1, 1, 1, 1], &tcp(1025, 443)),
        ipv4(6, 0x2000, &[], &tcp(80, 22)),
        ipv4(6, 0x00b9, &[], &tcp(80, 22)),
        ipv4(17, 0, &[], &udp(53, 53)),
        ipv4(132, 0, &[], &udp(80, 9)),
        ipv4(1, 0, &[], &[8, 0, 1, 2, 3, 4, 5, 6]),
        ipv4(2, 0, &[], &[0x11, 0, 1, 2, 224, 0, 0, 1]),
        ipv4(
            51,
            0,
            &[],
            &[&[6, 4, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2][..], &[0; 12], &tcp(1, 2)].concat(),
        ),
        ipv4(
            17,
            0,
            &[],
            &tunnel(6081, &[&[0x01, 0, 0x65, 0x58, 0, 0, 5, 0, 1, 2, 3, 4][..], &inner].concat()),
        ),
        ipv4(
            17,
            0,
            &[],
            &tunnel(
                6081,
                &[&[0, 0, 0x08, 0, 0, 0, 5, 0][..], &ipv4(17, 0, &[], &udp(53, 53))].concat(),
            ),
        ),
        ipv4(17, 0, &[], &tunnel(4789, &[&[8, 0, 0, 0, 0, 0, 5, 0][..], &inner].concat())),
    ]
}

fn ipv6_packets() -> Vec<Vec<u8>> {
    let inner = ethernet(0x86dd, &ipv6(17, &udp(53, 53)));
    vec![
        ipv6(6, &tcp(80, 1025)),
        ipv6(17, &udp(68, 67)),
        ipv6(132, &udp(80, 9)),
        ipv6(58, &[128, 0, 1, 2, 3, 4, 5, 6]),
        ipv6(44, &[&[6, 0, 0, 1, 0, 0, 0, 1][..], &tcp(80, 1025)].concat()),
        ipv6(0, &[&[43, 0, 1, 4, 0, 0, 0, 0][..], &[6, 0, 0, 0, 0, 0, 0, 0], &tcp(80, 1)].concat()),
        ipv6(59, &[]),
        ipv6(17, &tunnel(6081, &[&[0, 0, 0x65, 0x58, 0, 0, 5, 0][..], &inner].concat())),
    ]
}

fn ethernet_only() -> Vec<Vec<u8>> {
    let tagged = |tag: u16, kind: u16, bytes: &[u8]| {
        [&tag.to_be_bytes()[..], &kind.to_be_bytes(), bytes].concat()
    };
    let tcp = ipv4(6, 0, &[], &tcp(80, 1025));
    let mut broadcast = ethernet(0x0806, &arp(1));
    broadcast[..6].fill(0xff);
    vec![
        broadcast,
        ethernet(0x8100, &tagged(5, 0x0800, &tcp)),
        ethernet(0x88a8, &tagged(0xe006, 0x8100, &tagged(5, 0x86dd, &ipv6(6, &tcp)))),
        ethernet(0x9100, &tagged(5, 0x8847, &mpls(&[1000], &tcp))),
        ethernet(0x8100, &tagged(9, 0x8864, &pppoe(0x21, &tcp))),
        ethernet(20, &[0xff; 24]),
        ethernet(20, &[0xaa, 0xaa, 0x03, 0, 0, 0, 0x80, 0xf3, 1, 2, 3]),
        ethernet(20, &[0x06, 0x06, 0x0f, 0x45]),
        ethernet(20, &[0x10, 0x10, 0x05, 0x45]),
    ]
}

fn framed(link_type: LinkType, kind: u16, bytes: &[u8]) -> Vec<u8> {
    let is_llc = kind < 0x100;
    match link_type {
        LinkType::ETHERNET if is_llc => ethernet(bytes.len() as u16, bytes),
        LinkType::ETHERNET => ethernet(kind, bytes),
        LinkType::LINUX_SLL => {
            let kind = if is_llc { 4 } else { kind };
            let header =
                [0, if bytes[0] & 1 == 0 { 4 } else { 0 }, 0, 1, 0, 6, 2, 3, 4, 5, 6, 7, 0, 0];
            [&header[..], &kind.to_be_bytes(), bytes].concat()
        }
        LinkType::LINUX_SLL2 => {
            let header = [0, 0, 0, 0, 0, 3, 0, 1, if bytes[0] & 1 == 0 { 4 } else { 0 }, 6];
            [&kind.to_be_bytes()[..], &header, &[2, 3, 4, 5, 6, 7, 0, 0], bytes].concat()
        }
        LinkType::NULL => [&family(kind).to_ne_bytes()[..], bytes].concat(),
        LinkType::LOOP => [&family(kind).to_be_bytes()[..], bytes].concat(),
        LinkType::PPP => [&[0xff, 0x03], &ppp(kind).to_be_bytes()[..], bytes].concat(),
        other => frames::framed(other, kind, bytes),
    }
}

fn family(kind: u16) -> u32 {
    match kind {
        0x0800 => 2,
        0x86dd => 10,
        other => other.into(),
    }
}

fn ppp(kind: u16) -> u16 {
    match kind {
        0x0800 => 0x21,
        0x86dd => 0x57,
        0x8847 => 0x281,
        0x809b => 0x29,
        0x6003 => 0x27,
        0xfe => 0x23,
        0x42 => 0x31,
        0xe0 => 0x2b,
        other => other,
    }
}

fn ethernet(kind: u16, bytes: &[u8]) -> Vec<u8> {
    [&[0x02, 0, 0, 0, 0, 9, 0x02, 0, 0, 0, 0, 3][..], &kind.to_be_bytes(), bytes].concat()
}

fn ipv4(protocol: u8, fragment: u16, options: &[u8], bytes: &[u8]) -> Vec<u8> {
    let words = 5 + options.len() as u8 / 4;
    let [high, low] = fragment.to_be_bytes();
    let header = [0x40 | words, 0, 0, 60, 0, 1, high, low, 64, protocol, 0, 0];
    [&header[..], &SOURCE, &DESTINATION, options, bytes].concat()
}

fn ipv6(next: u8, bytes: &[u8]) -> Vec<u8> {
    let header = [0x60, 0, 0, 0, 0, bytes.len() as u8, next, 64];
    let mut source = [0; 16];
    (source[0], source[1], source[15]) = (0xfe, 0x80, 1);
    let mut destination = [0; 16];
    (destination[0], destination[1], destination[15]) = (0xff, 0x02, 2);
    [&header[..], &source, &destination, bytes].concat()
}

fn tcp(source: u16, destination: u16) -> Vec<u8> {
    let ports = [source.to_be_bytes(), destination.to_be_bytes()].concat();
    [&ports[..], &[0, 0, 0, 1, 0, 0, 0, 2, 0x50, 0x12, 1, 0, 0, 0, 0, 0]].concat()
}

fn udp(source: u16, destination: u16) -> Vec<u8> {
    let ports = [source.to_be_bytes(), destination.to_be_bytes()].concat();
    [&ports[..], &[0, 12, 0, 0, 1, 2, 3, 4]].concat()
}

fn tunnel(port: u16, bytes: &[u8]) -> Vec<u8> {
    [&[0xc0, 0][..], &port.to_be_bytes(), &[0, 50, 0, 0], bytes].concat()
}

fn arp(operation: u8) -> Vec<u8> {
    let header = [0, 1, 8, 0, 6, 4, 0, operation, 2, 0, 0, 0, 0, 3];
    [&header[..], &SOURCE, &[2, 0, 0, 0, 0, 9], &DESTINATION].concat()
}

fn mpls(labels: &[u32], bytes: &[u8]) -> Vec<u8> {
    let last = labels.len() - 1;
    let entries = labels.iter().enumerate();
    let entries =
        entries.flat_map(|(i, label)| (label << 12 | u32::from(i == last) << 8 | 64).to_be_bytes());
    entries.chain(bytes.iter().copied()).collect()
}

fn pppoe(protocol: u16, bytes: &[u8]) -> Vec<u8> {
    [&[0x11, 0, 0, 5, 0, 50][..], &protocol.to_be_bytes(), bytes].concat()
}

fn decnet() -> Vec<u8> {
    let mut bytes = vec![0; 30];
    bytes[2] = 0x02;
    bytes[3..7].copy_from_slice(&[0x02, 0x04, 0x03, 0x04]);
    bytes
}

fn osi(protocol: u8, kind: u8) -> Vec<u8> {
    vec![0xfe, 0xfe, 0x03, protocol, 1, 1, 0, kind, 1, 2, 3]
}
