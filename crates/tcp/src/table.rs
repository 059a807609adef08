//! From a flow to its connection: a hash table with open addressing.

/// Numbers by hash, at most two thirds full. An entry is the hash and 1 + the number, in eight bytes; 0 is free.
///
/// The hash is keyed and not known outside, so nobody can choose flows that fall together. Probing is linear, and what is
/// removed leaves no mark: later entries move up (Knuth, "The Art of Computer Programming" 6.4, algorithm R).
#[derive(Debug)]
pub(crate) struct Table {
    entries: Box<[u64]>,
    mask: usize,
}

impl Table {
    /// One with room for `most` numbers. Its memory is taken up as it is used.
    pub(crate) fn new(most: usize) -> Self {
        let size = (most + most / 2 + 1).next_power_of_two();
        Self { entries: vec![0; size].into_boxed_slice(), mask: size - 1 }
    }

    /// The first number of this hash, which is most likely the one that is looked for: it lets the caller touch
    /// what it is about to need for many flows, so that the memory's answers overlap.
    pub(crate) fn likely(&self, hash: u32) -> Option<u32> {
        self.find(hash, |_| true)
    }

    /// The number of this hash that `is` the one looked for.
    pub(crate) fn find(&self, hash: u32, is: impl Fn(u32) -> bool) -> Option<u32> {
        let mut at = hash as usize & self.mask;
        loop {
            let entry = self.entries[at];
            if entry == 0 {
                return None;
            }
            let number = entry as u32 - 1;
            if (entry >> 32) as u32 == hash && is(number) {
                return Some(number);
            }
            at = (at + 1) & self.mask;
        }
    }

    /// Adds a number, which must not be in it.
    pub(crate) fn insert(&mut self, hash: u32, number: u32) {
        let mut at = hash as usize & self.mask;
        while self.entries[at] != 0 {
            at = (at + 1) & self.mask;
        }
        self.entries[at] = u64::from(hash) << 32 | u64::from(number + 1);
    }

    /// Removes a number, which must be in it.
    pub(crate) fn remove(&mut self, hash: u32, number: u32) {
        let entry = u64::from(hash) << 32 | u64::from(number + 1);
        let mut hole = hash as usize & self.mask;
        while self.entries[hole] != entry {
            hole = (hole + 1) & self.mask;
        }
        let mut at = hole;
        loop {
            at = (at + 1) & self.mask;
            let entry = self.entries[at];
            if entry == 0 {
                break;
            }
            let home = (entry >> 32) as usize & self.mask;
            // It may move up unless it would come before its home.
            if at.wrapping_sub(home) & self.mask >= at.wrapping_sub(hole) & self.mask {
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
        /// Few hashes, so that many fall together and runs wrap around the end.
        #[test]
        fn it_is_a_map(steps in prop::collection::vec((0..24_u32, any::<bool>()), 1..300)) {
            let mut table = Table::new(24);
            let mut model: HashMap<u32, u32> = HashMap::new();
            let hash = |number: u32| (number % 5).wrapping_mul(0x9e37_79b9) | 28;
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
