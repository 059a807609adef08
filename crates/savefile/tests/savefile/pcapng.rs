//! Blocks of the pcapng format.

use linerate_base::{Direction, LinkType, Timestamp};
use linerate_savefile::{Recorded, Warning};

use crate::make::Maker;
use crate::support::read;

fn micros(micros: i64) -> Timestamp {
    Timestamp::from_nanos(micros * 1000)
}

#[test]
fn sections_of_either_byte_order_number_their_own_interfaces() {
    let file = Maker::new(false)
        .section()
        .interface(1, 0, &[(2, b"a")])
        .interface(113, 0, &[(2, b"b")])
        .enhanced(1, 5, 60, b"xyz", &[])
        .section_in(true)
        .interface(101, 0, &[(2, b"c")])
        .enhanced(0, 6, 4, b"wxyz", &[])
        .section_in(false)
        .interface(1, 0, &[(2, b"d")])
        .enhanced(0, 7, 1, b"v", &[]);
    let outcome = read(&file.bytes[..]);
    let names: Vec<_> = outcome.interfaces.iter().map(|i| &i.name[..]).collect();
    assert_eq!(names, ["a", "b", "c", "d"]);
    let packets = outcome.clean();
    let seen: Vec<_> = packets.iter().map(|p| (p.interface, p.link_type, p.time)).collect();
    let expected = [
        (1, LinkType::LINUX_SLL, micros(5)),
        (2, LinkType::RAW, micros(6)),
        (3, LinkType::ETHERNET, micros(7)),
    ];
    assert_eq!(seen, expected);
    assert_eq!((packets[0].length, &packets[0].data[..]), (60, &b"xyz"[..]));
}

#[test]
fn pseudo_headers_come_in_the_order_of_this_machine() {
    const NFLOG: u16 = LinkType::NFLOG.0;
    let attribute = |big: bool| {
        let number = |number: u16| if big { number.to_be_bytes() } else { number.to_le_bytes() };
        [[2, 0], [0, 9], number(6), number(3), [b'a', b'b'], [0, 0]].concat()
    };
    let file = [false, true].into_iter().fold(Maker::new(false), |file, big| {
        let section = file.section_in(big).interface(1, 0, &[]).interface(NFLOG, 0, &[]);
        section.enhanced(0, 5, 12, &attribute(big), &[]).enhanced(1, 5, 12, &attribute(big), &[])
    });
    let found: Vec<_> = read(&file.bytes[..]).clean().into_iter().map(|p| p.data).collect();
    let own = attribute(cfg!(target_endian = "big"));
    assert_eq!(found, [attribute(false), own.clone(), attribute(true), own]);
}

#[test]
fn all_packet_blocks_and_no_others_are_packets() {
    let other = |kind| (kind, Maker::new(false).raw(b"whatever it is"));
    let mut file = Maker::new(false).section().interface(1, 2, &[]);
    for (kind, body) in [4, 9, 10, 0xbad, 0x8000_0001].map(other) {
        file = file.block(kind, body);
    }
    let file = file.simple(9, b"ab").obsolete(0, 3, b"cd").enhanced(0, 4, 2, b"ef", &[]);
    let packets = read(&file.bytes[..]).clean();
    let seen: Vec<_> = packets.iter().map(|p| (&p.data[..], p.length, p.time)).collect();
    let expected =
        [(&b"ab"[..], 9, Timestamp::EPOCH), (b"cd", 2, micros(3)), (b"ef", 2, micros(4))];
    assert_eq!(seen, expected);
}

#[test]
fn a_simple_packet_is_whole_where_the_snapshot_length_is_0() {
    let file = Maker::new(false).section().interface(1, 0, &[]).simple(3, b"abc");
    assert_eq!(read(&file.bytes[..]).clean()[0].data, b"abc");
}

