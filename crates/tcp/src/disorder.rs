//! Data that came before what stands in front of it, in memory that all connections share and that has an end.
//!
//! A connection has a record here only while it needs one. Its data lie in pieces, in order and without overlap; a piece is
//! one block. Where no block is free the data are not taken, and the sender, who is not told that they came, sends them
//! again. What was told is never forgotten (RFC 2018 8 would allow it).

use crate::Seq;
use crate::segment::MOST_BLOCKS;

/// Bytes of a block: a full Ethernet frame's payload.
const BLOCK: usize = 1536;

/// No piece; no record.
pub(crate) const NONE: u32 = u32::MAX;

/// Part of a stream. Free ones form a list.
#[derive(Clone, Copy, Debug)]
struct Piece {
    start: Seq,
    length: u32,
    next: u32,
    /// When data were last added to it, or came again.
    stamp: u32,
}

impl Piece {
    fn end(&self) -> Seq {
        self.start + self.length
    }
}

/// What is kept of one connection. Free ones form a list.
#[derive(Clone, Copy, Debug)]
struct Record {
    first: u32,
    /// The range that came again last, until it was told (RFC 2883 4).
    duplicate: Option<(Seq, Seq)>,
}

/// All that came too early.
#[derive(Debug)]
pub(crate) struct Disorder {
    bytes: Vec<u8>,
    pieces: Vec<Piece>,
    free_piece: u32,
    records: Vec<Record>,
    free_record: u32,
    most: usize,
    used: usize,
    stamp: u32,
}

impl Disorder {
    /// Room for so many bytes, which is taken up as it is used.
    pub(crate) fn new(bytes: usize) -> Self {
        Self {
            bytes: Vec::new(),
            pieces: Vec::new(),
            free_piece: NONE,
            records: Vec::new(),
            free_record: NONE,
            most: bytes / BLOCK,
            used: 0,
            stamp: 0,
        }
    }

    /// How many blocks are in use.
    pub(crate) fn used(&self) -> usize {
        self.used
    }

    /// Keeps `data`, which begin at `start` and are ahead of what is expected; false when not all of them could be.
    pub(crate) fn keep(&mut self, record: &mut u32, start: Seq, data: &[u8]) -> bool {
        self.open(record);
        self.stamp = self.stamp.wrapping_add(1);
        let (mut at, mut left) = (start, data);
        let (mut before, mut piece) = (NONE, self.records[*record as usize].first);
        while piece != NONE && !left.is_empty() {
            let Piece { start, next, .. } = self.pieces[piece as usize];
            if at.is_before(start) {
                let new = left.len().min(start.since(at) as usize);
                if !self.add(*record, before, at, &left[..new]) {
                    return false;
                }
                (at, left) = (at + new as u32, &left[new..]);
            }
            let end = self.pieces[piece as usize].end();
            if !left.is_empty() && at.is_before(end) {
                let known = left.len().min(end.since(at) as usize);
                self.came_again(record, at, at + known as u32);
                self.pieces[piece as usize].stamp = self.stamp;
                (at, left) = (at + known as u32, &left[known..]);
            }
            (before, piece) = (piece, next);
        }
        self.add(*record, before, at, left)
    }

    /// Adds data behind the piece `before`.
    fn add(&mut self, record: u32, mut before: u32, mut at: Seq, mut data: &[u8]) -> bool {
        if before != NONE && self.pieces[before as usize].end() == at {
            let length = self.pieces[before as usize].length as usize;
            let more = data.len().min(BLOCK - length);
            self.fill(before, length, &data[..more]);
            (at, data) = (at + more as u32, &data[more..]);
        }
        while !data.is_empty() {
            let Some(piece) = self.take(at) else { return false };
            let next = match before {
                NONE => &mut self.records[record as usize].first,
                before => &mut self.pieces[before as usize].next,
            };
            let next = std::mem::replace(next, piece);
            self.pieces[piece as usize].next = next;
            let more = data.len().min(BLOCK);
            self.fill(piece, 0, &data[..more]);
            (before, at, data) = (piece, at + more as u32, &data[more..]);
        }
        true
    }

    fn fill(&mut self, piece: u32, from: usize, data: &[u8]) {
        let start = piece as usize * BLOCK + from;
        self.bytes[start..start + data.len()].copy_from_slice(data);
        let piece = &mut self.pieces[piece as usize];
        piece.length += data.len() as u32;
        piece.stamp = self.stamp;
    }

