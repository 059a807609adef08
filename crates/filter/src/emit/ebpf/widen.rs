//! How much of the packet to prove at once.
//!
//! One check of the packet's end serves all loads behind it, so it is made for the farthest load that
//! is needed from there on unless a verdict comes first. A packet that is shorter is not lost: it goes
//! the slow way, byte by byte.

use super::facts::{direct_end, operands, roots};
use crate::ir::Ir;
use crate::ir::graph::{Graph, NodeId, Target};
use crate::ir::value::{Value, ValueId};

/// Checks are made no wider for the sake of later loads than what nearly every packet has: no filter
/// for long packets makes short ones go the slow way.
const WIDEST: u32 = 64;

/// By node, the farthest load on the way from it that goes least far; of ways that end at once nothing
/// is lost.
pub(super) fn widths(ir: &Ir, graph: &Graph) -> Vec<u32> {
    let mut widths = vec![0; graph.len()];
    for id in graph.ids().rev() {
        let behind = graph.node(id).targets().filter_map(|target| match target {
            Target::Drop | Target::Accept => None,
            Target::Node(next) => Some(widths[next.index()]),
        });
        let least = behind.min().unwrap_or(0);
        widths[id.index()] = least.max(own(ir, graph, id));
    }
    widths
}

/// The farthest load of one node.
fn own(ir: &Ir, graph: &Graph, id: NodeId) -> u32 {
    let mut pending: Vec<ValueId> = roots(graph.node(id)).collect();
    let mut farthest = 0;
    while let Some(value) = pending.pop() {
        let value = ir.get_value(value);
        pending.extend(operands(value));
        if let Value::Load(load) = value
            && let Some(end @ ..=WIDEST) = direct_end(ir, load)
        {
            farthest = farthest.max(end);
        }
    }
    farthest
}
