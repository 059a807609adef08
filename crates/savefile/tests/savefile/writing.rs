//! The writer: what it refuses, what it tells after a failure, what it says of interfaces.

use std::fs::File;
use std::io::{self, Write};

use linerate_base::{ErrorKind, Interface, LinkType, Stats, Timestamp};
use linerate_savefile::{Counters, Format, Options, Recorded, Writer};

use crate::support::{MICROS, NANOS, Owned, ethernet, packet, read, with_batch, write};

/// A disk with room for `room` bytes, which it takes in pieces of up to `piece`.
struct Disk {
    content: Vec<u8>,
    room: usize,
    piece: usize,
}

impl Disk {
    fn new(room: usize) -> Self {
        Self { content: Vec::new(), room, piece: 1000 }
    }
}

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = bytes.len().min(self.piece).min(self.room - self.content.len());
        if count == 0 {
            return Err(io::Error::from_raw_os_error(28));
        }
        self.content.extend(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn options(format: Format) -> Options {
    Options { format, ..Options::default() }
}

#[test]
fn a_full_disk_is_an_error_and_the_counters_tell_what_it_holds() {
    let packets = [packet(1, b"abc"), packet(2, &[7; 50]), packet(3, b"x")];
    for format in [NANOS, Format::Pcapng] {
        let size = write(format, &[ethernet("e")], &packets).len();
        for room in 0..size {
            let (counters, disk) = fill(format, &packets, room);
            let whole = &disk.content[..counters.bytes as usize];
            if counters.bytes > 0 {
                assert_eq!(read(whole).clean(), packets[..counters.packets as usize]);
            }
            let missed = read(&disk.content[..]).packets.len() as u64 - counters.packets;
            assert_eq!(missed, 0, "{format:?} with room for {room}");
        }
    }
}

/// Writes `packets` to a disk that is too small, and checks that this is told at once and ever after.
fn fill(format: Format, packets: &[Owned], room: usize) -> (Counters, Disk) {
    let mut writer = match Writer::new(Disk::new(room), &options(format), &[ethernet("e")]) {
        Ok(writer) => writer,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Exhausted);
            return (Counters::default(), Disk::new(room));
        }
    };
    packets.iter().try_for_each(|packet| writer.write(&packet.borrow())).unwrap();
    assert_eq!(writer.finish().unwrap_err().kind(), ErrorKind::Exhausted);
    assert_eq!(writer.finish().unwrap_err().answered(), "an earlier write failed");
    (writer.counters(), writer.into_output())
}

#[test]
fn a_header_that_waited_for_an_interface_and_found_no_room() {
    for room in 0..24 {
        let mut writer = Writer::new(Disk::new(room), &options(NANOS), &[]).unwrap();
        writer.declare(&[ethernet("e")]);
        writer.finish().unwrap_err();
        assert_eq!(writer.counters(), Counters::default(), "room for {room}");
    }
}

#[test]
fn a_disk_that_fills_under_a_long_capture() {
    let mut writer =
        Writer::new(Disk::new(1_000_000), &options(Format::Pcapng), &[ethernet("e")]).unwrap();
    let frame = packet(1, &[7; 1500]);
    let error = loop {
        if let Err(error) = writer.write(&frame.borrow()) {
            break error;
        }
    };
    assert_eq!(error.raw_os_error(), Some(28));
    let counters = writer.counters();
    let disk = writer.into_output();
    assert_eq!(disk.content.len(), 1_000_000);
    assert!(counters.bytes > 998_000 && counters.bytes <= 1_000_000);
    let packets = read(&disk.content[..counters.bytes as usize]).clean();
    assert_eq!(packets.len() as u64, counters.packets);
}

#[test]
fn a_device_that_is_always_full_is_told_at_once() {
    let full = File::options().write(true).open("/dev/full").unwrap();
    let error = Writer::new(full, &options(NANOS), &[ethernet("e")]).unwrap_err();
    assert_eq!((error.kind(), error.raw_os_error()), (ErrorKind::Exhausted, Some(28)));
}

#[test]
fn the_header_is_written_at_once() {
    for format in [NANOS, MICROS, Format::Pcapng] {
        let writer = Writer::new(Vec::new(), &options(format), &[ethernet("e")]).unwrap();
        let outcome = read(&writer.into_output()[..]);
        assert_eq!(outcome.interfaces[0].link_type, LinkType::ETHERNET);
        assert_eq!(outcome.clean().len(), 0);
    }
}

#[test]
fn pcap_refuses_a_second_link_type_and_goes_on() {
    let other = Owned { link_type: LinkType::RAW, interface: 1, ..packet(2, b"b") };
    let interfaces = [ethernet("e"), Interface { link_type: LinkType::RAW, ..ethernet("r") }];
    let mut writer = Writer::new(Vec::new(), &options(NANOS), &interfaces).unwrap();
    writer.write(&packet(1, b"a").borrow()).unwrap();
    let error = writer.write(&other.borrow()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "write a packet of link type RAW: a pcap file has one link type, and this one has EN10MB \
         (write pcapng, which keeps a link type for each interface)"
    );
    writer.write(&packet(3, b"c").borrow()).unwrap();
    assert_eq!(writer.finish().unwrap().packets, 2);
}

