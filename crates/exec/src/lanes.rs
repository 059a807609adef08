//! Columns and masks of a block of packets.

use std::array;
use std::ops::{Index, IndexMut};

/// Packets in a block.
pub(crate) const LANES: usize = CHUNKS * CHUNK;
/// Packets that are never told apart: columns are made for all of them or none.
pub(crate) const CHUNK: usize = 16;
/// Chunks of a block.
pub(crate) const CHUNKS: usize = 16;

/// One number for each packet of a block, by chunks. A chunk is a cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(crate) struct Lanes(pub(crate) [[u32; CHUNK]; CHUNKS]);

impl Default for Lanes {
    fn default() -> Self {
        Self([[0; CHUNK]; CHUNKS])
    }
}

impl Index<usize> for Lanes {
    type Output = [u32; CHUNK];

    fn index(&self, chunk: usize) -> &[u32; CHUNK] {
        &self.0[chunk]
    }
}

impl IndexMut<usize> for Lanes {
    fn index_mut(&mut self, chunk: usize) -> &mut [u32; CHUNK] {
        &mut self.0[chunk]
    }
}

/// A set of chunks, one bit each.
pub(crate) type Chunks = u16;

/// A set of packets of a block: by chunk, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mask(pub(crate) [u16; CHUNKS]);

impl Mask {
    /// The first `count` packets.
    pub(crate) fn first(count: usize) -> Self {
        Self(array::from_fn(|chunk| match count.saturating_sub(chunk * CHUNK) {
            CHUNK.. => u16::MAX,
            some => (1 << some) - 1,
        }))
    }

    pub(crate) fn count(&self) -> usize {
        self.words().map(|word| word.count_ones() as usize).iter().sum()
    }

    /// The chunks that any of the packets are in.
    pub(crate) fn chunks(&self) -> Chunks {
        (0..CHUNKS).fold(0, |some, chunk| some | u16::from(self.0[chunk] != 0) << chunk)
    }

    pub(crate) fn and(&self, other: &Self) -> Self {
        Self(array::from_fn(|chunk| self.0[chunk] & other.0[chunk]))
    }

    /// As four words, the first packet in the lowest bit of the first.
    pub(crate) fn words(&self) -> [u64; LANES / 64] {
        array::from_fn(|word| {
            let part = |chunk: usize| u64::from(self.0[4 * word + chunk]) << (CHUNK * chunk);
            part(0) | part(1) | part(2) | part(3)
        })
    }

    /// The packets' numbers, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> {
        each(self.chunks())
            .flat_map(|chunk| ones(self.0[chunk]).map(move |lane| chunk * CHUNK + lane))
    }
}

/// Packets that come to one place.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Arrivals {
    pub(crate) packets: Mask,
    /// The chunks that they are in.
    pub(crate) chunks: Chunks,
}

impl Arrivals {
    /// The first `count` packets.
    pub(crate) fn first(count: usize) -> Self {
        let chunks = count.div_ceil(CHUNK);
        Self { packets: Mask::first(count), chunks: ((1_u32 << chunks) - 1) as Chunks }
    }

    /// Whether the packets had better be moved together before a field is gathered of them: that costs half of a
    /// gather for each chunk that they are in.
    pub(crate) fn is_sparse(&self) -> bool {
        let chunks = self.chunks.count_ones() as usize;
        chunks > 2 && 2 * self.packets.count().div_ceil(CHUNK) <= chunks
    }

    /// More come, of one chunk.
    #[inline(always)]
    pub(crate) fn add(&mut self, chunk: usize, more: u16) {
        self.packets.0[chunk] |= more;
        self.chunks |= if more == 0 { 0 } else { 1 << chunk };
    }
}

/// Where a test sends packets, by what it found.
pub(crate) struct Fork<'a> {
    pub(crate) then: &'a mut Arrivals,
    pub(crate) otherwise: &'a mut Arrivals,
}

impl Fork<'_> {
    /// Sends packets of one chunk on.
    #[inline(always)]
    pub(crate) fn send(&mut self, chunk: usize, holds: u16, fails: u16) {
        self.then.add(chunk, holds);
        self.otherwise.add(chunk, fails);
    }
}

/// The numbers of the chunks in a set.
#[inline(always)]
pub(crate) fn each(chunks: Chunks) -> impl Iterator<Item = usize> {
    ones(chunks)
}

/// The places of ones, from the lowest on; all below 16.
#[inline(always)]
pub(crate) fn ones(bits: u16) -> impl Iterator<Item = usize> {
    let mut rest = bits;
    std::iter::from_fn(move || {
        let lowest = rest.trailing_zeros() as usize;
        let found = rest != 0;
        rest &= rest.wrapping_sub(1);
        found.then_some(lowest & (CHUNK - 1))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_counts_packets_from_the_lowest_bit() {
        let mask = Mask::first(67);
        assert_eq!(mask.words(), [u64::MAX, 7, 0, 0]);
        assert_eq!((mask.chunks(), mask.count()), (0b1_1111, 67));
        assert_eq!(mask.iter().collect::<Vec<_>>(), (0..67).collect::<Vec<_>>());
        assert_eq!(Mask::first(LANES).words(), [u64::MAX; 4]);
        assert_eq!(Mask::first(0).chunks(), 0);
    }

    #[test]
    fn arrivals_know_their_chunks() {
        let mut arrivals = Arrivals::first(LANES);
        assert_eq!(arrivals.chunks, u16::MAX);
        arrivals = Arrivals::first(17);
        assert_eq!((arrivals.chunks, arrivals.packets), (0b11, Mask::first(17)));
        arrivals.add(3, 0);
        arrivals.add(5, 0x8001);
        assert_eq!((arrivals.chunks, arrivals.packets.chunks()), (0b10_0011, 0b10_0011));
    }
}
