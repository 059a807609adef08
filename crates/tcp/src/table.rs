//! From a flow to its connection: a hash table with open addressing.

/// Numbers by hash, at most four fifths full. An entry is the hash and 1 + the number, in eight bytes; 0 is free.
///
/// The hash is keyed and not known outside, so nobody can choose flows that fall together. Probing is linear, and what is
/// removed leaves no mark: later entries move up (Knuth, "The Art of Computer Programming" 6.4, algorithm R).
#[derive(Debug)]
pub(crate) struct Table {
    entries: Box<[u64]>,
}

impl Table {
    /// One with room for `most` numbers. Its memory is taken up as it is used.
    pub(crate) fn new(most: usize) -> Self {
        Self { entries: vec![0; most + most / 4 + 1].into_boxed_slice() }
    }

    /// Where the search for a hash begins: its share of all there are is the place's (Lemire, "Fast random integer generation
    /// in an interval", 2019), so that any size does, and no memory is lost to the next power of two.
    fn home(&self, hash: u32) -> usize {
        ((u64::from(hash) * self.entries.len() as u64) >> 32) as usize
    }

    /// The place behind this one.
    fn behind(&self, at: usize) -> usize {
        if at + 1 == self.entries.len() { 0 } else { at + 1 }
    }

    /// How far `to` is behind `from`.
    fn distance(&self, from: usize, to: usize) -> usize {
        if to >= from { to - from } else { to + self.entries.len() - from }
    }

    /// The first number of this hash, which is most likely the one that is looked for: it lets the caller touch
    /// what it is about to need for many flows, so that the memory's answers overlap.
    pub(crate) fn likely(&self, hash: u32) -> Option<u32> {
        self.find(hash, |_| true)
    }

    /// The number of this hash that `is` the one looked for.
    pub(crate) fn find(&self, hash: u32, is: impl Fn(u32) -> bool) -> Option<u32> {
        let mut at = self.home(hash);
        loop {
            let entry = self.entries[at];
            if entry == 0 {
                return None;
            }
            let number = entry as u32 - 1;
            if (entry >> 32) as u32 == hash && is(number) {
                return Some(number);
            }
            at = self.behind(at);
        }
    }

    /// Adds a number, which must not be in it.
    pub(crate) fn insert(&mut self, hash: u32, number: u32) {
        let mut at = self.home(hash);
        while self.entries[at] != 0 {
            at = self.behind(at);
        }
        self.entries[at] = u64::from(hash) << 32 | u64::from(number + 1);
    }

    /// Removes a number, which must be in it.
    pub(crate) fn remove(&mut self, hash: u32, number: u32) {
        let entry = u64::from(hash) << 32 | u64::from(number + 1);
        let mut hole = self.home(hash);
        while self.entries[hole] != entry {
            hole = self.behind(hole);
        }
        let mut at = hole;
        loop {
            at = self.behind(at);
            let entry = self.entries[at];
            if entry == 0 {
                break;
            }
            let home = self.home((entry >> 32) as u32);
            // It may move up unless it would come before its home.
            if self.distance(home, at) >= self.distance(hole, at) {
                self.entries[hole] = entry;
                hole = at;
            }
        }
        self.entries[hole] = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        /// Few hashes, near the last one, so that many fall together and runs wrap around the end.
        #[test]
        fn it_is_a_map(steps in prop::collection::vec((0..24_u32, any::<bool>()), 1..300)) {
            let mut table = Table::new(24);
            let mut model: HashMap<u32, u32> = HashMap::new();
            let hash = |number: u32| u32::MAX - number % 5 * 0x0900_0000;
            for (number, insert) in steps {
                match (insert, model.contains_key(&number)) {
                    (true, false) => {
                        table.insert(hash(number), number);
                        model.insert(number, hash(number));
                    }
                    (false, true) => {
                        table.remove(hash(number), number);
                        model.remove(&number);
                    }
                    _ => {}
                }
                for number in 0..24 {
                    let found = table.find(hash(number), |n| n == number);
                    prop_assert_eq!(found.is_some(), model.contains_key(&number));
                }
            }
            let used = table.entries.iter().filter(|entry| **entry != 0).count();
            prop_assert_eq!(used, model.len());
        }
    }
}
