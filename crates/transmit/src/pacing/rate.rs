//! How fast: frames or bits in a second.

use std::fmt;
use std::str::FromStr;

/// How fast frames leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// Thousandths of frames in a second.
    Frames(u64),
    /// Bits on the wire in a second, as [`wire_bits`] counts them.
    Bits(u64),
    /// As fast as the sink takes them.
    Unlimited,
}

/// What a frame takes of an Ethernet wire beside its bytes: preamble and start delimiter 8, check sequence 4, gap
/// 12 (IEEE 802.3, 3.1.1 and 4.4.2).
const OVERHEAD: usize = 24;

/// The shortest frame without its check sequence: shorter ones are padded on the wire.
const SHORTEST: usize = 60;

/// Bits that a frame of `length` bytes takes of an Ethernet wire, from its preamble to the end of the gap behind it.
pub fn wire_bits(length: usize) -> u64 {
    8 * (length.max(SHORTEST) + OVERHEAD) as u64
}

impl Rate {
    /// Nanoseconds that a frame of `length` bytes takes at this rate, as a fraction; `None` without a limit.
    pub(crate) fn time_of(self, length: usize) -> Option<(u64, u64)> {
        match self {
            Self::Frames(thousandths) => Some((1_000_000_000_000, thousandths)),
            Self::Bits(bits) => Some((wire_bits(length) * 1_000_000_000, bits)),
            Self::Unlimited => None,
        }
    }
}

/// Bits are written as `10Gbps` or `10Gbit/s`, frames as `2.5Mpps`, `1000/s` or a bare number; `max` is without a limit.
impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "max" {
            return Ok(Self::Unlimited);
        }
        let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let unit = unit.trim().to_ascii_lowercase();
        let (scale, unit) = match unit.chars().next() {
            Some('k') => (1e3, &unit[1..]),
            Some('m') => (1e6, &unit[1..]),
            Some('g') => (1e9, &unit[1..]),
            Some('t') => (1e12, &unit[1..]),
            _ => (1.0, unit.as_str()),
        };
        let number: f64 = number.parse().map_err(|_| not_a_rate(text))?;
        let rate = match unit {
            "" | "pps" | "/s" => Self::Frames((number * scale * 1e3).round() as u64),
            "bps" | "bit/s" => Self::Bits((number * scale).round() as u64),
            _ => return Err(not_a_rate(text)),
        };
        match rate {
            Self::Frames(0) | Self::Bits(0) => Err(format!("expected more than 0, found `{text}`")),
            Self::Frames(n) | Self::Bits(n) if n > LARGEST => Err(format!("`{text}` is too fast")),
            rate => Ok(rate),
        }
    }
}

/// 1e15: a thousand billion frames, a million billion bits.
const LARGEST: u64 = 1_000_000_000_000_000;

fn not_a_rate(text: &str) -> String {
    format!("expected a rate such as 10000, 2.5Mpps, 1Gbps or max, found `{text}`")
}

/// With the largest prefix that keeps three digits of the number before the point.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (number, unit) = match self {
            Self::Frames(thousandths) => (*thousandths as f64 / 1e3, "pps"),
            Self::Bits(bits) => (*bits as f64, "bit/s"),
            Self::Unlimited => return f.write_str("as fast as possible"),
        };
        let scales = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
        let (scale, prefix) =
            scales.into_iter().find(|(scale, _)| number >= *scale).unwrap_or((1.0, ""));
        let digits = format!("{:.3}", number / scale);
        let digits = digits.trim_end_matches('0').trim_end_matches('.');
        write!(f, "{digits} {prefix}{unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_and_shown() {
        for (text, rate, shown) in [
            ("1000", Rate::Frames(1_000_000), "1 kpps"),
            ("0.5", Rate::Frames(500), "0.5 pps"),
            ("2.5Mpps", Rate::Frames(2_500_000_000), "2.5 Mpps"),
            ("10k/s", Rate::Frames(10_000_000), "10 kpps"),
            ("10Gbps", Rate::Bits(10_000_000_000), "10 Gbit/s"),
            ("1.5 Mbit/s", Rate::Bits(1_500_000), "1.5 Mbit/s"),
            ("1.6Tbps", Rate::Bits(1_600_000_000_000), "1.6 Tbit/s"),
            ("max", Rate::Unlimited, "as fast as possible"),
        ] {
            assert_eq!(text.parse(), Ok(rate), "{text}");
            assert_eq!(rate.to_string(), shown);
        }
    }

    #[test]
    fn what_is_no_rate_is_refused() {
        for text in ["", "fast", "0", "0.0001", "1e3", "-1", "10 furlongs", "1.2.3", "99999999Gbps"]
        {
            assert!(text.parse::<Rate>().is_err(), "{text}");
        }
    }

    #[test]
    fn line_rate_counts_preamble_and_gap() {
        // 10 Gbit/s carry 14.88 million of the shortest frames.
        assert_eq!(10_000_000_000 / wire_bits(60), 14_880_952);
        assert_eq!(wire_bits(14), wire_bits(60));
        assert_eq!(wire_bits(1514), 8 * 1538);
    }
}
