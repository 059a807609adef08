use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use linerate_base::{Error, Result};

use super::{READINGS, monotonic, try_read};

/// The clock of a network card, as it stands to `CLOCK_MONOTONIC`.
///
/// It runs at a rate of its own, or at that of a master elsewhere (PTP), which sets it at times. To read it takes some
/// microseconds, so it is read now and then and reckoned with in between. Documentation/driver-api/ptp.rst, Linux 6.18.
#[derive(Debug)]
pub struct CardClock {
    device: File,
    track: Track,
}

/// How old a reading may be, in nanoseconds, before there is another: it is good to a fraction of a microsecond, and
/// in this time the rate does not change by as much.
const RENEWAL: i64 = 100_000_000;

/// By how much rates differ at most. A clock that goes further astray has been set.
const DRIFT: f64 = 0.001;

/// Both clocks at a moment, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Reading {
    system: i64,
    card: i64,
}

/// How one clock follows from the other.
#[derive(Clone, Copy, Debug)]
struct Track {
    /// The reading that the rate is measured from.
    first: Reading,
    /// The reading that times are counted from.
    last: Reading,
    /// Nanoseconds of the card's in one of the system's.
    rate: f64,
}

impl CardClock {
    /// The clock with this number, which [`ethtool::card_clock`](crate::ethtool::card_clock) tells.
    ///
    /// # Errors
    /// [`Permission`](linerate_base::ErrorKind::Permission) where its device may not be read; when there is none.
    pub fn open(number: u32) -> Result<Self> {
        let path = format!("/dev/ptp{number}");
        let opened = File::open(&path).and_then(|device| {
            let track = Track::from(read_both(clock_of(&device))?);
            Ok(Self { device, track })
        });
        opened.map_err(|e| Error::system(format!("read the network card's clock, {path}"), e))
    }

    /// What it shows when `CLOCK_MONOTONIC`, now or a little later, shows this.
    pub fn at(&mut self, system: i64) -> i64 {
        if system - self.track.last.system > RENEWAL {
            // One that is gone is reckoned with as it was last.
            if let Ok(reading) = read_both(clock_of(&self.device)) {
                self.track.renew(reading);
            }
        }
        self.track.at(system)
    }
}

/// `FD_TO_CLOCKID` of clock_gettime(2).
fn clock_of(device: &File) -> libc::clockid_t {
    const CLOCKFD: libc::clockid_t = 3;
    (!device.as_raw_fd() << 3) | CLOCKFD
}

/// The quickest of some readings: it was not interrupted.
fn read_both(card: libc::clockid_t) -> io::Result<Reading> {
    let mut best = (i64::MAX, Reading { system: 0, card: 0 });
    for _ in 0..READINGS {
        let before = monotonic();
        let card = try_read(card)?;
        let spent = monotonic() - before;
        if spent < best.0 {
            best = (spent, Reading { system: before + spent / 2, card });
        }
    }
    Ok(best.1)
}

impl From<Reading> for Track {
    fn from(first: Reading) -> Self {
        Self { first, last: first, rate: 1.0 }
    }
}

impl Track {
    fn at(&self, system: i64) -> i64 {
        self.last.card + ((system - self.last.system) as f64 * self.rate).round() as i64
    }

    /// Takes a later reading into account.
    fn renew(&mut self, reading: Reading) {
        let passed = (reading.system - self.first.system) as f64;
        let rate = (reading.card - self.first.card) as f64 / passed;
        if (rate - 1.0).abs() > DRIFT {
            *self = Self::from(reading);
        } else {
            (self.last, self.rate) = (reading, rate);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::realtime;
    use proptest::prelude::*;

    #[test]
    fn both_clocks_are_read_at_one_moment() {
        let before = (monotonic(), realtime());
        let read = read_both(libc::CLOCK_REALTIME).unwrap();
        let after = (monotonic(), realtime());
        assert!((before.0..=after.0).contains(&read.system));
        assert!((before.1..=after.1).contains(&read.card));
        assert!(read_both(-1).is_err());
    }

    #[test]
    fn a_clock_that_was_set_is_followed_from_there() {
        let mut track = Track::from(Reading { system: 0, card: 1_000 });
        let hour = 3_600_000_000_000;
        track.renew(Reading { system: 1_000_000, card: hour });
        assert_eq!(track.at(1_000_005), hour + 5);
    }

    #[test]
    fn a_card_without_a_clock_is_an_error_that_names_the_device() {
        let error = CardClock::open(u32::MAX).unwrap_err();
        assert!(error.asked().ends_with("/dev/ptp4294967295"), "{error}");
    }

    proptest! {
        #[test]
        fn what_is_reckoned_is_what_a_clock_of_even_rate_shows(
            parts_in_a_million in -900..900_i64, ahead: i32, renewals in prop::collection::vec(RENEWAL..2 * RENEWAL, 1..50),
        ) {
            let shows = |system: i64| i64::from(ahead) + system + system * parts_in_a_million / 1_000_000;
            let read = |system| Reading { system, card: shows(system) };
            let (mut track, mut now) = (Track::from(read(0)), 0);
            for passed in renewals {
                now += passed;
                track.renew(read(now));
                let error = track.at(now + RENEWAL) - shows(now + RENEWAL);
                // Readings are in whole nanoseconds, so that the rate of the first is inexact.
                prop_assert!(error.abs() <= 4, "{error}");
            }
        }
    }
}
