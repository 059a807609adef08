//! Columns and masks of a block of packets.

use std::array;
use std::ops::{BitAnd, BitOr, BitOrAssign, Index, IndexMut, Not};

/// Packets in a block.
pub(crate) const LANES: usize = WORDS * WORD;
/// Packets in a word of a mask.
pub(crate) const WORD: usize = 64;
/// Words of a mask.
pub(crate) const WORDS: usize = 4;
/// Packets that are never told apart: columns are made for all of them or none.
pub(crate) const CHUNK: usize = 16;
/// Chunks of a block.
pub(crate) const CHUNKS: usize = LANES / CHUNK;
/// Chunks that a word of a mask is about.
pub(crate) const QUAD: usize = WORD / CHUNK;

/// One number for each packet of a block, by chunks. A chunk is a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Lanes(pub(crate) [[u32; CHUNK]; CHUNKS]);

impl Lanes {
    /// Those of each word of a mask, if any of their chunks is asked for.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(crate) fn quads_mut(
        &mut self,
        chunks: Chunks,
    ) -> impl Iterator<Item = &mut [[u32; CHUNK]; QUAD]> {
        let (quads, _) = self.0.as_chunks_mut();
        let words = quads.iter_mut().enumerate();
        words.filter(move |(word, _)| chunks >> (QUAD * word) & 0xf != 0).map(|(_, quad)| quad)
    }

    /// The number of a packet.
    pub(crate) fn of(&self, packet: usize) -> u32 {
        self.0[packet / CHUNK][packet % CHUNK]
    }
}

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

/// Packets of a block, one behind the other. Columns beside it have the number of each at its place in the list.
#[derive(Default)]
pub(crate) struct List {
    pub(crate) packets: Lanes,
    /// How many there are.
    pub(crate) count: usize,
}

impl List {
    /// The packets' numbers.
    pub(crate) fn packets(&self) -> &[u32] {
        &self.packets.0.as_flattened()[..self.count]
    }

    /// The chunks of columns beside it.
    pub(crate) fn chunks(&self) -> Chunks {
        ((1_u32 << self.count.div_ceil(CHUNK)) - 1) as Chunks
    }

    /// The chunks of the block that packets are in.
    pub(crate) fn found_in(&self) -> Chunks {
        let chunk = |packet: &u32| 1 << (*packet as usize / CHUNK % CHUNKS);
        self.packets().iter().fold(0, |chunks, packet| chunks | chunk(packet))
    }
}

/// A set of chunks, one bit each.
pub(crate) type Chunks = u16;

/// A set of packets of a block, one bit each, the first packet in the lowest bit of the first word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mask(pub(crate) [u64; WORDS]);

impl Mask {
    /// All packets.
    pub(crate) const ALL: Self = Self([u64::MAX; WORDS]);

    /// The first `count` packets.
    pub(crate) fn first(count: usize) -> Self {
        Self(array::from_fn(|word| match count.saturating_sub(word * WORD) {
            WORD.. => u64::MAX,
            some => (1 << some) - 1,
        }))
    }

    /// The packets that `holds` says of each of some chunks.
    #[inline(always)]
    pub(crate) fn by_chunk(chunks: Chunks, holds: impl Fn(usize) -> u16) -> Self {
        let mut mask = Self::default();
        each(chunks).for_each(|chunk| mask.insert(chunk, holds(chunk)));
        mask
    }

