//! The `xdp` back end: AF_XDP sockets on the queues of an interface, for queues that are ours.
//!
//! The way of a packet through the files here: [`program`] counts it, asks the filter, stamps it and
//! hands it to a socket, or to the host; [`intake`] takes it out of the socket's ring. [`inlet`] is the
//! kernel's side, which all sources of a capture share; [`wait`] watches the interface; [`plan`] divides
//! the buffer; [`setup`] puts all of it together. What goes to a socket the host's stack never sees.
//!
//! A packet that finds no room is counted by the kernel, in the socket's statistics; and once the
//! source is stopped, whatever matched and did not come into a ring was dropped.

mod inlet;
mod intake;
pub(crate) mod plan;
mod program;
pub(crate) mod setup;
mod wait;

use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Duration;

use linerate_base::{Batch, Error, Interface, Result, Source, Stats, Timestamp};
use linerate_sys::clock::{self, Distance};

use crate::live::port::Idle;
use crate::live::watch::Losses;
use inlet::{Counters, Inlet};
use intake::Intake;
use wait::Wait;

/// A source of what comes by some of an interface's queues.
#[derive(Debug)]
pub(crate) struct Xsk {
    inlet: Arc<Inlet>,
    intake: Intake,
    wait: Wait,
    clock: Clock,
    interfaces: Vec<Interface>,
    delivered: u64,
    /// Queues without a socket, for which this source answers.
    strays: Vec<u32>,
    losses: Option<Losses>,
}

impl Source for Xsk {
    fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    fn next_batch(&mut self, wait: Duration) -> Result<Option<Batch<'_>>> {
        let wait = self.wait.await_news(wait)?;
        let found = self.find(wait);
        self.wait.watch_on();
        Ok(found?.map(|packets| match packets {
            0 => Batch::empty(&self.interfaces),
            _ => Batch::new(self.intake.region(), self.intake.descriptors(), &self.interfaces),
        }))
    }

    fn stats(&mut self) -> Result<Stats> {
        let asked =
            |e| Error::system(format!("read the counters of {}", self.interfaces[0].name), e);
        let lost = self.intake.dropped().map_err(asked)?;
        let oversized = self.intake.oversized().map_err(asked)?;
        let Counters { seen, matched } = self.sum(self.intake.numbers())?;
        let strays = self.sum(self.strays.iter().copied())?;
        let is_final = self.inlet.is_closed();
        let dropped = if is_final { matched.saturating_sub(self.intake.received()) } else { lost };
        Ok(Stats {
            seen: seen + strays.seen,
            delivered: self.delivered,
            filtered: (seen - matched) + (strays.seen - strays.matched),
            dropped: dropped + strays.matched,
            oversized: oversized.min(dropped),
            pending: matched.saturating_sub(dropped + self.delivered),
            interface_dropped: self.losses.as_mut().and_then(Losses::count),
            ..Stats::default()
        })
    }

    fn watch(&mut self) -> Result<BorrowedFd<'_>> {
        self.wait.watch(&self.intake.sockets())
    }

    fn stop(&mut self) -> Result<()> {
        self.inlet.close();
        self.wait.stop();
        Ok(())
    }
}

impl Xsk {
    /// Takes the next packets; returns how many came in time, `None` at the end.
    fn find(&mut self, wait: Duration) -> Result<Option<usize>> {
        let mut deadline = None;
        loop {
            let packets = self.fetch()?;
            if packets > 0 {
                self.wait.found_packets();
                self.delivered += packets as u64;
                return Ok(Some(packets));
            }
            let deadline = *deadline.get_or_insert_with(|| crate::live::after(wait));
            match self.wait.idle(deadline, &self.intake.sockets())? {
                Idle::Again => {}
                Idle::Nothing => return Ok(Some(0)),
                Idle::End => return Ok(None),
            }
        }
    }

    fn fetch(&mut self) -> Result<usize> {
        self.clock.tick();
        let packets = self.intake.fetch(&self.clock)?;
        // An interface that is gone is told by the wait.
        let _ = self.intake.wake();
        Ok(packets)
    }

    fn sum(&self, queues: impl Iterator<Item = u32>) -> Result<Counters> {
        queues.map(|number| self.inlet.counters(number)).sum()
    }
}

/// From the program's stamps to times.
#[derive(Clone, Copy, Debug)]
struct Clock {
    distance: Distance,
    /// When the distance was last looked at, and the time for packets without a stamp: both by
    /// `CLOCK_MONOTONIC`, in nanoseconds.
    updated: i64,
    now: i64,
}

impl Clock {
    /// Somebody may set the clock, but not often.
    const UPDATE_AFTER: i64 = 10_000_000;

    fn new() -> Self {
        let now = clock::monotonic();
        Self { distance: Distance::of_realtime(), updated: now, now }
    }

    fn tick(&mut self) {
        self.now = clock::monotonic();
        if self.now - self.updated > Self::UPDATE_AFTER {
            self.distance.update();
            self.updated = self.now;
        }
    }

    #[inline]
    fn time(&self, stamp: u64) -> Timestamp {
        let monotonic = if stamp == 0 { self.now } else { stamp.cast_signed() };
        Timestamp::from_nanos(monotonic.saturating_add(self.distance.nanos()))
    }
}
