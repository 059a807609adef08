//! When the next frame is to leave.

use std::time::{Duration, Instant};

use linerate::base::Result;
use linerate::transmit::pacing::{Pace, Rate, Schedule};

/// The pace of frames.
pub(in super::super) struct Tempo {
    schedule: Schedule,
    began: Instant,
    now: u64,
}

impl Tempo {
    pub(in super::super) fn new(rate: Rate) -> Result<Self> {
        let schedule = Schedule::new(&Pace::new(rate))?;
        Ok(Self { schedule, began: Instant::now(), now: 0 })
    }

    /// Looks what time it is. What could not leave in time is given up for the most part.
    pub(in super::super) fn catch_up(&mut self) {
        self.now = u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.schedule.catch_up(self.now);
    }

    /// True when the next one is due.
    pub(in super::super) fn is_due(&self) -> bool {
        self.schedule.due() <= self.now
    }

    /// A frame of so many bytes leaves.
    pub(in super::super) fn sent(&mut self, length: usize) {
        self.schedule.sent(length);
    }

    /// How long until the next one is due.
    pub(in super::super) fn wait(&self) -> Duration {
        Duration::from_nanos(self.schedule.due()).saturating_sub(self.began.elapsed())
    }
}
