//! When each frame is due.

use std::time::Duration;

use linerate_base::{Error, ErrorKind};

use super::rhythm::{exponential, with_silence};
use super::{CATCH_UP, Gaps, Ramp, Rate};
use crate::permutation::Random;

/// How fast frames leave, and in what rhythm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// How fast, on the whole; with silence in between, while there is none.
    pub rate: Rate,
    /// How many frames leave at once.
    pub burst: u32,
    /// How the gaps between bursts vary.
    pub gaps: Gaps,
    /// How the rate is reached.
    pub ramp: Option<Ramp>,
    /// Decides what is random.
    pub seed: u64,
}

impl Pace {
    /// One frame after the other, in gaps of one length.
    pub fn new(rate: Rate) -> Self {
        Self { rate, burst: 1, gaps: Gaps::Constant, ramp: None, seed: 0 }
    }
}

/// What of a pace makes no sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nonsense {
    /// The field of [`Pace`].
    pub field: &'static str,
    /// What is wrong with it.
    pub reason: &'static str,
}

impl From<Nonsense> for Error {
    fn from(Nonsense { field, reason }: Nonsense) -> Self {
        Self::new(ErrorKind::Invalid, format!("pace frames, {field}"), reason)
    }
}

/// Tells when frames are due, in nanoseconds since the beginning.
#[derive(Clone, Debug)]
pub struct Schedule {
    pace: Pace,
    /// The ramp's length in nanoseconds and the share of the rate that it begins with.
    ramp: Option<(f64, f64)>,
    random: Random,
    /// When the next frame is due at the rate, as if there were no ramp and no silence; and the rest of the division.
    steady: u64,
    rest: u64,
    /// The same for the first frame of its burst, and how many more frames this has.
    burst_at: u64,
    burst_left: u32,
    lost: u64,
}

impl Schedule {
    /// A schedule whose first frame is due at 0.
    ///
    /// # Errors
    /// For a burst of no frames, and for rhythms that never begin or have no rate to go by.
    pub fn new(pace: &Pace) -> Result<Self, Nonsense> {
        let refuse = |field, reason| Err(Nonsense { field, reason });
        if pace.burst == 0 {
            return refuse("burst", "expected more than 0");
        }
        if matches!(pace.rate, Rate::Frames(0) | Rate::Bits(0)) {
            return refuse("rate", "expected more than 0");
        }
        if matches!(pace.gaps, Gaps::OnOff(on, _) if on.is_zero()) {
            return refuse("gaps", "with no time to be on there is nothing but silence");
        }
        if pace.rate == Rate::Unlimited && pace.gaps != Gaps::Constant {
            return refuse("gaps", "gaps that vary need a rate, and `max` is none");
        }
        let ramp = match pace.ramp {
            None => None,
            Some(ramp) => match ramp.share(pace.rate) {
                Some(share) => Some((nanoseconds(ramp.over) as f64, share)),
                None => {
                    return refuse("ramp", "it goes from one rate to another of the same unit");
                }
            },
        };
        Ok(Self {
            pace: *pace,
            ramp: ramp.filter(|(over, _)| *over > 0.0),
            random: Random::new(pace.seed),
            steady: 0,
            rest: 0,
            burst_at: 0,
            burst_left: pace.burst,
            lost: 0,
        })
    }

    /// When the next frame is due.
    pub fn due(&self) -> u64 {
        let mut due = self.burst_at;
        if let Some((over, share)) = self.ramp {
            due = stretch(due, over, share);
        }
        if let Gaps::OnOff(on, off) = self.pace.gaps {
            due = with_silence(due, nanoseconds(on), nanoseconds(off));
        }
        due.saturating_add(self.lost)
    }

    /// The next frame, of `length` bytes, is on its way.
    pub fn sent(&mut self, length: usize) {
        if let Some((time, rate)) = self.pace.rate.time_of(length) {
            self.pass(time, rate);
        }
        self.burst_left -= 1;
        if self.burst_left == 0 {
            self.burst_left = self.pace.burst;
            self.burst_at = self.steady;
        }
    }

