//! Tests and assignments, and where they lead.

use super::Emitter;
use crate::error::Result;
use crate::ir::graph::{Node, Target};
use crate::ir::predicate::{Comparison, Test as IrTest};
use crate::ir::value::ValueId;
use linerate_bpf::extended::{Instruction, Operand, Register, Size, Test};

impl Emitter<'_> {
    pub(super) fn write_node(&mut self) -> Result<()> {
        if let Some(run) = self.run() {
            return self.write_run(run);
        }
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
            Some(constant) if matches!(how, Comparison::Equal | Comparison::Intersects) => {
                let (register, order) = self.comparable(left, constant)?;
                (register, order.of(constant).into())
            }
            Some(constant) => (self.value(left)?, constant.into()),
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
            Some(opposite) if self.spares_verifier => {
                self.assembler.jump_if32(opposite, register, operand, to_otherwise);
                self.assembler.jump(to_then);
            }
            _ => {
                self.assembler.jump_if32(test, register, operand, to_then);
                if !self.is_next(otherwise) {
                    self.assembler.jump(to_otherwise);
                }
            }
        }
    }
}
