//! The time of day.

use linerate::base::Timestamp;
use linerate::sys::clock::{self, CycleClock};

/// `CLOCK_REALTIME`: by the processor's counter, where it has one.
pub(crate) struct Clock(Option<CycleClock>);

impl Clock {
    pub(crate) fn new() -> Self {
        Self(CycleClock::realtime().ok())
    }

    pub(crate) fn now(&mut self) -> Timestamp {
        Timestamp::from_nanos(self.0.as_mut().map_or_else(clock::realtime, CycleClock::now))
    }
}
