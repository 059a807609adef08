//! Tests and assignments, and where they lead.

use super::Emitter;
use super::registers::Held;
use crate::error::Result;
use crate::ir::graph::{Node, Target};
use crate::ir::predicate::{Comparison, Test as IrTest};
use crate::ir::value::{Load, Value, ValueId, Width};
use crate::syntax::ast::BinaryOperator;
use linerate_bpf::extended::{Alu, Instruction, Operand, Register, Size, Test};

impl Emitter<'_> {
    pub(super) fn write_node(&mut self) -> Result<()> {
        match self.graph.node(self.node) {
            Node::Bind { slot, value, next } => {
                let register = self.value(value)?;
                let word = Self::slot(slot.index() as u32);
                self.push(Instruction::store(Size::Word, Register::R10, word, register));
                self.registers.release(register);
                self.go(next);
                Ok(())
            }
            Node::Test { test: IrTest::Compare(how, left, right), then, otherwise } => {
                self.compare(how, left, right, then, otherwise)
            }
            // Refused before.
            Node::Test { test: IrTest::Chain(_), .. } => Ok(()),
        }
    }

    pub(super) fn go(&mut self, target: Target) {
        let label = self.arrive(target);
        if !self.is_next(target) {
            self.assembler.jump(label);
        }
    }

    fn compare(
        &mut self,
        how: Comparison,
        left: ValueId,
        right: ValueId,
        then: Target,
        otherwise: Target,
    ) -> Result<()> {
        let test = match how {
            Comparison::Equal => Test::Equal,
            Comparison::Greater => Test::Greater,
            Comparison::GreaterEqual => Test::GreaterOrEqual,
            Comparison::Intersects => Test::CommonBits,
        };
        let (register, operand) = match self.ir.as_constant(right) {
            Some(constant) => self.beside_constant(how, left, constant)?,
            None => {
                let (left, right) = self.both(left, right)?;
                (left, right.into())
            }
        };
        self.registers.release(register);
        if let Operand::Register(right) = operand {
            self.registers.release(right);
        }
        self.branch(test, register, operand, then, otherwise);
        Ok(())
    }

    fn branch(
        &mut self,
        test: Test,
        register: Register,
        operand: Operand,
        then: Target,
        otherwise: Target,
    ) {
        let (to_then, to_otherwise) = (self.arrive(then), self.arrive(otherwise));
        match test.opposite() {
            Some(opposite) if self.is_next(then) => {
                self.assembler.jump_if32(opposite, register, operand, to_otherwise);
            }
            _ => {
                self.assembler.jump_if32(test, register, operand, to_then);
                if !self.is_next(otherwise) {
                    self.assembler.jump(to_otherwise);
                }
            }
        }
    }

    /// What to compare with what: where no order matters, the packet's bytes as they are, with a
    /// constant in their order.
    fn beside_constant(
        &mut self,
        how: Comparison,
        left: ValueId,
        constant: u32,
    ) -> Result<(Register, Operand)> {
        if matches!(how, Comparison::Equal | Comparison::Intersects)
            && let Some((load, field, mask)) = self.field(left)
            && fits(constant, load.width)
        {
            let constant = network_order(constant, load.width);
            let register = self.raw(field, load)?;
            let Some(mask) = mask else { return Ok((register, constant.into())) };
            let masked = self.owned(field, register)?;
            let mask = network_order(mask, load.width);
            self.push(Instruction::alu32(Alu::And, masked, mask));
            return Ok((masked, constant.into()));
        }
        Ok((self.value(left)?, constant.into()))
    }

    /// A load of more than one byte, masked or not, that no register holds in the machine's order.
    fn field(&mut self, id: ValueId) -> Option<(Load, ValueId, Option<u32>)> {
        let (field, mask) = match self.ir.get_value(id) {
            Value::Binary(BinaryOperator::And, field, mask) => {
                (field, Some(self.ir.as_constant(mask)?))
            }
            _ => (id, None),
        };
        let Value::Load(load) = self.ir.get_value(field) else { return None };
        let held = [id, field].into_iter().any(|value| self.holds(Held::Value(value)));
        if load.width == Width::Byte || held {
            return None;
        }
        Some((load, field, mask.filter(|mask| !covers(*mask, load.width))))
    }

    fn holds(&mut self, held: Held) -> bool {
        match self.registers.find(held) {
            Some(register) => {
                self.registers.release(register);
                true
            }
            None => false,
        }
    }
}

fn fits(constant: u32, width: Width) -> bool {
    constant & !all(width) == 0
}

/// The mask leaves a number of this width as it is.
fn covers(mask: u32, width: Width) -> bool {
    !mask & all(width) == 0
}

fn all(width: Width) -> u32 {
    match width {
        Width::Byte => 0xff,
        Width::Half => 0xffff,
        Width::Word => u32::MAX,
    }
}

/// The number that the machine loads where the packet has `number`.
fn network_order(number: u32, width: Width) -> u32 {
    match width {
        Width::Byte => number & 0xff,
        Width::Half => u16::to_be(number as u16).into(),
        Width::Word => number.to_be(),
    }
}
