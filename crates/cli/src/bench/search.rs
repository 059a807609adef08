//! The highest rate without loss, as RFC 2544, 26.1 has it: by trials at rates that close in on it.

use anyhow::Result;

/// What one trial showed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Trial {
    /// The rate that was reached, packets a second.
    pub(crate) rate: f64,
    /// Packets of the trial.
    pub(crate) sent: u64,
    /// Those of them that were lost.
    pub(crate) lost: u64,
}

impl Trial {
    /// The share that was lost.
    pub(crate) fn loss(&self) -> f64 {
        self.lost as f64 / self.sent.max(1) as f64
    }
}

/// Two rates between which the limit lies, packets a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bracket {
    /// The highest rate of a trial without loss; 0 when there was none.
    pub(crate) passed: f64,
    /// The lowest rate of a trial with losses; `None` when the load could not be made larger.
    pub(crate) failed: Option<f64>,
}

/// How many trials are made at the most.
const TRIALS: usize = 16;

/// A trial that lost less than this share is made once more: it may have been something else that ran
/// on the machine.
const SLIP: f64 = 0.01;

/// A sender that reaches less than this share of the rate asked for has come to its own limit.
const REACHED: f64 = 0.97;

/// The limit is rarely far above a rate that passed: the next one is at the most so much higher.
const STEP: f64 = 1.3;

/// Below so many packets a second the search gives up.
const LOWEST: f64 = 1000.0;

/// Closes in on the highest rate without loss until the ends of the bracket are apart by `precision`, a
/// share of the rate.
///
/// `overload` was a trial at the highest rate that the sender has; `trial` makes one at the given rate.
///
/// # Errors
/// The trials' own.
pub(crate) fn highest_lossless(
    overload: Trial,
    precision: f64,
    mut trial: impl FnMut(f64) -> Result<Trial>,
) -> Result<Bracket> {
    if overload.lost == 0 {
        return Ok(Bracket { passed: overload.rate, failed: None });
    }
    let (mut passed, mut failed) = (0.0_f64, overload.rate);
    // What got through an overload is a good guess.
    let mut next = overload.rate * (1.0 - overload.loss());
    for _ in 0..TRIALS {
        let mut seen = trial(next)?;
        if seen.lost > 0 && seen.loss() < SLIP {
            seen = trial(next)?;
        }
        if seen.lost == 0 {
            passed = passed.max(seen.rate);
        } else {
            failed = failed.min(seen.rate);
        }
        let beyond_sender = seen.lost == 0 && seen.rate < next * REACHED;
        if failed <= passed * (1.0 + precision) || failed < LOWEST || beyond_sender {
            break;
        }
        next = if passed > 0.0 {
            (passed * failed).sqrt().min(passed * STEP)
        } else {
            (failed * (1.0 - seen.loss())).min(failed * 0.8)
        };
    }
    Ok(Bracket { passed, failed: Some(failed) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One who takes `capacity` packets a second; the sender's maximum is 10 million.
    fn consumer(capacity: f64) -> impl Fn(f64) -> Trial {
        move |rate| {
            let rate = rate.min(1e7);
            let lost = (rate - capacity).max(0.0) as u64;
            Trial { rate, sent: rate as u64, lost }
        }
    }

    fn search(capacity: f64) -> (Bracket, usize) {
        let mut trials = 0;
        let make = consumer(capacity);
        let found = highest_lossless(make(1e7), 0.05, |rate| {
            trials += 1;
            Ok(make(rate))
        });
        (found.unwrap(), trials)
    }

    #[test]
    fn the_limit_lies_in_the_bracket() {
        for capacity in [5e3, 1.234e5, 9.9e5, 3.3e6, 9.9e6] {
            let (found, trials) = search(capacity);
            let failed = found.failed.unwrap();
            assert!(found.passed <= capacity + 1.0 && capacity <= failed, "{capacity}: {found:?}");
            assert!(failed <= found.passed * 1.0501, "{capacity}: {found:?}");
            assert!(trials <= 8, "{capacity}: {trials} trials");
        }
    }

    #[test]
    fn who_loses_nothing_at_the_maximum_is_not_searched() {
        assert_eq!(search(2e7), (Bracket { passed: 1e7, failed: None }, 0));
    }

    #[test]
    fn who_always_loses_has_no_rate() {
        let all = Trial { rate: 1e7, sent: 10, lost: 10 };
        let found = highest_lossless(all, 0.05, |rate| Ok(Trial { rate, sent: 10, lost: 10 }));
        assert_eq!(found.unwrap().passed, 0.0);
    }

    #[test]
    fn one_slip_is_forgiven() {
        let mut trials = 0;
        let overload = Trial { rate: 1e6, sent: 1000, lost: 500 };
        let found = highest_lossless(overload, 0.01, |rate| {
            trials += 1;
            Ok(Trial { rate, sent: 1000, lost: u64::from(trials == 1) })
        });
        assert!(found.unwrap().passed > 9.8e5);
    }
}
