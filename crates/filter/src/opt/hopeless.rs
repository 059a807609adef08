//! Decisions that cannot lead to acceptance.
//!
//! A test both of whose outcomes drop the packet drops it, whether or not it would have rejected it.

use crate::ir::graph::{Graph, Target};

pub(crate) fn hopeless(graph: &Graph) -> Graph {
    let mut hopeless = vec![false; graph.len()];
    for id in graph.ids().rev() {
        let drops = |target| match target {
            Target::Accept => false,
            Target::Drop => true,
            Target::Node(next) => hopeless[next.index()],
        };
        hopeless[id.index()] = graph.node(id).targets().all(drops);
    }
    let to = |target| match target {
        Target::Node(id) if hopeless[id.index()] => Target::Drop,
        other => other,
    };
    let mut result = graph.clone();
    for id in graph.ids() {
        result.replace(id, graph.node(id).redirected(to));
    }
    result.entry = to(graph.entry);
    result.pruned()
}
