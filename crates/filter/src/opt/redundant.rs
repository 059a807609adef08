//! Decisions whose outcome is known on the way to them.
//!
//! Walks the graph forward once. An edge that leads to a test whose outcome is known on that edge is
//! moved on to where the outcome leads, and so on; tests that nothing leads to any more go. Since all
//! edges into a node have been moved before it is reached, one walk finds what repetition would: of
//! `host a or host b or ...` it leaves one chain of addresses per protocol, each protocol tested once.
//!
//! A value about which a test said something was loaded for it, so leaving out a later test of it leaves out no load
//! that could reject; nor does one of bytes that end before others that were loaded. A test whose outcome is known though
//! the packet may not have the bytes stays, with both edges leading to the same place.

use super::knowledge::Knowledge;
use super::points::{Point, Points};
use crate::ir::Ir;
use crate::ir::graph::{Graph, Node, Target};
use crate::ir::predicate::Test;

/// How many known tests may be stepped over, per node of the graph. It takes an odd filter to reach
/// this; then redundant tests remain.
const STEPS_PER_NODE: usize = 16;

pub(crate) fn redundant(ir: &Ir, graph: &Graph) -> Graph {
    let mut walk = Walk {
        graph,
        knowledge: Knowledge::new(ir),
        arrivals: vec![None; graph.len()],
        steps: STEPS_PER_NODE * graph.len(),
    };
    let mut result = graph.clone();
    result.entry = walk.arrive(graph.entry, Points::ROOT);
    for id in graph.ids() {
        if let Some(point) = walk.arrivals[id.index()] {
            result.replace(id, walk.node(graph.node(id), point));
        }
    }
    result.pruned()
}

struct Walk<'a> {
    graph: &'a Graph,
    knowledge: Knowledge<'a>,
    /// By node, the last point that all edges into it, as far as seen, have in common.
    arrivals: Vec<Option<Point>>,
    steps: usize,
}

impl Walk<'_> {
    /// The node, reached at `point`, with its edges moved on.
    fn node(&mut self, node: Node, point: Point) -> Node {
        match node {
            Node::Test { test, then, otherwise } => {
                let [then, otherwise] = match self.knowledge.settled(point, test) {
                    // It is left to reject packets.
                    Some(holds) => {
                        let target = if holds { then } else { otherwise };
                        [self.edge(test, holds, target, point); 2]
                    }
                    None => [
                        self.edge(test, true, then, point),
                        self.edge(test, false, otherwise, point),
                    ],
                };
                Node::Test { test, then, otherwise }
            }
            Node::Bind { slot, value, next } => {
                Node::Bind { slot, value, next: self.arrive(next, point) }
            }
        }
    }

    fn edge(&mut self, test: Test, holds: bool, target: Target, point: Point) -> Target {
        match target {
            Target::Node(_) => {
                let behind = self.knowledge.learn(point, test, holds);
                self.arrive(target, behind)
            }
            verdict => verdict,
        }
    }

    /// Moves an edge on over what is known at `point`, and notes where it arrives.
    fn arrive(&mut self, mut target: Target, point: Point) -> Target {
        while let Target::Node(id) = target {
            let Some(beyond) = self.beyond(self.graph.node(id), point) else {
                let arrival = &mut self.arrivals[id.index()];
                *arrival = Some(arrival.map_or(point, |other| self.knowledge.common(other, point)));
                break;
            };
            target = beyond;
        }
        target
    }

    /// Where the node leads if that is known at `point`.
    fn beyond(&mut self, node: Node, point: Point) -> Option<Target> {
        let Node::Test { test, then, otherwise } = node else {
            return None;
        };
        let holds = self.knowledge.outcome(point, test).filter(|_| self.steps > 0)?;
        self.steps -= 1;
        Some(if holds { then } else { otherwise })
    }
}
