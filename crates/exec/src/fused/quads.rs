//! Windows side by side, loaded sixteen bytes of a packet at once, which does not wait for the vector of where packets begin as
//! gathers do.

use cranelift_assembler_x64::inst;

use super::function::{DESCRIPTOR, OFFSET};
use super::registers::{DESCRIPTORS, Held, REGION, TEMPORARY};
use super::steps::Steps;
use super::vectors::{self, Source};
use crate::assembler::at;
use crate::lanes::{CHUNK, QUAD};
use crate::program::ColumnId;
use crate::quads::Quad;

impl Steps<'_> {
    /// Loads the quad that a window is in, if it is in any.
    pub(super) fn quad(&mut self, window: ColumnId) -> Option<()> {
        let has_it = |quad: &&Quad| quad.windows.contains(&Some(window));
        let Some(Quad { offset: first, windows, .. }) = self.quads.iter().find(has_it).copied()
        else {
            return Some(());
        };
        let rows =
            [self.row(first, 0)?, self.row(first, 1)?, self.row(first, 2)?, self.row(first, 3)?];
        let [a, b, c, d] = rows;
        // What the first two packets of four have, lower and upper halves, and the other two.
        let pairs = [
            self.interleaved(vectors::INTERLEAVE_LOW, a, b)?,
            self.interleaved(vectors::INTERLEAVE_LOW, c, d)?,
            self.interleaved(vectors::INTERLEAVE_HIGH, a, b)?,
            self.interleaved(vectors::INTERLEAVE_HIGH, c, d)?,
        ];
        rows.into_iter().for_each(|row| self.vectors.release(row));
        for (word, window) in windows.into_iter().enumerate() {
            let Some(column) = window else { continue };
            let half = [vectors::INTERLEAVE_LOW_64, vectors::INTERLEAVE_HIGH_64][word % 2];
            let [one, other] = [pairs[word / 2 * 2], pairs[word / 2 * 2 + 1]];
            let bytes = self.interleaved(half, one, other)?;
            self.vectors.hold(bytes, Held::Bytes(column));
            self.vectors.release(bytes);
        }
        pairs.into_iter().for_each(|pair| self.vectors.release(pair));
        Some(())
    }

    /// Sixteen bytes of every fourth packet from one on.
    fn row(&mut self, first: u32, packet: usize) -> Option<u8> {
        let to = self.vectors.claim()?;
        for (quarter, packet) in (packet..CHUNK).step_by(QUAD).enumerate() {
            let offset = at(DESCRIPTORS, DESCRIPTOR * packet as i32 + OFFSET);
            self.code.push(inst::movl_rm::new(TEMPORARY, offset));
            let bytes = Source::Indexed(REGION, TEMPORARY, i32::try_from(first).ok()?);
            match quarter {
                0 => self.code.vector(vectors::BROADCAST_QUARTER, to, 0, bytes),
                _ => self.code.vector_with(vectors::INSERT_QUARTER, to, to, bytes, quarter as u8),
            }
        }
        Some(to)
    }

    fn interleaved(&mut self, how: vectors::Operation, one: u8, other: u8) -> Option<u8> {
        let to = self.vectors.claim()?;
        self.code.vector(how, to, one, Source::Register(other));
        Some(to)
    }
}
