//! A part of a savefile, cut into packets on its own.

use std::fs::File;
use std::mem;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use linerate_base::{Batch, Descriptor, Interface};
use linerate_savefile::Cutter;

use crate::sieve::Sieve;

/// Bytes of a segment: few enough to stay in the second-level cache from the copy to the filter, many
/// enough that handing it over costs nothing.
pub(super) const SIZE: u64 = 512 << 10;

/// A record that ends so far behind its segment is left to the reader that goes on in order.
const FARTHEST: usize = 4 << 20;

/// The packets whose records begin in a segment of the file.
#[derive(Default)]
pub(super) struct Segment {
    /// The file from the segment's beginning to the end of its last record.
    region: Vec<u8>,
    /// File offset of the region's first byte.
    pub(super) begin: u64,
    /// Those that the filter keeps.
    packets: Vec<Descriptor>,
    /// All of them.
    pub(super) seen: usize,
    /// Offset in the file of the first record; `None` where it was not found.
    pub(super) from: Option<u64>,
    /// Offset in the file of the record after the last.
    pub(super) to: u64,
    /// There is nothing but whole packets in it.
    pub(super) is_sound: bool,
}

impl Segment {
    /// The packets that the filter keeps, of the file's `interfaces`.
    pub(super) fn batch<'a>(&'a self, interfaces: &'a [Interface]) -> Batch<'a> {
        Batch::new(&self.region, &self.packets, interfaces)
    }

    /// Reads the file from `begin` on.
    fn read(&mut self, file: &File, begin: u64) -> bool {
        self.begin = begin;
        self.region.resize(SIZE as usize, 0);
        file.read_exact_at(&mut self.region, begin).is_ok()
    }

    /// Reads on until the region has `end` bytes.
    fn extend(&mut self, file: &File, end: usize) -> bool {
        let have = self.region.len();
        if end > SIZE as usize + FARTHEST {
            return false;
        }
        self.region.resize(end, 0);
        file.read_exact_at(&mut self.region[have..], self.begin + have as u64).is_ok()
    }
}

/// What it takes to make packets of a segment.
#[derive(Clone)]
pub(super) struct Cutting {
    pub(super) file: Arc<File>,
    pub(super) cutter: Cutter,
    pub(super) interfaces: Arc<[Interface]>,
    /// `None` keeps all.
    pub(super) sieve: Option<Sieve>,
    pub(super) kept: Vec<Descriptor>,
}

impl Cutting {
    /// Makes `segment` the one that begins at `begin`, and cuts it from where its first record seems to
    /// be. False when it cannot be read as a whole.
    pub(super) fn fill(&mut self, segment: &mut Segment, begin: u64) -> bool {
        segment.from = None;
        let is_read = segment.read(&self.file, begin);
        if is_read && let Some(at) = self.cutter.guess(&segment.region) {
            self.cut(segment, begin + at as u64);
        }
        is_read
    }

    /// Cuts `segment` from file offset `from` on, which lies in it.
    pub(super) fn cut(&mut self, segment: &mut Segment, from: u64) {
        segment.region.truncate(SIZE as usize);
        segment.packets.clear();
        segment.is_sound = true;
        let mut at = (from - segment.begin) as usize;
        loop {
            let cut = self.cutter.cut(&segment.region, at, &mut segment.packets);
            at = cut.at;
            match cut.need {
                Some(_) if at >= SIZE as usize => break,
                Some(need) if segment.extend(&self.file, at + need) => {}
                _ => {
                    segment.is_sound = false;
                    // They may be of interfaces that nobody else knows.
                    segment.packets.clear();
                    break;
                }
            }
        }
        (segment.from, segment.to) = (Some(from), segment.begin + at as u64);
        segment.seen = segment.packets.len();
        self.sift(segment);
    }

    fn sift(&mut self, segment: &mut Segment) {
        if let Some(sieve) = &mut self.sieve {
            self.kept.clear();
            sieve.sift(&segment.batch(&self.interfaces), &mut self.kept);
            mem::swap(&mut segment.packets, &mut self.kept);
        }
    }
}
