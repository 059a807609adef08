//! Numbers that are some bits of a column.

use linerate_filter::plan::{BinaryOperator, Check};

/// The number `(lane >> right & mask) << left`, where no bit is lost on the left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bits {
    pub(crate) right: u32,
    pub(crate) mask: u32,
    pub(crate) left: u32,
}

impl Bits {
    /// All of them.
    pub(crate) const ALL: Self = Self { right: 0, mask: u32::MAX, left: 0 };

    /// The number of a lane.
    #[inline(always)]
    pub(crate) fn number(self, lane: u32) -> u32 {
        (lane >> self.right & self.mask) << self.left
    }

    /// `self operator constant`, where that is some of the bits again.
    pub(crate) fn then(self, operator: BinaryOperator, constant: u32) -> Option<Self> {
        let Self { right, mask, left } = self;
        match operator {
            BinaryOperator::And => Some(self.masked(constant)),
            // By 32 and more they give 0.
            BinaryOperator::ShiftLeft | BinaryOperator::ShiftRight if constant >= 32 => None,
            BinaryOperator::ShiftLeft if left + constant < 32 => {
                let left = left + constant;
                Some(Self { right, mask: mask & u32::MAX >> left, left })
            }
            BinaryOperator::ShiftRight if constant <= left => {
                Some(Self { left: left - constant, ..self })
            }
            BinaryOperator::ShiftRight if right + (constant - left) < 32 => {
                let more = constant - left;
                Some(Self { right: right + more, mask: mask >> more, left: 0 })
            }
            _ => None,
        }
    }

    /// `self & mask`
    pub(crate) fn masked(self, mask: u32) -> Self {
        Self { mask: self.mask & mask >> self.left, ..self }
    }

    /// A check of these bits under another mask, as one of `lane >> right & mask`; `None` when it never
    /// holds.
    pub(crate) fn check(self, mask: u32, check: &Check) -> (Self, Option<Check>) {
        let bits = Self { left: 0, ..self.masked(mask) };
        let unit = 1_u32 << self.left;
        let fits = |constant: u32| {
            let moved = constant >> self.left;
            (moved & bits.mask == moved && constant.is_multiple_of(unit)).then_some(moved)
        };
        let check = match check {
            Check::Equal(constant) => fits(*constant).map(Check::Equal),
            Check::Within(low, high) => {
                let (low, high) = (low.div_ceil(unit), (high >> self.left).min(bits.mask));
                (low <= high).then_some(Check::Within(low, high))
            }
            Check::Among(constants) => {
                let fitting: Box<[_]> = constants.iter().filter_map(|c| fits(*c)).collect();
                match fitting[..] {
                    [] => None,
                    [one] => Some(Check::Equal(one)),
                    _ => Some(Check::Among(fitting)),
                }
            }
        };
        (bits, check)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_filter::plan::apply;
    use proptest::prelude::*;

    fn operation() -> impl Strategy<Value = (BinaryOperator, u32)> {
        use BinaryOperator::{And, ShiftLeft, ShiftRight};
        prop_oneof![
            any::<u32>().prop_map(|mask| (And, mask)),
            (0..40_u32).prop_map(|by| (ShiftLeft, by)),
            (0..40_u32).prop_map(|by| (ShiftRight, by)),
        ]
    }

    fn check() -> impl Strategy<Value = Check> {
        let small = prop_oneof![0..300_u32, any::<u32>()];
        prop_oneof![
            small.clone().prop_map(Check::Equal),
            (small.clone(), small.clone()).prop_map(|(a, b)| Check::Within(a.min(b), a.max(b))),
            prop::collection::btree_set(small, 2..5)
                .prop_map(|set| Check::Among(set.into_iter().collect())),
        ]
    }

    proptest! {
        #[test]
        fn what_becomes_of_bits_is_what_becomes_of_the_number(
            lane in any::<u32>(),
            operations in prop::collection::vec(operation(), 0..5),
            mask in prop_oneof![Just(u32::MAX), any::<u32>()],
            check in check(),
        ) {
            let (mut bits, mut expected) = (Bits::ALL, lane);
            for (operator, constant) in operations {
                if let Some(next) = bits.then(operator, constant) {
                    expected = apply(operator, expected, constant).unwrap();
                    bits = next;
                }
            }
            prop_assert_eq!(bits.number(lane), expected);
            let (moved, moved_check) = bits.check(mask, &check);
            let holds = moved_check.is_some_and(|check| check.holds(moved.number(lane)));
            prop_assert_eq!(holds, check.holds(expected & mask));
        }
    }
}
