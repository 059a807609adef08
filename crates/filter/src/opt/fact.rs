//! What is known of a number: the range that it is in, and some of its bits.

use crate::ir::Ir;
use crate::ir::predicate::Comparison;
use crate::ir::value::{Value, ValueId, Width};
use crate::syntax::ast::BinaryOperator;

/// What a number can be. There are too many of them rather than too few, and none only where no packet comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fact {
    /// The range, both ends included.
    low: u32,
    high: u32,
    /// Bits that are known, and what they are.
    known: u32,
    bits: u32,
}

impl Fact {
    /// Nothing is known.
    pub(super) const ANY: Self = Self { low: 0, high: u32::MAX, known: 0, bits: 0 };

    /// Nothing above this number.
    fn at_most(high: u32) -> Self {
        let known = u32::MAX.checked_shl(u32::BITS - high.leading_zeros()).unwrap_or(0);
        Self { low: 0, high, known, bits: 0 }
    }

    /// What a value can be because of what it is, when it can be had; `of` says that of its operands.
    pub(super) fn of(ir: &Ir, value: Value, of: impl Fn(ValueId) -> Self) -> Self {
        match value {
            Value::Constant(constant) => {
                Self { low: constant, high: constant, known: u32::MAX, bits: constant }
            }
            Value::Load(load) => match load.width {
                Width::Byte => Self::at_most(0xff),
                Width::Half => Self::at_most(0xffff),
                Width::Word => Self::ANY,
            },
            Value::Binary(operator, left, right) => match ir.as_constant(right) {
                Some(constant) => of(left).operated(operator, constant),
                None => Self::ANY,
            },
            Value::Length | Value::Slot(_) | Value::Metadata(_) | Value::Negate(_) => Self::ANY,
        }
    }

    /// What such a number becomes.
    fn operated(self, operator: BinaryOperator, constant: u32) -> Self {
        match operator {
            BinaryOperator::And => Self {
                low: 0,
                high: self.high.min(constant),
                known: self.known | !constant,
                bits: self.bits & constant,
            },
            BinaryOperator::ShiftLeft if constant <= self.high.leading_zeros() && constant < 32 => {
                Self::at_most(self.high << constant)
            }
            BinaryOperator::ShiftRight if constant < 32 => Self::at_most(self.high >> constant),
            BinaryOperator::Modulo if constant > 0 => Self::at_most(self.high.min(constant - 1)),
            _ => Self::ANY,
        }
    }

    /// What is left of it when a comparison of `number & mask` with a constant holds or does not.
    pub(super) fn narrowed(self, mask: u32, how: Comparison, constant: u32, holds: bool) -> Self {
        let (low, high) = match (how, holds) {
            // A number is at least what a mask leaves of it, and larger by no more than the mask's other bits.
            (Comparison::Equal, true) => (constant, constant.saturating_add(!mask)),
            (Comparison::Greater, true) => (constant.saturating_add(1), u32::MAX),
            (Comparison::Greater, false) => (0, constant.saturating_add(!mask)),
            (Comparison::GreaterEqual, true) => (constant, u32::MAX),
            (Comparison::GreaterEqual, false) => {
                (0, constant.saturating_sub(1).saturating_add(!mask))
            }
            (Comparison::Intersects, false) => (0, !(mask & constant)),
            (Comparison::Equal, false) | (Comparison::Intersects, true) => (0, u32::MAX),
        };
        let single = mask & constant;
        let (known, bits) = match (how, holds) {
            (Comparison::Equal, true) => (mask, constant),
            (Comparison::Intersects, true) if single.is_power_of_two() => (single, single),
            (Comparison::Intersects, false) => (single, 0),
            _ => (0, 0),
        };
        Self {
            low: self.low.max(low),
            high: self.high.min(high),
            known: self.known | known,
            bits: self.bits & !known | bits & known,
        }
    }

    /// What a comparison of `number & mask` with a constant gives for all of it, if it is the same for all.
    pub(super) fn decides(self, mask: u32, how: Comparison, constant: u32) -> Option<bool> {
        match how {
            Comparison::Intersects => {
                let (low, high) = self.under(mask & constant);
                (low > 0 || high == 0).then_some(low > 0)
            }
            Comparison::Equal => {
                let (low, high) = self.under(mask);
                let differs = constant & !mask | (constant ^ self.bits) & self.known & mask;
                if differs != 0 || constant < low || constant > high {
                    return Some(false);
                }
                (low == high).then_some(true)
            }
            Comparison::Greater | Comparison::GreaterEqual => {
                let (low, high) = self.under(mask);
                let (lowest, highest) = (how.holds(low, constant), how.holds(high, constant));
                (lowest == highest).then_some(lowest)
            }
        }
    }

    /// The range of `number & mask`.
    fn under(self, mask: u32) -> (u32, u32) {
        let (low, high) = (self.bits & mask, (self.bits | !self.known) & mask);
        let others = !mask;
        let is_prefix = others & others.wrapping_add(1) == 0;
        match is_prefix {
            true => (low.max(self.low & mask), high.min(self.high & mask)),
            false => (low, high.min(self.high)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::value::apply;
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
        prop_oneof![0..8_u32, u32::MAX - 3..=u32::MAX, any::<u32>()]
    }

    fn mask() -> impl Strategy<Value = u32> {
        prop_oneof![Just(u32::MAX), Just(!3), Just(0xff00_0000), 0..8_u32, any::<u32>()]
    }

    proptest! {
        #[test]
        fn a_fact_decides_nothing_that_a_number_contradicts(
            number in number(),
            facts in prop::collection::vec((mask(), comparison(), number()), 0..4),
            (asked, how, constant) in (mask(), comparison(), number()),
            exact in any::<bool>(),
        ) {
            let fact = facts.into_iter().fold(Fact::ANY, |fact, (mask, how, constant)| {
                let constant = if how == Comparison::Equal && exact { number & mask } else { constant };
                fact.narrowed(mask, how, constant, how.holds(number & mask, constant))
            });
            prop_assert!((fact.low..=fact.high).contains(&number));
            prop_assert_eq!(number & fact.known, fact.bits);
            if let Some(decided) = fact.decides(asked, how, constant) {
                prop_assert_eq!(decided, how.holds(number & asked, constant));
            }
        }

        #[test]
        fn what_an_operation_makes_of_a_number_is_among_what_it_makes_of_the_fact(
            number in number(),
            high in number(),
            operator in prop::sample::select(vec![
                BinaryOperator::Add,
                BinaryOperator::And,
                BinaryOperator::ShiftLeft,
                BinaryOperator::ShiftRight,
                BinaryOperator::Modulo,
            ]),
            constant in prop_oneof![0..40_u32, any::<u32>()],
        ) {
            let number = number.min(high);
            let fact = Fact::at_most(high);
            prop_assert_eq!(number & fact.known, fact.bits);
            let after = fact.operated(operator, constant);
            if let Some(result) = apply(operator, number, constant) {
                prop_assert!((after.low..=after.high).contains(&result));
                prop_assert_eq!(result & after.known, after.bits);
            }
        }
    }
}
