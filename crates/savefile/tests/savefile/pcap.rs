//! Variants of the pcap format.

use linerate_base::{LinkType, Timestamp};
use linerate_savefile::{Reader, Warning};

use crate::make::Maker;
use crate::support::{Dribble, read};

const MICROS: u32 = 0xa1b2_c3d4;
const NANOS: u32 = 0xa1b2_3c4d;
const MODIFIED: u32 = 0xa1b2_cd34;

#[test]
fn both_byte_orders_and_both_units() {
    for big in [false, true] {
        for (magic, unit) in [(MICROS, 1000), (NANOS, 1)] {
            let file = Maker::new(big)
                .pcap(magic, (2, 4), 100, 1)
                .record((7, 8), (3, 60), b"abc")
                .record((9, 0), (0, 0), b"");
            let packets = read(&file.bytes[..]).clean();
            assert_eq!(packets[0].time, Timestamp::from_parts(7, 8 * unit));
            assert_eq!((&packets[0].data[..], packets[0].length), (&b"abc"[..], 60));
            assert_eq!((&packets[1].data[..], packets.len()), (&b""[..], 2));
        }
    }
}

#[test]
fn pseudo_headers_come_in_the_order_of_this_machine() {
    let usb = |value: u64, big: bool| {
        let packet = Maker::new(big).u64(value).u32(0).u16(value as u16).raw(b"-=");
        packet.u64(value).u32(value as u32).raw(&[7; 100]).bytes
    };
    let write = |big: bool| {
        let header = Maker::new(big).pcap(MICROS, (2, 4), 60, 189);
        // So many that they do not fit into one step of reading.
        (0..9000)
            .fold(header, |file, number| file.record((1, 2), (60, 60), &usb(number, big)[..60]))
    };
    let own = cfg!(target_endian = "big");
    let expected = read(&write(own).bytes[..]).clean();
    assert_eq!(expected[8999].data[..28], usb(8999, own)[..28]);
    let other = write(!own).bytes;
    assert!(read(&other[..]).clean() == expected);
    assert!(read(Dribble::new(&other, 777)).clean() == expected);
    let reader = Reader::new(&other[..]).unwrap();
    assert!(reader.cutter().is_none(), "threads would turn a packet twice");
}

#[test]
fn seconds_are_unsigned_and_fractions_may_be_too_large() {
    let file =
        Maker::new(false).pcap(MICROS, (2, 4), 100, 1).record((u32::MAX, u32::MAX), (0, 0), b"");
    let packets = read(&file.bytes[..]).clean();
    let nanos = i64::from(u32::MAX) * 1_000_000_000 + i64::from(u32::MAX) * 1000;
    assert_eq!(packets[0].time, Timestamp::from_nanos(nanos));
}

#[test]
fn the_modified_format_has_eight_more_bytes_in_a_record() {
    let file = Maker::new(true)
        .pcap(MODIFIED, (2, 4), 2, 1)
        .record((1, 2), (3, 60), &[0; 8])
        .raw(b"abc")
        .record((3, 4), (1, 1), &[0; 8])
        .raw(b"d");
    let packets = read(&file.bytes[..]).clean();
    assert_eq!(packets.iter().map(|p| &p.data[..]).collect::<Vec<_>>(), [&b"abc"[..], b"d"]);
}

#[test]
fn old_versions_have_the_lengths_exchanged() {
    for (version, lengths) in
        [((2, 2), (60, 3)), ((543, 0), (60, 3)), ((2, 3), (60, 3)), ((2, 3), (3, 60))]
    {
        let file = Maker::new(false).pcap(MICROS, version, 100, 1).record((0, 0), lengths, b"abc");
        let packets = read(&file.bytes[..]).clean();
        assert_eq!((packets[0].data.len(), packets[0].length), (3, 60), "{version:?}");
    }
}

#[test]
fn other_versions_are_named() {
    let file = Maker::new(false).pcap(MICROS, (2, 5), 100, 1);
    assert_eq!(
        read(&file.bytes[..]).error_text(),
        "read the savefile at byte 0: version 2.5, expected 2.0 to 2.4, or 543.0"
    );
}

