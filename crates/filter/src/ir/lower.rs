//! Predicates to a decision graph, from the last test to the first.
//!
//! Each predicate is given the two places where its outcomes lead; `and` makes its right operand
//! first, whose beginning is where its left operand leads when true. Iterative: a chain of ten
//! thousand `or`s is as deep as it is long.

use super::Ir;
use super::graph::{Graph, Node, NodeId, Target};
use super::intern::Interner;
use super::predicate::{Predicate, PredicateId};

/// What is still to be done; the last result is the target of the code made last.
enum Task {
    Visit {
        predicate: PredicateId,
        then: Target,
        otherwise: Target,
    },
    /// Visit it with the last result as where it leads when true.
    VisitThen {
        predicate: PredicateId,
        otherwise: Target,
    },
    /// Visit it with the last result as where it leads when false.
    VisitOtherwise {
        predicate: PredicateId,
        then: Target,
    },
}

/// The graph of `root`. With `share`, equal nodes with equal targets become one.
pub(crate) fn lower(ir: &Ir, root: PredicateId, share: bool) -> Graph {
    let mut lowering = Lowering { graph: Graph::new(), shared: Interner::default(), share };
    let entry = lowering.run(ir, root);
    lowering.graph.entry = entry;
    lowering.graph
}

struct Lowering {
    graph: Graph,
    /// If nodes are shared: the graph's, by the same numbers.
    shared: Interner<Node>,
    share: bool,
}

impl Lowering {
    fn run(&mut self, ir: &Ir, root: PredicateId) -> Target {
        let (then, otherwise) = (Target::Accept, Target::Drop);
        let mut tasks = vec![Task::Visit { predicate: root, then, otherwise }];
        let mut last = Target::Drop;
        while let Some(task) = tasks.pop() {
            let (predicate, then, otherwise) = match task {
                Task::Visit { predicate, then, otherwise } => (predicate, then, otherwise),
                Task::VisitThen { predicate, otherwise } => (predicate, last, otherwise),
                Task::VisitOtherwise { predicate, then } => (predicate, then, last),
            };
            let visit = |predicate, then, otherwise| Task::Visit { predicate, then, otherwise };
            match ir.get_predicate(predicate) {
                Predicate::Constant(value) => last = if value { then } else { otherwise },
                Predicate::Test(test) => last = self.node(Node::Test { test, then, otherwise }),
                Predicate::Bind(slot, value) => {
                    last = self.node(Node::Bind { slot, value, next: then });
                }
                Predicate::Not(operand) => tasks.push(visit(operand, otherwise, then)),
                Predicate::And(left, right) => {
                    tasks.push(Task::VisitThen { predicate: left, otherwise });
                    tasks.push(visit(right, then, otherwise));
                }
                Predicate::Or(left, right) => {
                    tasks.push(Task::VisitOtherwise { predicate: left, then });
                    tasks.push(visit(right, then, otherwise));
                }
            }
        }
        last
    }

    fn node(&mut self, node: Node) -> Target {
        if self.share {
            let number = self.shared.intern(node);
            if (number as usize) < self.graph.len() {
                return Target::Node(NodeId(number));
            }
        }
        self.graph.push(node)
    }
}
