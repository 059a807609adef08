//! Sequence numbers, which wrap.

use std::ops::Add;

/// A sequence number (RFC 9293 3.4). Comparisons hold for numbers that are less than 2^31 apart, as those of
/// one connection are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Seq(pub u32);

impl Seq {
    /// How far it is behind `earlier`.
    pub fn since(self, earlier: Self) -> u32 {
        self.0.wrapping_sub(earlier.0)
    }

    /// True when it comes before `other`.
    pub fn is_before(self, other: Self) -> bool {
        (self.0.wrapping_sub(other.0) as i32) < 0
    }

    /// True when it comes before `other` or is the same.
    pub fn is_by(self, other: Self) -> bool {
        !other.is_before(self)
    }

    /// The later of the two.
    #[must_use]
    pub fn later(self, other: Self) -> Self {
        if self.is_before(other) { other } else { self }
    }

    /// The earlier of the two.
    #[must_use]
    pub fn earlier(self, other: Self) -> Self {
        if self.is_before(other) { self } else { other }
    }
}

impl Add<u32> for Seq {
    type Output = Self;

    fn add(self, length: u32) -> Self {
        Self(self.0.wrapping_add(length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_goes_on_past_zero() {
        let (before, after) = (Seq(u32::MAX), Seq(u32::MAX) + 3);
        assert_eq!((after, after.since(before)), (Seq(2), 3));
        assert!(before.is_before(after) && !after.is_before(before) && !after.is_before(after));
        assert!(after.is_by(after) && before.is_by(after) && !after.is_by(before));
        assert_eq!((before.later(after), before.earlier(after)), (after, before));
    }
}
