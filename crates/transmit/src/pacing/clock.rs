//! The clock that a sender looks at.

use std::hint;
use std::thread;
use std::time::Duration;

use linerate_base::Timestamp;
use linerate_sys::clock::{self, CycleClock};

/// The longest sleep: so soon a stop is noticed.
pub(crate) const NAP: Duration = Duration::from_millis(20);

/// Sleeps end late by about as much as this; the rest of a wait is spent on the processor.
const SLACK: Duration = Duration::from_micros(100);

/// Nanoseconds since it was started, of `CLOCK_MONOTONIC`: by the processor's cycle counter, or by the system where that
/// is no clock. The counter is set to the system's clock every few milliseconds, so that the two do not drift apart
/// however long it takes.
#[derive(Debug)]
pub(crate) struct Clock {
    cycles: Option<CycleClock>,
    start: i64,
}

impl Clock {
    /// One that shows 0. Takes 10 milliseconds.
    pub(crate) fn start() -> Self {
        let mut clock = Self { cycles: CycleClock::monotonic().ok(), start: 0 };
        clock.start = clock.time();
        clock
    }

    /// When it was started, of `CLOCK_MONOTONIC`.
    pub(crate) fn started(&self) -> Timestamp {
        Timestamp::from_nanos(self.start)
    }

    /// The time; it never goes back.
    #[inline]
    pub(crate) fn now(&mut self) -> u64 {
        (self.time() - self.start) as u64
    }

    /// Waits until the clock shows `due`, or for a nap.
    pub(crate) fn wait(&mut self, due: u64) {
        let early = Duration::from_nanos(due.saturating_sub(self.now()));
        if early > SLACK {
            return thread::sleep((early - SLACK).min(NAP));
        }
        while self.now() < due {
            hint::spin_loop();
        }
    }

    #[inline]
    fn time(&mut self) -> i64 {
        self.cycles.as_mut().map_or_else(clock::monotonic, CycleClock::now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_keeps_up_with_the_systems_clock() {
        for without_counter in [false, true] {
            let mut clock = Clock::start();
            if without_counter {
                clock.cycles = None;
                clock.start = clock::monotonic();
            }
            let (before, first) = (clock::monotonic(), clock.now());
            thread::sleep(Duration::from_millis(25));
            let (passed, most) = ((clock.now() - first) as i64, clock::monotonic() - before);
            assert!((24_900_000..=most + 100_000).contains(&passed), "{passed} {most}");
        }
    }
}
