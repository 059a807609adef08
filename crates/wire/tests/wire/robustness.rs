//! Any bytes, cut off anywhere, give one line that a terminal can show, layers that serialise,
//! and dumps; nothing panics.

use crate::support;
use linerate_base::{LinkType, Packet, Timestamp};
use linerate_lab::need;
use linerate_wire::{Format, Hexdump, Options, Summary, layers};
use proptest::collection::vec;
use proptest::prelude::*;

fn summaries() -> Vec<Summary> {
    let options = |verbosity, link_header, quick| Options {
        verbosity,
        link_header,
        quick,
        absolute_sequence: false,
        ..Options::default()
    };
    let all = [
        options(0, false, false),
        options(1, false, false),
        options(2, true, false),
        options(3, true, false),
        options(0, true, true),
    ];
    all.map(Summary::new).into()
}

/// Everything the crate can do with a packet.
fn exercise(summaries: &mut [Summary], packet: &Packet<'_>, out: &mut String) {
    for summary in summaries {
        out.clear();
        summary.write(packet, out);
        assert!(!out.is_empty(), "no line");
        assert!(!out.contains(char::is_control), "control characters in {out:?}");
    }
    serde_json::to_string(&layers(packet)).expect("layers serialise");
    for format in [Format::Hex, Format::HexAscii, Format::Ascii] {
        for link_header in [false, true] {
            out.clear();
            Hexdump { format, link_header }.write(packet, out);
        }
    }
}

fn packet(link_type: LinkType, data: &[u8], length: u32) -> Packet<'_> {
    let direction = Default::default();
    Packet { time: Timestamp::EPOCH, data, length, interface: 0, link_type, direction }
}

#[test]
fn every_capture() {
    let Some(folder) = need::captures() else { return };
    let (mut summaries, mut out) = (summaries(), String::new());
    for file in support::files(&folder) {
        support::packets(&file, |packet| exercise(&mut summaries, packet, &mut out));
    }
}

#[test]
fn every_truncation_of_real_packets() {
    let Some(folder) = need::captures() else { return };
    let (mut summaries, mut out) = (summaries(), String::new());
    for file in support::files(&folder) {
        let mut left = 3;
        support::packets(&file, |packet| {
            for cut in 0..packet.data.len().min(200) * usize::from(left > 0) {
                let data = &packet.data[..cut];
                exercise(&mut summaries[2..3], &Packet { data, ..*packet }, &mut out);
                let length = cut as u32;
                exercise(&mut summaries[1..2], &Packet { data, length, ..*packet }, &mut out);
            }
            left = i32::max(left - 1, 0);
        });
    }
}

/// Link types that are decoded, and some that are not.
fn link_type() -> impl Strategy<Value = LinkType> {
    prop_oneof![
        Just(LinkType::ETHERNET),
        Just(LinkType::LINUX_SLL),
        Just(LinkType::LINUX_SLL2),
        Just(LinkType::RAW),
        Just(LinkType::IPV4),
        Just(LinkType::IPV6),
        Just(LinkType::NULL),
        Just(LinkType::LOOP),
        Just(LinkType::PPP),
        Just(LinkType::PPP_ETHER),
        any::<u16>().prop_map(LinkType),
    ]
}

/// The way to a protocol through honest headers, before bytes of any kind.
fn preamble() -> impl Strategy<Value = Vec<u8>> {
    let ethernet = |ethertype: u16| [&[2; 12][..], &ethertype.to_be_bytes()].concat();
    let ipv4 = move |protocol: u8| {
        let ip = [0x45, 0, 0, 0, 0, 0, 0, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        [ethernet(0x0800), ip.to_vec()].concat()
    };
    let ipv6 = move |protocol: u8| {
        [ethernet(0x86dd), vec![0x60, 0, 0, 0, 0, 0, protocol, 64], vec![0xfe; 32]].concat()
    };
    let udp = move |port: u8| [ipv4(17), vec![0x80, 0, port, port, 0, 0, 0, 0]].concat();
    let well_known = move |port: u16| {
        let [high, low] = port.to_be_bytes();
        [ipv4(17), vec![0x80, 0, high, low, 0, 0, 0, 0]].concat()
    };
    prop_oneof![
        any::<u16>().prop_map(ethernet),
        any::<u8>().prop_map(ipv4),
        any::<u8>().prop_map(ipv6),
        prop_oneof![Just(0u8), Just(43), Just(44), Just(58), Just(60)].prop_map(ipv6),
        prop_oneof![Just(1u8), Just(2), Just(6), Just(47), Just(51)].prop_map(ipv4),
        any::<u8>().prop_map(udp),
        prop_oneof![Just(53u16), Just(5353), Just(67), Just(4789), Just(6081), Just(6635)]
            .prop_map(well_known),
        Just(ethernet(0x8864)),
        Just(ethernet(0x8847)),
        Just(ethernet(0x8100)),
        Just(ethernet(40)),
    ]
}

proptest! {
    #[test]
    fn random_bytes_on_any_link(
        link_type in link_type(),
        data in vec(any::<u8>(), 0..300),
        more in 0u32..2000,
    ) {
        let packet = packet(link_type, &data, data.len() as u32 + more);
        exercise(&mut summaries(), &packet, &mut String::new());
    }

    #[test]
    fn random_bytes_behind_honest_headers(
        preamble in preamble(),
        tail in vec(any::<u8>(), 0..300),
        more in 0u32..2000,
    ) {
        let data = [preamble, tail].concat();
        let packet = packet(LinkType::ETHERNET, &data, data.len() as u32 + more);
        exercise(&mut summaries(), &packet, &mut String::new());
    }
}

/// The same mutations of every capture, from a generator with a fixed seed.
#[test]
fn mutations_of_real_packets() {
    let Some(folder) = need::captures() else { return };
    let (mut summaries, mut out) = (summaries(), String::new());
    let mut state = 1u64;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as usize
    };
    for file in support::files(&folder) {
        let mut left = 20;
        support::packets(&file, |packet| {
            let mut data = packet.data.to_vec();
            for _ in 0..left.min(5) * usize::from(!data.is_empty()) {
                let at = random() % data.len().min(120);
                data[at] = random() as u8;
                exercise(&mut summaries[1..4], &Packet { data: &data, ..*packet }, &mut out);
            }
            left -= usize::from(left > 0);
        });
    }
}