#[test]
fn what_a_section_says_of_its_length_is_not_believed() {
    for length in [0, 4, 60, 1 << 40] {
        let section = |length| Maker::new(false).u32(0x1a2b_3c4d).u16(1).u16(0).u64(length);
        let file = Maker::new(false)
            .block(0x0a0d_0d0a, section(length))
            .interface(1, 0, &[])
            .enhanced(0, 1, 1, b"a", &[])
            .block(0x0a0d_0d0a, section(1 << 30))
            .interface(101, 0, &[])
            .enhanced(0, 2, 1, b"b", &[]);
        let packets = read(&file.bytes[..]).clean();
        let links: Vec<_> = packets.iter().map(|packet| packet.link_type).collect();
        assert_eq!(links, [LinkType::ETHERNET, LinkType::RAW], "length {length}");
    }
}

#[test]
fn more_interfaces_than_any_capture_has_are_refused() {
    let mut file = Maker::new(false).section();
    for _ in 0..=65_536 {
        file = file.interface(1, 0, &[]);
    }
    let outcome = read(&file.bytes[..]);
    assert_eq!(outcome.interfaces.len(), 65_536);
    assert!(outcome.error_text().ends_with("more than 65536 interfaces"));
}

#[test]
fn what_is_said_of_an_interface_is_kept() {
    let file = Maker::new(true).section().interface(
        127,
        96,
        &[
            (1, b"a comment"),
            (2, b"wlan0\0"),
            (3, b"the radio"),
            (11, b"\0tcp port 80"),
            (9, &[9]),
            (14, &(-1_i64).to_be_bytes()),
        ],
    );
    let file = file.enhanced(0, 1_000_000_005, 0, b"", &[]);
    let outcome = read(&file.bytes[..]);
    let interface = &outcome.interfaces[0];
    assert_eq!((&interface.name[..], &interface.description[..]), ("wlan0", "the radio"));
    assert_eq!((&interface.filter[..], interface.snaplen), ("tcp port 80", 96));
    assert_eq!(interface.link_type, LinkType::IEEE802_11_RADIOTAP);
    assert_eq!(outcome.clean()[0].time, Timestamp::from_nanos(5));
}

#[test]
fn flags_give_the_direction_and_damaged_options_none() {
    let flags = |value: u32| value.to_le_bytes();
    let mut file = Maker::new(false)
        .section()
        .interface(1, 0, &[])
        .enhanced(0, 0, 0, b"", &[(1, b"x"), (2, &flags(0x15))])
        .enhanced(0, 0, 0, b"", &[(2, &flags(2))])
        .enhanced(0, 0, 0, b"", &[(2, &flags(0))])
        .enhanced(0, 0, 0, b"", &[(2, b"x")]);
    let body = Maker::new(false).raw(&[0; 20]).u16(2).u16(9000).u32(1);
    file = file.block(6, body);
    let directions: Vec<_> =
        read(&file.bytes[..]).clean().iter().map(|packet| packet.direction).collect();
    use Direction::{In, Out, Unknown};
    assert_eq!(directions, [In, Out, Unknown, Unknown, Unknown]);
}

#[test]
fn recorded_statistics_are_kept_for_their_interface() {
    let counter = |value: u64| value.to_le_bytes();
    let body = Maker::new(false).u32(1).u64(0).options(&[
        (2, &counter(1)),
        (4, &counter(10)),
        (6, &counter(9)),
        (7, &counter(2)),
        (8, &counter(7)),
    ]);
    let file = Maker::new(false)
        .section()
        .interface(1, 0, &[])
        .interface(1, 0, &[])
        .block(5, body)
        .block(5, Maker::new(false).u32(77).u64(0));
    let outcome = read(&file.bytes[..]);
    let expected = Recorded {
        received: Some(10),
        interface_dropped: None,
        accepted: Some(9),
        dropped: Some(2),
        delivered: Some(7),
    };
    assert_eq!(outcome.recorded, [Recorded::default(), expected]);
}

#[test]
fn a_file_without_interfaces_has_no_packets() {
    let outcome = read(&Maker::new(false).section().bytes[..]);
    assert_eq!((outcome.interfaces.len(), outcome.clean().len()), (0, 0));
}

#[test]
fn bytes_beyond_the_snapshot_length_are_left_out() {
    let file = Maker::new(false).section().interface(1, 2, &[]).enhanced(0, 0, 9, b"abc", &[]);
    let outcome = read(&file.bytes[..]);
    assert_eq!(outcome.packets[0].data, b"ab");
    assert_eq!(outcome.warnings, [Warning::BeyondSnaplen]);
}