#[test]
fn packets_are_cut_to_the_snapshot_length() {
    let file = Maker::new(false).pcap(MICROS, (2, 4), 2, 1).record((0, 0), (3, 3), b"abc").record(
        (0, 0),
        (3, 3),
        b"def",
    );
    let outcome = read(&file.bytes[..]);
    assert_eq!(outcome.packets.iter().map(|p| &p.data[..]).collect::<Vec<_>>(), [b"ab", b"de"]);
    assert_eq!(outcome.warnings, [Warning::BeyondSnaplen]);
}

#[test]
fn a_snapshot_length_of_0_or_more_than_31_bits_is_no_limit() {
    for snaplen in [0, 0x8000_0000, u32::MAX] {
        let file = Maker::new(false).pcap(MICROS, (2, 4), snaplen, 1).record((0, 0), (1, 1), b"a");
        let outcome = read(&file.bytes[..]);
        assert_eq!(outcome.interfaces[0].snaplen, 0);
        assert_eq!(outcome.clean()[0].data, b"a");
    }
}

#[test]
fn the_link_type_field_holds_more_than_the_link_type() {
    let link = |word| {
        let outcome = read(&Maker::new(false).pcap(MICROS, (2, 4), 0, word).bytes[..]);
        (outcome.interfaces[0].link_type, outcome.warnings)
    };
    assert_eq!(link(0x2400_0001), (LinkType::ETHERNET, vec![]));
    assert_eq!(link(0x0001_0001), (LinkType::ETHERNET, vec![Warning::ReservedBits(0x0001_0001)]));
    assert_eq!(link(12), (LinkType::RAW, vec![]));
}

#[test]
fn a_length_beyond_reason_is_an_error_after_the_packets_before_it() {
    let file = Maker::new(false).pcap(MICROS, (2, 4), 0, 1).record((0, 0), (1, 1), b"a").record(
        (0, 0),
        (262_145, 262_145),
        &[0; 32],
    );
    let outcome = read(&file.bytes[..]);
    assert_eq!(outcome.packets.len(), 1);
    assert_eq!(
        outcome.error_text(),
        "read the savefile at byte 41: a packet of 262145 bytes, expected at most 262144"
    );
}

#[test]
fn the_largest_packets_of_a_link_type_are_read() {
    for (link, size) in [(1, 262_144), (249, 1 << 20)] {
        let file = Maker::new(false)
            .pcap(MICROS, (2, 4), 0, link)
            .record((0, 0), (1, 1), b"a")
            .record((0, 0), (size, size), &vec![7; size as usize])
            .record((0, 0), (1, 1), b"b");
        let packets = read(&file.bytes[..]).clean();
        let sizes: Vec<_> = packets.iter().map(|p| p.data.len()).collect();
        assert_eq!(sizes, [1, size as usize, 1]);
        assert!(packets[1].data.iter().all(|&byte| byte == 7));
    }
}

#[test]
fn a_pipe_may_give_any_number_of_bytes_and_be_interrupted() {
    let file = Maker::new(true).pcap(NANOS, (2, 4), 0, 1).record((1, 2), (3, 60), b"abc").record(
        (3, 4),
        (5, 60),
        b"defgh",
    );
    for step in 1..30 {
        assert_eq!(read(Dribble::new(&file.bytes, step)).clean().len(), 2, "step {step}");
    }
}

#[test]
fn what_is_no_savefile_is_told_from_what_is_cut() {
    let error = |bytes: &[u8]| read(bytes).error_text();
    assert!(error(b"").contains("the file is empty"));
    assert!(error(&[b'x'; 24]).contains("the first bytes are [78, 78, 78, 78]: this is no pcap"));
    assert!(error(b"garbage!").contains("this is no pcap or pcapng file"));
    let header = Maker::new(false).pcap(MICROS, (2, 4), 0, 1).bytes;
    assert!(error(&header[..23]).contains("ends after 23 bytes, expected a header of at least 24"));
}
