//! Predicates to a decision graph, from the last test to the first.
//!
//! Each predicate is given the two places where its outcomes lead; `and` makes its right operand
//! first, whose beginning is where its left operand leads when true. Iterative: a chain of ten
//! thousand `or`s is as deep as it is long.

use super::Ir;
use super::graph::{Graph, Node, Target};
use super::predicate::{Predicate, PredicateId};

/// A predicate still to be made, and where its outcomes lead.
struct Task {
    predicate: PredicateId,
    then: Edge,
    otherwise: Edge,
}

#[derive(Clone, Copy)]
enum Edge {
    To(Target),
    /// To the beginning of what will have been made last.
    ToLast,
}

/// The graph of `root`.
pub(crate) fn lower(ir: &Ir, root: PredicateId) -> Graph {
    let mut graph = Graph::new();
    let (accept, drop) = (Edge::To(Target::Accept), Edge::To(Target::Drop));
    let mut tasks = vec![Task { predicate: root, then: accept, otherwise: drop }];
    while let Some(Task { predicate, then, otherwise }) = tasks.pop() {
        let last = graph.entry;
        let target = |edge| match edge {
            Edge::To(target) => target,
            Edge::ToLast => last,
        };
        let (then, otherwise) = (target(then), target(otherwise));
        let mut push = |predicate, then, otherwise| tasks.push(Task { predicate, then, otherwise });
        match ir.get_predicate(predicate) {
            Predicate::Constant(value) => graph.entry = if value { then } else { otherwise },
            Predicate::Test(test) => graph.entry = graph.push(Node::Test { test, then, otherwise }),
            Predicate::Bind(slot, value) => {
                graph.entry = graph.push(Node::Bind { slot, value, next: then });
            }
            Predicate::Not(operand) => push(operand, Edge::To(otherwise), Edge::To(then)),
            Predicate::And(left, right) => {
                push(left, Edge::ToLast, Edge::To(otherwise));
                push(right, Edge::To(then), Edge::To(otherwise));
            }
            Predicate::Or(left, right) => {
                push(left, Edge::To(then), Edge::ToLast);
                push(right, Edge::To(then), Edge::To(otherwise));
            }
        }
    }
    graph
}
