//! Ticks of an interface's clock to nanoseconds.

use linerate_base::Timestamp;

use super::super::fault::Fault;

/// How long a tick of a clock is (`if_tsresol`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resolution {
    /// A tick is this many nanoseconds.
    Multiple(u64),
    /// This many ticks are a nanosecond.
    Fraction(u64),
    /// `1 << n` ticks are a second.
    Binary(u32),
}

/// The clock of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Clock {
    pub(super) resolution: Resolution,
    /// Seconds to add (`if_tsoffset`).
    pub(super) offset: i64,
}

impl Resolution {
    /// The resolution that `value` of the option means: the upper bit chooses powers of 2 over powers of
    /// 10, the rest is the negative exponent. A tick finer than 10^-19 or 2^-63 seconds leaves a
    /// 64-bit time stamp not even a second.
    pub(super) fn new(value: u8) -> Result<Self, Fault> {
        match value {
            0..=9 => Ok(Self::Multiple(10u64.pow(9 - u32::from(value)))),
            10..=19 => Ok(Self::Fraction(10u64.pow(u32::from(value) - 9))),
            0x80..=0xbf => Ok(Self::Binary(u32::from(value & 0x7f))),
            _ => Err(Fault::Resolution(value)),
        }
    }
}

impl Default for Clock {
    /// Microseconds since the epoch.
    fn default() -> Self {
        Self { resolution: Resolution::Multiple(1000), offset: 0 }
    }
}

impl Clock {
    /// The time of `ticks`, rounded down to nanoseconds; times that no [`Timestamp`] can hold become
    /// the first or last that it can.
    #[inline]
    pub(super) fn time(&self, ticks: u64) -> Timestamp {
        let wide = i128::from(ticks);
        let nanos = match self.resolution {
            Resolution::Multiple(nanos) => wide * i128::from(nanos),
            Resolution::Fraction(ticks_per_nano) => i128::from(ticks / ticks_per_nano),
            Resolution::Binary(shift) => (wide * 1_000_000_000) >> shift,
        };
        let nanos = nanos + i128::from(self.offset) * 1_000_000_000;
        Timestamp::from_nanos(nanos.clamp(i64::MIN.into(), i64::MAX.into()) as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nanos(resolution: u8, offset: i64, ticks: u64) -> i64 {
        Clock { resolution: Resolution::new(resolution).unwrap(), offset }.time(ticks).nanos()
    }

    #[test]
    fn powers_of_ten_and_of_two() {
        assert_eq!(nanos(0, 0, 3), 3_000_000_000);
        assert_eq!(nanos(6, 0, 1_500_000), 1_500_000_000);
        assert_eq!(nanos(9, 0, 7), 7);
        assert_eq!(nanos(12, 0, 7_999), 7);
        assert_eq!(nanos(0x80 | 10, 0, 1536), 1_500_000_000);
        assert_eq!(nanos(0x80 | 63, 0, 1 << 62), 500_000_000);
    }

    #[test]
    fn the_offset_is_in_seconds_and_signed() {
        assert_eq!(nanos(6, -2, 1_000_000), -1_000_000_000);
        assert_eq!(nanos(6, 1_700_000_000, 1), 1_700_000_000_000_001_000);
    }

    #[test]
    fn times_out_of_range_saturate() {
        assert_eq!(nanos(0, 0, u64::MAX), i64::MAX);
        assert_eq!(nanos(0x80, 0, u64::MAX), i64::MAX);
        assert_eq!(nanos(9, i64::MIN, 0), i64::MIN);
        assert_eq!(nanos(9, -10_000_000_000, u64::MAX), 8_446_744_073_709_551_615);
    }

    #[test]
    fn resolutions_without_use_are_refused() {
        for value in [20, 0x7f, 0xc0, 0xff] {
            assert_eq!(Resolution::new(value), Err(Fault::Resolution(value)));
        }
    }
}
