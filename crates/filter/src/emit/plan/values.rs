//! The values that nodes need, and no others.

use crate::ir::Ir;
use crate::ir::value::{self, ValueId};
use crate::plan::{self, Load, Plan, Value};

/// Numbers for the values of an IR, given as they are asked for.
pub(super) struct Values<'a> {
    ir: &'a Ir,
    numbers: Vec<Option<plan::ValueId>>,
    values: Vec<Value>,
    /// Steps in which each value is made.
    depths: Vec<usize>,
}

impl<'a> Values<'a> {
    pub(super) fn new(ir: &'a Ir) -> Self {
        let numbers = vec![None; ir.values().len()];
        Self { ir, numbers, values: Vec::new(), depths: Vec::new() }
    }

    /// The number of a value; `None` when it is made in too many steps.
    pub(super) fn number(&mut self, id: ValueId) -> Option<plan::ValueId> {
        self.number_within(id, Plan::DEPTH)
    }

    fn number_within(&mut self, id: ValueId, steps: usize) -> Option<plan::ValueId> {
        if let Some(number) = self.numbers[id.index()] {
            return (self.depths[number] <= steps).then_some(number);
        }
        let steps = steps.checked_sub(1)?;
        let mut depth = 0;
        let mut operand = |values: &mut Self, id| {
            let number = values.number_within(id, steps)?;
            depth = depth.max(values.depths[number]);
            Some(number)
        };
        let value = match self.ir.get_value(id) {
            value::Value::Constant(constant) => Value::Constant(constant),
            value::Value::Length => Value::Length,
            value::Value::Load(value::Load { index, offset, width, .. }) => {
                let base = match index {
                    Some(index) => Some(operand(self, index)?),
                    None => None,
                };
                Value::Load(Load { base, offset, width })
            }
            value::Value::Slot(slot) => Value::Slot(slot.index()),
            value::Value::Metadata(metadata) => Value::Metadata(metadata),
            value::Value::Negate(id) => Value::Negate(operand(self, id)?),
            value::Value::Binary(op, left, right) => {
                let left = operand(self, left)?;
                Value::Binary(op, left, operand(self, right)?)
            }
        };
        self.values.push(value);
        self.depths.push(depth + 1);
        let number = self.values.len() - 1;
        self.numbers[id.index()] = Some(number);
        Some(number)
    }

    pub(super) fn finish(self) -> Vec<Value> {
        self.values
    }
}
