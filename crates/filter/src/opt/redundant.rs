//! Decisions whose outcome is known on the way to them.
//!
//! Walks the graph forward once. An edge that leads to a test whose outcome is known on that edge is
//! moved on to where the outcome leads, and so on; tests that nothing leads to any more go. Since all
//! edges into a node have been moved before it is reached, one walk finds what repetition would: of
//! `host a or host b or ...` it leaves one chain of addresses per protocol, each protocol tested once.
//!
//! Known on an edge is the outcome of every test that all ways to it have made, and what follows from
//! comparisons with constants for others of the same value. The value was loaded for the test that
//! is known, so leaving out a later one leaves out no load that could reject.

use super::points::{Point, Points};
use crate::ir::Ir;
use crate::ir::graph::{Graph, Node, NodeId, Target};
use crate::ir::intern::Interner;
use crate::ir::predicate::{Comparison, Test};
use crate::ir::value::ValueId;

/// How many facts about one test or value are looked through. Newer ones matter most; more would
/// make the work quadratic for filters that compare one value with thousands of numbers.
const LOOK_BACK: usize = 16;

/// How many known tests may be stepped over, per node of the graph. It takes an odd filter to reach
/// this; then redundant tests remain.
const STEPS_PER_NODE: usize = 16;

pub(crate) fn redundant(ir: &Ir, graph: &Graph) -> Graph {
    let mut tests = Interner::default();
    let numbers = graph.ids().rev().map(|id| match graph.node(id) {
        Node::Test { test, .. } => tests.intern(test),
        Node::Bind { .. } => u32::MAX,
    });
    let mut pass = Pass {
        ir,
        tests: numbers.collect(),
        points: Points::new(),
        arrivals: vec![None; graph.len()],
        outcomes: Facts::new(tests.len()),
        ranges: Facts::new(ir.values().len()),
        steps: STEPS_PER_NODE * graph.len(),
    };
    let mut result = graph.clone();
    if let Target::Node(entry) = graph.entry {
        pass.arrivals[entry.index()] = Some(Points::ROOT);
    }
    for id in graph.ids() {
        if let Some(point) = pass.arrivals[id.index()] {
            result.replace(id, pass.node(graph, id, point));
        }
    }
    result.pruned()
}

/// What was found out, and from which point on it holds; by subject, the newest first.
struct Facts<T> {
    entries: Vec<Fact<T>>,
    newest: Vec<Option<u32>>,
}

struct Fact<T> {
    point: Point,
    what: T,
    older: Option<u32>,
}

impl<T: Copy> Facts<T> {
    fn new(subjects: usize) -> Self {
        Self { entries: Vec::new(), newest: vec![None; subjects] }
    }

    fn add(&mut self, subject: usize, point: Point, what: T) {
        let older = self.newest[subject].replace(self.entries.len() as u32);
        self.entries.push(Fact { point, what, older });
    }

    /// The newest about `subject` that every way to `point` has established.
    fn at(&self, subject: usize, point: Point, points: &Points) -> Option<T> {
        let fact = |number: u32| &self.entries[number as usize];
        let first = self.newest[subject].map(fact);
        let mut known = std::iter::successors(first, |known| known.older.map(fact)).take(LOOK_BACK);
        known.find(|known| points.is_above(known.point, point)).map(|known| known.what)
    }
}

/// What a value can be, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Range {
    low: u32,
    high: u32,
}

impl Range {
    const ANY: Self = Self { low: 0, high: u32::MAX };

    /// What is left of it when a comparison with `constant` holds or does not.
    fn narrowed(self, how: Comparison, constant: u32, holds: bool) -> Self {
        let (low, high) = match (how, holds) {
            (Comparison::Equal, true) => (constant, constant),
            (Comparison::Greater, true) => (constant.saturating_add(1), u32::MAX),
            (Comparison::Greater, false) => (0, constant),
            (Comparison::GreaterEqual, true) => (constant, u32::MAX),
            (Comparison::GreaterEqual, false) => (0, constant.saturating_sub(1)),
            (Comparison::Equal, false) | (Comparison::Intersects, _) => (0, u32::MAX),
        };
        Self { low: self.low.max(low), high: self.high.min(high) }
    }

