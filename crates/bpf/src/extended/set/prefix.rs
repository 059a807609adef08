//! Ranges of numbers as prefixes.

/// Numbers whose upper bits are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Prefix {
    /// The first of the numbers.
    pub(super) first: u32,
    /// How many bits are the same.
    pub(super) bits: u32,
}

impl Prefix {
    /// The prefix of so many bits that a number is in.
    pub(super) fn of(number: u32, bits: u32) -> Self {
        Self { first: number & !low(bits), bits }
    }

    /// The last of the numbers.
    pub(super) fn last(self) -> u32 {
        self.first | low(self.bits)
    }

    /// Those that are wider and have all its numbers, the narrowest first.
    pub(super) fn wider(self) -> impl Iterator<Item = Self> {
        (0..self.bits).rev().map(move |bits| Self::of(self.first, bits))
    }

    /// The fewest that have the numbers from the first to the last.
    pub(super) fn cover((first, last): (u32, u32)) -> Vec<Self> {
        let mut prefixes = Vec::new();
        let mut next = Some(first).filter(|first| *first <= last);
        while let Some(first) = next {
            let fits = |bits: &u32| {
                let prefix = Self::of(first, *bits);
                prefix.first == first && prefix.last() <= last
            };
            let bits = (0..=32).find(fits).unwrap_or(32);
            let prefix = Self { first, bits };
            prefixes.push(prefix);
            next = prefix.last().checked_add(1).filter(|next| *next <= last);
        }
        prefixes
    }
}

/// The bits that are not the same.
fn low(bits: u32) -> u32 {
    u32::MAX.checked_shr(bits).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_range_is_a_few_prefixes() {
        assert_eq!(Prefix::cover((0, u32::MAX)), [Prefix { first: 0, bits: 0 }]);
        assert_eq!(Prefix::cover((7, 7)), [Prefix { first: 7, bits: 32 }]);
        assert_eq!(Prefix::cover((1, u32::MAX - 1)).len(), 62);
    }

    proptest! {
        #[test]
        fn prefixes_follow_each_other_from_the_first_to_the_last(a: u32, b in prop_oneof![any::<u32>(), 0..9_u32]) {
            let range = (a.min(b), a.max(b));
            let prefixes = Prefix::cover(range);
            prop_assert_eq!((prefixes[0].first, prefixes[prefixes.len() - 1].last()), range);
            for pair in prefixes.windows(2) {
                prop_assert_eq!(pair[0].last() + 1, pair[1].first);
            }
            for prefix in prefixes {
                prop_assert!(prefix.wider().all(|wider| wider.first <= prefix.first && wider.last() >= prefix.last()));
            }
        }
    }
}