    /// The same, where `holds` says it of four chunks from one on, be they among those that are asked for or not.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(crate) fn by_quad(chunks: Chunks, holds: impl Fn(usize) -> [u16; QUAD]) -> Self {
        let mut mask = Self::default();
        for (word, packets) in mask.0.iter_mut().enumerate() {
            if chunks >> (QUAD * word) & 0xf != 0 {
                let [a, b, c, d] = holds(QUAD * word).map(u64::from);
                *packets = a | b << CHUNK | c << (2 * CHUNK) | d << (3 * CHUNK);
            }
        }
        mask
    }

    /// All packets of some chunks.
    #[inline(always)]
    pub(crate) fn of_chunks(chunks: Chunks) -> Self {
        Self(array::from_fn(|word| {
            let quad = u64::from(chunks >> (QUAD * word) & 0xf);
            // The lowest bit of each part, times a part of ones.
            ((quad * 0x2000_4000_8001) & 0x1_0001_0001_0001) * 0xffff
        }))
    }

    /// Adds packets of one chunk.
    #[inline(always)]
    pub(crate) fn insert(&mut self, chunk: usize, packets: u16) {
        self.0[chunk / QUAD] |= u64::from(packets) << (chunk % QUAD * CHUNK);
    }

    /// How many packets there are.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn count(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The packets of one chunk.
    #[inline(always)]
    pub(crate) fn chunk(&self, chunk: usize) -> u16 {
        (self.0[chunk / QUAD] >> (chunk % QUAD * CHUNK)) as u16
    }

    pub(crate) fn has(&self, packet: usize) -> bool {
        self.0[packet / WORD] >> (packet % WORD) & 1 == 1
    }

    /// The chunks that any of the packets are in.
    #[inline(always)]
    pub(crate) fn chunks(&self) -> Chunks {
        const HIGHEST: u64 = 0x8000_8000_8000_8000;
        let quad = |word: u64| {
            // The highest bit of each part, where the part has any.
            let some = (((word & !HIGHEST) + !HIGHEST) | word) & HIGHEST;
            // These, at bits 0, 16, 32 and 48 now, gathered at the top.
            ((some >> 15).wrapping_mul(0x1000_2000_4000_8000) >> 60) as Chunks
        };
        (0..WORDS).fold(0, |chunks, word| chunks | quad(self.0[word]) << (QUAD * word))
    }

    /// The packets' numbers, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> {
        self.0
            .iter()
            .enumerate()
            .flat_map(|(word, bits)| ones(*bits).map(move |bit| word * WORD + bit))
    }
}

impl BitAnd for Mask {
    type Output = Self;

    #[inline(always)]
    fn bitand(self, other: Self) -> Self {
        Self(array::from_fn(|word| self.0[word] & other.0[word]))
    }
}

impl BitOr for Mask {
    type Output = Self;

    #[inline(always)]
    fn bitor(self, other: Self) -> Self {
        Self(array::from_fn(|word| self.0[word] | other.0[word]))
    }
}

impl Not for Mask {
    type Output = Self;

    #[inline(always)]
    fn not(self) -> Self {
        Self(self.0.map(|word| !word))
    }
}

impl BitOrAssign for Mask {
    #[inline(always)]
    fn bitor_assign(&mut self, other: Self) {
        *self = *self | other;
    }
}

/// The numbers of the chunks in a set.
#[inline(always)]
pub(crate) fn each(chunks: Chunks) -> impl Iterator<Item = usize> {
    ones(chunks.into()).map(|chunk| chunk & (CHUNKS - 1))
}

/// The places of ones, from the lowest on.
#[inline(always)]
pub(crate) fn ones(bits: u64) -> impl Iterator<Item = usize> {
    let mut rest = bits;
    std::iter::from_fn(move || {
        let lowest = rest.trailing_zeros() as usize;
        let found = rest != 0;
        rest &= rest.wrapping_sub(1);
        found.then_some(lowest)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_mask_counts_packets_from_the_lowest_bit() {
        let mask = Mask::first(67);
        assert_eq!(mask.0[..2], [u64::MAX, 7]);
        assert_eq!(mask.chunks(), 0b1_1111);
        assert_eq!(mask.iter().collect::<Vec<_>>(), (0..67).collect::<Vec<_>>());
        assert!(mask.has(66) && !mask.has(67));
        assert_eq!(Mask::first(LANES), Mask::ALL);
        assert_eq!(Mask::first(0), Mask::default());
    }

    proptest! {
        #[test]
        fn a_mask_knows_its_chunks(parts in prop::collection::vec(prop_oneof![Just(0_u16), any::<u16>()], CHUNKS)) {
            let mask = Mask::by_chunk(Mask::ALL.chunks(), |chunk| parts[chunk]);
            for (chunk, part) in parts.into_iter().enumerate() {
                let found = (0..CHUNK).fold(0, |found, lane| found | u16::from(mask.has(chunk * CHUNK + lane)) << lane);
                prop_assert_eq!(found, part);
                prop_assert_eq!(mask.chunks() >> chunk & 1 == 1, part != 0);
                let whole = Mask::of_chunks(mask.chunks());
                prop_assert!((0..CHUNK).all(|lane| whole.has(chunk * CHUNK + lane) == (part != 0)));
            }
        }
    }
}
