//! Which slots must be zeroed first.
//!
//! A slot that was not bound reads as 0. Mostly every way to a read has bound it; where one has not,
//! the program begins by storing zero. (The kernel refuses programs that read what they may not
//! have written.)

use crate::ir::Ir;
use crate::ir::graph::{Graph, Node, Target};
use crate::ir::predicate::Test;
use crate::ir::value::{SlotId, Value, ValueId};

/// A set of slots, one bit each.
type Slots = u16;

/// The slots that may be read unbound, by number.
pub(super) fn read_unbound(ir: &Ir, graph: &Graph) -> impl Iterator<Item = u32> {
    let unbound = unbound(graph, &reads(ir));
    (0..Slots::BITS).filter(move |slot| unbound >> slot & 1 == 1)
}

/// Which slots each value reads.
fn reads(ir: &Ir) -> Vec<Slots> {
    let mut reads: Vec<Slots> = Vec::with_capacity(ir.values().len());
    for value in ir.values() {
        let of = |id: ValueId| reads[id.index()];
        reads.push(match value {
            Value::Slot(slot) => bit(slot),
            Value::Load(load) => load.index.map_or(0, of),
            Value::Negate(operand) => of(operand),
            Value::Binary(_, left, right) => of(left) | of(right),
            Value::Constant(_) | Value::Length | Value::Metadata(_) => 0,
        });
    }
    reads
}

fn bit(slot: SlotId) -> Slots {
    1 << slot.index()
}

fn unbound(graph: &Graph, reads: &[Slots]) -> Slots {
    // Bound on every way to a node; until one is known, all.
    let mut bound = vec![Slots::MAX; graph.len()];
    if let Target::Node(entry) = graph.entry {
        bound[entry.index()] = 0;
    }
    let mut unbound = 0;
    for id in graph.ids() {
        let node = graph.node(id);
        let before = bound[id.index()];
        let (read, after) = match node {
            Node::Test { test: Test::Compare(_, left, right), .. } => {
                (reads[left.index()] | reads[right.index()], before)
            }
            Node::Test { test: Test::Chain(_), .. } => (0, before),
            Node::Bind { slot, value, .. } => (reads[value.index()], before | bit(slot)),
        };
        unbound |= read & !before;
        for target in node.targets() {
            if let Target::Node(next) = target {
                bound[next.index()] &= after;
            }
        }
    }
    unbound
}
