//! Rotation: every packet in exactly one file, every file whole in itself.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::rc::Rc;

use linerate_base::{Batch, Error, ErrorKind, Interface, LinkType, Result, Stats, Timestamp};
use linerate_savefile::{Counters, Format, Opener, Options, Records, Rotation, Rotator, Totals};
use proptest::prelude::*;

use crate::support::{NANOS, Owned, ethernet, packet, read, with_batch};

/// Files in memory. `log` has their names in the order of opening.
#[derive(Clone, Default)]
struct Disk(Rc<RefCell<Content>>);

#[derive(Default)]
struct Content {
    files: BTreeMap<String, Vec<u8>>,
    log: Vec<String>,
    closed: Vec<(String, Counters)>,
    room: Option<usize>,
}

struct File {
    disk: Disk,
    name: String,
}

impl Opener for Disk {
    type Output = File;

    fn open(&mut self, name: &str) -> Result<File> {
        let mut content = self.0.borrow_mut();
        content.files.insert(name.to_owned(), Vec::new());
        content.log.push(name.to_owned());
        Ok(File { disk: self.clone(), name: name.to_owned() })
    }

    fn close(&mut self, name: &str, _: File, records: &Records) -> (Counters, Result<()>) {
        let counters = records.counters();
        self.0.borrow_mut().closed.push((name.to_owned(), counters));
        (counters, Ok(()))
    }
}

