//! Which filters keep each packet of a batch.

/// Packets by filters, one bit each. Its memory is kept from batch to batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetMatches {
    /// So many words for each packet as there are bits for all filters.
    words: Vec<u64>,
    packets: usize,
    filters: usize,
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
        filter < self.filters
            && self.row(packet).is_some_and(|row| row[filter / BITS] >> (filter % BITS) & 1 == 1)
    }

    /// The filters that keep a packet, ascending.
    pub fn of(&self, packet: usize) -> impl Iterator<Item = usize> {
        let row = self.row(packet).unwrap_or(&[]);
        row.iter().enumerate().flat_map(|(word, bits)| {
            let first = Some(*bits).filter(|bits| *bits != 0);
            std::iter::successors(first, |bits| Some(bits & (bits - 1)).filter(|rest| *rest != 0))
                .map(move |bits| word * BITS + bits.trailing_zeros() as usize)
        })
    }

    /// Makes room. What was in it stays there until it is cleared.
    pub(super) fn reset(&mut self, packets: usize, filters: usize) {
        (self.packets, self.filters) = (packets, filters);
        self.words.resize(packets * self.stride(), 0);
    }

    /// No filter keeps so many packets, from the first on. A block is cleared when its turn comes, as it then is in the
    /// nearest cache.
    pub(super) fn clear(&mut self, first: usize, count: usize) {
        let stride = self.stride();
        self.words[first * stride..][..count * stride].fill(0);
    }

    pub(super) fn insert(&mut self, packet: usize, filter: usize) {
        let stride = self.stride();
        self.words[packet * stride + filter / BITS] |= 1 << (filter % BITS);
    }

    /// Inserts many filters at once: one bit each.
    pub(super) fn insert_row(&mut self, packet: usize, filters: &[u64]) {
        let stride = self.stride();
        let row = self.words[packet * stride..][..stride].iter_mut();
        row.zip(filters).for_each(|(word, more)| *word |= more);
    }

    /// The words of all packets, from a packet's word of a number on.
    pub(super) fn words_mut(&mut self, packet: usize, word: usize) -> &mut [u64] {
        let stride = self.stride();
        &mut self.words[packet * stride + word..]
    }

    /// Words of a packet.
    pub(super) fn stride(&self) -> usize {
        self.filters.div_ceil(BITS)
    }

    fn row(&self, packet: usize) -> Option<&[u64]> {
        let stride = self.stride();
        (packet < self.packets).then(|| &self.words[packet * stride..][..stride])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_packet_has_its_filters() {
        let mut matches = SetMatches::new();
        matches.reset(3, 70);
        matches.insert(1, 69);
        matches.insert(1, 3);
        matches.insert_row(2, &[1]);
        assert_eq!(matches.of(1).collect::<Vec<_>>(), [3, 69]);
        assert_eq!(matches.of(0).next(), None);
        assert!(matches.contains(2, 0) && !matches.contains(2, 70) && !matches.contains(3, 0));
        matches.reset(3, 70);
        matches.clear(1, 2);
        assert_eq!((0..4).flat_map(|packet| matches.of(packet)).count(), 0);
    }
}
