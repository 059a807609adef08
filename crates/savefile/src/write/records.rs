//! What has been handed to a savefile's output, and how much of that a shorter file holds.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;

use super::pcap::Pcap;
use super::pcapng::Pcapng;
use super::writer::{Counters, Format};

/// Bytes between two marks at least.
const APART: u64 = 64 << 10;

/// Marks lie in so many bytes at the end: more than an output holds back.
const MARKED: u64 = 64 << 20;

/// What a savefile's output has taken as whole records.
///
/// An output may hold bytes back and fail to write them later. [`within`](Self::within) then tells what the
/// file holds all the same.
#[derive(Clone, Debug)]
pub struct Records {
    format: Format,
    counters: Counters,
    /// Where records ended, and how many packets the file had up to there.
    marks: VecDeque<Counters>,
}

impl Records {
    pub(super) fn new(format: Format) -> Self {
        Self { format, counters: Counters::default(), marks: VecDeque::new() }
    }

    /// Notes that the output has taken as much more.
    pub(super) fn add(&mut self, taken: Counters) {
        self.counters += taken;
        let last = self.marks.back().map_or(0, |mark| mark.bytes);
        if self.counters.bytes - last >= APART {
            self.marks.push_back(self.counters);
        }
        while self.marks.front().is_some_and(|mark| mark.bytes + MARKED < self.counters.bytes) {
            self.marks.pop_front();
        }
    }

    /// All that the output has taken.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// The whole records among the first `kept` bytes of the file. `read` is asked for the bytes of a range
    /// of the file, of some 100 KiB; if it fails the records in that range do not count.
    pub fn within(
        &self,
        kept: u64,
        read: impl FnOnce(Range<u64>) -> io::Result<Vec<u8>>,
    ) -> Counters {
        if kept >= self.counters.bytes {
            return self.counters;
        }
        let before = self.marks.iter().rfind(|mark| mark.bytes <= kept);
        let mut whole = before.copied().unwrap_or_default();
        if let Ok(bytes) = read(whole.bytes..kept) {
            whole += self.whole(&bytes, whole.bytes == 0);
        }
        whole
    }

    /// The whole records in `bytes`, which begin with a record, or with the file.
    pub(super) fn whole(&self, bytes: &[u8], from_start: bool) -> Counters {
        match self.format {
            Format::Pcap(_) => Pcap::whole(bytes, from_start),
            Format::Pcapng => Pcapng::whole(bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pcap file of `count` records of 84 bytes, handed over ten at a time.
    fn pcap(count: u64) -> (Records, Vec<u8>) {
        let mut records = Records::new(Format::Pcap(super::super::Precision::Nanos));
        let mut file = vec![0; 24];
        records.add(Counters { packets: 0, bytes: 24 });
        for number in 0..count {
            file.extend([0; 8]);
            file.extend([84 - 16, 0, 0, 0, 84 - 16, 0, 0, 0]);
            file.extend([0x55; 84 - 16]);
            if number % 10 == 9 {
                records.add(Counters { packets: 10, bytes: 840 });
            }
        }
        (records, file)
    }

    #[test]
    fn records_are_counted_up_to_any_byte() {
        let (records, file) = pcap(10_000);
        let read = |range: Range<u64>| Ok(file[range.start as usize..range.end as usize].to_vec());
        for kept in [0_u64, 23, 24, 24 + 83, 24 + 84, 65_535, 65_536, 700_000, 839_999, 840_024] {
            let packets = kept.saturating_sub(24) / 84;
            let bytes = if kept < 24 { 0 } else { 24 + packets * 84 };
            assert_eq!(records.within(kept, read), Counters { packets, bytes }, "{kept}");
        }
        assert_eq!(records.within(u64::MAX, read), records.counters());
    }

    #[test]
    fn what_cannot_be_read_back_does_not_count() {
        let (records, _) = pcap(10_000);
        let found = records.within(700_000, |_| Err(io::ErrorKind::Other.into()));
        assert!(found.bytes <= 700_000 && found.bytes > 700_000 - 2 * APART, "{found:?}");
        assert_eq!(found.bytes, 24 + found.packets * 84);
    }

    #[test]
    fn marks_are_kept_for_the_end_only() {
        let mut records = Records::new(Format::Pcapng);
        for _ in 0..10_000 {
            records.add(Counters { packets: 100, bytes: 100_000 });
        }
        assert!((600..700).contains(&records.marks.len()), "{}", records.marks.len());
    }
}
