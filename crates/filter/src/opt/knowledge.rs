//! What is known at a point of a decision graph: the outcomes of tests made on every way there, and
//! what follows from comparisons with constants for others of the same value.

use super::points::{Point, Points};
use crate::ir::Ir;
use crate::ir::intern::Interner;
use crate::ir::predicate::{Comparison, Test};
use crate::ir::value::ValueId;

/// How many facts are looked through for one answer. Newer ones matter most; more would make the
/// work quadratic for filters that make thousands of tests of the same kind.
const LOOK_BACK: usize = 16;

/// All that has been found out so far.
pub(super) struct Knowledge<'a> {
    ir: &'a Ir,
    points: Points,
    tests: Interner<Test>,
    /// By test, the newest outcome.
    newest: Vec<Option<u32>>,
    outcomes: Vec<Outcome>,
    ranges: Vec<Narrowed>,
    /// By point, the newest range that holds there.
    in_force: Vec<Option<u32>>,
}

/// A test's outcome, known from `point` on.
struct Outcome {
    point: Point,
    holds: bool,
    /// The one before it of the same test.
    older: Option<u32>,
}

/// What a value can be.
struct Narrowed {
    value: ValueId,
    range: Range,
    /// The one before it on the way here.
    older: Option<u32>,
}

impl<'a> Knowledge<'a> {
    pub(super) fn new(ir: &'a Ir) -> Self {
        Self {
            ir,
            points: Points::new(),
            tests: Interner::default(),
            newest: Vec::new(),
            outcomes: Vec::new(),
            ranges: Vec::new(),
            in_force: vec![None],
        }
    }

    /// The point behind `point` at which `test` holds, or does not.
    pub(super) fn learn(&mut self, point: Point, test: Test, holds: bool) -> Point {
        let narrowed = self.narrowed(point, test, holds);
        let older = self.in_force[point.index()];
        let behind = self.points.add(point);
        self.in_force.push(older);
        if let Some((value, range)) = narrowed {
            self.ranges.push(Narrowed { value, range, older });
            self.in_force[behind.index()] = Some(self.ranges.len() as u32 - 1);
        }
        let number = self.tests.intern(test) as usize;
        self.newest.resize(self.tests.len(), None);
        let older = self.newest[number].replace(self.outcomes.len() as u32);
        self.outcomes.push(Outcome { point: behind, holds, older });
        behind
    }

    /// The outcome of `test` at `point`, if it is known there.
    pub(super) fn outcome(&self, point: Point, test: Test) -> Option<bool> {
        self.by_range(point, test).or_else(|| self.made_before(point, test))
    }

    /// The last point that every way to either passes.
    pub(super) fn common(&self, one: Point, other: Point) -> Point {
        self.points.common(one, other)
    }

    fn by_range(&self, point: Point, test: Test) -> Option<bool> {
        let (how, value, constant) = self.with_constant(test)?;
        self.range(point, value)?.decides(how, constant)
    }

    fn made_before(&self, point: Point, test: Test) -> Option<bool> {
        let at = |number: u32| &self.outcomes[number as usize];
        let newest = self.newest[self.tests.number(test)? as usize].map(at);
        let made = std::iter::successors(newest, |made| made.older.map(at)).take(LOOK_BACK);
        let mut above = made.filter(|made| self.points.is_above(made.point, point));
        above.next().map(|made| made.holds)
    }

    fn narrowed(&self, point: Point, test: Test, holds: bool) -> Option<(ValueId, Range)> {
        let (how, value, constant) = self.with_constant(test)?;
        let before = self.range(point, value).unwrap_or(Range::ANY);
        let range = before.narrowed(how, constant, holds);
        (range != before).then_some((value, range))
    }

    fn range(&self, point: Point, value: ValueId) -> Option<Range> {
        let at = |number: u32| &self.ranges[number as usize];
        let newest = self.in_force[point.index()].map(at);
        let mut ranges = std::iter::successors(newest, |range| range.older.map(at)).take(LOOK_BACK);
        ranges.find(|narrowed| narrowed.value == value).map(|narrowed| narrowed.range)
    }

    fn with_constant(&self, test: Test) -> Option<(Comparison, ValueId, u32)> {
        match test {
            Test::Compare(how, value, right) => Some((how, value, self.ir.as_constant(right)?)),
            Test::Chain(_) => None,
        }
    }
}

/// Numbers, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Range {
    low: u32,
    high: u32,
}

impl Range {
    const ANY: Self = Self { low: 0, high: u32::MAX };

    /// What is left of it when a comparison with `constant` holds or does not. It has too many
    /// numbers rather than too few, and none only where no packet comes.
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn comparison() -> impl Strategy<Value = Comparison> {
        prop::sample::select(vec![
            Comparison::Equal,
            Comparison::Greater,
            Comparison::GreaterEqual,
            Comparison::Intersects,
        ])
    }

    /// Small and large numbers, so that comparisons often hold and often do not.
    fn number() -> impl Strategy<Value = u32> {
        prop_oneof![0..8_u32, u32::MAX - 3..=u32::MAX]
    }

    proptest! {
        #[test]
        fn a_range_decides_nothing_that_a_number_in_it_contradicts(
            number in number(),
            facts in prop::collection::vec((comparison(), number()), 0..4),
            how in comparison(),
            constant in number(),
        ) {
            let range = facts.into_iter().fold(Range::ANY, |range, (how, constant)| {
                range.narrowed(how, constant, how.holds(number, constant))
            });
            prop_assert!(range.low <= number && number <= range.high);
            if let Some(decided) = range.decides(how, constant) {
                prop_assert_eq!(decided, how.holds(number, constant));
            }
        }
    }
}
