//! Packets of a part of a file, found without what stands before it.

use std::sync::Arc;

use linerate_base::{Descriptor, Timestamp};

use super::format::Format;
use super::table::{Stop, Table};

/// Bytes at a region's beginning in which a record is looked for: the largest packet of most networks.
pub(super) const GUESS: usize = 64 << 10;

/// Records that must follow each other for a guess, unless the region ends before.
pub(super) const ROW: usize = 4;

/// Cuts parts of an uncompressed file into packets, in any order and by several threads, each with a
/// clone. [`Reader::cutter`](super::Reader::cutter) gives it.
///
/// Where the first record of a part begins is certain only once the part before it is cut.
/// [`guess`](Self::guess) finds it in all but odd files, and is checked then.
#[derive(Clone, Debug)]
pub struct Cutter {
    format: Format,
    table: Table,
    /// A packet's time: others are not years away, as far as a guess is concerned.
    time: Timestamp,
    /// Both as they were at first.
    original: Arc<(Format, Table)>,
}

/// Where a part was cut no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Region offset of the first record that was not taken.
    pub at: usize,
    /// Bytes that this record needs, as far as can be seen; always more than there are. `None`: it is
    /// damaged, or some record before it was no packet, and a [`Reader`](super::Reader) has to go on
    /// from the part's beginning.
    pub need: Option<usize>,
}

impl Cutter {
    pub(super) fn new(format: Format, table: Table, time: Timestamp) -> Self {
        let original = Arc::new((format.clone(), table.clone()));
        Self { format, table, time, original }
    }

    /// Where the first record of `region` seems to begin; the region's place in the file is a multiple
    /// of four bytes.
    pub fn guess(&self, region: &[u8]) -> Option<usize> {
        match &self.format {
            Format::Unknown => None,
            Format::Pcap(pcap) => pcap.guess(region, self.time),
            Format::Pcapng(pcapng) => pcapng.guess(region),
        }
    }

    /// Adds to `packets` those of every whole record of `region` from `at` on.
    pub fn cut(&mut self, region: &[u8], at: usize, packets: &mut Vec<Descriptor>) -> Cut {
        std::mem::swap(packets, &mut self.table.descriptors);
        let step = self.format.parse(region, at, &mut self.table);
        std::mem::swap(packets, &mut self.table.descriptors);
        match step.stop {
            Stop::Need(bytes) if !self.table.news => Cut { at: step.at, need: Some(bytes) },
            _ => {
                (self.format, self.table) = (*self.original).clone();
                Cut { at: step.at, need: None }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use linerate_base::{Direction, Interface, LinkType, Packet};
    use proptest::prelude::*;

    use super::super::Reader;
    use super::*;
    use crate::write::{Format as Written, Options, Precision, Writer};

    /// A savefile of packets of these lengths, a millisecond apart, with bytes that look like anything.
    fn savefile(format: Written, lengths: &[u16]) -> Vec<u8> {
        let interfaces = [Interface { link_type: LinkType::ETHERNET, ..Interface::default() }];
        let options = Options { format, ..Options::default() };
        let mut writer = Writer::new(Vec::new(), &options, &interfaces).unwrap();
        for (number, &length) in lengths.iter().enumerate() {
            let byte = |at: u16| ((usize::from(at) * (number + 1) * 0x9e37) >> 9) as u8;
            let data: Vec<u8> = (0..length).map(byte).collect();
            let packet = Packet {
                time: Timestamp::from_parts(1_700_000_000, number as u32 * 1_000_000),
                data: &data,
                length: length.into(),
                interface: 0,
                link_type: LinkType::ETHERNET,
                direction: Direction::Unknown,
            };
            writer.write(&packet).unwrap();
        }
        writer.finish().unwrap();
        writer.into_output()
    }

    /// Formats, and the bytes before a packet in its record.
    fn formats() -> impl Strategy<Value = (Written, usize)> {
        prop_oneof![
            Just((Written::Pcap(Precision::Micros), 16)),
            Just((Written::Pcap(Precision::Nanos), 16)),
            Just((Written::Pcapng, 28)),
        ]
    }

    /// A cutter for `file`, and where its records begin.
    fn cutter(file: &[u8], header: usize) -> (Cutter, Vec<usize>) {
        let mut reader = Reader::new(file).unwrap();
        let cutter = reader.cutter().unwrap();
        let mut all = crate::Detached::default();
        reader.detach(&mut all, 1).unwrap();
        let begins = all.descriptors.iter().map(|packet| packet.offset as usize - header);
        (cutter, begins.collect())
    }

    proptest! {
        #[test]
        fn a_guess_is_right_wherever_a_file_is_parted(
            (format, header) in formats(),
            lengths in prop::collection::vec(1u16..1500, 40..100),
            share in 0.0..0.6,
        ) {
            let file = savefile(format, &lengths);
            let (cutter, begins) = cutter(&file, header);
            let border = (file.len() as f64 * share) as usize & !3;
            let next = begins.iter().copied().find(|&begin| begin >= border);
            prop_assert_eq!(cutter.guess(&file[border..]).map(|at| border + at), next);
        }

        #[test]
        fn no_bytes_make_it_panic_or_forget_what_it_knows(
            (format, header) in formats(),
            bytes in prop::collection::vec(any::<u8>(), 0..5000),
            at in 0usize..5000,
        ) {
            let file = savefile(format, &[100; 30]);
            let (mut cutter, begins) = cutter(&file, header);
            let mut packets = Vec::new();
            if let Some(guess) = cutter.guess(&bytes) {
                cutter.cut(&bytes, guess, &mut packets);
            }
            cutter.cut(&bytes, at.min(bytes.len()), &mut packets);
            packets.clear();
            prop_assert!(cutter.cut(&file[..begins[29]], begins[0], &mut packets).need.is_some());
            prop_assert_eq!(packets.len(), 29);
        }
    }

    #[test]
    fn an_interface_in_the_middle_is_for_a_reader() {
        let mut file = savefile(Written::Pcapng, &[100; 30]);
        let (mut cutter, begins) = cutter(&file, 28);
        let section = file[..begins[0]].to_vec();
        file.splice(begins[10]..begins[10], section);
        assert_eq!(cutter.cut(&file, begins[0], &mut Vec::new()).need, None);
    }
}
