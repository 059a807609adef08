use linerate_base::{Error, ErrorKind, Result};

use super::{monotonic, monotonic_raw, realtime};

/// A clock of the system by the processor's cycle counter, which is read without the kernel and in a few
/// nanoseconds.
///
/// The counter's rate is measured against `CLOCK_MONOTONIC_RAW`, for as long as the clock is in use; every
/// few milliseconds the clock is set to that of the system again, but never back: errors do not add up.
#[derive(Clone, Copy, Debug)]
pub struct CycleClock {
    /// Reads the clock that it follows.
    followed: fn() -> i64,
    /// The reading that the rate is measured from.
    first: Reading,
    /// The reading that times are counted from.
    last: Reading,
    /// Nanoseconds of a cycle.
    rate: f64,
    /// The latest time told.
    latest: i64,
}

/// The counter, and clocks at that moment in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Reading {
    cycles: u64,
    raw: i64,
    followed: i64,
}

/// How long the rate is measured before the clock is used, nanoseconds.
const CALIBRATION: i64 = 10_000_000;

/// How old a reading may be before there is another: in that time the clock that is followed, when it is slewed,
/// goes 5 microseconds astray at most (500 parts in a million).
const RENEWAL: f64 = 10_000_000.0;

impl CycleClock {
    /// `CLOCK_REALTIME`: nanoseconds since the epoch. Takes 10 milliseconds.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] where the counter does not run at one rate, on all cores, in all states of the
    /// processor.
    pub fn realtime() -> Result<Self> {
        Self::following(realtime)
    }

    /// `CLOCK_MONOTONIC`, nanoseconds. Takes 10 milliseconds.
    ///
    /// # Errors
    /// As for [`realtime`](Self::realtime).
    pub fn monotonic() -> Result<Self> {
        Self::following(monotonic)
    }

    fn following(followed: fn() -> i64) -> Result<Self> {
        if !is_invariant() {
            let asked = "use the processor's cycle counter as a clock";
            let answered = "it does not run at one rate all the time";
            return Err(Error::new(ErrorKind::Unsupported, asked, answered));
        }
        let first = Reading::now(followed);
        let until = monotonic() + CALIBRATION;
        while monotonic() < until {
            std::hint::spin_loop();
        }
        let last = Reading::now(followed);
        Ok(Self { followed, first, last, rate: last.rate_since(&first), latest: last.followed })
    }

    /// Cycles of the counter in a nanosecond.
    pub fn cycles_per_nanosecond(&self) -> f64 {
        1.0 / self.rate
    }

    /// The time in nanoseconds; never before one told earlier.
    pub fn now(&mut self) -> i64 {
        let mut since = self.since(cycles());
        if since > RENEWAL {
            self.last = Reading::now(self.followed);
            self.rate = self.last.rate_since(&self.first);
            since = self.since(cycles());
        }
        self.latest = self.latest.max(self.last.followed + since as i64);
        self.latest
    }

    /// Nanoseconds from the last reading to this count.
    fn since(&self, cycles: u64) -> f64 {
        cycles.wrapping_sub(self.last.cycles) as f64 * self.rate
    }
}

impl Reading {
    /// The quickest of some: it was not interrupted.
    fn now(followed: fn() -> i64) -> Self {
        let reading = || {
            let before = cycles();
            let (raw, followed) = (monotonic_raw(), followed());
            let spent = cycles().wrapping_sub(before);
            (spent, Self { cycles: before.wrapping_add(spent / 2), raw, followed })
        };
        let readings = std::iter::repeat_with(reading).take(super::READINGS);
        readings.min_by_key(|(spent, _)| *spent).expect("some").1
    }

    fn rate_since(&self, first: &Self) -> f64 {
        (self.raw - first.raw) as f64 / self.cycles.wrapping_sub(first.cycles) as f64
    }
}

#[cfg(target_arch = "x86_64")]
fn cycles() -> u64 {
    // SAFETY: the instruction is in every 64-bit processor, and reads a counter.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// Intel's and AMD's manuals: CPUID 8000_0007h, EDX bit 8, invariant TSC.
#[cfg(target_arch = "x86_64")]
fn is_invariant() -> bool {
    use std::arch::x86_64::__cpuid;
    const POWER: u32 = 0x8000_0007;
    __cpuid(0x8000_0000).eax >= POWER && __cpuid(POWER).edx & 1 << 8 != 0
}

#[cfg(not(target_arch = "x86_64"))]
fn cycles() -> u64 {
    0
}

#[cfg(not(target_arch = "x86_64"))]
fn is_invariant() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_agrees_with_the_systems_clocks_and_never_goes_back() {
        for followed in [realtime, monotonic] {
            let mut clock = match CycleClock::following(followed) {
                Ok(clock) => clock,
                Err(error) => return assert_eq!(error.kind(), ErrorKind::Unsupported),
            };
            let begun = monotonic();
            let mut latest = 0;
            while monotonic() - begun < 30_000_000 {
                let before = followed();
                let told = clock.now();
                assert!(told >= latest);
                latest = told;
                // As well as the counter's rate is known, and a slewed clock keeps its own.
                assert!((told - before).abs() < 1_000_000 + followed() - before, "{told} {before}");
            }
        }
    }

    #[test]
    fn a_clock_that_was_ahead_stands_still_until_time_has_come() {
        let Ok(mut clock) = CycleClock::realtime() else { return };
        let ahead = clock.latest + 1_000_000_000;
        clock.latest = ahead;
        assert_eq!(clock.now(), ahead);
    }
}
