//! Any bytes as a packet of any link type: no panic, one line that cannot steer a terminal,
//! layers that serialise, dumps.
//!
//! The first five bytes choose the link type, the options and how much was cut off.

#![no_main]

use libfuzzer_sys::fuzz_target;
use linerate_base::{LinkType, Packet, Timestamp};
use linerate_wire::{Format, Hexdump, Options, Summary, layers};

const DECODED: [LinkType; 10] = [
    LinkType::ETHERNET,
    LinkType::LINUX_SLL,
    LinkType::LINUX_SLL2,
    LinkType::RAW,
    LinkType::IPV4,
    LinkType::IPV6,
    LinkType::NULL,
    LinkType::LOOP,
    LinkType::PPP,
    LinkType::PPP_ETHER,
];

fuzz_target!(|bytes: &[u8]| {
    let Some((&[link, other, flags, high, low], data)) = bytes.split_first_chunk() else { return };
    let any = LinkType(u16::from_be_bytes([link, other]));
    let packet = Packet {
        time: Timestamp::EPOCH,
        data,
        length: data.len() as u32 + u32::from(u16::from_be_bytes([high, low])),
        interface: 0,
        link_type: DECODED.get(usize::from(link)).copied().unwrap_or(any),
        direction: Default::default(),
    };
    let options = Options {
        verbosity: flags & 3,
        link_header: flags & 4 != 0,
        quick: flags & 8 != 0,
        absolute_sequence: flags & 16 != 0,
        ..Options::default()
    };
    let mut summary = Summary::new(options);
    let mut line = String::new();
    // Twice: the second segment of a connection shows relative numbers.
    summary.write(&packet, &mut line);
    summary.write(&packet, &mut line);
    assert!(!line.is_empty() && !line.contains(char::is_control));
    serde_json::to_string(&layers(&packet)).expect("layers serialise");
    for format in [Format::Hex, Format::HexAscii, Format::Ascii] {
        Hexdump { format, link_header: false }.write(&packet, &mut String::new());
    }
});
