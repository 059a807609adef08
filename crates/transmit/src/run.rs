//! Sending: a template's packets, when they are due, to a sink.

use std::thread;
use std::time::Duration;

use linerate_base::{Histogram, Result, Sink, SinkStats};

use crate::pacing::{Clock, Pace, Rate, Schedule, wire_bits};
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

/// Why sending ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// All were sent.
    Complete,
    /// The time was over.
    Time,
    /// It was stopped.
    Stopped,
}

/// What was sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// What became of the packets.
    pub stats: SinkStats,
    /// Bits that the packets take of an Ethernet wire, those that were refused included.
    pub wire_bits: u64,
    /// From the beginning until the last was handed over.
    pub elapsed: Duration,
    /// Time that the schedule was moved because packets could not leave when they were due.
    pub lost: Duration,
    /// Gaps between one packet and the next as they were handed over, those of one batch at once; empty where a
    /// program in the kernel sends. What lies between here and the wire is not in it.
    pub gaps: Histogram,
    /// Why it ended; `None` for an error.
    pub end: Option<End>,
}

/// Says whether sending is to end.
pub type Stop<'a> = dyn Fn() -> bool + Sync + 'a;

/// The most packets that are made and submitted together.
pub const BATCH: usize = 64;

/// How long to wait for a sink without room before asking again.
pub(crate) const PAUSE: Duration = Duration::from_micros(20);

/// Sends until the plan is done, or `stop`, which is asked every 50 ms or more often, says true.
///
/// # Errors
/// Those of the sink, and of a pace that makes no sense; the report is of what was sent all the same.
pub fn run(plan: &Plan<'_>, sink: &mut dyn Sink, stop: &Stop<'_>) -> (Report, Result<()>) {
    let mut sender = match Schedule::new(&plan.pace) {
        Ok(schedule) => Sender::new(plan, schedule),
        Err(error) => return (Report::default(), Err(error)),
    };
    let sent = sender.send(sink, stop);
    let flushed = sink.flush(&mut || stop());
    let report = Report {
        stats: sink.stats(),
        wire_bits: sender.wire_bits,
        elapsed: Duration::from_nanos(sender.clock.now()),
        lost: Duration::from_nanos(sender.schedule.lost()),
        gaps: sender.gaps,
        end: sent.as_ref().ok().filter(|_| flushed.is_ok()).copied(),
    };
    (report, sent.map(drop).and(flushed))
}

struct Sender<'a> {
    plan: &'a Plan<'a>,
    schedule: Schedule,
    clock: Clock,
    /// The next packet's number.
    next: u64,
    wire_bits: u64,
    /// When the last batch was handed over.
    last: u64,
    gaps: Histogram,
}

impl<'a> Sender<'a> {
    fn new(plan: &'a Plan<'a>, schedule: Schedule) -> Self {
        let (clock, gaps) = (Clock::start(), Histogram::new());
        Self { plan, schedule, clock, next: 0, wire_bits: 0, last: 0, gaps }
    }

    fn send(&mut self, sink: &mut dyn Sink, stop: &Stop<'_>) -> Result<End> {
        loop {
            let now = self.clock.now();
            if let Some(end) = self.end(now, stop) {
                return Ok(end);
            }
            self.schedule.catch_up(now);
            match self.schedule.due() {
                due if due > now => self.clock.wait(due),
                _ => self.send_due(now, sink)?,
            }
        }
    }

    fn end(&self, now: u64, stop: &Stop<'_>) -> Option<End> {
        if stop() {
            return Some(End::Stopped);
        }
        if Some(self.next) == self.plan.count {
            return Some(End::Complete);
        }
        self.is_over(now).then_some(End::Time)
    }

    /// With a rate, so many packets are sent as are due in the time; else as many as there is time for.
    fn is_over(&self, now: u64) -> bool {
        let time = if self.plan.pace.rate == Rate::Unlimited { now } else { self.schedule.due() };
        self.plan.duration.is_some_and(|span| u128::from(time) >= span.as_nanos())
    }

    /// Sends what is due by `now`, a batch at most.
    fn send_due(&mut self, now: u64, sink: &mut dyn Sink) -> Result<()> {
        let left = self.plan.count.map_or(u64::MAX, |count| count - self.next);
        let most = usize::try_from(left).unwrap_or(BATCH).min(BATCH);
        let mut slots = sink.acquire(most)?;
        if slots.room() == 0 {
            thread::sleep(PAUSE);
            return Ok(());
        }
        let first = self.next;
        while slots.room() > 0 && self.schedule.due() <= now && !self.is_over(now) {
            let mut length = 0;
            slots.push(|slot| {
                length = self.plan.template.fill(self.next, slot);
                length
            });
            self.schedule.sent(length);
            self.wire_bits += wire_bits(length);
            self.next += 1;
        }
        self.count_gaps(first, now);
        sink.submit()
    }

    /// The packets from `first` on are handed over now.
    fn count_gaps(&mut self, first: u64, now: u64) {
        let packets = self.next - first;
        if first > 0 && packets > 0 {
            self.gaps.record(now - self.last, 1);
        }
        self.gaps.record(0, packets.saturating_sub(1));
        self.last = now;
    }
}
