//! Sets of numbers with random access: what a field's values, or a scan's targets, are taken from.

/// The numbers from the first to the last, both included. An address or port is a number here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first.
    pub first: u128,
    /// The last, at least the first.
    pub last: u128,
}

impl Span {
    /// The numbers from `first` to `last`; `None` when `last` comes first.
    pub fn new(first: u128, last: u128) -> Option<Self> {
        (first <= last).then_some(Self { first, last })
    }

    /// One number.
    pub fn one(number: u128) -> Self {
        Self { first: number, last: number }
    }

    /// The addresses, `width` bits wide, that share the first `length` bits with `address`.
    pub fn prefix(address: u128, length: u32, width: u32) -> Self {
        let host = u128::MAX.checked_shr(128 - (width - length)).unwrap_or(0);
        Self { first: address & !host, last: address | host }
    }

    /// How many, saturating.
    fn count(&self) -> u128 {
        (self.last - self.first).saturating_add(1)
    }

    /// What is left of it beside `other`.
    fn without(&self, other: &Self) -> impl Iterator<Item = Self> + use<> {
        let before = match other.first.checked_sub(1) {
            Some(last) => Self::new(self.first, self.last.min(last)),
            None => None,
        };
        let after = match other.last.checked_add(1) {
            Some(first) => Self::new(self.first.max(first), self.last),
            None => None,
        };
        [before, after].into_iter().flatten()
    }
}

/// The same numbers in order, without overlap.
pub fn merged(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_by_key(|span| span.first);
    spans.dedup_by(|next, span| {
        let overlaps = next.first <= span.last;
        if overlaps {
            span.last = span.last.max(next.last);
        }
        overlaps
    });
    spans
}

/// A set of numbers in an order: that in which they were named, each where it came first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Space {
    spans: Vec<Span>,
    /// How many numbers come before each span.
    before: Vec<u128>,
    count: u128,
}

impl Space {
    /// The numbers of all `spans`, each once.
    pub fn new(spans: &[Span]) -> Self {
        let mut space = Self::default();
        for span in spans {
            let known = space.spans.clone();
            subtract(*span, &known).into_iter().for_each(|span| space.push(span));
        }
        space
    }

    /// The numbers of all `spans`, those in several of them as often: a set no more, but some numbers have
    /// more weight.
    pub fn with_repeats(spans: &[Span]) -> Self {
        let mut space = Self::default();
        spans.iter().for_each(|span| space.push(*span));
        space
    }

    /// Those that are in none of the spans of `blocked`; the others keep their order.
    #[must_use]
    pub fn without(&self, blocked: &[Span]) -> Self {
        let mut space = Self::default();
        for span in &self.spans {
            subtract(*span, blocked).into_iter().for_each(|span| space.push(span));
        }
        space
    }

    fn push(&mut self, span: Span) {
        self.spans.push(span);
        self.before.push(self.count);
        self.count = self.count.saturating_add(span.count());
    }

    /// How many numbers; 2^128 counts as one less.
    pub fn count(&self) -> u128 {
        self.count
    }

    /// The largest number; `None` of an empty set.
    pub fn largest(&self) -> Option<u128> {
        self.spans.iter().map(|span| span.last).max()
    }

    /// Its spans, none of which overlap, in its order.
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// The number at `index`.
    ///
    /// # Panics
    /// When there are not as many.
    #[inline]
    pub fn at(&self, index: u64) -> u128 {
        let index = u128::from(index);
        let (span, before) = match &self.spans[..] {
            [span] => (span, 0),
            _ => {
                let after = self.before.partition_point(|before| *before <= index);
                (&self.spans[after - 1], self.before[after - 1])
            }
        };
        let number = span.first + (index - before);
        assert!(number <= span.last, "no number at {index} of {}", self.count);
        number
    }
}

fn subtract(span: Span, blocked: &[Span]) -> Vec<Span> {
    let mut left = vec![span];
    for blocked in blocked.iter().filter(|b| b.first <= span.last && span.first <= b.last) {
        left = left.iter().flat_map(|span| span.without(blocked)).collect();
    }
    left.sort_by_key(|span| span.first);
    left
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn items(space: &Space) -> Vec<u128> {
        (0..space.count() as u64).map(|index| space.at(index)).collect()
    }

    fn span(first: u128, last: u128) -> Span {
        Span::new(first, last).unwrap()
    }

    #[test]
    fn the_order_is_that_of_the_first_mention() {
        let space = Space::new(&[span(5, 7), span(1, 6), Span::one(5), Span::one(0)]);
        assert_eq!(items(&space), [5, 6, 7, 1, 2, 3, 4, 0]);
    }

    #[test]
    fn prefixes_cover_their_addresses() {
        assert_eq!(Span::prefix(0x0a40_1234, 10, 32), span(0x0a40_0000, 0x0a7f_ffff));
        assert_eq!(Span::prefix(7, 32, 32), Span::one(7));
        assert_eq!(Span::prefix(7, 0, 32), span(0, u32::MAX.into()));
        assert_eq!(Span::prefix(7, 0, 128), span(0, u128::MAX));
        assert_eq!(Span::prefix(7, 128, 128), Span::one(7));
    }

    #[test]
    fn all_of_ipv6_can_be_blocked() {
        let space = Space::new(&[Span::one(3), span(0, u128::MAX)]);
        assert_eq!(space.count(), u128::MAX);
        assert_eq!(space.without(&[span(0, u128::MAX)]).count(), 0);
        assert_eq!(items(&space.without(&[span(9, u128::MAX)])), [3, 0, 1, 2, 4, 5, 6, 7, 8]);
    }

    #[test]
    #[should_panic(expected = "no number at 2 of 2")]
    fn past_the_end_there_is_nothing() {
        Space::new(&[span(5, 6)]).at(2);
    }

    fn spans() -> impl Strategy<Value = Vec<Span>> {
        vec((0..60_u128, 0..12_u128).prop_map(|(first, more)| span(first, first + more)), 0..6)
    }

    proptest! {
        #[test]
        fn every_number_is_there_once_and_no_blocked_one(wanted in spans(), blocked in spans()) {
            let space = Space::new(&wanted).without(&blocked);
            let is_in = |spans: &[Span], n: u128| spans.iter().any(|s| s.first <= n && n <= s.last);
            let expected: Vec<_> =
                (0..80).filter(|&n| is_in(&wanted, n) && !is_in(&blocked, n)).collect();
            let mut found = items(&space);
            found.sort_unstable();
            prop_assert_eq!(found, expected);
        }
    }
}
