//! How to wait for packets: wake-ups cost more than packets do.
//!
//! A source that finds the rings empty after packets were there sleeps for a moment, so that the next look
//! finds many, and is woken early only if the rings fill up. That makes a thousand looks a second at
//! most, whatever the rate, and leaves the memory that both sides write to the producer for most of the
//! time. A source that finds nothing after that sleeps until the next packet.

use std::time::Duration;

/// The moment. What a source adds to the time until packets are delivered.
const MOMENT: Duration = Duration::from_millis(1);

/// How soon to look again for packets that were published, but may not be the next ones in time.
const SHORTLY: Duration = Duration::from_micros(50);

/// A sleep to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Nap {
    /// Wake when a ring has this many bytes, of records that were not there before; `None` for a sleep that the
    /// doorbell does not end.
    pub(crate) bytes: Option<u64>,
    pub(crate) limit: Duration,
}

/// What was found lately.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Doze {
    /// Bytes in a ring that are enough to wake for, even at once.
    enough: u64,
    /// Deliver each packet as soon as it comes.
    immediate: bool,
    /// The last look found the end of what there was.
    emptied: bool,
    /// A sleep until the next packet was cut short before, and nothing came.
    settled: bool,
}

impl Doze {
    pub(crate) fn new(enough: u64, immediate: bool) -> Self {
        Self { enough, immediate, emptied: false, settled: false }
    }

    /// Packets were found, and `more` are there.
    pub(crate) fn found(&mut self, more: bool) {
        self.emptied = !more;
        self.settled = false;
    }

    /// The sleep before a look for packets that may take `wait`.
    pub(crate) fn gather(&mut self, wait: Duration) -> Option<Nap> {
        let gather = std::mem::take(&mut self.emptied) && !self.immediate && !wait.is_zero();
        gather.then(|| Nap { bytes: Some(self.enough), limit: wait.min(MOMENT) })
    }

    /// The sleep after a look that found none, of `left` at most; `held`: but some that are to be looked
    /// at again.
    ///
    /// The first one after packets is short: a producer that is just publishing may not see that it is
    /// to ring. By the end of it, its packet can be seen. A mere look is no sleep.
    pub(crate) fn idle(&mut self, left: Duration, held: bool) -> Nap {
        if held {
            return Nap { bytes: None, limit: left.min(SHORTLY) };
        }
        let first = !self.settled;
        self.settled |= !left.is_zero();
        Nap { bytes: Some(1), limit: if first { left.min(MOMENT) } else { left } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(9);

    #[test]
    fn after_packets_comes_a_moment_then_a_short_sleep_then_a_long_one() {
        let mut doze = Doze::new(4096, false);
        doze.found(false);
        assert_eq!(doze.gather(LONG), Some(Nap { bytes: Some(4096), limit: MOMENT }));
        assert_eq!(doze.gather(LONG), None);
        assert_eq!(doze.idle(LONG, false), Nap { bytes: Some(1), limit: MOMENT });
        assert_eq!(doze.idle(LONG, false), Nap { bytes: Some(1), limit: LONG });
        doze.found(false);
        assert!(doze.gather(LONG).is_some());
        assert_eq!(doze.idle(LONG, false).limit, MOMENT);
    }

    #[test]
    fn who_finds_more_looks_at_once_and_so_does_who_must_not_wait() {
        let mut doze = Doze::new(4096, false);
        doze.found(true);
        assert_eq!(doze.gather(LONG), None);
        doze.found(false);
        assert_eq!(doze.gather(Duration::ZERO), None);
        let mut immediate = Doze::new(4096, true);
        immediate.found(false);
        assert_eq!(immediate.gather(LONG), None);
    }

    #[test]
    fn no_sleep_is_longer_than_asked_for() {
        let mut doze = Doze::new(4096, false);
        let short = Duration::from_micros(5);
        doze.found(false);
        assert_eq!(doze.gather(short).unwrap().limit, short);
        assert_eq!(doze.idle(short, true), Nap { bytes: None, limit: short });
        assert_eq!(doze.idle(short, false).limit, short);
        doze.found(false);
        assert_eq!(doze.idle(Duration::ZERO, false).limit, Duration::ZERO);
        assert_eq!(doze.idle(LONG, false).limit, MOMENT);
    }
}
