//! Choosing packets of a batch.

use std::fmt::Debug;

use crate::Batch;

/// Says which packets of a batch are wanted: a filter, made for one link type.
pub trait Select: Debug + Send + Sync {
    /// Marks in `matches` which packets of the batch to keep. `interface` is the number that the system gave
    /// to the interface that they came by, where it is known: filters may ask for it.
    fn select(&self, batch: &Batch<'_>, interface: Option<u32>, matches: &mut Matches);
}

/// Which packets of a batch were chosen: one bit each. Its memory is kept from batch to batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matches {
    words: Vec<u64>,
    len: usize,
}

impl Matches {
    /// Bits in a word.
    const BITS: usize = 64;

    /// None of no packets.
    pub fn new() -> Self {
        Self::default()
    }

    /// Begins anew: none of `len` packets.
    pub fn reset(&mut self, len: usize) {
        self.words.clear();
        self.words.resize(len.div_ceil(Self::BITS), 0);
        self.len = len;
    }

    /// Number of packets, chosen or not.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True when there are no packets to choose from.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether the packet at `index` is chosen; none past the end is.
    pub fn contains(&self, index: usize) -> bool {
        self.words.get(index / Self::BITS).is_some_and(|word| word >> (index % Self::BITS) & 1 == 1)
    }

    /// Chooses the packet at `index`.
    ///
    /// # Panics
    /// If there is no such packet.
    pub fn insert(&mut self, index: usize) {
        assert!(index < self.len, "packet {index} of {}", self.len);
        self.words[index / Self::BITS] |= 1 << (index % Self::BITS);
    }

    /// Chooses up to 64 packets at once, from that at `first` on, which is a multiple of 64; the lowest bit is
    /// the first.
    ///
    /// # Panics
    /// If `first` is no such multiple, or a bit stands for no packet.
    pub fn insert_word(&mut self, first: usize, bits: u64) {
        assert!(first.is_multiple_of(Self::BITS), "packet {first} begins no word");
        let there = self.len.saturating_sub(first);
        assert!(there >= Self::BITS || bits >> there == 0, "a bit past packet {}", self.len);
        if bits != 0 {
            self.words[first / Self::BITS] |= bits;
        }
    }

    /// How many packets are chosen.
    pub fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The chosen packets' indices, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        self.words.iter().enumerate().flat_map(|(word, bits)| {
            let rest = |bits: &u64| Some(bits & (bits - 1)).filter(|rest| *rest != 0);
            let first = Some(*bits).filter(|bits| *bits != 0);
            std::iter::successors(first, rest)
                .map(move |bits| word * Self::BITS + bits.trailing_zeros() as usize)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_chosen_is_told_in_order() {
        let mut matches = Matches::new();
        matches.reset(130);
        matches.insert(129);
        matches.insert(0);
        matches.insert_word(64, 0b101);
        assert_eq!(matches.iter().collect::<Vec<_>>(), [0, 64, 66, 129]);
        assert_eq!((matches.count(), matches.len()), (4, 130));
        assert!(matches.contains(66) && !matches.contains(65) && !matches.contains(1000));
        matches.reset(3);
        assert_eq!(matches.iter().next(), None);
    }

    #[test]
    #[should_panic(expected = "a bit past packet 70")]
    fn nobody_chooses_a_packet_that_is_not_there() {
        let mut matches = Matches::new();
        matches.reset(70);
        matches.insert_word(64, 1 << 6);
    }
}
