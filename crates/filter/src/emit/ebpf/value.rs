//! Values to registers.
//!
//! A register that is given out is in hand until it is released; what it holds must not be changed,
//! unless it comes from [`Emitter::own`] or [`Emitter::owned`].

use super::registers::{Held, too_complex};
use super::{Emitter, SLOTS, Way};
use crate::error::Result;
use crate::ir::value::{Metadata as IrMetadata, Value, ValueId};
use crate::syntax::ast::BinaryOperator;
use linerate_bpf::classic::SCRATCH_WORDS;
use linerate_bpf::extended::{Alu, Instruction, Metadata, Predicate, Register, Size, Test};

/// Where intermediate results begin on the stack.
const RESULTS: i16 = SLOTS + 4 * SCRATCH_WORDS as i16;

impl Emitter<'_> {
    /// The value in a register.
    pub(super) fn value(&mut self, id: ValueId) -> Result<Register> {
        if let Some(register) = self.registers.find(Held::Value(id)) {
            return Ok(register);
        }
        let register = match self.ir.get_value(id) {
            Value::Length => return Ok(Predicate::LENGTH),
            Value::Constant(constant) => {
                let register = self.registers.take()?;
                self.push(Instruction::mov32(register, constant));
                register
            }
            Value::Slot(slot) => self.word(Self::slot(slot.index() as u32))?,
            Value::Metadata(metadata) => self.metadata(metadata)?,
            Value::Load(load) => self.load(id, load)?,
            Value::Negate(operand) => {
                let register = self.own(operand)?;
                self.push(Instruction::neg32(register));
                register
            }
            Value::Binary(operator, left, right) => self.binary(operator, left, right)?,
        };
        self.registers.hold(register, Some(Held::Value(id)));
        Ok(register)
    }

    /// The value in a register that may be changed.
    pub(super) fn own(&mut self, id: ValueId) -> Result<Register> {
        let register = self.value(id)?;
        self.owned(id, register)
    }

    /// `register`, which holds the value, if nobody else wants that; else a copy.
    pub(super) fn owned(&mut self, id: ValueId, register: Register) -> Result<Register> {
        if register == Predicate::LENGTH || self.facts[id.index()].uses > 1 {
            return self.copy_of(register);
        }
        self.registers.hold(register, None);
        Ok(register)
    }

    /// A copy of a register in its stead.
    pub(super) fn copy_of(&mut self, register: Register) -> Result<Register> {
        let copy = self.registers.take()?;
        self.push(Instruction::mov32(copy, register));
        self.registers.release(register);
        Ok(copy)
    }

    /// A word of the stack.
    fn word(&mut self, at: i16) -> Result<Register> {
        let register = self.registers.take()?;
        self.push(Instruction::load(Size::Word, register, Register::R10, at));
        Ok(register)
    }

    fn metadata(&mut self, metadata: IrMetadata) -> Result<Register> {
        let metadata = word(metadata);
        self.needs.push(metadata);
        self.word(metadata.slot())
    }

    fn binary(
        &mut self,
        operator: BinaryOperator,
        left: ValueId,
        right: ValueId,
    ) -> Result<Register> {
        use BinaryOperator::{Divide, Modulo, ShiftLeft, ShiftRight};
        let op = alu(operator);
        match (operator, self.ir.as_constant(right)) {
            (ShiftLeft | ShiftRight, Some(u32::BITS..)) => {
                let register = self.own(left)?;
                self.push(Instruction::mov32(register, 0));
                return Ok(register);
            }
            // No instruction divides by a constant zero.
            (Divide | Modulo, Some(0)) | (_, None) => {}
            (_, Some(constant)) => {
                let register = self.own(left)?;
                self.push(Instruction::alu32(op, register, constant));
                return Ok(register);
            }
        }
        let (a, b) = self.both(left, right)?;
        let result = self.owned(left, a)?;
        match operator {
            ShiftLeft | ShiftRight => self.shift(op, result, b),
            Divide | Modulo => {
                let reject = self.reject();
                self.assembler.jump_if32(Test::Equal, b, 0, reject);
                self.push(Instruction::alu32(op, result, b));
            }
            _ => self.push(Instruction::alu32(op, result, b)),
        }
        self.registers.release(b);
        Ok(result)
    }

    /// Distances of 32 and more, which the machine would take modulo 32, leave 0.
    fn shift(&mut self, op: Alu, register: Register, distance: Register) {
        let (far, done) = (self.assembler.label(), self.assembler.label());
        self.assembler.jump_if32(Test::GreaterOrEqual, distance, u32::BITS, far);
        self.push(Instruction::alu32(op, register, distance));
        self.assembler.jump(done);
        self.assembler.place(far);
        self.push(Instruction::mov32(register, 0));
        self.assembler.place(done);
    }

    /// Both values, the one that takes more results first.
    pub(super) fn both(&mut self, left: ValueId, right: ValueId) -> Result<(Register, Register)> {
        let weight = |id: ValueId| self.facts[id.index()].weight;
        if weight(right) > weight(left) {
            let (right, left) = self.one_beside(right, left)?;
            return Ok((left, right));
        }
        self.one_beside(left, right)
    }

    /// The first value, kept while the second is made: in its register where that is sure to do.
    fn one_beside(&mut self, first: ValueId, second: ValueId) -> Result<(Register, Register)> {
        let register = self.value(first)?;
        let fact = self.facts[second.index()];
        let calls = fact.calls || fact.loads && self.way == Way::Slow;
        if fact.weight == 0 && !calls || register == Predicate::LENGTH {
            return Ok((register, self.value(second)?));
        }
        let at = RESULTS + 4 * self.in_use;
        if at + 4 > Predicate::STACK.end {
            return Err(too_complex());
        }
        self.in_use += 1;
        self.push(Instruction::store(Size::Word, Register::R10, at, register));
        self.registers.release(register);
        let second = self.value(second)?;
        self.in_use -= 1;
        Ok((self.word(at)?, second))
    }
}

/// The word that a surrounding program writes.
pub(in crate::emit) fn word(metadata: IrMetadata) -> Metadata {
    match metadata {
        IrMetadata::PacketType => Metadata::PacketType,
        IrMetadata::InterfaceIndex => Metadata::InterfaceIndex,
        IrMetadata::Protocol => Metadata::Protocol,
        IrMetadata::VlanPresent => Metadata::VlanPresent,
        IrMetadata::VlanTag => Metadata::VlanTag,
    }
}

/// The instruction for an operator, which may do something else for a divisor of 0 and far shifts.
pub(in crate::emit) fn alu(operator: BinaryOperator) -> Alu {
    match operator {
        BinaryOperator::Add => Alu::Add,
        BinaryOperator::Subtract => Alu::Sub,
        BinaryOperator::Multiply => Alu::Mul,
        BinaryOperator::Divide => Alu::Div,
        BinaryOperator::Modulo => Alu::Mod,
        BinaryOperator::And => Alu::And,
        BinaryOperator::Or => Alu::Or,
        BinaryOperator::Xor => Alu::Xor,
        BinaryOperator::ShiftLeft => Alu::Lsh,
        BinaryOperator::ShiftRight => Alu::Rsh,
    }
}
