//! Equal decisions with equal outcomes become one.
//!
//! After [`super::redundant`] has sent what three protocols' failures had in common to the same
//! place, `port 80` looks for the port once for all of them.

use crate::ir::graph::{Graph, NodeId, Target};
use crate::ir::intern::Interner;

pub(crate) fn share(graph: &Graph) -> Graph {
    let mut nodes = Interner::default();
    let mut result = Graph::new();
    let mut moved = vec![Target::Drop; graph.len()];
    let to = |moved: &[Target], target| match target {
        Target::Node(id) => moved[id.index()],
        verdict => verdict,
    };
    for id in graph.ids().rev() {
        let node = graph.node(id).redirected(|target| to(&moved, target));
        let number = nodes.intern(node);
        moved[id.index()] = if (number as usize) < result.len() {
            Target::Node(NodeId(number))
        } else {
            result.push(node)
        };
    }
    result.entry = to(&moved, graph.entry);
    result
}
