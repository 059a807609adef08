//! The system's clocks, and how they stand to each other.

mod card;
mod cycles;

use std::io;
use std::ops::RangeInclusive;

pub use card::CardClock;
pub use cycles::CycleClock;

/// `CLOCK_MONOTONIC`, nanoseconds: what the kernel's programs read.
pub fn monotonic() -> i64 {
    read(libc::CLOCK_MONOTONIC)
}

/// `CLOCK_MONOTONIC_COARSE`, nanoseconds: as of the kernel's last tick, some milliseconds ago, which is read faster.
pub fn monotonic_coarse() -> i64 {
    read(libc::CLOCK_MONOTONIC_COARSE)
}

/// `CLOCK_MONOTONIC_RAW`, nanoseconds: nobody sets it or slews it.
pub fn monotonic_raw() -> i64 {
    read(libc::CLOCK_MONOTONIC_RAW)
}

/// `CLOCK_REALTIME`, nanoseconds since the epoch.
pub fn realtime() -> i64 {
    read(libc::CLOCK_REALTIME)
}

/// A clock that is in every kernel: it can be read.
fn read(clock: libc::clockid_t) -> i64 {
    try_read(clock).unwrap_or_default()
}

fn try_read(clock: libc::clockid_t) -> io::Result<i64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes one timespec, which is ours.
    let answer = unsafe { libc::clock_gettime(clock, &raw mut time) };
    if answer < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(time.tv_sec * 1_000_000_000 + time.tv_nsec)
}

/// How far a clock is ahead of `CLOCK_MONOTONIC`, from readings of both.
///
/// `CLOCK_REALTIME` keeps its distance until somebody sets it, so a distance that a new reading does not
/// disprove is kept: times of different readings are then exactly as far apart as they were.
#[derive(Clone, Copy, Debug, Default)]
pub struct Distance {
    nanos: i64,
}

/// So many readings are made, and the one that took the shortest is used: it was not interrupted.
const READINGS: usize = 8;

impl Distance {
    /// That of `CLOCK_REALTIME`.
    pub fn of_realtime() -> Self {
        let mut distance = Self::default();
        distance.update();
        distance
    }

    /// Nanoseconds that `CLOCK_REALTIME` is ahead.
    pub fn nanos(self) -> i64 {
        self.nanos
    }

    /// Reads both clocks again.
    pub fn update(&mut self) {
        if reading().contains(&self.nanos) {
            return;
        }
        let readings = std::iter::repeat_with(reading).take(READINGS);
        let best = readings.min_by_key(|range| range.end() - range.start()).expect("some");
        self.nanos = best.start() + (best.end() - best.start()) / 2;
    }
}

/// The distances that one reading allows.
fn reading() -> RangeInclusive<i64> {
    let before = monotonic();
    let real = realtime();
    real - monotonic()..=real - before
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_turns_one_clock_into_the_other() {
        let distance = Distance::of_realtime();
        let before = realtime();
        let between = monotonic() + distance.nanos();
        let after = realtime();
        // The distance is known as well as the readings were quick.
        let slack = 1_000_000;
        assert!(before - slack <= between && between <= after + slack);
    }

    #[test]
    fn a_distance_that_holds_no_longer_is_replaced() {
        let first = Distance::of_realtime();
        let mut second = Distance { nanos: first.nanos - 5_000_000_000 };
        second.update();
        assert!((second.nanos - first.nanos).abs() < 1_000_000_000);
    }
}
