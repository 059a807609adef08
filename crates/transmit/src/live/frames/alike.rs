//! Frames that differ in a few bytes: only these go through the ring.

use std::ops::Range;

/// What all frames of a sink have in common: [`Config::alike`](crate::sink::Config::alike).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alike {
    frame: Vec<u8>,
    pieces: Vec<Piece>,
}

/// Bytes that vary: 8, 4, 2 or 1 of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Where they are in the frame.
    pub(super) at: usize,
    /// Where they are in what goes through the ring.
    pub(super) packed: usize,
    pub(super) length: usize,
}

impl Alike {
    /// Frames like this one, but for the bytes at the places `varying`.
    ///
    /// # Panics
    /// When one of these is not in the frame.
    pub fn new(frame: Vec<u8>, mut varying: Vec<Range<usize>>) -> Self {
        varying.sort_by_key(|range| range.start);
        let (mut pieces, mut packed, mut next) = (Vec::new(), 0, 0);
        for range in varying {
            assert!(range.end <= frame.len(), "{range:?} of {} bytes", frame.len());
            next = next.max(range.start);
            while next < range.end {
                // The largest power of two that fits.
                let length = 1 << (range.end - next).min(8).ilog2();
                pieces.push(Piece { at: next, packed, length });
                (next, packed) = (next + length, packed + length);
            }
        }
        Self { frame, pieces }
    }

    /// True for a frame that differs from it in what varies only.
    pub fn has(&self, frame: &[u8]) -> bool {
        let varies = |at: usize| self.pieces.iter().any(|p| (p.at..p.at + p.length).contains(&at));
        let mut pairs = self.frame.iter().zip(frame).enumerate();
        frame.len() == self.frame.len()
            && pairs.all(|(at, (one, other))| one == other || varies(at))
    }

    /// The frame, with something in the place of what varies.
    pub(super) fn frame(&self) -> &[u8] {
        &self.frame
    }

    pub(super) fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// Bytes of what varies.
    pub(super) fn packed(&self) -> usize {
        self.pieces.iter().map(|piece| piece.length).sum()
    }

    /// Copies what varies.
    pub(super) fn pack(&self, frame: &[u8], to: &mut [u8]) {
        for &Piece { at, packed, length } in &self.pieces {
            // Lengths that are known are copied by an instruction.
            match length {
                8 => to[packed..][..8].copy_from_slice(&frame[at..][..8]),
                4 => to[packed..][..4].copy_from_slice(&frame[at..][..4]),
                2 => to[packed..][..2].copy_from_slice(&frame[at..][..2]),
                _ => to[packed] = frame[at],
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn pieces_are_as_large_as_they_can_be() {
        let alike = Alike::new(vec![0; 80], vec![30..42, 24..26, 62..66]);
        let pieces: Vec<_> = alike.pieces().iter().map(|p| (p.at, p.packed, p.length)).collect();
        assert_eq!(pieces, [(24, 0, 2), (30, 2, 8), (38, 10, 4), (62, 14, 4)]);
        assert_eq!(alike.packed(), 18);
    }

    proptest! {
        #[test]
        fn each_byte_that_varies_is_packed_once(
            ranges in prop::collection::vec((0..60_usize, 0..20_usize), 0..6),
        ) {
            let varying: Vec<_> = ranges.iter().map(|(at, length)| *at..at + length).collect();
            let expected = (0..80_u8).filter(|byte| varying.iter().any(|r| r.contains(&(*byte as usize))));
            let expected: Vec<_> = expected.collect();
            let alike = Alike::new(vec![0; 80], varying.clone());
            let mut packed = vec![0; alike.packed()];
            alike.pack(&(0..80).collect::<Vec<u8>>(), &mut packed);
            prop_assert_eq!(packed, expected);
            let like = |byte| alike.has(&(0..80).map(|at| u8::from(at == byte)).collect::<Vec<_>>());
            for byte in 0..80 {
                prop_assert_eq!(like(byte), varying.iter().any(|range| range.contains(&byte)));
            }
        }
    }
}
