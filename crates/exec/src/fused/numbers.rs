//! Columns in vector registers.

use linerate_filter::plan::BinaryOperator;

use super::function::{DESCRIPTOR, LENGTH};
use super::registers::{DESCRIPTORS, Held, MASK, PASSED, REGION, STARTS, TURN};
use super::steps::Steps;
use super::vectors::{self, ALL, Index, Source};
use crate::bits::Bits;
use crate::program::{Column, ColumnId, Operand};

impl Steps<'_> {
    pub(super) fn is_window(&self, column: ColumnId) -> bool {
        matches!(self.program.columns[column], Column::Window { .. })
    }

    /// A column as it is got most cheaply, and how a constant has to be turned to be compared with it.
    pub(super) fn field(&mut self, column: ColumnId) -> Option<(u8, Turned)> {
        match self.program.columns[column] {
            Column::Window { base, offset } => {
                Some((self.bytes(column, base, offset)?, u32::swap_bytes))
            }
            _ => Some((self.number(column)?, |number| number)),
        }
    }

    /// Some bits of a vector, which is released, where they are; perhaps the same vector.
    pub(super) fn masked(&mut self, vector: u8, mask: u32) -> Option<u8> {
        if mask == u32::MAX {
            return Some(vector);
        }
        let to = self.vectors.claim()?;
        let mask = self.pool.number(self.code, mask);
        self.code.vector(vectors::AND, to, vector, mask);
        self.vectors.release(vector);
        Some(to)
    }

    pub(super) fn masked_number(&mut self, column: ColumnId, mask: u32) -> Option<u8> {
        let number = self.number(column)?;
        self.masked(number, mask)
    }

    /// The column in network order.
    fn bytes(&mut self, column: ColumnId, base: Option<Operand>, offset: u32) -> Option<u8> {
        if let Some(register) = self.vectors.find(Held::Bytes(column)) {
            return Some(register);
        }
        if base.is_none() {
            self.quad(column)?;
            if let Some(register) = self.vectors.find(Held::Bytes(column)) {
                return Some(register);
            }
        }
        // Four bytes can be loaded where there is one.
        let first = offset.checked_add(1)?;
        let index = match base {
            None => {
                if first <= self.known {
                    self.code.fill_mask(MASK);
                } else {
                    self.captured(first);
                }
                None
            }
            Some(base) => {
                let register = self.number(base.lanes)?;
                self.reaches(base.lanes, register, first)?;
                let index = self.vectors.claim()?;
                self.code.vector(vectors::ADD, index, register, Source::Register(STARTS));
                self.vectors.release(register);
                Some(index)
            }
        };
        let to = self.vectors.claim()?;
        self.code.vector(vectors::XOR, to, to, Source::Register(to));
        let lanes = Index { lanes: index.unwrap_or(STARTS), scale: 1 };
        self.code.gather(to, MASK, REGION, lanes, i32::try_from(offset).ok()?);
        index.into_iter().for_each(|index| self.vectors.release(index));
        self.vectors.hold(to, Held::Bytes(column));
        Some(to)
    }

    /// The column as numbers.
    pub(super) fn number(&mut self, column: ColumnId) -> Option<u8> {
        if let Some(register) = self.vectors.find(Held::Number(column)) {
            return Some(register);
        }
        let to = match self.program.columns[column] {
            Column::Window { base, offset } => {
                let bytes = self.bytes(column, base, offset)?;
                let to = self.vectors.claim()?;
                self.code.vector(vectors::SHUFFLE_BYTES, to, bytes, Source::Register(TURN));
                self.vectors.release(bytes);
                to
            }
            Column::Constant(constant) => {
                let to = self.vectors.claim()?;
                let constant = self.pool.word(self.code, constant);
                self.code.vector(vectors::BROADCAST, to, 0, constant);
                to
            }
            Column::Length => self.lengths()?,
            Column::Extract { from, bits } => {
                let of_a_byte = within_a_byte(bits).filter(|_| self.is_window(from.lanes));
                let (lanes, bits) = match of_a_byte {
                    Some(bits) => (self.field(from.lanes)?.0, bits),
                    None => (self.number(from.lanes)?, bits),
                };
                let to = self.extracted(lanes, bits)?;
                self.vectors.release(lanes);
                to
            }
            Column::Combine { operator, left, right } => {
                self.combined(operator, left.lanes, right.lanes)?
            }
            Column::Missing => {
                let to = self.vectors.claim()?;
                self.code.vector(vectors::XOR, to, to, Source::Register(to));
                to
            }
            Column::Slot => return self.slot(column),
            // Choices are made where packets pass.
            Column::Present { .. }
            | Column::PacketType
            | Column::Interface
            | Column::Choice { .. } => return None,
        };
        self.vectors.hold(to, Held::Number(column));
        Some(to)
    }

    /// What is bound to a slot, which keeps its register; zeros before the first time.
    fn slot(&mut self, slot: ColumnId) -> Option<u8> {
        let register = self.vectors.claim()?;
        self.code.vector(vectors::XOR, register, register, Source::Register(register));
        self.vectors.hold(register, Held::Number(slot));
        self.vectors.find(Held::Number(slot))
    }

    /// Binds a slot to a column, for the packets of a mask.
    pub(super) fn bind(&mut self, slot: ColumnId, column: ColumnId, packets: u8) -> Option<()> {
        let [number, bound] = [self.number(column)?, self.number(slot)?];
        self.code.give_mask(PASSED, packets);
        self.code.vector_among(vectors::MOVE_32, bound, 0, Source::Register(number), PASSED);
        [number, bound].into_iter().for_each(|used| self.vectors.release(used));
        self.vectors.forget(&self.program.dependants[slot]);
        Some(())
    }

    /// Makes a choice, which keeps its register.
    pub(super) fn choice(&mut self, column: ColumnId) -> Option<()> {
        let Column::Choice { passed, others } = self.program.columns[column] else { return None };
        let to = self.vectors.claim()?;
        for (distance, among) in [(others, ALL), (passed, PASSED)] {
            match distance.base {
                Some(base) => {
                    let plus = self.pool.number(self.code, distance.plus);
                    let base = self.number(base.lanes)?;
                    self.code.vector_among(vectors::ADD, to, base, plus, among);
                    self.vectors.release(base);
                }
                None => {
                    let plus = self.pool.word(self.code, distance.plus);
                    self.code.vector_among(vectors::BROADCAST, to, 0, plus, among);
                }
            }
        }
        self.vectors.hold(to, Held::Number(column));
        Some(())
    }

    fn lengths(&mut self) -> Option<u8> {
        let descriptors = std::array::from_fn(|packet| packet as u32 * DESCRIPTOR as u32);
        let descriptors = self.pool.vector(self.code, descriptors);
        let [index, to] = [self.vectors.claim()?, self.vectors.claim()?];
        self.code.vector(vectors::MOVE, index, 0, descriptors);
        self.code.fill_mask(MASK);
        self.code.vector(vectors::XOR, to, to, Source::Register(to));
        self.code.gather(to, MASK, DESCRIPTORS, Index { lanes: index, scale: 1 }, LENGTH);
        self.vectors.release(index);
        Some(to)
    }

    /// Some bits of a vector as a number.
    pub(super) fn extracted(&mut self, lanes: u8, bits: Bits) -> Option<u8> {
        let Bits { right, mask, left } = bits;
        let to = self.vectors.claim()?;
        let (is_left, by) = (left > right, left.abs_diff(right));
        let from = if by == 0 {
            lanes
        } else {
            self.code.shift(is_left, to, lanes, by as u8);
            to
        };
        let mask = self.pool.number(self.code, mask << left);
        self.code.vector(vectors::AND, to, from, mask);
        Some(to)
    }

    fn combined(
        &mut self,
        operator: BinaryOperator,
        left: ColumnId,
        right: ColumnId,
    ) -> Option<u8> {
        let operation = match operator {
            BinaryOperator::Add => vectors::ADD,
            BinaryOperator::Subtract => vectors::SUBTRACT,
            BinaryOperator::Multiply => vectors::MULTIPLY,
            BinaryOperator::And => vectors::AND,
            BinaryOperator::Or => vectors::OR,
            BinaryOperator::Xor => vectors::XOR,
            BinaryOperator::ShiftLeft => vectors::SHIFT_LEFT,
            BinaryOperator::ShiftRight => vectors::SHIFT_RIGHT,
            BinaryOperator::Divide | BinaryOperator::Modulo => return None,
        };
        let [left, right] = [self.number(left)?, self.number(right)?];
        let to = self.vectors.claim()?;
        self.code.vector(operation, to, left, Source::Register(right));
        [left, right].into_iter().for_each(|used| self.vectors.release(used));
        Some(to)
    }
}

/// How a constant has to be turned to be compared with a field.
pub(super) type Turned = fn(u32) -> u32;

/// Bits of a number as those of its bytes in the other order, where they are of one byte.
fn within_a_byte(bits: Bits) -> Option<Bits> {
    let highest = (bits.mask << bits.right).checked_ilog2()?;
    let (byte, bit) = (bits.right / 8, bits.right % 8);
    (highest / 8 == byte).then_some(Bits { right: 8 * (3 - byte) + bit, ..bits })
}
