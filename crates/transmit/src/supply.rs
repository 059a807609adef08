//! Frames that somebody else makes, sent at a pace.

use std::time::Duration;

use linerate_base::{Result, Sink};

use crate::handover::{Feed, Limits, Report};
use crate::pacing::Pace;
use crate::replay::{Timetable, Timing};
use crate::run::paced;

/// Frames, one after the other.
pub trait Supply {
    /// True when there will be none any more.
    fn is_empty(&self) -> bool;

    /// True while the next one is not to be sent yet, whatever the pace.
    fn is_held(&mut self) -> bool;

    /// Writes the next one to `slot` and returns its length.
    fn fill(&mut self, slot: &mut [u8]) -> usize;

    /// Asked every 50 ms or more often whether to stop. All frames that were filled have been handed over then.
    fn is_stopped(&mut self) -> bool;
}

/// Sends what is supplied at this pace, until there is no more, or it is stopped.
///
/// # Errors
/// Those of the sink, and of a pace that makes no sense; the report is of what was sent all the same.
pub fn run_supply(
    supply: &mut impl Supply,
    pace: &Pace,
    sink: &mut dyn Sink,
) -> (Report, Result<()>) {
    let limits = Limits { count: None, duration: None };
    match Timetable::new(&Timing::Paced(*pace)) {
        Ok(timetable) => paced(&mut Supplied(supply), timetable, limits, sink),
        Err(error) => (Report::default(), Err(error)),
    }
}

/// What is supplied, as a feed.
struct Supplied<'a, S>(&'a mut S);

impl<S: Supply> Feed for Supplied<'_, S> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn is_held(&mut self) -> bool {
        self.0.is_held()
    }

    fn take(&mut self, slot: &mut [u8], timetable: &mut Timetable) -> Option<usize> {
        let length = self.0.fill(slot);
        timetable.sent(length);
        Some(length)
    }

    fn is_stopped(&mut self, _: u64, _: Duration) -> bool {
        self.0.is_stopped()
    }
}
