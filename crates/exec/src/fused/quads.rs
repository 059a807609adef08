//! Windows side by side: sixteen bytes of each packet are loaded at once where several windows lie in them, which does not wait
//! for the vector of where packets begin as gathers do.

use std::collections::BTreeSet;

use cranelift_assembler_x64::inst;

use super::function::{DESCRIPTOR, OFFSET};
use super::registers::{DESCRIPTORS, Held, REGION, TEMPORARY};
use super::steps::Steps;
use super::vectors::{self, Source};
use crate::assembler::at;
use crate::join::entrances;
use crate::lanes::{CHUNK, QUAD};
use crate::program::{Column, ColumnId, Program, Step};

/// Bytes of a quad.
pub(super) const BYTES: u32 = 16;

/// Where those begin that make at least two windows.
pub(super) fn quads(program: &Program) -> Vec<u32> {
    let mut offsets = offsets(program);
    let mut quads = Vec::new();
    while let Some(first) = offsets.pop_first() {
        let is_inside = |offset: &u32| offset - first < BYTES && (offset - first).is_multiple_of(4);
        if offsets.iter().any(is_inside) {
            offsets.retain(|offset| !is_inside(offset));
            quads.push(first);
        }
    }
    quads
}

/// Those of the windows that steps look at, counted from the packet's beginning.
fn offsets(program: &Program) -> BTreeSet<u32> {
    let entrances = entrances(&program.steps, program.entry);
    let reached = program.steps.iter().zip(entrances).filter(|(_, entrances)| *entrances > 0);
    let mut columns: Vec<_> = reached.flat_map(|(step, _)| step_columns(step)).collect();
    let (mut offsets, mut seen) = (BTreeSet::new(), BTreeSet::new());
    while let Some(column) = columns.pop() {
        if !seen.insert(column) {
            continue;
        }
        if let Column::Window { base: None, offset } = program.columns[column] {
            offsets.insert(offset);
        }
        let operands = program.columns[column].operands();
        columns.extend(operands.flat_map(|operand| [operand.lanes, operand.present]));
    }
    offsets
}

fn step_columns(step: &Step) -> Vec<ColumnId> {
    match step {
        Step::Test { operand, .. } => vec![operand.lanes],
        Step::Either { either, .. } => either.operands.map(|operand| operand.lanes).into(),
        Step::Compare { left, right, .. } => vec![left.lanes, right.lanes],
        Step::Bind { value, .. } => vec![value.lanes],
        Step::Pass { choices, .. } => choices.to_vec(),
    }
}

impl Steps<'_> {
    /// Loads the quad that a window is in, if it is in any.
    pub(super) fn quad(&mut self, offset: u32) -> Option<()> {
        let is_inside = |first: &u32| {
            offset >= *first && offset - first < BYTES && (offset - first).is_multiple_of(4)
        };
        let Some(first) = self.quads.iter().copied().find(is_inside) else { return Some(()) };
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
        for (window, offset) in (first..).step_by(4).take(QUAD).enumerate() {
            let wanted = Column::Window { base: None, offset };
            let Some(column) = self.program.columns.iter().position(|other| *other == wanted)
            else {
                continue;
            };
            let half = [vectors::INTERLEAVE_LOW_64, vectors::INTERLEAVE_HIGH_64][window % 2];
            let [one, other] = [pairs[window / 2 * 2], pairs[window / 2 * 2 + 1]];
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
