//! Hash-consing: equal things get equal numbers.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};

/// An arena in which no two entries are equal.
#[derive(Clone, Debug)]
pub(crate) struct Interner<T> {
    entries: Vec<T>,
    numbers: WordMap<T, u32>,
}

/// A map whose keys are hashed word by word.
pub(crate) type WordMap<K, V> = HashMap<K, V, BuildHasherDefault<WordHasher>>;

impl<T> Default for Interner<T> {
    fn default() -> Self {
        Self { entries: Vec::new(), numbers: HashMap::default() }
    }
}

impl<T: Copy + Eq + Hash> Interner<T> {
    /// Makes room for as many entries as `other` has.
    pub(crate) fn reserve_as(&mut self, other: &Self) {
        self.entries.reserve(other.entries.len());
        self.numbers.reserve(other.entries.len());
    }

    /// The number of `entry`, a new one if there is no equal entry yet.
    pub(crate) fn intern(&mut self, entry: T) -> u32 {
        *self.numbers.entry(entry).or_insert_with(|| {
            self.entries.push(entry);
            self.entries.len() as u32 - 1
        })
    }

    /// The number of an equal entry, if there is one.
    pub(crate) fn number(&self, entry: T) -> Option<u32> {
        self.numbers.get(&entry).copied()
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
        // The table takes its bucket from the low bits; multiplication stirs the high ones most.
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
    fn hashes_of_neighbours_differ_in_their_low_bits() {
        let low = |word: u32| {
            let mut hasher = WordHasher::default();
            hasher.write_u32(word);
            hasher.finish() & 0xffff
        };
        let distinct: std::collections::HashSet<_> = (0..4096).map(|n| low(n << 16)).collect();
        assert!(distinct.len() > 3500, "{}", distinct.len());
    }
}
