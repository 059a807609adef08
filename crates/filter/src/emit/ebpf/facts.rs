//! What is known of values before any code is written.

use crate::ir::Ir;
use crate::ir::graph::{Graph, Node};
use crate::ir::predicate::Test;
use crate::ir::value::{Load, Value, ValueId, Width};
use crate::syntax::ast::BinaryOperator;

/// Loads that end farther from where they count go by way of the load helper: displacements have 16
/// bits, and the verifier follows offsets of packets up to 65,535.
pub(super) const FARTHEST: u32 = 0x7fff;

/// Facts about one value.
#[derive(Clone, Copy, Default)]
pub(super) struct Fact {
    /// How many tests, assignments and other values use it.
    pub(super) uses: u32,
    /// How many intermediate results it takes (R. Sethi, J. D. Ullman, "The generation of optimal code
    /// for arithmetic expressions", Journal of the ACM 17, 1970).
    pub(super) weight: u32,
    /// It can be no larger, and the verifier sees that from the code.
    pub(super) largest: u32,
    /// Bytes of the packet are in it.
    pub(super) loads: bool,
    /// Among them some farther than [`FARTHEST`].
    pub(super) far: bool,
}

pub(super) fn facts(ir: &Ir, graph: &Graph) -> Vec<Fact> {
    let mut facts: Vec<Fact> = Vec::with_capacity(ir.values().len());
    for value in ir.values() {
        let fact = fact(ir, &facts, value);
        facts.push(fact);
    }
    count_uses(ir, graph, &mut facts);
    facts
}

fn fact(ir: &Ir, facts: &[Fact], value: Value) -> Fact {
    let of = |id: ValueId| facts[id.index()];
    let unknown = Fact { largest: u32::MAX, ..Fact::default() };
    match value {
        Value::Constant(constant) => Fact { largest: constant, ..unknown },
        Value::Length | Value::Slot(_) | Value::Metadata(_) => unknown,
        Value::Load(load) => Fact {
            weight: load.index.map_or(0, |index| of(index).weight),
            largest: if load.width == Width::Byte { 0xff } else { u32::MAX },
            loads: true,
            far: end(load) > FARTHEST || load.index.is_some_and(|index| of(index).far),
            ..unknown
        },
        Value::Negate(operand) => Fact { largest: u32::MAX, uses: 0, ..of(operand) },
        Value::Binary(operator, left, right) => {
            let (a, b) = (of(left), of(right));
            let weight = match ir.as_constant(right) {
                Some(_) => a.weight,
                None if a.weight == b.weight => a.weight + 1,
                None => a.weight.max(b.weight),
            };
            let largest = largest(operator, a.largest, ir.as_constant(right));
            Fact { weight, largest, loads: a.loads | b.loads, far: a.far | b.far, uses: 0 }
        }
    }
}

/// The end of what is loaded, counted from the packet's beginning or from the index.
pub(super) fn end(load: Load) -> u32 {
    load.offset.saturating_add(load.width.bytes() as u32)
}

/// What the verifier makes of arithmetic with a constant.
fn largest(operator: BinaryOperator, left: u32, constant: Option<u32>) -> u32 {
    let Some(k) = constant else { return u32::MAX };
    let exact = match operator {
        BinaryOperator::And => Some(left.min(k)),
        BinaryOperator::Add => left.checked_add(k),
        BinaryOperator::Multiply => left.checked_mul(k),
        BinaryOperator::ShiftLeft => left.checked_mul(1_u32.checked_shl(k).unwrap_or(u32::MAX)),
        _ => None,
    };
    exact.unwrap_or(u32::MAX)
}

fn count_uses(ir: &Ir, graph: &Graph, facts: &mut [Fact]) {
    let mut count = |id: ValueId| {
        facts[id.index()].uses += 1;
        facts[id.index()].uses == 1
    };
    let mut pending: Vec<ValueId> = Vec::new();
    for id in graph.ids() {
        pending.extend(roots(graph.node(id)));
        while let Some(id) = pending.pop() {
            if count(id) {
                pending.extend(operands(ir.get_value(id)));
            }
        }
    }
}

/// The values that a node looks at.
pub(super) fn roots(node: Node) -> impl Iterator<Item = ValueId> {
    let (first, second) = match node {
        Node::Test { test: Test::Compare(_, left, right), .. } => (Some(left), Some(right)),
        Node::Test { test: Test::Chain(_), .. } => (None, None),
        Node::Bind { value, .. } => (Some(value), None),
    };
    first.into_iter().chain(second)
}

/// The values that a value is made of.
pub(super) fn operands(value: Value) -> impl Iterator<Item = ValueId> {
    let (first, second) = match value {
        Value::Load(load) => (load.index, None),
        Value::Negate(operand) => (Some(operand), None),
        Value::Binary(_, left, right) => (Some(left), Some(right)),
        Value::Constant(_) | Value::Length | Value::Slot(_) | Value::Metadata(_) => (None, None),
    };
    first.into_iter().chain(second)
}
