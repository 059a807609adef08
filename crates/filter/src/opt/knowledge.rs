//! What is known at a point of a decision graph: the outcomes of tests made on every way there, what
//! follows from comparisons with constants for others of the same value, and how many bytes a packet has.

use super::fact::Fact;
use super::points::{Point, Points};
use super::values::Values;
use crate::ir::Ir;
use crate::ir::intern::Interner;
use crate::ir::predicate::{Comparison, Test};
use crate::ir::value::{Value, ValueId};
use crate::syntax::ast::BinaryOperator;

/// How many facts are looked through for one answer. Newer ones matter most; more would make the
/// work quadratic for filters that make thousands of tests of the same kind.
const LOOK_BACK: usize = 16;

/// All that has been found out so far.
pub(super) struct Knowledge<'a> {
    ir: &'a Ir,
    values: Values,
    points: Points,
    tests: Interner<Test>,
    /// By test, the newest outcome.
    newest: Vec<Option<u32>>,
    outcomes: Vec<Outcome>,
    facts: Vec<Learned>,
    /// By point, the newest fact that holds there.
    in_force: Vec<Option<u32>>,
    /// By point, how many bytes a packet has that comes there.
    proven: Vec<u64>,
}

/// A test's outcome, known from `point` on.
struct Outcome {
    point: Point,
    holds: bool,
    /// The one before it of the same test.
    older: Option<u32>,
}

/// What a value can be. That something was learned of it says that it was there.
struct Learned {
    value: ValueId,
    fact: Fact,
    /// The one before it on the way here.
    older: Option<u32>,
}

/// `value & mask how constant`
struct Question {
    value: ValueId,
    mask: u32,
    how: Comparison,
    constant: u32,
}

impl<'a> Knowledge<'a> {
    pub(super) fn new(ir: &'a Ir) -> Self {
        Self {
            ir,
            values: Values::new(ir),
            points: Points::new(),
            tests: Interner::default(),
            newest: Vec::new(),
            outcomes: Vec::new(),
            facts: Vec::new(),
            in_force: vec![None],
            proven: vec![0],
        }
    }

    /// The point behind `point` at which `test` holds, or does not.
    pub(super) fn learn(&mut self, point: Point, test: Test, holds: bool) -> Point {
        let learned = self.learned(point, test, holds);
        let older = self.in_force[point.index()];
        let behind = self.points.add(point);
        self.in_force.push(older);
        self.proven.push(self.proven[point.index()].max(self.proves(test)));
        if let Some((value, fact)) = learned {
            self.facts.push(Learned { value, fact, older });
            self.in_force[behind.index()] = Some(self.facts.len() as u32 - 1);
        }
        let number = self.tests.intern(test) as usize;
        self.newest.resize(self.tests.len(), None);
        let older = self.newest[number].replace(self.outcomes.len() as u32);
        self.outcomes.push(Outcome { point: behind, holds, older });
        behind
    }

    /// The outcome of `test` at `point`, if it is known there and the test rejects no packet.
    pub(super) fn outcome(&self, point: Point, test: Test) -> Option<bool> {
        self.by_facts(point, test).or_else(|| self.made_before(point, test))
    }

    /// The outcome of `test` at `point` for all packets that it does not reject, if that is known.
    pub(super) fn settled(&self, point: Point, test: Test) -> Option<bool> {
        let question = self.question(test)?;
        let learned = self.fact(point, question.value);
        question.decided(learned.unwrap_or_else(|| self.values.fact(question.value)))
    }

    /// The last point that every way to either passes.
    pub(super) fn common(&self, one: Point, other: Point) -> Point {
        self.points.common(one, other)
    }

    fn by_facts(&self, point: Point, test: Test) -> Option<bool> {
        let question = self.question(test)?;
        let unlearned = || {
            let is_had = self.values.are_had(question.value, self.proven[point.index()]);
            is_had.then(|| self.values.fact(question.value))
        };
        question.decided(self.fact(point, question.value).or_else(unlearned)?)
    }

    fn made_before(&self, point: Point, test: Test) -> Option<bool> {
        let at = |number: u32| &self.outcomes[number as usize];
        let newest = self.newest[self.tests.number(test)? as usize].map(at);
        let made = std::iter::successors(newest, |made| made.older.map(at)).take(LOOK_BACK);
        let mut above = made.filter(|made| self.points.is_above(made.point, point));
        above.next().map(|made| made.holds)
    }

    fn learned(&self, point: Point, test: Test, holds: bool) -> Option<(ValueId, Fact)> {
        let Question { value, mask, how, constant } = self.question(test)?;
        let before = self.fact(point, value);
        let own = before.unwrap_or_else(|| self.values.fact(value));
        let fact = own.narrowed(mask, how, constant, holds);
        (before != Some(fact)).then_some((value, fact))
    }

    fn fact(&self, point: Point, value: ValueId) -> Option<Fact> {
        let at = |number: u32| &self.facts[number as usize];
        let newest = self.in_force[point.index()].map(at);
        let mut facts = std::iter::successors(newest, |fact| fact.older.map(at)).take(LOOK_BACK);
        facts.find(|learned| learned.value == value).map(|learned| learned.fact)
    }

    /// How many bytes a packet has of which a test says something.
    fn proves(&self, test: Test) -> u64 {
        match test {
            Test::Compare(_, left, right) => {
                self.values.proves(left).max(self.values.proves(right))
            }
            Test::Chain(_) => 0,
        }
    }

    fn question(&self, test: Test) -> Option<Question> {
        let Test::Compare(how, left, right) = test else { return None };
        let constant = self.ir.as_constant(right)?;
        let masked = match self.ir.get_value(left) {
            Value::Binary(BinaryOperator::And, value, mask) => {
                self.ir.as_constant(mask).map(|mask| (value, mask))
            }
            _ => None,
        };
        let (value, mask) = masked.unwrap_or((left, u32::MAX));
        Some(Question { value, mask, how, constant })
    }
}

impl Question {
    fn decided(&self, fact: Fact) -> Option<bool> {
        fact.decides(self.mask, self.how, self.constant)
    }
}
