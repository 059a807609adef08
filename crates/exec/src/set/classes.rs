//! Numbers of a field by the filters whose ranges they are in.

use std::collections::HashMap;

use crate::bounds::Bounds;
use crate::kernels::Level;
use crate::lanes::{Chunks, Lanes};
use crate::sheet::{GROUP, skip};

use super::matches::BITS;

/// The most words of all rows together: 16 MiB. Of rows that many filters make long only some words are looked at.
const ROOM: usize = 1 << 21;

/// Between neighbouring bounds of ranges all numbers are in the same ones: a class. Each has a row, one bit for each
/// filter, that classes with equal rows share.
#[derive(Debug)]
pub(super) struct Classes {
    /// Where classes begin, and the row of each.
    bounds: Bounds,
    /// Rows one behind the other; the first is empty.
    rows: Vec<u64>,
    /// How many words are before the first.
    skip: usize,
    /// Words of a row.
    width: usize,
    /// For each row, in which of its parts there is anything (F. Baboescu and G. Varghese, "Scalable packet
    /// classification", SIGCOMM 2001).
    parts: Box<[u64]>,
}

/// Words of a part: a row has no more parts than a word has bits.
pub(super) fn part(width: usize) -> usize {
    width.div_ceil(BITS)
}

impl Classes {
    /// The classes of ranges, each with the bit of its filter, in rows of so many words; `None` if these take too
    /// much room.
    pub(super) fn new(width: usize, ranges: &[((u32, u32), usize)]) -> Option<Self> {
        let mut edges = Vec::with_capacity(2 * ranges.len());
        for ((from, to), bit) in ranges {
            edges.push((*from, *bit, true));
            edges.extend(to.checked_add(1).map(|behind| (behind, *bit, false)));
        }
        edges.sort_unstable();
        let mut sweep = Sweep::new(width);
        let (mut bounds, mut rows_of) = (Vec::new(), vec![0]);
        for edges in edges.chunk_by(|one, other| one.0 == other.0) {
            edges.iter().for_each(|(_, bit, begins)| sweep.pass(*bit, *begins));
            let row = sweep.row();
            if edges[0].0 == 0 {
                rows_of[0] = row;
            } else if rows_of.last() != Some(&row) {
                bounds.push(edges[0].0);
                rows_of.push(row);
            }
            if sweep.rows.len() > ROOM {
                return None;
            }
        }
        let parts = sweep.rows.chunks_exact(width).map(|row| {
            let any = |words: &[u64]| u64::from(words.iter().any(|word| *word != 0));
            row.chunks(part(width)).rev().fold(0, |parts, words| parts << 1 | any(words))
        });
        let parts = parts.collect();
        let bounds = Bounds::new(bounds.into(), rows_of.into());
        let mut rows = vec![0; sweep.rows.len() + GROUP];
        let skip = skip(&rows);
        rows[skip..][..sweep.rows.len()].copy_from_slice(&sweep.rows);
        Some(Self { bounds, parts, rows, skip, width })
    }

    /// The share of a row's parts in which there is anything, in the mean over classes.
    pub(super) fn density(&self) -> f64 {
        let rows_of = self.bounds.values();
        let parts = self.width.div_ceil(part(self.width)) * rows_of.len();
        let filled = rows_of.iter().map(|row| self.parts[*row as usize].count_ones());
        f64::from(filled.sum::<u32>()) / parts as f64
    }

    /// The share of filters that want a number, in the mean over classes.
    pub(super) fn wanted(&self) -> f64 {
        let bits = |row: &u32| {
            let words = &self.rows()[*row as usize * self.width..][..self.width];
            words.iter().map(|word| word.count_ones()).sum::<u32>()
        };
        let rows_of = self.bounds.values();
        let wanted: f64 = rows_of.iter().map(|row| f64::from(bits(row))).sum();
        wanted / (rows_of.len() * self.width * BITS) as f64
    }

    /// In which parts of a row there is anything; none where there is not.
    pub(super) fn parts(&self, row: u32) -> u64 {
        self.parts[row as usize]
    }

