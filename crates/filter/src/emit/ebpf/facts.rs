//! What is known of values before any code is written.

use crate::ir::Ir;
use crate::ir::graph::{Graph, Node};
use crate::ir::predicate::Test;
use crate::ir::value::{Load, Value, ValueId};

/// What the fast copy takes every IPv4 header's length for; packets with options go the slow way.
pub(super) const IPV4_HEADER: u32 = 20;

/// Displacements of loads have 16 bits.
const FARTHEST: u32 = i16::MAX as u32;

/// Facts about one value.
#[derive(Clone, Copy, Default)]
pub(super) struct Fact {
    /// How many tests, assignments and other values use it.
    pub(super) uses: u32,
    /// How many intermediate results it takes (R. Sethi, J. D. Ullman, "The generation of optimal code
    /// for arithmetic expressions", Journal of the ACM 17, 1970).
    pub(super) weight: u32,
    /// Bytes of the packet are in it.
    pub(super) loads: bool,
    /// Among them some that the fast copy, too, gets by the load helper.
    pub(super) calls: bool,
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
    match value {
        Value::Constant(_) | Value::Length | Value::Slot(_) | Value::Metadata(_) => Fact::default(),
        Value::Load(load) => Fact {
            uses: 0,
            weight: load.index.map_or(0, |index| of(index).weight),
            loads: true,
            calls: direct_end(ir, load).is_none(),
        },
        Value::Negate(operand) => Fact { uses: 0, ..of(operand) },
        Value::Binary(_, left, right) => {
            let (a, b) = (of(left), of(right));
            let weight = match ir.as_constant(right) {
                Some(_) => a.weight,
                None if a.weight == b.weight => a.weight + 1,
                None => a.weight.max(b.weight),
            };
            Fact { uses: 0, weight, loads: a.loads | b.loads, calls: a.calls | b.calls }
        }
    }
}

/// Where the bytes end that the fast copy loads from the packet itself; `None` where it cannot.
///
/// An index that is not known beforehand would take the verifier's word for it, which it gives
/// only to processes with CAP_PERFMON.
pub(super) fn direct_end(ir: &Ir, load: Load) -> Option<u32> {
    let index =
        load.index.map_or(Some(0), |index| header_length(ir, index).map(|_| IPV4_HEADER))?;
    let end = load.offset.checked_add(index)?.checked_add(load.width.bytes() as u32)?;
    (end <= FARTHEST).then_some(end)
}

/// The byte at a known place whose low nibble counts the words of the IPv4 header that `index` is the
/// length of.
pub(super) fn header_length(ir: &Ir, index: ValueId) -> Option<ValueId> {
    let byte = ir.as_ipv4_header_length(index)?;
    let is_direct = byte.index.is_none() && direct_end(ir, byte).is_some();
    ir.ipv4_header_byte(index).filter(|_| is_direct)
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
