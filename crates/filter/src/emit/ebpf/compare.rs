//! Fields beside constants, in whichever byte order is the cheaper.

use super::Emitter;
use super::registers::Held;
use crate::error::Result;
use crate::ir::value::{Load, Value, ValueId, Width};
use crate::syntax::ast::BinaryOperator;
use linerate_bpf::extended::{Alu, Instruction, Register};

/// The byte order of a number in a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Machine,
    /// As a number of this width lies in the packet.
    Network(Width),
}

impl Order {
    /// The constant as it is to be compared.
    pub(super) fn of(self, constant: u32) -> u32 {
        match self {
            Self::Machine => constant,
            Self::Network(width) => network_order(constant, width),
        }
    }
}

/// Part of a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    pub(super) load: Load,
    /// The load as a value.
    pub(super) value: ValueId,
    pub(super) mask: Option<u32>,
}

impl Emitter<'_> {
    /// The value in a register, to be tested for equality or common bits with constants, of which
    /// `constants` has all bits.
    pub(super) fn comparable(&mut self, id: ValueId, constants: u32) -> Result<(Register, Order)> {
        let Some(Field { load, value, mask }) = self.field(id) else {
            return Ok((self.value(id)?, Order::Machine));
        };
        let held = [id, value].into_iter().any(|value| self.registers.holds(Held::Value(value)));
        if held || load.width == Width::Byte || !fits(constants, load.width) {
            return Ok((self.value(id)?, Order::Machine));
        }
        let order = Order::Network(load.width);
        let register = self.raw(value, load)?;
        let Some(mask) = mask.filter(|mask| !covers(*mask, load.width)) else {
            return Ok((register, order));
        };
        let masked = self.owned(value, register)?;
        self.push(Instruction::alu32(Alu::And, masked, order.of(mask)));
        Ok((masked, order))
    }

    /// The field that a value is, masked or not.
    pub(super) fn field(&self, id: ValueId) -> Option<Field> {
        let (value, mask) = match self.ir.get_value(id) {
            Value::Binary(BinaryOperator::And, value, mask) => {
                (value, Some(self.ir.as_constant(mask)?))
            }
            _ => (id, None),
        };
        match self.ir.get_value(value) {
            Value::Load(load) => Some(Field { load, value, mask }),
            _ => None,
        }
    }
}

fn fits(number: u32, width: Width) -> bool {
    number & !all(width) == 0
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
