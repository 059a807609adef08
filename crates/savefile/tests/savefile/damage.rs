//! Cut, changed and random files: never a panic, never a packet lost before the damage.

use linerate_base::LinkType;
use linerate_savefile::{Format, Warning};
use proptest::prelude::*;

use crate::make::Maker;
use crate::support::{self, MICROS, NANOS, Outcome, ethernet, packet, read};

/// A small file of each format with the offsets at which its records end.
fn small_files() -> Vec<Vec<u8>> {
    let packets = [packet(1, b"abc"), packet(2, b""), packet(3, &[7; 40])];
    let mut files = Vec::from(
        [MICROS, NANOS, Format::Pcapng].map(|f| support::write(f, &[ethernet("e")], &packets)),
    );
    for big in [false, true] {
        files.push(
            Maker::new(big)
                .section()
                .interface(1, 64, &[(2, b"eth0"), (9, &[0x8a]), (14, &[0; 8])])
                .enhanced(0, 99, 7, b"abcdefg", &[(2, &[1; 4])])
                .simple(3, b"xyz")
                .obsolete(0, 1, b"uvw")
                .section_in(!big)
                .interface(101, 0, &[])
                .enhanced(0, 1, 1, b"q", &[])
                .bytes,
        );
        files.push(
            Maker::new(big)
                .pcap(0xa1b2_cd34, (2, 3), 9, 1)
                .record((1, 2), (3, 60), &[0; 8])
                .raw(b"abc")
                .bytes,
        );
    }
    files
}

#[test]
fn a_file_cut_anywhere_gives_the_packets_before_the_cut() {
    for file in small_files() {
        let whole = read(&file[..]).clean();
        for length in 0..file.len() {
            let outcome = read(&file[..length]);
            assert!(whole.starts_with(&outcome.packets), "cut to {length}");
            check_cut(&outcome, &file, length);
        }
    }
}

/// A cut is an error in the header, a warning inside a later record, and nothing between records.
fn check_cut(outcome: &Outcome, file: &[u8], length: usize) {
    let Some(error) = &outcome.error else {
        let [Warning::RecordCut { offset, found, expected }] = outcome.warnings[..] else {
            assert_eq!(outcome.warnings, [], "cut to {length}");
            return;
        };
        assert_eq!(offset + found, length as u64);
        assert!(found < expected && offset + expected <= file.len() as u64);
        return;
    };
    assert!(length < 24, "cut to {length}: {error}");
    assert!(outcome.packets.is_empty());
}

#[test]
fn records_end_where_a_cut_goes_unnoticed() {
    let file = support::write(NANOS, &[ethernet("e")], &[packet(1, b"abc"), packet(2, b"d")]);
    let unnoticed: Vec<_> =
        (24..=file.len()).filter(|&length| read(&file[..length]).warnings.is_empty()).collect();
    assert_eq!(unnoticed, [24, 43, 60]);
}

#[test]
fn every_change_of_one_byte_is_survived() {
    for file in small_files() {
        for at in 0..file.len() {
            for change in (0..8).map(|bit| 1 << bit).chain([0xff]) {
                let mut changed = file.clone();
                changed[at] ^= change;
                read(&changed[..]);
            }
        }
    }
}

#[test]
fn every_pair_of_length_bytes_is_survived() {
    for file in small_files() {
        for at in 0..file.len() - 4 {
            for word in [0, 1, 12, 0x7fff_ffff, 0x8000_0000, u32::MAX, u32::MAX - 3] {
                let mut changed = file.clone();
                changed[at..at + 4].copy_from_slice(&u32::to_le_bytes(word));
                read(&changed[..]);
            }
        }
    }
}

proptest! {
    #[test]
    fn random_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        read(&bytes[..]);
    }

    #[test]
    fn random_bytes_after_any_magic_are_survived(
        magic in prop::sample::select(vec![
            &[0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0][..],
            &[0xa1, 0xb2, 0x3c, 0x4d, 0, 2, 0, 4],
            &[0x34, 0xcd, 0xb2, 0xa1, 2, 0, 3, 0],
            &[0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0],
            &[0x1f, 0x8b, 8, 0],
            &[0x28, 0xb5, 0x2f, 0xfd],
            &[0x04, 0x22, 0x4d, 0x18],
        ]),
        rest in prop::collection::vec(any::<u8>(), 0..400),
    ) {
        read(&[magic, &rest].concat()[..]);
    }

    #[test]
    fn blocks_with_random_bodies_are_survived(
        big in any::<bool>(),
        blocks in prop::collection::vec(
            (prop::sample::select(vec![1, 2, 3, 5, 6, 0x0a0d_0d0a, 9]),
             prop::collection::vec(any::<u8>(), 0..60)),
            0..20,
        ),
    ) {
        let mut file = Maker::new(big).section().interface(LinkType::RAW.0, 0, &[]);
        for (kind, body) in &blocks {
            file = file.block(*kind, Maker::new(big).raw(body));
        }
        read(&file.bytes[..]);
    }
}