    fn take(&mut self, start: Seq) -> Option<u32> {
        let fresh = Piece { start, length: 0, next: NONE, stamp: self.stamp };
        let piece = self.free_piece;
        if piece != NONE {
            self.free_piece = self.pieces[piece as usize].next;
            self.pieces[piece as usize] = fresh;
            self.used += 1;
            return Some(piece);
        }
        if self.pieces.len() == self.most {
            return None;
        }
        self.pieces.push(fresh);
        self.bytes.resize(self.pieces.len() * BLOCK, 0);
        self.used += 1;
        Some(self.pieces.len() as u32 - 1)
    }

    /// Data came again that had come before.
    pub(crate) fn came_again(&mut self, record: &mut u32, from: Seq, to: Seq) {
        self.open(record);
        self.records[*record as usize].duplicate = Some((from, to));
    }

    /// Takes the first piece off if `expected` is in it: the data from there on. They are valid until data are kept.
    pub(crate) fn next(&mut self, record: &mut u32, expected: Seq) -> Option<&[u8]> {
        loop {
            let first = self.records.get(*record as usize)?.first;
            let piece = *self.pieces.get(first as usize)?;
            if expected.is_before(piece.start) {
                return None;
            }
            self.records[*record as usize].first = piece.next;
            self.give_back(first);
            self.close_if_empty(record);
            if expected.is_before(piece.end()) {
                let start = first as usize * BLOCK;
                let skip = expected.since(piece.start) as usize;
                return Some(&self.bytes[start + skip..start + piece.length as usize]);
            }
        }
    }

    /// The ranges to tell the sender, at most so many: first what came again, then those kept, the newest first (RFC 2018 4,
    /// RFC 2883 4). What came again is told once.
    pub(crate) fn tell(
        &mut self,
        record: &mut u32,
        most: usize,
        blocks: &mut [(Seq, Seq); MOST_BLOCKS],
    ) -> usize {
        let Some(found) = self.records.get_mut(*record as usize) else { return 0 };
        let (duplicate, mut piece) = (found.duplicate.take(), found.first);
        let mut ranges: [(u32, Seq, Seq); MOST_BLOCKS] = Default::default();
        let mut count = 0;
        while piece != NONE {
            let range = self.range(&mut piece);
            let age = |stamp: u32| self.stamp.wrapping_sub(stamp);
            let place = ranges[..count].iter().position(|known| age(range.0) < age(known.0));
            let place = place.unwrap_or(count);
            if place < MOST_BLOCKS {
                count = (count + 1).min(MOST_BLOCKS);
                ranges[place..count].rotate_right(1);
                ranges[place] = range;
            }
        }
        let kept = ranges[..count].iter().map(|(_, from, to)| (*from, *to));
        let told = duplicate.into_iter().chain(kept).take(most);
        let count = blocks.iter_mut().zip(told).map(|(block, range)| *block = range).count();
        self.close_if_empty(record);
        count
    }

    /// The range without gaps that begins with `piece`, which becomes the first one behind it: the newest stamp, and
    /// from where to where.
    fn range(&self, piece: &mut u32) -> (u32, Seq, Seq) {
        let Piece { start, mut stamp, .. } = self.pieces[*piece as usize];
        let mut end = start;
        while let Some(found) = self.pieces.get(*piece as usize).filter(|p| p.start == end) {
            if self.stamp.wrapping_sub(found.stamp) < self.stamp.wrapping_sub(stamp) {
                stamp = found.stamp;
            }
            (end, *piece) = (found.end(), found.next);
        }
        (stamp, start, end)
    }

    /// Forgets a connection.
    pub(crate) fn forget(&mut self, record: &mut u32) {
        let Some(found) = self.records.get_mut(*record as usize) else { return };
        found.duplicate = None;
        let mut piece = std::mem::replace(&mut found.first, NONE);
        while piece != NONE {
            let next = self.pieces[piece as usize].next;
            self.give_back(piece);
            piece = next;
        }
        self.close_if_empty(record);
    }

    fn give_back(&mut self, piece: u32) {
        self.pieces[piece as usize].next = std::mem::replace(&mut self.free_piece, piece);
        self.used -= 1;
    }

    fn open(&mut self, record: &mut u32) {
        if *record != NONE {
            return;
        }
        let fresh = Record { first: NONE, duplicate: None };
        *record = self.free_record;
        if *record == NONE {
            *record = self.records.len() as u32;
            self.records.push(fresh);
            return;
        }
        let found = &mut self.records[*record as usize];
        self.free_record = std::mem::replace(found, fresh).first;
    }