    /// Lets `time / rate` nanoseconds pass, exactly.
    fn pass(&mut self, time: u64, rate: u64) {
        if self.pace.gaps == Gaps::Poisson {
            // Below a nanosecond is rounded off, up and down alike.
            let gap = exponential(&mut self.random) * time as f64 / rate as f64;
            self.steady = self.steady.saturating_add(gap.round() as u64);
            return;
        }
        let time = time + self.rest;
        self.steady = self.steady.saturating_add(time / rate);
        self.rest = time % rate;
    }

    /// It is `now`: where a sender is late by more than it may make up for, the rest of the schedule moves.
    pub fn catch_up(&mut self, now: u64) {
        if self.pace.rate == Rate::Unlimited {
            return;
        }
        let late = now.saturating_sub(self.due());
        self.lost += late.saturating_sub(CATCH_UP);
    }

    /// How fast frames leave, on the whole.
    pub fn rate(&self) -> Rate {
        self.pace.rate
    }

    /// Nanoseconds that the schedule was moved because its sender was late.
    pub fn lost(&self) -> u64 {
        self.lost
    }
}

/// The ramp's stretch of time, in whole nanoseconds; those behind the ramp stay exact.
fn stretch(full: u64, over: f64, share: f64) -> u64 {
    let worth = (over * (1.0 + share) / 2.0).round() as u64;
    match full.checked_sub(worth) {
        Some(behind) => over as u64 + behind,
        None => Ramp::stretch(over, share, full as f64).round() as u64,
    }
}

