//! Sending: a template's packets, when they are due, to a sink.

use std::time::{Duration, SystemTime};

use linerate_base::{Result, Sink, Timestamp};

use crate::handover::{Feed, Handover, Limits, Report};
use crate::pacing::Pace;
use crate::replay::{Timetable, Timing};
use crate::template::Template;

/// What is to be sent, how fast, and how much of it.
#[derive(Clone, Debug)]
pub struct Plan<'a> {
    /// The packets.
    pub template: &'a Template,
    /// How fast they leave.
    pub pace: Pace,
    /// How many; `None`: until the time is over or somebody stops it.
    pub count: Option<u64>,
    /// For how long packets are due.
    pub duration: Option<Duration>,
    /// Threads that share packets which the kernel makes, each with a core of its own; 1 for all else.
    pub threads: usize,
}

/// Told how many packets were handed over so far, and asked whether to end.
pub type Watch<'a> = dyn Fn(u64) -> bool + Sync + 'a;

/// Sends until the plan is done, or `watch`, which is asked every 50 ms or more often, says true.
///
/// # Errors
/// Those of the sink, and of a pace that makes no sense; the report is of what was sent all the same.
pub fn run(plan: &Plan<'_>, sink: &mut dyn Sink, watch: &Watch<'_>) -> (Report, Result<()>) {
    let timetable = match Timetable::new(&Timing::Paced(plan.pace)) {
        Ok(timetable) => timetable,
        Err(error) => return (Report::default(), Err(error)),
    };
    let limits = Limits { count: plan.count, duration: plan.duration };
    let mut handover = Handover::new(sink, timetable, limits);
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    handover.begin(Timestamp::EPOCH + since.unwrap_or_default());
    let passed = handover.pass(&mut Packets { template: plan.template, next: 0, watch });
    let (submitted, end) = (handover.submitted(), passed.as_ref().ok().copied().flatten());
    let (report, flushed) = handover.finish(end, &mut || watch(submitted));
    (report, passed.map(drop).and(flushed))
}

/// The packets of a template, without an end.
struct Packets<'a> {
    template: &'a Template,
    /// The number of the packet at hand.
    next: u64,
    watch: &'a Watch<'a>,
}

impl Feed for Packets<'_> {
    fn is_empty(&self) -> bool {
        false
    }

    fn take(&mut self, slot: &mut [u8], timetable: &mut Timetable) -> Option<usize> {
        let length = self.template.fill(self.next, slot);
        timetable.sent(length);
        self.next += 1;
        Some(length)
    }

    fn is_stopped(&mut self, submitted: u64, _: Duration) -> bool {
        (self.watch)(submitted)
    }
}