    fn close_if_empty(&mut self, record: &mut u32) {
        let found = &mut self.records[*record as usize];
        if found.first == NONE && found.duplicate.is_none() {
            found.first = std::mem::replace(&mut self.free_record, *record);
            *record = NONE;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn told(disorder: &mut Disorder, record: &mut u32) -> Vec<(u32, u32)> {
        let mut blocks = Default::default();
        let count = disorder.tell(record, MOST_BLOCKS, &mut blocks);
        blocks[..count].iter().map(|(from, to)| (from.0, to.0)).collect()
    }

    #[test]
    fn the_newest_range_is_told_first_and_grows() {
        let (mut disorder, mut record) = (Disorder::new(1 << 20), NONE);
        for start in [20, 40, 60, 80] {
            assert!(disorder.keep(&mut record, Seq(start), &[0; 10]));
        }
        assert_eq!(told(&mut disorder, &mut record), [(80, 90), (60, 70), (40, 50)]);
        assert!(disorder.keep(&mut record, Seq(30), &[0; 10]));
        assert_eq!(told(&mut disorder, &mut record), [(20, 50), (80, 90), (60, 70)]);
    }

    #[test]
    fn what_came_again_is_told_once_before_all_else() {
        let (mut disorder, mut record) = (Disorder::new(1 << 20), NONE);
        disorder.keep(&mut record, Seq(20), &[0; 10]);
        disorder.keep(&mut record, Seq(25), &[0; 10]);
        assert_eq!(told(&mut disorder, &mut record), [(25, 30), (20, 35)]);
        assert_eq!(told(&mut disorder, &mut record), [(20, 35)]);
        disorder.forget(&mut record);
        disorder.came_again(&mut record, Seq(1), Seq(2));
        assert_eq!(told(&mut disorder, &mut record), [(1, 2)]);
        assert_eq!((record, disorder.used()), (NONE, 0), "nothing is left");
    }

    #[test]
    fn memory_has_an_end_and_what_does_not_fit_is_not_told() {
        let (mut disorder, mut record) = (Disorder::new(2 * BLOCK), NONE);
        assert!(disorder.keep(&mut record, Seq(10), &[0; BLOCK]));
        assert!(!disorder.keep(&mut record, Seq(10_000), &[0; 2 * BLOCK]));
        let end = 10_000 + BLOCK as u32;
        assert_eq!(told(&mut disorder, &mut record), [(10_000, end), (10, 10 + BLOCK as u32)]);
        disorder.forget(&mut record);
        assert!(disorder.keep(&mut record, Seq(5), &[0; 2 * BLOCK]));
        assert_eq!(disorder.used(), 2);
    }

    proptest! {
        /// Any pieces of a stream, in any order, before and behind the point where sequence numbers wrap.
        #[test]
        fn streams_come_out_as_they_were(
            parts in prop::collection::vec((1..6_000_u32, 1..2_500_usize), 1..40), start: u32,
        ) {
            let stream: Vec<u8> = (0..8_500_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
            let (mut disorder, mut record) = (Disorder::new(1 << 20), NONE);
            let mut has = vec![false; stream.len()];
            for (from, length) in parts {
                let range = from as usize..from as usize + length;
                prop_assert!(disorder.keep(&mut record, Seq(start) + from, &stream[range.clone()]));
                has[range].fill(true);
            }
            let mut blocks = Default::default();
            let count = disorder.tell(&mut record, MOST_BLOCKS, &mut blocks);
            for (from, to) in &blocks[..count] {
                let range = from.since(Seq(start)) as usize..to.since(Seq(start)) as usize;
                prop_assert!(has[range].iter().all(|byte| *byte));
            }
            let mut expected = 1;
            while expected < has.len() {
                while let Some(data) = disorder.next(&mut record, Seq(start) + expected as u32) {
                    prop_assert_eq!(data, &stream[expected..expected + data.len()]);
                    prop_assert!(!data.is_empty());
                    has[expected..expected + data.len()].fill(false);
                    expected += data.len();
                }
                prop_assert!(!has[expected.min(has.len() - 1)]);
                expected += 1;
            }
            prop_assert!(!has.contains(&true));
            prop_assert_eq!((record, disorder.used()), (NONE, 0));
        }
    }
}
