//! Symbolic places to offsets into the packet.
//!
//! Afterwards every load is relative to [`Place::PACKET`]: loads of the same bytes by way of different
//! places are the same value.

use crate::ir::Ir;
use crate::ir::place::Place;
use crate::ir::predicate::PredicateId;
use crate::ir::rewrite::{Rewrite, rewrite};
use crate::ir::value::{Load, Value, ValueId};
use crate::syntax::ast::BinaryOperator;

pub(crate) fn resolve(ir: &Ir, root: PredicateId) -> (Ir, PredicateId) {
    rewrite(ir, root, &Resolve)
}

struct Resolve;

impl Rewrite for Resolve {
    fn value(&self, ir: &mut Ir, value: Value) -> ValueId {
        let Value::Load(load) = value else {
            return ir.value(value);
        };
        let place = ir.get_place(load.place);
        let index = match (place.variable, load.index) {
            (Some(variable), Some(index)) => Some(ir.binary(BinaryOperator::Add, variable, index)),
            (variable, index) => variable.or(index),
        };
        let offset = place.constant.wrapping_add(load.offset);
        let place = ir.place(Place::PACKET);
        ir.value(Value::Load(Load { place, index, offset, ..load }))
    }
}
