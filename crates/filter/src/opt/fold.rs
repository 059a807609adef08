//! What is known without a packet, and simpler forms of what is not.
//!
//! Constants move to the right of commutative operators and of comparisons, and into the offsets of
//! loads; tests of single bits become [`Comparison::Intersects`]. Nothing that loads is dropped,
//! except what `and` and `or` would not have evaluated.

use crate::ir::Ir;
use crate::ir::predicate::{Comparison, Predicate, PredicateId, Test};
use crate::ir::rewrite::{Rewrite, rewrite};
use crate::ir::value::{Load, Value, ValueId, apply};
use crate::syntax::ast::BinaryOperator;

pub(crate) fn fold(ir: &Ir, root: PredicateId) -> (Ir, PredicateId) {
    rewrite(ir, root, &Fold)
}

struct Fold;

impl Rewrite for Fold {
    fn value(&self, ir: &mut Ir, value: Value) -> ValueId {
        match value {
            Value::Load(load) => fold_load(ir, load),
            Value::Negate(operand) => match ir.as_constant(operand) {
                Some(constant) => ir.constant(constant.wrapping_neg()),
                None => ir.value(value),
            },
            Value::Binary(operator, left, right) => fold_binary(ir, operator, left, right),
            Value::Constant(_) | Value::Length | Value::Slot(_) | Value::Metadata(_) => {
                ir.value(value)
            }
        }
    }

    fn predicate(&self, ir: &mut Ir, predicate: Predicate) -> PredicateId {
        match predicate {
            Predicate::Test(Test::Compare(how, left, right)) => fold_compare(ir, how, left, right),
            Predicate::Not(operand) => fold_not(ir, operand),
            Predicate::And(left, right) => {
                match (ir.get_predicate(left), ir.get_predicate(right)) {
                    (Predicate::Constant(false), _) | (_, Predicate::Constant(true)) => left,
                    (Predicate::Constant(true), _) => right,
                    _ => ir.and(left, right),
                }
            }
            Predicate::Or(left, right) => match (ir.get_predicate(left), ir.get_predicate(right)) {
                (Predicate::Constant(true), _) | (_, Predicate::Constant(false)) => left,
                (Predicate::Constant(false), _) => right,
                _ => ir.or(left, right),
            },
            Predicate::Constant(_) | Predicate::Test(Test::Chain(_)) | Predicate::Bind(..) => {
                ir.predicate(predicate)
            }
        }
    }
}

/// Offsets beyond this are for the kernel's metadata; an index takes none there.
const LARGEST_OFFSET: u32 = i32::MAX as u32;

/// An index's constant part goes into the offset where the sum cannot wrap.
fn fold_load(ir: &mut Ir, load: Load) -> ValueId {
    let Some(index) = load.index else {
        return ir.value(Value::Load(load));
    };
    let (rest, constant) = match ir.get_value(index) {
        Value::Constant(constant) => (None, constant),
        Value::Binary(BinaryOperator::Add, rest, right) => match ir.as_constant(right) {
            // At most 60, so that adding half of all numbers to it cannot wrap.
            Some(constant) if ir.as_ipv4_header_length(rest).is_some() => (Some(rest), constant),
            _ => return ir.value(Value::Load(load)),
        },
        _ => return ir.value(Value::Load(load)),
    };
    let offset = load.offset.checked_add(constant).filter(|offset| *offset <= LARGEST_OFFSET);
    match offset.filter(|_| constant <= LARGEST_OFFSET) {
        Some(offset) => ir.value(Value::Load(Load { index: rest, offset, ..load })),
        None => ir.value(Value::Load(load)),
    }
}

fn fold_binary(ir: &mut Ir, operator: BinaryOperator, left: ValueId, right: ValueId) -> ValueId {
    use BinaryOperator as Op;
    let commutes = matches!(operator, Op::Add | Op::Multiply | Op::And | Op::Or | Op::Xor);
    let (left, right) = match ir.as_constant(left) {
        Some(_) if commutes && ir.as_constant(right).is_none() => (right, left),
        _ => (left, right),
    };
    let Some(constant) = ir.as_constant(right) else {
        return ir.binary(operator, left, right);
    };
    if let Some(result) = ir.as_constant(left).and_then(|left| apply(operator, left, constant)) {
        return ir.constant(result);
    }
    let neutral = match operator {
        Op::Add | Op::Subtract | Op::Or | Op::Xor | Op::ShiftLeft | Op::ShiftRight => constant == 0,
        Op::Multiply | Op::Divide => constant == 1,
        Op::And => constant == u32::MAX,
        Op::Modulo => false,
    };
    if neutral {
        return left;
    }
    match (operator, ir.get_value(left)) {
        (Op::Add, Value::Binary(Op::Add, inner, addend)) if ir.as_constant(addend).is_some() => {
            let sum = ir.as_constant(addend).unwrap_or(0).wrapping_add(constant);
            ir.with_constant(Op::Add, inner, sum)
        }
        _ => ir.binary(operator, left, right),
    }
}

fn fold_compare(ir: &mut Ir, how: Comparison, left: ValueId, right: ValueId) -> PredicateId {
    match (ir.as_constant(left), ir.as_constant(right)) {
        (Some(left), Some(right)) => ir.truth(how.holds(left, right)),
        (Some(_), None) => mirrored(ir, how, left, right),
        (None, Some(constant)) if how == Comparison::Equal => equal(ir, left, right, constant),
        _ => ir.compare(how, left, right),
    }
}

/// The same test with its sides exchanged.
fn mirrored(ir: &mut Ir, how: Comparison, left: ValueId, right: ValueId) -> PredicateId {
    let opposite = match how {
        Comparison::Equal | Comparison::Intersects => return fold_compare(ir, how, right, left),
        Comparison::Greater => Comparison::GreaterEqual,
        Comparison::GreaterEqual => Comparison::Greater,
    };
    let opposite = ir.compare(opposite, right, left);
    ir.not(opposite)
}

fn equal(ir: &mut Ir, left: ValueId, right: ValueId, constant: u32) -> PredicateId {
    let masked = match ir.get_value(left) {
        Value::Binary(BinaryOperator::And, field, mask) => {
            ir.as_constant(mask).map(|m| (field, mask, m))
        }
        _ => None,
    };
    match masked {
        Some((field, mask, _)) if constant == 0 => {
            let some = ir.compare(Comparison::Intersects, field, mask);
            ir.not(some)
        }
        Some((field, mask, bit)) if bit == constant && bit.is_power_of_two() => {
            ir.compare(Comparison::Intersects, field, mask)
        }
        _ => ir.compare(Comparison::Equal, left, right),
    }
}

fn fold_not(ir: &mut Ir, operand: PredicateId) -> PredicateId {
    match ir.get_predicate(operand) {
        Predicate::Constant(value) => ir.truth(!value),
        Predicate::Not(inner) => inner,
        _ => ir.not(operand),
    }
}
