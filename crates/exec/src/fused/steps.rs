//! The steps for one chunk: who comes to which.

use cranelift_assembler_x64::inst;
use linerate_filter::plan::BinaryOperator;

use super::lookups::Found;
use super::pool::Pool;
use super::registers::{CAPTURED, Held, MASK, Masks, OUT, PASSED, STACK, Spot, TEMPORARY, Vectors};
use super::vectors::{self, ALL, How, Source};
use crate::assembler::{Assembler, Label, Memory, at};
use crate::program::{Column, ColumnId, Place, Program, Step, most};
use crate::quads::Quad;

/// The steps for one chunk.
pub(super) struct Steps<'a> {
    pub(super) program: &'a Program,
    pub(super) code: &'a mut Assembler,
    pub(super) pool: &'a mut Pool,
    /// All packets have so many bytes.
    pub(super) known: u32,
    pub(super) masks: Masks,
    pub(super) vectors: Vectors,
    /// Where sixteen bytes are loaded at once, which all packets have.
    pub(super) quads: Vec<Quad>,
    /// Where chunks end the function that have to go packet by packet.
    pub(super) done: Label,
}

impl Steps<'_> {
    pub(super) fn all(mut self) -> Option<()> {
        let everybody = self.mask();
        self.code.push(inst::movl_oi::new(everybody, u32::from(u16::MAX)));
        self.lead(self.program.entry, everybody);
        for (place, step) in self.program.steps.iter().enumerate() {
            if let Some(active) = self.arrivals(place) {
                self.step(step, active)?;
            }
        }
        let kept = self.arrivals(self.program.accepted());
        let kept = kept.unwrap_or_else(|| {
            let nobody = self.mask();
            self.code.push(inst::movl_oi::new(nobody, 0));
            nobody
        });
        self.code.push(inst::movw_mr::new(at(OUT, 0), kept));
        Some(())
    }

    fn step(&mut self, step: &Step, active: u8) -> Option<()> {
        match step {
            Step::Bind { slot, value, next } => {
                self.require(active, value.present)?;
                self.bind(*slot, value.lanes, active)?;
                self.lead(*next, active);
                Some(())
            }
            Step::Pass { choices, next } => {
                self.code.give_mask(PASSED, active);
                for choice in choices {
                    self.choice(*choice)?;
                }
                self.lead(*next, active);
                Some(())
            }
            Step::Test { operand, lookup, then, otherwise } => {
                self.require(active, operand.present)?;
                match self.lookup(operand.lanes, lookup)? {
                    Found::Holds => self.part(active, *then, *otherwise),
                    Found::Fails => self.part(active, *otherwise, *then),
                    Found::Never => self.lead(*otherwise, active),
                }
                Some(())
            }
            Step::Compare { how, left, right, then, otherwise } => {
                self.require(active, left.present)?;
                self.require(active, right.present)?;
                self.compare(*how, left.lanes, right.lanes)?;
                self.part(active, *then, *otherwise);
                Some(())
            }
            Step::Either { either, then, otherwise } => {
                self.either(either, active, *then, *otherwise)
            }
        }
    }

    /// A register for a mask.
    pub(super) fn mask(&mut self) -> u8 {
        let (register, place) = self.masks.claim();
        if let Some(place) = place {
            self.code.push(inst::movl_mr::new(cell(place), register));
        }
        register
    }

    /// The mask of those that come to a place, if anybody can.
    fn arrivals(&mut self, place: Place) -> Option<u8> {
        let register = match self.masks.spot(place) {
            Spot::Nowhere => return None,
            Spot::Register(register) => register,
            Spot::Cell => {
                let register = self.mask();
                self.code.push(inst::movl_rm::new(register, cell(place)));
                register
            }
        };
        self.masks.forget(place);
        Some(register)
    }

    /// The packets of a mask come to a place, too.
    pub(super) fn lead(&mut self, place: Place, mask: u8) {
        let is_dropped = place > self.program.accepted();
        match self.masks.spot(place) {
            Spot::Nowhere if !is_dropped => return self.masks.set(place, mask),
            Spot::Nowhere => {}
            Spot::Register(register) => self.code.push(inst::orl_rm::new(register, mask)),
            Spot::Cell => self.code.push(inst::orl_mr::new(cell(place), mask)),
        }
        self.masks.release(mask);
    }

    /// Those of the active that are in the mask register go one way, the others the other way.
    pub(super) fn part(&mut self, active: u8, then: Place, otherwise: Place) {
        let holds = self.mask();
        self.code.take_mask(holds, MASK);
        self.part_by(active, holds, then, otherwise);
    }

    pub(super) fn part_by(&mut self, active: u8, holds: u8, then: Place, otherwise: Place) {
        let accepted = self.program.accepted();
        if then > accepted {
            self.code.push(inst::andnl_rvm::new(active, holds, active));
            self.masks.release(holds);
        } else {
            self.code.push(inst::andl_rm::new(holds, active));
            if otherwise <= accepted {
                self.code.push(inst::xorl_rm::new(active, holds));
            }
            self.lead(then, holds);
        }
        self.lead(otherwise, active);
    }

    /// Takes those out of a mask that have no number in a column.
    pub(super) fn require(&mut self, mask: u8, column: ColumnId) -> Option<()> {
        match self.program.columns[column] {
            Column::Present { base: None, end } if end <= self.known => {}
            Column::Present { base: None, end } => {
                self.captured(end);
                self.retain(mask);
            }
            Column::Present { base: Some(base), end } => {
                self.require(mask, base.present)?;
                let register = self.number(base.lanes)?;
                self.reaches(base.lanes, register, end)?;
                self.vectors.release(register);
                self.retain(mask);
            }
            Column::Constant(_) | Column::Length | Column::Slot | Column::Choice { .. } => {}
            Column::Extract { from, .. } => self.require(mask, from.present)?,
            // Whose divisor is zero has no number.
            Column::Combine {
                operator: BinaryOperator::Divide | BinaryOperator::Modulo, ..
            } => {
                return None;
            }
            Column::Combine { left, right, .. } => {
                self.require(mask, left.present)?;
                self.require(mask, right.present)?;
            }
            Column::Missing => self.code.push(inst::movl_oi::new(mask, 0)),
            Column::Window { .. } | Column::PacketType | Column::Interface => return None,
        }
        Some(())
    }

    /// Whether all packets have a number in a column, as far as the code knows.
    pub(super) fn is_known(&self, column: ColumnId) -> bool {
        matches!(self.program.columns[column], Column::Present { base: None, end } if end <= self.known)
    }

    /// Takes those out of a mask that are not in the mask register.
    fn retain(&mut self, mask: u8) {
        self.code.take_mask(TEMPORARY, MASK);
        self.code.push(inst::andl_rm::new(mask, TEMPORARY));
    }

    /// Brings to the mask register which packets have so many bytes.
    pub(super) fn captured(&mut self, end: u32) {
        let end = self.pool.number(self.code, end);
        self.code.compare(How::AtLeast, MASK, CAPTURED, end, ALL);
    }

    /// And which have so many behind a base, which is in a register.
    pub(super) fn reaches(&mut self, column: ColumnId, base: u8, end: u32) -> Option<()> {
        let number = self.pool.number(self.code, end);
        // The region has less than 2^31 bytes, so that smaller numbers can be taken off them.
        let is_small = |number: u32| i32::try_from(number).is_ok();
        if is_small(end) && most(&self.program.columns, column).is_some_and(is_small) {
            let room = self.room(column, base)?;
            self.code.compare_signed(How::AtLeast, MASK, room, number);
            self.vectors.release(room);
            return Some(());
        }
        self.captured(end);
        let room = self.vectors.claim()?;
        self.code.vector(vectors::SUBTRACT, room, CAPTURED, number);
        self.code.compare(How::AtMost, MASK, base, Source::Register(room), MASK);
        self.vectors.release(room);
        Some(())
    }

    fn room(&mut self, column: ColumnId, base: u8) -> Option<u8> {
        if let Some(register) = self.vectors.find(Held::Room(column)) {
            return Some(register);
        }
        let room = self.vectors.claim()?;
        self.code.vector(vectors::SUBTRACT, room, CAPTURED, Source::Register(base));
        self.vectors.hold(room, Held::Room(column));
        Some(room)
    }
}

/// Where on the stack the mask of a place is.
fn cell(place: Place) -> Memory {
    at(STACK, 4 * place as i32)
}
