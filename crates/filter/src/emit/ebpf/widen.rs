//! How much of the packet to prove at once.
//!
//! One check of the packet's end serves all loads behind it, so it is made for the farthest load that
//! is needed from there on unless a verdict comes first. A packet that is shorter is not lost: it goes the slow
//! way, byte by byte.

use std::collections::HashMap;

use super::facts::{end, operands, roots};
use crate::ir::Ir;
use crate::ir::graph::{Graph, NodeId, Target};
use crate::ir::value::{Value, ValueId};

/// Checks are made no wider for the sake of later loads than what nearly every packet has: no filter
/// for long packets makes short ones go the slow way.
const WIDEST: u32 = 64;
/// Of more indices than this the loads are not looked for.
const INDICES: usize = 64;

/// What loads count from: the packet's beginning, or an index.
type Base = Option<ValueId>;

/// How far loads go behind each node, by what they count from.
pub(super) struct Widths(HashMap<Base, Vec<u32>>);

impl Widths {
    pub(super) fn new(ir: &Ir, graph: &Graph) -> Self {
        let mut own: HashMap<Base, Vec<(NodeId, u32)>> = HashMap::new();
        for id in graph.ids() {
            note_loads(ir, graph, id, &mut own);
        }
        if own.len() > INDICES {
            own.retain(|base, _| base.is_none());
        }
        let reach = |(base, own): (Base, Vec<_>)| (base, reach(graph, &own));
        Self(own.into_iter().map(reach).collect())
    }

    /// How many bytes to prove at `id`, where a load ends at `end`.
    pub(super) fn at(&self, id: NodeId, base: Base, end: u32) -> u32 {
        self.0.get(&base).map_or(end, |widths| widths[id.index()].max(end))
    }
}

fn note_loads(ir: &Ir, graph: &Graph, id: NodeId, own: &mut HashMap<Base, Vec<(NodeId, u32)>>) {
    let mut pending: Vec<ValueId> = roots(graph.node(id)).collect();
    while let Some(value) = pending.pop() {
        let value = ir.get_value(value);
        pending.extend(operands(value));
        if let Value::Load(load) = value {
            own.entry(load.index).or_default().push((id, end(load)));
        }
    }
}

/// By node, the farthest load on the way from it that goes least far; of ways that end at once nothing
/// is lost.
fn reach(graph: &Graph, own: &[(NodeId, u32)]) -> Vec<u32> {
    let mut widths = vec![0; graph.len()];
    for (id, end) in own.iter().filter(|(_, end)| *end <= WIDEST) {
        let width: &mut u32 = &mut widths[id.index()];
        *width = (*width).max(*end);
    }
    for id in graph.ids().rev() {
        let behind = graph.node(id).targets().filter_map(|target| match target {
            Target::Drop | Target::Accept => None,
            Target::Node(next) => Some(widths[next.index()]),
        });
        let least = behind.min().unwrap_or(0);
        widths[id.index()] = least.max(widths[id.index()]);
    }
    widths
}
