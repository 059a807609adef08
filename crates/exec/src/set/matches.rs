//! Which filters keep each packet of a batch.

use crate::lanes::ones;
use crate::sheet::{GROUP, Sheet, skip};

/// Packets by filters, one bit each. Its memory is kept from batch to batch.
#[derive(Clone, Debug, Default)]
pub struct SetMatches {
    /// So many words for each packet as there are bits for all filters. Where nothing was written there is what was there
    /// before: so that a packet costs what it has, and not what it might have.
    words: Vec<u64>,
    /// How many words are there for the others to be where they are best.
    skip: usize,
    /// One bit for each word, in bytes of each packet's own: whether it was written.
    written: Vec<u8>,
    packets: usize,
    filters: usize,
    stride: usize,
}

/// Bits in a word.
pub(super) const BITS: usize = u64::BITS as usize;

impl SetMatches {
    /// No packets, no filters.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of packets.
    pub fn packets(&self) -> usize {
        self.packets
    }

    /// Number of filters.
    pub fn filters(&self) -> usize {
        self.filters
    }

    /// Whether a filter keeps a packet; there is no more to either than was asked for.
    pub fn contains(&self, packet: usize, filter: usize) -> bool {
        let (word, bit) = (filter / BITS, filter % BITS);
        let (words, written) = self.row(packet);
        filter < self.filters
            && written.get(word / GROUP).is_some_and(|group| group >> (word % GROUP) & 1 == 1)
            && words[word] >> bit & 1 == 1
    }

    /// The filters that keep a packet, ascending.
    pub fn of(&self, packet: usize) -> impl Iterator<Item = usize> {
        let (words, written) = self.row(packet);
        let groups = written.iter().enumerate();
        let written = groups
            .flat_map(|(group, bits)| ones((*bits).into()).map(move |bit| GROUP * group + bit));
        written.flat_map(|word| ones(words[word]).map(move |bit| BITS * word + bit))
    }

    /// Makes room. No filter keeps any of the packets.
    pub(super) fn reset(&mut self, packets: usize, filters: usize) {
        let stride = filters.div_ceil(BITS);
        (self.packets, self.filters, self.stride) = (packets, filters, stride);
        self.words.resize(packets * stride + GROUP, 0);
        self.skip = skip(&self.words);
        self.written.clear();
        self.written.resize(packets * stride.div_ceil(GROUP), 0);
    }

    pub(super) fn insert(&mut self, packet: usize, filter: usize) {
        self.sheet(packet, 0).insert(0, filter / BITS, 1 << (filter % BITS));
    }

    /// What is written of packets, from one packet on, and from a word on.
    ///
    /// # Panics
    /// Unless the word is the first of a group.
    pub(super) fn sheet(&mut self, packet: usize, word: usize) -> Sheet<'_> {
        assert_eq!(word % GROUP, 0, "whole groups");
        let (stride, groups) = (self.stride, self.stride.div_ceil(GROUP));
        let words = &mut self.words[self.skip + packet * stride + word..];
        Sheet::new(words, &mut self.written[packet * groups + word / GROUP..], stride)
    }

    /// The words of a packet, and which of them were written; nothing of packets that there are not.
    fn row(&self, packet: usize) -> (&[u64], &[u8]) {
        let (stride, groups) = (self.stride, self.stride.div_ceil(GROUP));
        match packet < self.packets {
            true => {
                let words = &self.words[self.skip + packet * stride..][..stride];
                (words, &self.written[packet * groups..][..groups])
            }
            false => (&[], &[]),
        }
    }
}

impl PartialEq for SetMatches {
    fn eq(&self, other: &Self) -> bool {
        (self.packets, self.filters) == (other.packets, other.filters)
            && (0..self.packets).all(|packet| self.of(packet).eq(other.of(packet)))
    }
}

impl Eq for SetMatches {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_packet_has_its_filters() {
        let mut matches = SetMatches::new();
        matches.reset(3, 700);
        matches.insert(1, 699);
        matches.insert(1, 3);
        matches.insert(1, 5);
        matches.insert(2, 129);
        matches.insert(2, 0);
        assert_eq!(matches.of(1).collect::<Vec<_>>(), [3, 5, 699]);
        assert_eq!(matches.of(2).collect::<Vec<_>>(), [0, 129]);
        assert_eq!(matches.of(0).next(), None);
        assert!(matches.contains(2, 0) && !matches.contains(2, 70) && !matches.contains(2, 700));
        assert!(!matches.contains(3, 0));
    }

    #[test]
    fn nothing_is_left_of_the_batch_before() {
        let mut matches = SetMatches::new();
        matches.reset(2, 130);
        (0..130).for_each(|filter| matches.insert(1, filter));
        matches.reset(2, 130);
        assert_eq!(matches.of(1).next(), None);
        matches.insert(1, 64);
        assert_eq!(matches.of(1).collect::<Vec<_>>(), [64]);
        let mut others = SetMatches::new();
        others.reset(2, 130);
        assert_ne!(matches, others);
        others.insert(1, 64);
        assert_eq!(matches, others);
    }
}
