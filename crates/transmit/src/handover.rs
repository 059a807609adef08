//! The loop of all who send from user space: packets go to a sink when they are due.

use std::thread;
use std::time::Duration;

use linerate_base::{Histogram, Result, Sink, SinkStats, Timestamp};

use crate::pacing::{Clock, wire_bits};
use crate::replay::Timetable;

/// The most packets that are made and submitted together.
pub const BATCH: usize = 64;

/// How long to wait for a sink without room, or a packet that is held, before asking again.
const PAUSE: Duration = Duration::from_micros(20);

/// A wait in which there is time to flush: sinks are patient for as long.
const FLUSH: Duration = Duration::from_millis(50);

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
    /// program in the kernel sends, and for savefiles. What lies between here and the wire is not in it.
    pub gaps: Histogram,
    /// Why it ended; `None` for an error.
    pub end: Option<End>,
}

/// Where packets come from, one after the other.
pub(crate) trait Feed {
    /// True when there is no packet at hand.
    fn is_empty(&self) -> bool;

    /// Writes the frame of the packet at hand to `slot` and gives its length, `None` where no frame is made of it; then
    /// the next one is at hand. Tells the timetable of both.
    fn take(&mut self, slot: &mut [u8], timetable: &mut Timetable) -> Option<usize>;

    /// True while the packet at hand is not to leave yet, whatever the timetable says.
    fn is_held(&mut self) -> bool {
        false
    }

    /// Told how many frames were handed over and how long the packet at hand has to wait, and asked whether to stop,
    /// every 50 ms or more often.
    fn is_stopped(&mut self, submitted: u64, early: Duration) -> bool;
}

/// How much is sent at most.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Frames.
    pub(crate) count: Option<u64>,
    /// The time for which packets are due.
    pub(crate) duration: Option<Duration>,
}

/// Hands packets of feeds to a sink.
pub(crate) struct Handover<'a> {
    sink: &'a mut dyn Sink,
    limits: Limits,
    timetable: Timetable,
    /// Started when the first packet is at hand.
    clock: Option<Clock>,
    /// The time of which the sink is told for what is due at 0, as [`Slots::date`](linerate_base::Slots::date) has it.
    began: Timestamp,
    submitted: u64,
    wire_bits: u64,
    /// When the last batch was handed over.
    last: u64,
    gaps: Histogram,
}

impl<'a> Handover<'a> {
    pub(crate) fn new(sink: &'a mut dyn Sink, timetable: Timetable, limits: Limits) -> Self {
        let (began, gaps) = (Timestamp::EPOCH, Histogram::new());
        let (clock, submitted, wire_bits, last) = (None, 0, 0, 0);
        Self { sink, limits, timetable, clock, began, submitted, wire_bits, last, gaps }
    }

    /// When packets are due.
    pub(crate) fn timetable(&mut self) -> &mut Timetable {
        &mut self.timetable
    }

    /// Frames that were handed over.
    pub(crate) fn submitted(&self) -> u64 {
        self.submitted
    }

    /// The first packet is at hand: the clock starts, unless it runs already. `began` is the time of which a savefile
    /// is told for that packet.
    pub(crate) fn begin(&mut self, began: Timestamp) {
        if self.clock.is_none() {
            let clock = Clock::start();
            self.began = if self.sink.is_offline() { began } else { clock.started() };
            self.clock = Some(clock);
        }
    }

    /// Hands over what comes from `feed`. Says why sending is at its end; `None` when only the feed is.
    ///
    /// # Errors
    /// Those of the sink.
    pub(crate) fn pass(&mut self, feed: &mut impl Feed) -> Result<Option<End>> {
        while !feed.is_empty() {
            let now = self.turn();
            let early = Duration::from_nanos(self.timetable.due().saturating_sub(now));
            if let Some(end) = self.end(feed.is_stopped(self.submitted, early)) {
                return Ok(Some(end));
            }
            if !early.is_zero() {
                self.wait(feed, early)?;
            } else if feed.is_held() {
                thread::sleep(PAUSE);
            } else {
                self.send_due(feed, now)?;
            }
        }
        Ok(None)
    }

