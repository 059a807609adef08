//! How many packets there were, instead of the packets.
//!
//! They are counted in the kernel, and none leaves it ([`Meter`]).

use std::ffi::c_int;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::ptr;
use std::time::{Duration, Instant};

use linerate::base::{
    Batch, Descriptor, Error, ErrorKind, Interface, LinkType, Result, Source, Stats, Timestamp,
};
use linerate::capture::{Config, Interrupt, Meter, MeterConfig, MeterFilter, Tally};
use linerate::sys::clock;
use linerate::sys::event::{PollSet, Timer};

use crate::abi::ExtendedStat;
use crate::entry::entry;
use crate::handle::{self, Handle};
use crate::pointer;

/// Bytes of the two numbers.
const NUMBERS: usize = 16;

/// A source of one packet for each span of time, which tells how many there were in it.
#[derive(Debug)]
pub(crate) struct Statistics {
    meter: Meter,
    interfaces: [Interface; 1],
    span: Duration,
    /// The end of the span that runs.
    next: Instant,
    told: Tally,
    spans: u64,
    numbers: [u8; NUMBERS],
    descriptor: [Descriptor; 1],
    lookout: Option<(PollSet, Timer)>,
    interrupt: Interrupt,
}

impl Statistics {
    /// Counts what the filter of `config` keeps, in spans of this length.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a span without an end; [`ErrorKind::Unsupported`] for filters that were not made by
    /// `pcap_compile`; those of [`Meter::open`].
    pub(crate) fn open(config: &Config, span: Duration) -> Result<Self> {
        let refuse = |kind, answered| {
            let asked = format!("count packets on {}", config.interface);
            Err(Error::new(kind, asked, answered))
        };
        if span == Duration::MAX {
            return refuse(ErrorKind::Invalid, "without a time-out there is no time to count for");
        }
        let mut filters = Vec::new();
        if let Some(filter) = &config.filter {
            let Some(predicate) = filter.tap.clone() else {
                return refuse(ErrorKind::Unsupported, "the filter does not run in the kernel");
            };
            filters.push(MeterFilter { text: filter.text.clone(), predicate, rules: None });
        }
        let meter = Meter::open(&MeterConfig {
            interface: config.interface.clone(),
            direction: config.direction,
            filters,
            interrupt: config.interrupt.clone(),
        })?;
        let interface = Interface {
            name: config.interface.clone(),
            link_type: LinkType::default(),
            ..Interface::default()
        };
        Ok(Self {
            meter,
            interfaces: [interface],
            span,
            next: Instant::now() + span,
            told: Tally::default(),
            spans: 0,
            numbers: [0; NUMBERS],
            descriptor: [Descriptor::default()],
            lookout: None,
            interrupt: config.interrupt.clone(),
        })
    }

    /// What the filter has kept so far.
    fn tally(&self) -> Result<Tally> {
        let reading = self.meter.read()?;
        Ok(reading.filters.first().copied().unwrap_or(reading.total))
    }

    /// Ends the span.
    fn turn(&mut self) -> Result<()> {
        let tally = self.tally()?;
        let Tally { packets, bytes } = tally.since(self.told);
        let (first, second) = self.numbers.split_at_mut(NUMBERS / 2);
        first.copy_from_slice(&packets.to_ne_bytes());
        second.copy_from_slice(&bytes.to_ne_bytes());
        self.descriptor = [Descriptor {
            time: Timestamp::from_nanos(clock::realtime()),
            captured: NUMBERS as u32,
            length: NUMBERS as u32,
            ..Descriptor::default()
        }];
        (self.told, self.spans) = (tally, self.spans + 1);
        // Who did not ask in time gets one number for all of it.
        self.next = (self.next + self.span).max(Instant::now());
        if let Some((_, timer)) = &self.lookout {
            self.set_timer(timer);
        }
        Ok(())
    }

    /// Has it go up when the span ends.
    fn set_timer(&self, timer: &Timer) {
        timer.set(self.next.saturating_duration_since(Instant::now()));
    }
}

/// One descriptor for the end of a span and the interrupt.
fn lookout(interrupt: &Interrupt) -> io::Result<(PollSet, Timer)> {
    let timer = Timer::new()?;
    Ok((PollSet::of(&[timer.as_fd(), interrupt.as_fd()])?, timer))
}

impl Source for Statistics {
    fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    fn next_batch(&mut self, wait: Duration) -> Result<Option<Batch<'_>>> {
        let until =
            Instant::now().checked_add(wait).map_or(self.next, |until| until.min(self.next));
        if self.meter.wait(until)? || Instant::now() < self.next {
            return Ok(Some(Batch::empty(&self.interfaces)));
        }
        self.turn()?;
        Ok(Some(Batch::new(&self.numbers, &self.descriptor, &self.interfaces)))
    }

    fn stats(&mut self) -> Result<Stats> {
        let (seen, kept) = (self.meter.read()?.total.packets, self.tally()?.packets);
        Ok(Stats { seen, delivered: kept, filtered: seen.saturating_sub(kept), ..Stats::default() })
    }

    fn watch(&mut self) -> Result<BorrowedFd<'_>> {
        let lookout = match self.lookout.take() {
            Some(lookout) => lookout,
            None => lookout(&self.interrupt)
                .map_err(|e| Error::system("make a descriptor to wait for counts on", e))?,
        };
        self.set_timer(&lookout.1);
        Ok(self.lookout.insert(lookout).0.as_fd())
    }

    fn stop(&mut self) -> Result<()> {
        self.meter.stop();
        Ok(())
    }
}

entry! {
    /// Counts of a live capture, more of them than `pcap_stats` has, and their size in bytes. They stay valid, and are
    /// renewed, until the handle is closed; null where there are none.
    fn pcap_stats_ex(handle: *mut Handle, size: *mut c_int) -> *const ExtendedStat, ptr::null() => {
        let Some(inner) = handle::inner(handle) else { return ptr::null() };
        match inner.live_stats() {
            Ok(counts) => {
                inner.counts = counts;
                pointer::put(size, size_of::<ExtendedStat>() as c_int);
                &raw const inner.counts
            }
            Err(text) => {
                inner.fail(&text);
                ptr::null()
            }
        }
    }
}
