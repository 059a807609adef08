//! Columns and masks of a block of packets.

use std::array;

/// Packets in a block.
pub(crate) const LANES: usize = CHUNKS * CHUNK;
/// Packets that are never told apart: columns are made for all of them or none.
pub(crate) const CHUNK: usize = 16;
/// Chunks of a block.
pub(crate) const CHUNKS: usize = 16;

/// One number for each packet of a block, by chunks.
pub(crate) type Lanes = [[u32; CHUNK]; CHUNKS];

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

    pub(crate) fn is_empty(&self) -> bool {
        self.0 == [0; CHUNKS]
    }

    /// The chunks that any of the packets are in.
    pub(crate) fn chunks(&self) -> Chunks {
        let some = self.words().map(|word| {
            // The highest bit of each quarter: adding carries into it from any of the lower ones.
            let low = 0x7fff_7fff_7fff_7fff;
            let marks = (((word & low) + low) | word) & !low;
            // Four bits, side by side at the top.
            ((marks >> 15).wrapping_mul(0x1000_2000_4000_8000) >> 60) as u16
        });
        some[0] | some[1] << 4 | some[2] << 8 | some[3] << 12
    }

    pub(crate) fn and(&self, other: &Self) -> Self {
        Self(array::from_fn(|chunk| self.0[chunk] & other.0[chunk]))
    }

    pub(crate) fn without(&self, other: &Self) -> Self {
        Self(array::from_fn(|chunk| self.0[chunk] & !other.0[chunk]))
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(bits, more)| *bits |= more);
    }

    /// As four words, the first packet in the lowest bit of the first.
    pub(crate) fn words(&self) -> [u64; LANES / 64] {
        array::from_fn(|word| {
            let part = |chunk: usize| u64::from(self.0[4 * word + chunk]) << (CHUNK * chunk);
            part(0) | part(1) | part(2) | part(3)
        })
    }
}

/// The numbers of the chunks in a set.
pub(crate) fn each(chunks: Chunks) -> impl Iterator<Item = usize> {
    (0..CHUNKS).filter(move |chunk| chunks >> chunk & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_counts_packets_from_the_lowest_bit() {
        let mask = Mask::first(67);
        assert_eq!(mask.words(), [u64::MAX, 7, 0, 0]);
        assert_eq!(mask.chunks(), 0b1_1111);
        assert_eq!(Mask::first(LANES).words(), [u64::MAX; 4]);
        assert!(Mask::first(0).is_empty());
        assert_eq!(Mask::first(LANES).without(&mask).and(&Mask::first(68)).words(), [0, 8, 0, 0]);
    }
}
