//! Sending: a template's packets, when they are due, to a sink.

use std::time::{Duration, SystemTime};

use linerate_base::{Result, Sink, Timestamp};

use crate::handover::{End, Feed, Handover, Limits, Report};
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
    /// Threads that share the packets, each with a core and a sink, or a program, of its own.
    pub threads: usize,
}

/// Told how many packets were handed over so far, and asked whether to end.
pub type Watch<'a> = dyn Fn(u64) -> bool + Sync + 'a;

/// The packets of a plan that one of several sinks sends: every `step`-th number, from `first` on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    pub(crate) first: u64,
    pub(crate) step: u64,
}

impl Share {
    /// How many of so many packets that are.
    fn of(self, count: u64) -> u64 {
        count.saturating_sub(self.first).div_ceil(self.step)
    }
}

/// Sends until the plan is done, or `watch`, which is asked every 50 ms or more often, says true: all of it by this sink,
/// however many threads the plan has.
///
/// # Errors
/// Those of the sink, and of a pace that makes no sense; the report is of what was sent all the same.
pub fn run(plan: &Plan<'_>, sink: &mut dyn Sink, watch: &Watch<'_>) -> (Report, Result<()>) {
    run_share(plan, Share { first: 0, step: 1 }, sink, watch)
}

/// The same of a share.
///
/// # Errors
/// As [`run`].
pub(crate) fn run_share(
    plan: &Plan<'_>,
    share: Share,
    sink: &mut dyn Sink,
    watch: &Watch<'_>,
) -> (Report, Result<()>) {
    let mut timetable = match Timetable::new(&Timing::Paced(plan.pace)) {
        Ok(timetable) => timetable,
        Err(error) => return (Report::default(), Err(error)),
    };
    let mean = plan.template.mean();
    (0..share.first).for_each(|_| timetable.sent(mean));
    let limits = Limits { count: plan.count.map(|count| share.of(count)), duration: plan.duration };
    let (template, Share { first, step }) = (plan.template, share);
    paced(&mut Packets { template, next: first, step, watch }, timetable, limits, sink)
}

/// Hands over what comes from a feed, within limits, until it is empty or stopped.
///
/// # Errors
/// Those of the sink.
pub(crate) fn paced(
    feed: &mut impl Feed,
    timetable: Timetable,
    limits: Limits,
    sink: &mut dyn Sink,
) -> (Report, Result<()>) {
    let mut handover = Handover::new(sink, timetable, limits);
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    handover.begin(Timestamp::EPOCH + since.unwrap_or_default());
    let passed = handover.pass(feed);
    let end = passed.as_ref().ok().map(|end| end.unwrap_or(End::Complete));
    let submitted = handover.submitted();
    let (report, flushed) =
        handover.finish(end, &mut || feed.is_stopped(submitted, Duration::ZERO));
    (report, passed.map(drop).and(flushed))
}

/// The packets of a template, without an end.
struct Packets<'a> {
    template: &'a Template,
    /// The number of the packet at hand.
    next: u64,
    step: u64,
    watch: &'a Watch<'a>,
}

impl Feed for Packets<'_> {
    fn is_empty(&self) -> bool {
        false
    }

    /// The schedule is that of all packets: those that others send are as long, for all that is known here.
    fn take(&mut self, slot: &mut [u8], timetable: &mut Timetable) -> Option<usize> {
        let length = self.template.fill(self.next, slot);
        (0..self.step).for_each(|_| timetable.sent(length));
        self.next = self.next.wrapping_add(self.step);
        Some(length)
    }

    fn is_stopped(&mut self, submitted: u64, _: Duration) -> bool {
        (self.watch)(submitted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up() {
        for count in 0..20 {
            for step in 1..5 {
                let all: u64 = (0..step).map(|first| Share { first, step }.of(count)).sum();
                assert_eq!(all, count, "{step}");
            }
        }
    }
}
