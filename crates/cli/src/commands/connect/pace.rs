//! When the next connection is asked for.

use std::time::{Duration, Instant};

use linerate::base::Result;
use linerate::scan::Target;
use linerate::transmit::pacing::{Pace, Rate, Schedule};

/// The pace of SYNs.
pub(super) struct Tempo {
    schedule: Schedule,
    began: Instant,
    now: u64,
}

/// Bytes of a SYN's frame: Ethernet's header, IP's, and TCP's with its options.
const SYN: [usize; 2] = [14 + 20 + 40, 14 + 40 + 40];

impl Tempo {
    pub(super) fn new(rate: Rate) -> Result<Self> {
        let schedule = Schedule::new(&Pace::new(rate))?;
        Ok(Self { schedule, began: Instant::now(), now: 0 })
    }

    /// Looks what time it is. What could not leave in time is given up for the most part.
    pub(super) fn catch_up(&mut self) {
        self.now = u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.schedule.catch_up(self.now);
    }

    /// True when the next one is due.
    pub(super) fn is_due(&self) -> bool {
        self.schedule.due() <= self.now
    }

    /// A connection is asked for.
    pub(super) fn asked(&mut self, target: Target) {
        self.schedule.sent(SYN[usize::from(target.address.is_ipv6())]);
    }

    /// How long until the next one is due.
    pub(super) fn wait(&self) -> Duration {
        Duration::from_nanos(self.schedule.due()).saturating_sub(self.began.elapsed())
    }
}
