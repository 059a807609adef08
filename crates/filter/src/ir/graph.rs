//! Predicates as one decision graph.
//!
//! Nodes test, and each outcome leads to another node or to a verdict; `and`, `or` and `not` are
//! gone. Edges lead from larger to smaller numbers only: counting down is a topological order. A
//! packet that a test rejects is dropped, so a false predicate and a rejecting one end alike.

use super::predicate::Test;
use super::value::{SlotId, ValueId};

/// Where an edge leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Target {
    Accept,
    Drop,
    Node(NodeId),
}

/// Index of a [`Node`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NodeId(pub(crate) u32);

impl NodeId {
    /// For tables beside the graph.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A decision, or an assignment on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Node {
    Test { test: Test, then: Target, otherwise: Target },
    Bind { slot: SlotId, value: ValueId, next: Target },
}

impl Node {
    /// Where it can lead.
    pub(crate) fn targets(&self) -> impl Iterator<Item = Target> + use<> {
        let (first, second) = match *self {
            Self::Test { then, otherwise, .. } => (then, Some(otherwise)),
            Self::Bind { next, .. } => (next, None),
        };
        std::iter::once(first).chain(second)
    }

    /// The same node leading elsewhere.
    pub(crate) fn redirected(self, mut to: impl FnMut(Target) -> Target) -> Self {
        match self {
            Self::Test { test, then, otherwise } => {
                Self::Test { test, then: to(then), otherwise: to(otherwise) }
            }
            Self::Bind { slot, value, next } => Self::Bind { slot, value, next: to(next) },
        }
    }
}

/// A decision graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Graph {
    nodes: Vec<Node>,
    pub(crate) entry: Target,
}

impl Graph {
    pub(crate) fn new() -> Self {
        Self { nodes: Vec::new(), entry: Target::Drop }
    }

    /// Adds a node all of whose targets are there already.
    pub(crate) fn push(&mut self, node: Node) -> Target {
        self.nodes.push(node);
        Target::Node(NodeId(self.nodes.len() as u32 - 1))
    }

    pub(crate) fn node(&self, id: NodeId) -> Node {
        self.nodes[id.index()]
    }

    pub(crate) fn replace(&mut self, id: NodeId, node: Node) {
        self.nodes[id.index()] = node;
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Every number of a node, in topological order.
    pub(crate) fn ids(&self) -> impl DoubleEndedIterator<Item = NodeId> + use<> {
        (0..self.nodes.len() as u32).rev().map(NodeId)
    }

    /// The same graph without the nodes that nothing leads to.
    pub(crate) fn pruned(&self) -> Self {
        let mut reached = vec![false; self.nodes.len()];
        let mark = |reached: &mut Vec<bool>, target| {
            if let Target::Node(id) = target {
                reached[id.index()] = true;
            }
        };
        mark(&mut reached, self.entry);
        for id in self.ids() {
            if reached[id.index()] {
                self.node(id).targets().for_each(|target| mark(&mut reached, target));
            }
        }
        self.compacted(&reached)
    }

    fn compacted(&self, keep: &[bool]) -> Self {
        let mut graph = Self::new();
        let mut moved = vec![Target::Drop; self.nodes.len()];
        let to = |moved: &[Target], target| match target {
            Target::Node(id) => moved[id.index()],
            verdict => verdict,
        };
        for id in self.ids().rev().filter(|id| keep[id.index()]) {
            moved[id.index()] = graph.push(self.node(id).redirected(|target| to(&moved, target)));
        }
        graph.entry = to(&moved, self.entry);
        graph
    }
}