    /// Waits until nothing is pending, or `stop` says true, and says what became of everything; `end` is why it ended,
    /// `None` for an error.
    ///
    /// # Errors
    /// Those of the sink.
    pub(crate) fn finish(
        mut self,
        end: Option<End>,
        stop: &mut dyn FnMut() -> bool,
    ) -> (Report, Result<()>) {
        let flushed = self.sink.flush(stop);
        let report = Report {
            stats: self.sink.stats(),
            wire_bits: self.wire_bits,
            elapsed: Duration::from_nanos(self.now()),
            lost: Duration::from_nanos(self.timetable.lost()),
            gaps: self.gaps,
            end: end.filter(|_| flushed.is_ok()),
        };
        (report, flushed)
    }

    /// Why it is at its end, if it is.
    pub(crate) fn end(&mut self, is_stopped: bool) -> Option<End> {
        if is_stopped {
            return Some(End::Stopped);
        }
        if self.limits.count == Some(self.submitted) {
            return Some(End::Complete);
        }
        self.is_over().then_some(End::Time)
    }

    /// As many packets are sent as are due in the time; where all are due at once, as many as there is time for.
    fn is_over(&mut self) -> bool {
        let time = if self.timetable.is_unlimited() { self.now() } else { self.timetable.due() };
        time >= self.over()
    }

    /// When the time is over.
    fn over(&self) -> u64 {
        let nanos = |span: Duration| u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        self.limits.duration.map_or(u64::MAX, nanos)
    }

    /// The time by which packets leave now: for a savefile, that of the packet at hand.
    fn turn(&mut self) -> u64 {
        if self.sink.is_offline() {
            return self.timetable.due();
        }
        let now = self.now();
        self.timetable.catch_up(now);
        now
    }

    /// Nanoseconds since the first packet was at hand.
    fn now(&mut self) -> u64 {
        self.clock.as_mut().map_or(0, Clock::now)
    }

    /// Waits for the packet at hand, or for a nap. Before a long wait, what the device had no room for is pressed on it.
    fn wait(&mut self, feed: &mut impl Feed, early: Duration) -> Result<()> {
        if early > FLUSH && self.sink.stats().pending > 0 {
            let submitted = self.submitted;
            self.sink.flush(&mut || feed.is_stopped(submitted, early))?;
        }
        let due = self.timetable.due();
        self.clock.iter_mut().for_each(|clock| clock.wait(due));
        Ok(())
    }

    /// Hands over the packets that are due by `now`, as many as are submitted together at most.
    fn send_due(&mut self, feed: &mut impl Feed, now: u64) -> Result<()> {
        let (before, over) = (self.submitted, self.over());
        let left = self.limits.count.map_or(u64::MAX, |count| count - before);
        let mut slots = self.sink.acquire(usize::try_from(left).unwrap_or(BATCH).min(BATCH))?;
        if slots.room() == 0 {
            thread::sleep(PAUSE);
            return Ok(());
        }
        let (timetable, began) = (&mut self.timetable, self.began.nanos());
        while slots.room() > 0
            && !feed.is_empty()
            && !feed.is_held()
            && timetable.due() <= now
            && timetable.due() < over
        {
            slots.date(Timestamp::from_nanos(began.saturating_add_unsigned(timetable.due())));
            let taken = slots.try_push(|slot| feed.take(slot, timetable).ok_or(()));
            if let Ok(length) = taken {
                self.wire_bits += wire_bits(length);
                self.submitted += 1;
            }
        }
        let packets = self.submitted - before;
        if packets == 0 {
            return Ok(());
        }
        if !self.sink.is_offline() {
            self.count_gaps(packets, now);
        }
        self.sink.submit()
    }

    /// So many packets are handed over now.
    fn count_gaps(&mut self, packets: u64, now: u64) {
        if self.submitted > packets {
            self.gaps.record(now - self.last, 1);
        }
        self.gaps.record(0, packets - 1);
        self.last = now;
    }
}