    /// What a comparison with `constant` gives for all of it, if it is the same for all.
    fn decides(self, how: Comparison, constant: u32) -> Option<bool> {
        if self.low == self.high {
            return Some(how.holds(self.low, constant));
        }
        match how {
            Comparison::Equal => (constant < self.low || constant > self.high).then_some(false),
            Comparison::Intersects => None,
            Comparison::Greater | Comparison::GreaterEqual => {
                let (lowest, highest) =
                    (how.holds(self.low, constant), how.holds(self.high, constant));
                (lowest == highest).then_some(lowest)
            }
        }
    }
}

struct Pass<'a> {
    ir: &'a Ir,
    /// Equal tests have equal numbers; by node.
    tests: Vec<u32>,
    points: Points,
    /// The last point that all edges into a node, as far as seen, have in common.
    arrivals: Vec<Option<Point>>,
    /// By test.
    outcomes: Facts<bool>,
    /// By value.
    ranges: Facts<Range>,
    steps: usize,
}

impl Pass<'_> {
    fn node(&mut self, graph: &Graph, id: NodeId, point: Point) -> Node {
        match graph.node(id) {
            Node::Test { test, then, otherwise } => Node::Test {
                test,
                then: self.edge(graph, id, true, then, point),
                otherwise: self.edge(graph, id, false, otherwise, point),
            },
            Node::Bind { slot, value, next } => {
                Node::Bind { slot, value, next: self.arrive(graph, next, point) }
            }
        }
    }

    /// The edge from the test `from` on this outcome, `point` being where the test is made.
    fn edge(
        &mut self,
        graph: &Graph,
        from: NodeId,
        outcome: bool,
        target: Target,
        point: Point,
    ) -> Target {
        if !matches!(target, Target::Node(_)) {
            return target;
        }
        let range = self.narrowed(graph.node(from), outcome, point);
        let point = self.points.add(point);
        self.outcomes.add(self.tests[from.index()] as usize, point, outcome);
        if let Some((value, range)) = range {
            self.ranges.add(value.index(), point, range);
        }
        self.arrive(graph, target, point)
    }

    /// Moves an edge on over what is known at `point`, and notes where it arrives.
    fn arrive(&mut self, graph: &Graph, mut target: Target, point: Point) -> Target {
        while let Target::Node(id) = target {
            let Node::Test { then, otherwise, .. } = graph.node(id) else {
                break;
            };
            let Some(outcome) = self.known(graph, id, point).filter(|_| self.steps > 0) else {
                break;
            };
            self.steps -= 1;
            target = if outcome { then } else { otherwise };
        }
        if let Target::Node(id) = target {
            let arrival = &mut self.arrivals[id.index()];
            *arrival = Some(arrival.map_or(point, |other| self.points.common(other, point)));
        }
        target
    }

    fn known(&self, graph: &Graph, id: NodeId, point: Point) -> Option<bool> {
        let made = self.outcomes.at(self.tests[id.index()] as usize, point, &self.points);
        made.or_else(|| {
            let (how, value, constant) = self.with_constant(graph.node(id))?;
            self.range(value, point)?.decides(how, constant)
        })
    }

    fn narrowed(&self, node: Node, outcome: bool, point: Point) -> Option<(ValueId, Range)> {
        let (how, value, constant) = self.with_constant(node)?;
        let before = self.range(value, point);
        let range = before.unwrap_or(Range::ANY).narrowed(how, constant, outcome);
        (Some(range) != before && range != Range::ANY).then_some((value, range))
    }

    fn range(&self, value: ValueId, point: Point) -> Option<Range> {
        self.ranges.at(value.index(), point, &self.points)
    }

    fn with_constant(&self, node: Node) -> Option<(Comparison, ValueId, u32)> {
        match node {
            Node::Test { test: Test::Compare(how, value, right), .. } => {
                Some((how, value, self.ir.as_constant(right)?))
            }
            _ => None,
        }
    }
}