impl Write for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut content = self.disk.0.borrow_mut();
        let taken: usize = content.files.values().map(Vec::len).sum();
        let count = content.room.map_or(bytes.len(), |room| bytes.len().min(room - taken));
        if count == 0 && !bytes.is_empty() {
            return Err(io::Error::from_raw_os_error(28));
        }
        content.files.get_mut(&self.name).unwrap().extend(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn rotation(name: &str) -> Rotation {
    Rotation { name: name.to_owned(), ..Rotation::default() }
}

fn rotator(disk: &Disk, rotation: Rotation, format: Format) -> Result<Rotator<Disk>> {
    let options = Options { format, ..Options::default() };
    Rotator::new(disk.clone(), rotation, options, &[ethernet("e")], Some(Timestamp::EPOCH))
}

/// Writes `packets` in batches of three.
fn run(disk: &Disk, rotation: Rotation, packets: &[Owned]) -> (ControlFlow<()>, Totals) {
    let mut rotator = rotator(disk, rotation, Format::Pcapng).unwrap();
    let mut flow = ControlFlow::Continue(());
    for part in packets.chunks(3) {
        flow = with_batch(&[ethernet("e")], part, |batch| rotator.write_batch(batch)).unwrap();
    }
    (flow, rotator.finish().unwrap())
}

/// Checks that all files are whole and gives the packets in the order of the files' opening.
fn check(disk: &Disk, totals: Totals) -> Vec<Owned> {
    let content = disk.0.borrow();
    assert_eq!(content.log.len() as u64, totals.files);
    assert_eq!(content.closed.len(), content.log.len());
    let mut written = Counters::default();
    let mut packets = Vec::new();
    for (name, counters) in &content.closed {
        written += *counters;
        let outcome = read(&content.files[name][..]);
        assert_eq!(outcome.interfaces, [ethernet("e")]);
        packets.extend(outcome.clean());
    }
    assert_eq!(written, totals.written);
    packets
}

/// A packet per second, from second 0.
fn seconds(count: i64) -> Vec<Owned> {
    (0..count).map(|i| packet(i * 1_000_000_000, &[i as u8; 100])).collect()
}

#[test]
fn without_limits_there_is_one_file() {
    let disk = Disk::default();
    let (flow, totals) = run(&disk, rotation("f%Y"), &seconds(5));
    assert_eq!((flow, totals.files, totals.written.packets), (ControlFlow::Continue(()), 1, 5));
    assert_eq!(disk.0.borrow().log, ["f%Y"]);
    assert_eq!(check(&disk, totals), seconds(5));
}

#[test]
fn by_size_a_file_takes_packets_that_do_not_make_it_larger() {
    // 28 bytes of section, 44 of interface, 132 for each packet, 88 of statistics.
    let two = 28 + 44 + 2 * 132 + 88;
    for (max_bytes, expected) in [(two, &[2, 2, 1][..]), (two - 1, &[1; 5]), (0, &[1; 5])] {
        let disk = Disk::default();
        let limits = Rotation { max_bytes: Some(max_bytes), ..rotation("f") };
        let (_, totals) = run(&disk, limits, &seconds(5));
        assert_eq!(check(&disk, totals), seconds(5));
        let content = disk.0.borrow();
        assert_eq!(content.log[..3], ["f", "f1", "f2"]);
        assert_eq!(content.closed.iter().map(|(_, c)| c.packets).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn by_period_files_follow_the_packets_time() {
    let disk = Disk::default();
    let mut packets = seconds(10);
    packets.drain(4..8);
    // Late by one period: stays where it comes.
    packets.push(packet(500_000_000, b"late"));
    let (_, totals) = run(&disk, Rotation { period: Some(2), ..rotation("f%s") }, &packets);
    assert_eq!(disk.0.borrow().log, ["f0", "f2", "f8"]);
    assert_eq!(check(&disk, totals), packets);
}

/// A rotator whose first period begins with the first packet.
fn waiting(disk: &Disk, rotation: Rotation) -> Rotator<Disk> {
    Rotator::new(disk.clone(), rotation, Options::default(), &[ethernet("e")], None).unwrap()
}

#[test]
fn without_a_start_the_first_period_begins_with_the_first_packet() {
    let disk = Disk::default();
    let limits = Rotation { period: Some(2), files: Some(2), ..rotation("f%s") };
    let mut rotator = waiting(&disk, limits);
    assert!(disk.0.borrow().log.is_empty());
    let packets = &seconds(10)[3..];
    let flow = with_batch(&[ethernet("e")], packets, |b| rotator.write_batch(b)).unwrap();
    assert_eq!(flow, ControlFlow::Break(()));
    assert_eq!(disk.0.borrow().log, ["f3", "f5"]);
    let totals = rotator.finish().unwrap();
    assert_eq!(check(&disk, totals), seconds(10)[3..7]);
}

#[test]
fn without_a_start_and_a_packet_there_is_an_empty_savefile() {
    let disk = Disk::default();
    let mut rotator = waiting(&disk, Rotation { period: Some(2), ..rotation("f%s") });
    assert!(disk.0.borrow().log.is_empty());
    let totals = rotator.finish().unwrap();
    assert_eq!(disk.0.borrow().log, ["f0"]);
    assert_eq!(check(&disk, totals), []);
}

#[test]
fn without_a_start_and_a_period_the_file_is_there_at_once() {
    let disk = Disk::default();
    waiting(&disk, rotation("f"));
    assert_eq!(disk.0.borrow().log, ["f"]);
}

#[test]
fn by_period_and_count_the_capture_ends_after_the_last_file() {
    let disk = Disk::default();
    let rotation = Rotation { period: Some(2), files: Some(2), ..rotation("f%s") };
    let (flow, totals) = run(&disk, rotation, &seconds(10));
    assert_eq!(flow, ControlFlow::Break(()));
    assert_eq!(disk.0.borrow().log, ["f0", "f2"]);
    assert_eq!(check(&disk, totals), seconds(4));
}

#[test]
fn a_ring_keeps_the_latest_files() {
    let disk = Disk::default();
    let ring = Rotation { max_bytes: Some(100), files: Some(2), ..rotation("f") };
    let (_, totals) = run(&disk, ring, &seconds(5));
    assert_eq!((totals.files, totals.written.packets, totals.overwritten), (5, 5, 3));
    let content = disk.0.borrow();
    assert_eq!(content.log, ["f0", "f1", "f0", "f1", "f0"]);
    let last = |name: &str| read(&content.files[name][..]).clean();
    assert_eq!([last("f0"), last("f1")].concat(), [&seconds(5)[4..], &seconds(5)[3..4]].concat());
}

#[test]
fn with_size_and_period_the_numbers_begin_anew_with_each_period() {
    let disk = Disk::default();
    let both = Rotation { max_bytes: Some(100), period: Some(3), ..rotation("f%s.") };
    let (_, totals) = run(&disk, both.clone(), &seconds(5));
    assert_eq!(disk.0.borrow().log, ["f0.", "f0.1", "f0.2", "f3.", "f3.1"]);
    assert_eq!(check(&disk, totals), seconds(5));

    let disk = Disk::default();
    let (flow, _) = run(&disk, Rotation { files: Some(2), ..both }, &seconds(5));
    assert_eq!(flow, ControlFlow::Continue(()));
    assert_eq!(disk.0.borrow().log, ["f0.0", "f0.1", "f0.0", "f3.0", "f3.1"]);
}

#[test]
fn a_name_of_an_earlier_period_is_not_written_over() {
    let disk = Disk::default();
    let coarse = Rotation { period: Some(2), ..rotation("%Y") };
    let (_, totals) = run(&disk, coarse.clone(), &seconds(6));
    assert_eq!(disk.0.borrow().log, ["1970", "1970-1", "1970-2"]);
    assert_eq!(totals.overwritten, 0);
    assert_eq!(check(&disk, totals), seconds(6));

    let disk = Disk::default();
    let (_, totals) = run(&disk, Rotation { max_bytes: Some(0), ..coarse }, &seconds(4));
    assert_eq!(disk.0.borrow().log, ["1970", "19701", "1970-1", "19701-1"]);
    assert_eq!(check(&disk, totals), seconds(4));
}

#[test]
fn each_period_has_a_ring_of_its_own() {
    let disk = Disk::default();
    let ring = Rotation { max_bytes: Some(0), period: Some(4), files: Some(2), ..rotation("%Y.") };
    let (_, totals) = run(&disk, ring, &seconds(7));
    let [first, second] = [["1970.0", "1970.1"], ["1970.0-1", "1970.1-1"]];
    let opened = [first, first, second, [second[0]; 2]].concat();
    assert_eq!(disk.0.borrow().log, opened[..7]);
    assert_eq!((totals.written.packets, totals.overwritten), (7, 3));
    let files = &disk.0.borrow().files;
    let held: usize = files.values().map(|file| read(&file[..]).clean().len()).sum();
    assert_eq!(held, 4);
}

#[test]
fn numbers_that_make_equal_names_lose_nothing() {
    let disk = Disk::default();
    let limits = Rotation { max_bytes: Some(0), period: Some(10), ..rotation("f%s") };
    let packets: Vec<_> = (2..30).map(|i| packet(i * 500_000_000, &[1])).collect();
    let mut rotator = waiting(&disk, limits);
    assert!(
        with_batch(&[ethernet("e")], &packets, |b| rotator.write_batch(b)).unwrap().is_continue()
    );
    let totals = rotator.finish().unwrap();
    assert_eq!(check(&disk, totals), packets);
    // The second file of second 1 is "f11", as the first of second 11 would be.
    assert_eq!(disk.0.borrow().log[20], "f11-1");
}

#[test]
fn statistics_of_the_files_add_up() {
    let disk = Disk::default();
    let mut rotator =
        rotator(&disk, Rotation { max_bytes: Some(100), ..rotation("f") }, Format::Pcapng).unwrap();
    for (i, packet) in seconds(3).into_iter().enumerate() {
        let batch = |b: &Batch<'_>| rotator.write_batch(b).unwrap();
        assert!(with_batch(&[ethernet("e")], &[packet], batch).is_continue());
        let delivered = i as u64 + 1;
        rotator.set_stats(0, Stats { seen: 10 * delivered, delivered, ..Stats::default() });
    }
    rotator.finish().unwrap();
    for file in disk.0.borrow().files.values() {
        let recorded = read(&file[..]).recorded[0];
        assert_eq!((recorded.received, recorded.delivered), (Some(10), Some(1)));
    }
}

#[test]
fn packets_of_several_sources_keep_their_link_types_over_the_files() {
    let ppp = Interface { link_type: LinkType::PPP, ..ethernet("e") };
    let packets: Vec<_> = (0..6)
        .map(|i| match i % 4 {
            0 | 1 => packet(i, b"e"),
            _ => Owned { link_type: LinkType::PPP, interface: 1, ..packet(i, b"p") },
        })
        .collect();
    for max_bytes in [None, Some(300)] {
        let disk = Disk::default();
        let limits = Rotation { max_bytes, ..rotation("f") };
        let mut rotator = rotator(&disk, limits, Format::Pcapng).unwrap();
        for part in packets.chunks(2) {
            let interface = [Interface { link_type: part[0].link_type, ..ethernet("e") }];
            let part: Vec<_> = part.iter().map(|p| Owned { interface: 0, ..p.clone() }).collect();
            rotator.next_source(&interface).unwrap();
            let flow = with_batch(&interface, &part, |batch| rotator.write_batch(batch)).unwrap();
            assert!(flow.is_continue());
            let delivered = part.len() as u64;
            rotator.set_stats(0, Stats { seen: delivered, delivered, ..Stats::default() });
        }
        rotator.finish().unwrap();
        let content = disk.0.borrow();
        let files = content.log.iter().map(|name| read(&content.files[name][..]));
        let (mut found, mut delivered) = (Vec::new(), [0, 0]);
        for file in files {
            assert!([ethernet("e"), ppp.clone()].starts_with(&file.interfaces));
            for (sum, recorded) in delivered.iter_mut().zip(&file.recorded) {
                *sum += recorded.delivered.unwrap_or(0);
            }
            found.extend(file.clean());
        }
        assert_eq!((found, delivered), (packets.clone(), [4, 2]));
    }
}

#[test]
fn a_disk_that_fills_anywhere_is_told_with_what_it_holds() {
    let limits = Rotation { max_bytes: Some(300), ..rotation("f") };
    let disk = Disk::default();
    let (_, totals) = run(&disk, limits.clone(), &seconds(7));
    for room in 0..totals.written.bytes as usize {
        let disk = Disk::default();
        disk.0.borrow_mut().room = Some(room);
        let (error, totals) = fill(&disk, limits.clone());
        assert_eq!(error.kind(), ErrorKind::Exhausted, "room for {room}: {error}");
        let held: usize =
            disk.0.borrow().files.values().map(|file| read(&file[..]).packets.len()).sum();
        assert_eq!(held as u64, totals.written.packets, "room for {room}");
    }
}

/// Writes to a disk that is too small; the error must be told.
fn fill(disk: &Disk, limits: Rotation) -> (Error, Totals) {
    let mut rotator = match rotator(disk, limits, NANOS) {
        Ok(rotator) => rotator,
        Err(error) => return (error, Totals::default()),
    };
    let outcome = with_batch(&[ethernet("e")], &seconds(7), |batch| {
        rotator.write_batch(batch).and_then(|_| rotator.finish())
    });
    match outcome {
        Err(error) => (error, rotator.totals()),
        Ok(_) => (Error::system("fill", io::Error::from_raw_os_error(28)), rotator.totals()),
    }
}

#[test]
fn senseless_limits_and_patterns_are_refused_before_a_file_is_opened() {
    let disk = Disk::default();
    for refused in [
        Rotation { period: Some(0), ..rotation("f") },
        Rotation { files: Some(3), ..rotation("f") },
        Rotation { period: Some(1), ..rotation("f%") },
        Rotation { period: Some(1), ..rotation("f") },
    ] {
        let error = rotator(&disk, refused, NANOS).err().expect("refused");
        assert_eq!(error.kind(), ErrorKind::Invalid);
    }
    assert!(disk.0.borrow().log.is_empty());
}

proptest! {
    #[test]
    fn nothing_is_lost_or_doubled(
        max_bytes in prop::option::of(0..2000_u64),
        period in prop::option::of(1..20_u32),
        packets in prop::collection::vec(
            (0..100_000_000_000_i64, 0..300_usize).prop_map(|(t, n)| packet(t, &vec![7; n])),
            0..60,
        ),
    ) {
        let disk = Disk::default();
        let limits = Rotation { max_bytes, period, ..rotation("f%s-") };
        let (_, totals) = run(&disk, limits, &packets);
        prop_assert_eq!(check(&disk, totals), packets);
        for (_, counters) in &disk.0.borrow().closed {
            prop_assert!(counters.packets < 2 || max_bytes.is_none_or(|max| counters.bytes <= max));
        }
    }
}