    /// A word of a row.
    pub(super) fn word(&self, row: u32, word: usize) -> u64 {
        self.rows()[row as usize * self.width + word]
    }

    /// Whether a number's class is found without memory.
    pub(super) fn are_few(&self) -> bool {
        self.bounds.rest() == 0
    }

    /// Makes numbers of some chunks the numbers of their rows; 0 is the empty one.
    pub(super) fn find(&self, level: Level, chunks: Chunks, numbers: &mut Lanes) {
        level.look_up(&self.bounds, chunks, numbers);
    }

    /// Rows one behind the other.
    pub(super) fn rows(&self) -> &[u64] {
        &self.rows[self.skip..]
    }

    /// Takes a filter's bit out of all rows.
    pub(super) fn forget(&mut self, bit: usize) {
        for row in self.rows[self.skip..].chunks_exact_mut(self.width) {
            row[bit / BITS] &= !(1 << (bit % BITS));
        }
    }
}

/// A walk over all numbers, from one bound to the next.
struct Sweep {
    /// How many ranges of each filter are open.
    open: Vec<u32>,
    current: Box<[u64]>,
    rows: Vec<u64>,
    numbers: HashMap<Box<[u64]>, u32>,
}

impl Sweep {
    fn new(width: usize) -> Self {
        let current: Box<[u64]> = vec![0; width].into();
        let numbers = HashMap::from([(current.clone(), 0)]);
        Self { open: vec![0; width * BITS], rows: vec![0; width], current, numbers }
    }

    fn pass(&mut self, bit: usize, begins: bool) {
        let open = &mut self.open[bit];
        *open = if begins { *open + 1 } else { *open - 1 };
        let word = &mut self.current[bit / BITS];
        *word = *word & !(1 << (bit % BITS)) | u64::from(*open > 0) << (bit % BITS);
    }

    /// The number of the current row.
    fn row(&mut self) -> u32 {
        if let Some(number) = self.numbers.get(&self.current) {
            return *number;
        }
        let number = self.numbers.len() as u32;
        self.rows.extend(&self.current);
        self.numbers.insert(self.current.clone(), number);
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lanes::LANES;
    use proptest::prelude::*;

    fn number() -> impl Strategy<Value = u32> {
        prop_oneof![0..60_u32, u32::MAX - 20..=u32::MAX, any::<u32>()]
    }

    proptest! {
        #[test]
        fn a_number_finds_the_filters_of_its_ranges(
            ranges in prop::collection::vec((number(), number(), 0..100_usize), 1..150),
            asked in prop::collection::vec(number(), LANES),
            forgotten in 0..100_usize,
        ) {
            let order = |(a, b, bit): (u32, u32, usize)| ((a.min(b), a.max(b)), bit);
            let ranges: Vec<_> = ranges.into_iter().map(order).collect();
            let mut classes = Classes::new(2, &ranges).unwrap();
            classes.forget(forgotten);
            for level in Level::all() {
                let mut lanes = Lanes::default();
                lanes.0.as_flattened_mut().copy_from_slice(&asked);
                classes.find(level, Chunks::MAX, &mut lanes);
                for (at, number) in asked.iter().enumerate() {
                    let mut meant = [0_u64; 2];
                    for ((from, to), bit) in &ranges {
                        if (from..=to).contains(&number) && *bit != forgotten {
                            meant[bit / BITS] |= 1 << (bit % BITS);
                        }
                    }
                    let row = &classes.rows()[2 * lanes.of(at) as usize..][..2];
                    prop_assert_eq!(row, meant, "{}: {:#x}", level, number);
                    for (word, bits) in row.iter().enumerate() {
                        prop_assert_eq!(classes.word(lanes.of(at), word), *bits);
                        prop_assert!(*bits == 0 || classes.parts(lanes.of(at)) >> word & 1 == 1);
                    }
                }
            }
        }
    }

    #[test]
    fn rows_that_take_too_much_room_are_not_made() {
        let ranges: Vec<_> = (0..12_800).map(|at| ((8 * at, 8 * at + 3), at as usize)).collect();
        assert!(Classes::new(200, &ranges).is_none());
        assert!(Classes::new(200, &ranges[..1000]).is_some());
    }
}
