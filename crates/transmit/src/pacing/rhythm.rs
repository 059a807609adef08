//! In what rhythm: how the time that frames take at their rate is spread.

use std::time::Duration;

use super::Rate;
use crate::permutation::Random;

/// How the gaps between frames vary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Gaps {
    /// All of them as long as the rate has them.
    #[default]
    Constant,
    /// As of frames that know nothing of one another: exponentially distributed, with the rate's mean.
    Poisson,
    /// At the rate for the first time, silent for the second, again and again.
    OnOff(Duration, Duration),
}

/// A rate that grows, or falls, to that of the [`Pace`](super::Pace).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ramp {
    /// The rate at the beginning, in the same unit.
    pub from: Rate,
    /// The time until the other is reached.
    pub over: Duration,
}

impl Ramp {
    /// How much time of the full rate has passed after `time` nanoseconds of the ramp, is what this undoes: gives the
    /// time on the clock at which `full` nanoseconds' worth of the full rate have been sent.
    ///
    /// With a share s of the full rate at the beginning, and the ramp of length T, full = s t + (1 - s) t^2 / 2T.
    pub(super) fn stretch(over: f64, share: f64, full: f64) -> f64 {
        let worth = over * (1.0 + share) / 2.0;
        if full >= worth {
            return over + (full - worth);
        }
        // The root in the form that stays exact where the ramp is flat.
        2.0 * full / (share + (share * share + 2.0 * (1.0 - share) * full / over).sqrt())
    }

    /// The share of `to` that the ramp begins with; `None` for rates of different units, or without a limit.
    pub(super) fn share(&self, to: Rate) -> Option<f64> {
        match (self.from, to) {
            (Rate::Frames(from), Rate::Frames(to)) | (Rate::Bits(from), Rate::Bits(to)) => {
                Some(from as f64 / to as f64)
            }
            _ => None,
        }
    }
}

/// The time at which something happens that would be at `active`, were there no silence.
pub(super) fn with_silence(active: u64, on: u64, off: u64) -> u64 {
    active + (active / on).saturating_mul(off)
}

/// Exponentially distributed numbers with mean 1.
pub(super) fn exponential(random: &mut Random) -> f64 {
    // 53 random bits and a half: never 0, of which there is no logarithm.
    let uniform = ((random.next() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
    -uniform.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_comes_after_each_time_of_activity() {
        let times: Vec<_> = [0, 9, 10, 19, 20].map(|t| with_silence(t, 10, 90)).to_vec();
        assert_eq!(times, [0, 9, 100, 109, 200]);
    }

    #[test]
    fn a_ramp_ends_at_the_full_rate() {
        // From nothing to all within 10: half of the full rate's frames by then, a quarter of those by half the time.
        assert_eq!(Ramp::stretch(10.0, 0.0, 5.0), 10.0);
        assert_eq!(Ramp::stretch(10.0, 0.0, 1.25), 5.0);
        assert_eq!(Ramp::stretch(10.0, 0.0, 7.0), 12.0);
        // A flat one is none.
        assert_eq!(Ramp::stretch(10.0, 1.0, 3.0), 3.0);
        // One that falls from twice the rate.
        assert_eq!(Ramp::stretch(10.0, 2.0, 15.0), 10.0);
    }

    #[test]
    fn exponential_numbers_have_mean_one() {
        let mut random = Random::new(1);
        let sum: f64 = (0..100_000).map(|_| exponential(&mut random)).sum();
        assert!((sum / 100_000.0 - 1.0).abs() < 0.02, "{sum}");
    }
}
