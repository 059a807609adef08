//! Points in time, as packets carry them.

use std::ops::{Add, Sub};
use std::time::Duration;

/// A point in time: nanoseconds since 1970-01-01 00:00:00 UTC, without leap seconds.
///
/// Covers the years 1677 to 2262; arithmetic saturates at either end rather than wrapping.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

const NANOS_PER_SECOND: i64 = 1_000_000_000;

impl Timestamp {
    /// 1970-01-01 00:00:00 UTC.
    pub const EPOCH: Self = Self(0);

    /// The time `nanos` nanoseconds after the epoch.
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// The time `seconds` and `nanos` after the epoch; `nanos` may exceed one second, as damaged
    /// savefiles show.
    pub const fn from_parts(seconds: i64, nanos: u32) -> Self {
        Self(seconds.saturating_mul(NANOS_PER_SECOND).saturating_add(nanos as i64))
    }

    /// Nanoseconds since the epoch.
    pub const fn nanos(self) -> i64 {
        self.0
    }

    /// Whole seconds since the epoch, rounded towards the past.
    pub const fn seconds(self) -> i64 {
        self.0.div_euclid(NANOS_PER_SECOND)
    }

    /// Nanoseconds since the last whole second, `0..1_000_000_000`.
    pub const fn subsec_nanos(self) -> u32 {
        self.0.rem_euclid(NANOS_PER_SECOND) as u32
    }

    /// Signed nanoseconds from `earlier` to `self`.
    pub const fn nanos_since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl Add<Duration> for Timestamp {
    type Output = Self;

    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(span.as_nanos()).unwrap_or(i64::MAX)))
    }
}

impl Sub<Duration> for Timestamp {
    type Output = Self;

    fn sub(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(span.as_nanos()).unwrap_or(i64::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_before_the_epoch_round_towards_the_past() {
        let t = Timestamp::from_nanos(-1);
        assert_eq!((t.seconds(), t.subsec_nanos()), (-1, 999_999_999));
    }

    #[test]
    fn arithmetic_saturates() {
        let end = Timestamp::from_nanos(i64::MAX);
        assert_eq!(end + Duration::from_secs(1), end);
        assert_eq!(Timestamp::from_parts(i64::MAX, 7).nanos(), i64::MAX);
    }

    #[test]
    fn oversized_fraction_carries_into_seconds() {
        assert_eq!(Timestamp::from_parts(1, 2_500_000_000).seconds(), 3);
    }
}