/// A file with one packet, then `block`.
fn after_one_packet(block: &Maker) -> Vec<u8> {
    let file = Maker::new(false).section().interface(1, 0, &[]).enhanced(0, 0, 1, b"a", &[]);
    file.raw(&block.bytes).bytes
}

// The packet's block ends at byte 84: 28 bytes of section, 20 of interface, 36 of packet.
#[test]
fn damaged_blocks_are_errors_with_their_place_after_the_packets_before() {
    let maker = || Maker::new(false);
    let limit = "expected a multiple of 4 from 12 to 150994944";
    let cases = [
        (maker().u32(6).u32(0).u32(0), format!("block length 0, {limit}")),
        (maker().u32(6).u32(8).u32(0), format!("block length 8, {limit}")),
        (maker().u32(9).u32(18).raw(&[0; 10]), format!("block length 18, {limit}")),
        (maker().u32(6).u32(0xffff_fff0).u32(0), format!("block length 4294967280, {limit}")),
        (
            maker().u32(9).u32(16).u32(0).u32(20),
            "block length 20 at the block's end, expected 16 as at its start".to_owned(),
        ),
        (
            maker().u32(0x0a0d_0d0a).u32(28).u32(0x1234_5678).raw(&[0; 16]),
            "byte-order magic 0x12345678, expected 0x1a2b3c4d in either byte order".to_owned(),
        ),
        (
            maker().block(0x0a0d_0d0a, maker().u32(0x1a2b_3c4d).u16(2).u16(0).u64(0)),
            "version 2.0, expected 1.x".to_owned(),
        ),
        (
            maker().block(6, maker().raw(&[0; 16])),
            "a block of type 6 and 28 bytes, expected at least 32".to_owned(),
        ),
        (
            maker().block(6, maker().raw(&[0; 12]).u32(5).u32(5).u32(0)),
            "a packet of 5 bytes in a block with room for 4".to_owned(),
        ),
        (maker().simple(5, b"abcd"), "a packet of 5 bytes in a block with room for 4".to_owned()),
        (
            maker().enhanced(7, 0, 0, b"", &[]),
            "a packet of interface 7, expected one of the 1 described in this section".to_owned(),
        ),
        (
            maker().block(1, maker().u64(0).u16(2).u16(5).raw(b"abcd")),
            "an option that runs past the end of its block".to_owned(),
        ),
        (maker().interface(1, 0, &[(14, b"abc")]), "option 14 with 3 bytes, expected 8".to_owned()),
        (
            maker().interface(1, 0, &[(9, &[20])]),
            "clock resolution 0x14, expected 10^-19 or 2^-63 at the finest".to_owned(),
        ),
    ];
    for (block, message) in cases {
        let outcome = read(&after_one_packet(&block)[..]);
        assert_eq!(outcome.packets.len(), 1, "{message}");
        assert_eq!(outcome.error_text(), format!("read the savefile at byte 84: {message}"));
    }
}

#[test]
fn a_new_section_knows_no_interfaces() {
    let block = Maker::new(false).section().enhanced(0, 0, 0, b"", &[]);
    assert_eq!(
        read(&after_one_packet(&block)[..]).error_text(),
        "read the savefile at byte 112: a packet of interface 0, expected one of the 0 described in \
         this section"
    );
}

#[test]
fn a_damaged_beginning_is_an_error_at_once() {
    let file = Maker::new(false).section().interface(1, 0, &[(9, &[99])]);
    let text = read(&file.bytes[..]).error_text();
    assert_eq!(
        text,
        "read the savefile at byte 28: clock resolution 0x63, expected 10^-19 or 2^-63 at the finest"
    );
}

#[test]
fn a_huge_length_costs_no_more_memory_than_the_file_has_bytes() {
    let block = Maker::new(false).u32(6).u32(140 << 20).raw(&[0; 100]);
    let outcome = read(&after_one_packet(&block)[..]);
    assert_eq!(outcome.packets.len(), 1);
    let cut = Warning::RecordCut { offset: 84, found: 108, expected: 140 << 20 };
    assert_eq!(outcome.warnings, [cut]);
    assert!(outcome.error.is_none());
}
