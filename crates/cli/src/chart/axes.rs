//! Axes of charts.

use std::ops::Range;

/// An axis.
pub(crate) struct Axis {
    /// What it shows, with the unit.
    pub(crate) label: String,
    pub(crate) scale: Scale,
}

/// How numbers are laid out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale {
    /// From zero on.
    Linear,
    /// Each step as many times as large as the last one.
    Logarithmic,
}

impl Scale {
    /// Where a number lies.
    pub(super) fn at(self, value: f64) -> f64 {
        match self {
            Self::Linear => value,
            Self::Logarithmic => value.max(f64::MIN_POSITIVE).log2(),
        }
    }

    /// The number that lies there.
    pub(super) fn value(self, at: f64) -> f64 {
        match self {
            Self::Linear => at,
            Self::Logarithmic => at.exp2(),
        }
    }

    /// A range in which all numbers lie, with a little room.
    pub(super) fn range(self, values: impl Iterator<Item = f64>) -> Range<f64> {
        let at = values.filter(|value| value.is_finite()).map(|value| self.at(value));
        let (low, high) = at.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), at| {
            (low.min(at), high.max(at))
        });
        if low > high {
            return 0.0..1.0;
        }
        match self {
            Self::Linear => low.min(0.0) * 1.08..if high > 0.0 { high * 1.08 } else { 1.0 },
            Self::Logarithmic => low - 0.1..high + 0.1,
        }
    }
}
