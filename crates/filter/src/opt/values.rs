//! What is known of values before any packet is looked at.

use super::fact::Fact;
use crate::ir::Ir;
use crate::ir::value::{Value, ValueId};
use crate::syntax::ast::BinaryOperator;

/// Of each value of an IR.
pub(super) struct Values(Vec<Entry>);

#[derive(Clone, Copy)]
struct Entry {
    fact: Fact,
    /// Who has so many bytes has the value, if that suffices for anybody.
    suffices: Option<u64>,
    /// Who has the value has so many bytes.
    proves: u64,
}

impl Values {
    pub(super) fn new(ir: &Ir) -> Self {
        let mut entries: Vec<Entry> = Vec::with_capacity(ir.values().len());
        for value in ir.values() {
            let of = |id: ValueId| entries[id.index()];
            let both = |one: Entry, other: Entry| Some(one.suffices?.max(other.suffices?));
            let (suffices, proves) = match value {
                Value::Constant(_) | Value::Length | Value::Slot(_) => (Some(0), 0),
                Value::Metadata(_) => (None, 0),
                Value::Load(load) => {
                    let end = u64::from(load.offset) + load.width.bytes() as u64;
                    match load.index {
                        None => (Some(end), end),
                        Some(index) => (None, of(index).proves),
                    }
                }
                Value::Negate(operand) => (of(operand).suffices, of(operand).proves),
                Value::Binary(operator, left, right) => {
                    let divides =
                        matches!(operator, BinaryOperator::Divide | BinaryOperator::Modulo);
                    let is_total = !divides || ir.as_constant(right).is_some_and(|c| c != 0);
                    let (left, right) = (of(left), of(right));
                    (both(left, right).filter(|_| is_total), left.proves.max(right.proves))
                }
            };
            let fact = Fact::of(ir, value, |id| of(id).fact);
            entries.push(Entry { fact, suffices, proves });
        }
        Self(entries)
    }

    /// What the value can be, when it can be had.
    pub(super) fn fact(&self, id: ValueId) -> Fact {
        self.0[id.index()].fact
    }

    /// Whether who has so many bytes has the value.
    pub(super) fn are_had(&self, id: ValueId, bytes: u64) -> bool {
        self.0[id.index()].suffices.is_some_and(|suffices| suffices <= bytes)
    }

    /// How many bytes at least a packet has that has the value.
    pub(super) fn proves(&self, id: ValueId) -> u64 {
        self.0[id.index()].proves
    }
}