fn nanoseconds(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn schedule(text: &str) -> Schedule {
        Schedule::new(&Pace::new(text.parse().unwrap())).unwrap()
    }

    fn times(mut schedule: Schedule, count: usize, length: usize) -> Vec<u64> {
        let next = |_| {
            let due = schedule.due();
            schedule.sent(length);
            due
        };
        (0..count).map(next).collect()
    }

    #[test]
    fn thirds_of_nanoseconds_are_not_lost() {
        assert_eq!(times(schedule("3"), 4, 60), [0, 333_333_333, 666_666_666, 1_000_000_000]);
    }

    #[test]
    fn hours_do_not_drift() {
        let mut schedule = schedule("2.999999Mpps");
        for _ in 0..2_999_999_u64 * 20 {
            schedule.sent(60);
        }
        assert_eq!(schedule.due(), 20_000_000_000);
        // The rest of 100 hours, which would wrap 32 bits of microseconds a hundred times.
        schedule.steady += 359_980_000_000_000;
        schedule.burst_at = schedule.steady;
        schedule.sent(60);
        assert_eq!(schedule.due(), 360_000_000_000_000 + 333);
    }

    #[test]
    fn bits_count_what_the_wire_carries() {
        // 84 bytes each.
        assert_eq!(times(schedule("672Mbps"), 3, 60), [0, 1_000, 2_000]);
        assert_eq!(times(schedule("1Gbps"), 3, 1514), [0, 12_304, 24_608]);
    }

    #[test]
    fn bursts_keep_the_mean() {
        let pace = Pace { burst: 3, ..Pace::new(Rate::Frames(1_000_000)) };
        let times = times(Schedule::new(&pace).unwrap(), 7, 60);
        assert_eq!(times, [0, 0, 0, 3_000_000, 3_000_000, 3_000_000, 6_000_000]);
    }

    #[test]
    fn a_time_of_silence_follows_one_of_activity() {
        let gaps = Gaps::OnOff(Duration::from_millis(2), Duration::from_millis(8));
        let pace = Pace { gaps, ..Pace::new(Rate::Frames(1_000_000)) };
        let times: Vec<_> =
            times(Schedule::new(&pace).unwrap(), 5, 60).iter().map(|t| t / 1_000_000).collect();
        assert_eq!(times, [0, 1, 10, 11, 20]);
    }

    #[test]
    fn poisson_gaps_have_the_rates_mean_and_are_the_seeds() {
        let pace = Pace { gaps: Gaps::Poisson, ..Pace::new(Rate::Frames(1_000_000_000)) };
        let all = times(Schedule::new(&pace).unwrap(), 100_000, 60);
        assert!((99_000_000..101_000_000).contains(all.last().unwrap()), "{:?}", all.last());
        let long = all.windows(2).filter(|pair| pair[1] - pair[0] > 2_000).count();
        assert!(
            (13_000..14_100).contains(&long),
            "e^-2 of the gaps is longer than twice the mean: {long}"
        );
        assert_eq!(all, times(Schedule::new(&pace).unwrap(), 100_000, 60));
    }

    #[test]
    fn a_ramp_takes_its_time_and_then_is_exact() {
        let ramp = Some(Ramp { from: Rate::Frames(1), over: Duration::from_secs(2) });
        let pace = Pace { ramp, ..Pace::new(Rate::Frames(1_000_000)) };
        let all = times(Schedule::new(&pace).unwrap(), 1_101, 60);
        let by = |time: u64| all.iter().filter(|due| **due < time).count();
        assert!((999..=1001).contains(&by(2_000_000_000)), "{}", by(2_000_000_000));
        assert!((249..=252).contains(&by(1_000_000_000)), "{}", by(1_000_000_000));
        assert!(all[1_010..].windows(2).all(|pair| pair[1] - pair[0] == 1_000_000));
    }

    #[test]
    fn a_late_sender_makes_up_for_ten_milliseconds_only() {
        let mut schedule = schedule("1Mpps");
        schedule.catch_up(9_000_000);
        assert_eq!((schedule.due(), schedule.lost()), (0, 0), "within bounds");
        schedule.catch_up(14_000_000);
        assert_eq!((schedule.due(), schedule.lost()), (4_000_000, 4_000_000));
        schedule.sent(60);
        assert_eq!(schedule.due(), 4_001_000);
    }

    #[test]
    fn without_a_limit_all_is_due_at_once() {
        let mut schedule = schedule("max");
        schedule.catch_up(1 << 40);
        assert_eq!(times(schedule, 3, 60), [0, 0, 0]);
    }

    #[test]
    fn paces_that_make_no_sense_are_refused() {
        let plain = Pace::new(Rate::Frames(1));
        let second = Duration::from_secs(1);
        for (field, pace) in [
            ("burst", Pace { burst: 0, ..plain }),
            ("rate", Pace { rate: Rate::Bits(0), ..plain }),
            ("gaps", Pace { gaps: Gaps::OnOff(Duration::ZERO, second), ..plain }),
            ("gaps", Pace { gaps: Gaps::Poisson, rate: Rate::Unlimited, ..plain }),
            ("gaps", Pace { gaps: Gaps::OnOff(second, second), rate: Rate::Unlimited, ..plain }),
            ("ramp", Pace { ramp: Some(Ramp { from: Rate::Bits(1), over: second }), ..plain }),
        ] {
            let nonsense = Schedule::new(&pace).unwrap_err();
            assert_eq!(nonsense.field, field, "{pace:?}");
            assert_eq!(Error::from(nonsense).kind(), ErrorKind::Invalid);
        }
    }

    proptest! {
        #[test]
        fn no_frame_is_due_off_its_exact_time(rate in 1..20_000_000_000_u64, count in 1..500_u64) {
            let times = times(Schedule::new(&Pace::new(Rate::Frames(rate))).unwrap(), count as usize, 60);
            for (n, due) in times.iter().enumerate() {
                let exact = n as u128 * 1_000_000_000_000 / u128::from(rate);
                prop_assert_eq!(u128::from(*due), exact);
            }
        }

        #[test]
        fn time_never_goes_back(
            rate in 1..10_000_000_000_u64, burst in 1..9_u32, on in 1..5_000_u64, off in 0..5_000_u64,
            from in 1..10_000_000_000_u64, over in 0..5_000_u64, poisson: bool, lengths in prop::collection::vec(14..1514_usize, 1..200),
        ) {
            let micros = Duration::from_micros;
            let gaps = if poisson { Gaps::Poisson } else { Gaps::OnOff(micros(on), micros(off)) };
            let ramp = Some(Ramp { from: Rate::Bits(from), over: micros(over) });
            let pace = Pace { rate: Rate::Bits(rate), burst, gaps, ramp, seed: rate };
            let mut schedule = Schedule::new(&pace).unwrap();
            let mut last = 0;
            for length in lengths {
                prop_assert!(schedule.due() >= last);
                last = schedule.due();
                schedule.sent(length);
            }
        }
    }
}
