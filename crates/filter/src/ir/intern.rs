//! Hash-consing: equal things get equal numbers.

use std::hash::{Hash, Hasher};

/// An arena in which no two entries are equal.
///
/// Beside the entries there is only a table of their numbers, probed linearly: a filter of ten
/// thousand hosts makes several hundred thousand entries, and it is memory that takes the time.
#[derive(Clone, Debug)]
pub(crate) struct Interner<T> {
    entries: Vec<T>,
    /// As many as a power of two, at most half of them taken; empty at first.
    table: Vec<Slot>,
}

/// Half of an entry's hash, so that unequal entries are mostly told apart without looking at them,
/// and its number.
#[derive(Clone, Copy, Debug)]
struct Slot {
    hash: u32,
    number: u32,
}

impl Slot {
    const EMPTY: Self = Self { hash: 0, number: u32::MAX };
    const FEWEST: usize = 16;
}

impl<T> Default for Interner<T> {
    fn default() -> Self {
        Self { entries: Vec::new(), table: Vec::new() }
    }
}

impl<T: Copy + Eq + Hash> Interner<T> {
    /// Makes room for as many entries as `other` has.
    pub(crate) fn reserve_as(&mut self, other: &Self) {
        self.entries.reserve(other.entries.len());
        self.resize(other.table.len());
    }

    /// The number of `entry`, a new one if there is no equal entry yet.
    pub(crate) fn intern(&mut self, entry: T) -> u32 {
        if self.table.len() < 2 * (self.entries.len() + 1) {
            self.resize(Slot::FEWEST.max(2 * self.table.len()));
        }
        let hash = hash(&entry);
        let at = self.find(hash, |number| self.entries[number as usize] == entry);
        if self.table[at].number == Slot::EMPTY.number {
            self.table[at] = Slot { hash: hash as u32, number: self.entries.len() as u32 };
            self.entries.push(entry);
        }
        self.table[at].number
    }

    /// The number of an equal entry, if there is one.
    pub(crate) fn number(&self, entry: T) -> Option<u32> {
        if self.table.is_empty() {
            return None;
        }
        let at = self.find(hash(&entry), |number| self.entries[number as usize] == entry);
        Some(self.table[at].number).filter(|number| *number != Slot::EMPTY.number)
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, T> {
        self.entries.iter()
    }

    pub(crate) fn get(&self, number: u32) -> &T {
        &self.entries[number as usize]
    }

    /// Where in the table the entry with this hash is that `is_it` knows, or where it would go.
    fn find(&self, hash: u64, is_it: impl Fn(u32) -> bool) -> usize {
        let mask = self.table.len() - 1;
        let mut at = (hash >> 32) as usize & mask;
        loop {
            let slot = self.table[at];
            let is_empty = slot.number == Slot::EMPTY.number;
            if is_empty || (slot.hash == hash as u32 && is_it(slot.number)) {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    fn resize(&mut self, length: usize) {
        self.table = vec![Slot::EMPTY; length];
        for (entry, number) in self.entries.iter().zip(0..) {
            let hash = hash(entry);
            let at = self.find(hash, |_| false);
            self.table[at] = Slot { hash: hash as u32, number };
        }
    }
}

fn hash(entry: &impl Hash) -> u64 {
    let mut hasher = WordHasher::default();
    entry.hash(&mut hasher);
    hasher.finish()
}

/// Multiplies and rotates word by word: the keys are small, ours, and hashed by the hundred thousand.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WordHasher(u64);

impl WordHasher {
    fn add(&mut self, word: u64) {
        const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(ODD);
    }
}

impl Hasher for WordHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.add((*byte).into()));
    }

    fn write_u8(&mut self, word: u8) {
        self.add(word.into());
    }

    fn write_u32(&mut self, word: u32) {
        self.add(word.into());
    }

    fn write_u64(&mut self, word: u64) {
        self.add(word);
    }

    fn write_isize(&mut self, word: isize) {
        self.add(word as u64);
    }

    fn finish(&self) -> u64 {
        // Multiplication stirs the high bits most.
        self.0 ^ (self.0 >> 32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_entries_share_a_number() {
        let mut interner = Interner::default();
        let numbers = [7_u32, 8, 7].map(|entry| interner.intern(entry));
        assert_eq!(numbers, [0, 1, 0]);
        assert_eq!(*interner.get(1), 8);
    }

    #[test]
    fn numbers_are_those_of_a_search_from_the_beginning() {
        let mut interner = Interner::default();
        let mut list: Vec<(u32, u32)> = Vec::new();
        for n in 0..5000_u32 {
            let entry = (n % 700, n / 3 % 11);
            let expected = list.iter().position(|known| *known == entry);
            assert_eq!(interner.number(entry).map(|number| number as usize), expected);
            if expected.is_none() {
                list.push(entry);
            }
            assert_eq!(interner.intern(entry) as usize, expected.unwrap_or(list.len() - 1));
        }
        assert_eq!(interner.iter().copied().collect::<Vec<_>>(), list);
    }

    #[test]
    fn hashes_of_neighbours_differ() {
        let distinct = |bits: fn(u64) -> u64| {
            let hashes = (0..4096_u32).map(|n| bits(hash(&(n << 16))));
            hashes.collect::<std::collections::HashSet<_>>().len()
        };
        assert!(distinct(|hash| hash & 0xffff) > 3500);
        assert!(distinct(|hash| hash >> 32 & 0xffff) > 3500);
    }
}