#[test]
fn times_that_a_format_has_no_place_for_are_refused() {
    let at = |nanos| Owned { time: Timestamp::from_nanos(nanos), ..packet(0, b"a") };
    let first_too_late = (i64::from(u32::MAX) + 1) * 1_000_000_000;
    for (format, nanos, fits) in [
        (NANOS, -1, false),
        (NANOS, first_too_late - 1, true),
        (NANOS, first_too_late, false),
        (Format::Pcapng, -1, false),
        (Format::Pcapng, i64::MAX, true),
    ] {
        let mut writer = Writer::new(Vec::new(), &options(format), &[ethernet("e")]).unwrap();
        let outcome = writer.write(&at(nanos).borrow());
        assert_eq!(outcome.is_ok(), fits, "{format:?} at {nanos}");
        if let Err(error) = outcome {
            assert_eq!(error.kind(), ErrorKind::Unsupported);
        }
    }
}

#[test]
fn interfaces_may_appear_later() {
    let second = Owned { interface: 1, link_type: LinkType::RAW, ..packet(2, b"b") };
    let tables = [ethernet("a"), Interface { link_type: LinkType::RAW, ..ethernet("b") }];
    let mut writer = Writer::new(Vec::new(), &options(Format::Pcapng), &[]).unwrap();
    assert_eq!(writer.write(&second.borrow()).unwrap_err().kind(), ErrorKind::Invalid);
    for (interfaces, packet) in [(&tables[..1], packet(1, b"a")), (&tables[..], second)] {
        with_batch(interfaces, &[packet], |batch| writer.write_batch(batch)).unwrap();
    }
    writer.finish().unwrap();
    let outcome = read(&writer.into_output()[..]);
    assert_eq!(outcome.interfaces, tables);
    assert_eq!(outcome.packets.iter().map(|p| p.interface).collect::<Vec<_>>(), [0, 1]);
}

/// The same interface with another link type.
fn ppp(name: &str) -> Interface {
    Interface { link_type: LinkType::PPP, ..ethernet(name) }
}

fn ppp_packet(nanos: i64, data: &[u8]) -> Owned {
    Owned { link_type: LinkType::PPP, ..packet(nanos, data) }
}

#[test]
fn packets_of_several_sources_keep_their_link_types() {
    let (e, p) = (packet(1, b"e"), ppp_packet(2, b"p"));
    for (first, second) in [(e.clone(), p.clone()), (p, e)] {
        let mut writer = Writer::new(Vec::new(), &options(Format::Pcapng), &[]).unwrap();
        for packet in [&first, &second, &first] {
            let interface = [Interface { link_type: packet.link_type, ..ethernet("") }];
            writer.next_source(&interface);
            let parts = std::slice::from_ref(packet);
            with_batch(&interface, parts, |batch| writer.write_batch(batch)).unwrap();
        }
        writer.finish().unwrap();
        let outcome = read(&writer.into_output()[..]);
        assert_eq!(outcome.interfaces.len(), 2, "equal interfaces are described once");
        let expected = [first.clone(), Owned { interface: 1, ..second }, first];
        assert_eq!(outcome.clean(), expected);
    }
}

#[test]
fn pcap_takes_another_source_only_with_the_same_link_type() {
    let mut writer = Writer::new(Vec::new(), &options(NANOS), &[ethernet("a")]).unwrap();
    writer.next_source(&[ethernet("b")]);
    writer.write(&packet(1, b"a").borrow()).unwrap();
    writer.next_source(&[ppp("b")]);
    let error = writer.write(&ppp_packet(2, b"p").borrow()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert_eq!(error.answered(), "a pcap file has one link type, and this one has EN10MB");
}

#[test]
fn a_packet_with_another_link_type_than_its_interface_is_refused() {
    for format in [NANOS, Format::Pcapng] {
        let mut writer = Writer::new(Vec::new(), &options(format), &[ethernet("e")]).unwrap();
        let error = writer.write(&ppp_packet(2, b"p").borrow()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert_eq!(error.answered(), "it was declared with link type EN10MB");
    }
}

#[test]
fn statistics_are_recorded_at_the_end() {
    let stats = Stats {
        seen: 10,
        delivered: 5,
        filtered: 3,
        dropped: 2,
        interface_dropped: Some(1),
        ..Stats::default()
    };
    let mut writer =
        Writer::new(Vec::new(), &options(Format::Pcapng), &[ethernet("a"), ethernet("b")]).unwrap();
    writer.set_stats(1, Stats::default());
    writer.set_stats(1, stats);
    writer.set_stats(7, stats);
    writer.finish().unwrap();
    let outcome = read(&writer.into_output()[..]);
    let expected = Recorded {
        received: Some(10),
        interface_dropped: Some(1),
        accepted: Some(7),
        dropped: Some(2),
        delivered: Some(5),
    };
    assert_eq!(outcome.recorded, [Recorded::default(), expected]);
}

#[test]
fn texts_that_no_option_can_hold_are_cut() {
    let long = "\u{e4}".repeat(40_000);
    let interface = Interface { filter: long.clone(), ..ethernet(&long) };
    let file = write(Format::Pcapng, &[interface], &[packet(1, b"a")]);
    let outcome = read(&file[..]);
    assert_eq!(outcome.interfaces[0].name, long[..65_534]);
    assert_eq!(outcome.interfaces[0].filter, long[..65_534]);
    assert_eq!(outcome.clean().len(), 1);
}
