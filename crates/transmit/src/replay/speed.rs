//! How fast a record is replayed.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// How many times as fast as recorded, in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Speed(u64);

const MILLION: u64 = 1_000_000;

impl Speed {
    /// As fast as recorded.
    pub const RECORDED: Self = Self(MILLION);

    /// Nanoseconds of the record that take so long.
    pub(super) fn recorded(self, time: Duration) -> u64 {
        let nanos = time.as_nanos().saturating_mul(self.0.into()) / u128::from(MILLION);
        u64::try_from(nanos).unwrap_or(u64::MAX)
    }

    /// Nanoseconds that so many of the record take.
    pub(super) fn replayed(self, recorded: u64) -> u64 {
        let nanos = u128::from(recorded) * u128::from(MILLION) / u128::from(self.0);
        u64::try_from(nanos).unwrap_or(u64::MAX)
    }

    /// So many millionths of the recorded speed.
    #[cfg(test)]
    pub(super) fn from_millionths(millionths: u64) -> Self {
        Self(millionths)
    }

    /// The same as a number.
    pub fn factor(self) -> f64 {
        self.0 as f64 / MILLION as f64
    }
}

/// Written as `2x` or `0.5x`.
impl FromStr for Speed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number: Option<f64> = text.strip_suffix('x').unwrap_or(text).parse().ok();
        let speed = number.filter(|speed| (1e-6..=1e9).contains(speed));
        speed
            .map(|speed| Self((speed * MILLION as f64).round() as u64))
            .ok_or_else(|| format!("expected a speed such as 2x or 0.5x, found `{text}`"))
    }
}

impl fmt::Display for Speed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x", self.factor())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_are_read_and_shown() {
        assert_eq!("2.5x".parse::<Speed>().unwrap().to_string(), "2.5x");
        assert_eq!("1".parse(), Ok(Speed::RECORDED));
        for bad in ["", "x", "0", "-1x", "nan", "1e12x", "2y"] {
            assert!(bad.parse::<Speed>().is_err(), "{bad}");
        }
    }
}
