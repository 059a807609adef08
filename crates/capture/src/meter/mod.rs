//! Counting in the kernel: packets and bytes by filter, and no packet leaves it.
//!
//! One program with all filters stands at each of the interface's traffic-control hooks (TCX, Linux 6.6)
//! and passes every packet on. Each CPU counts for itself; [`Meter::read`] adds up. What the host has
//! merged on receiving, or leaves to the interface to cut before sending, is one packet, as in a
//! capture.

mod attach;
mod program;

use std::os::fd::AsFd;
use std::time::Instant;

use linerate_base::{Error, ErrorKind, Result};
use linerate_bpf::extended::Predicate;
use linerate_sys::bpf::{Link, Map, MapSpec};
use linerate_sys::event;
use linerate_sys::netlink::{LinkChange, LinkWatch};

use crate::privilege::with_remedy;
use crate::{Directions, Interrupt};
use program::TALLY;

/// The most that a value of a per-CPU map can have, `PCPU_MIN_UNIT_SIZE` of `linux/percpu.h` (Linux 6.18).
const MAX_COUNTERS: usize = 32 << 10;

/// The most filters of one [`Meter`].
pub const MAX_METER_FILTERS: usize = MAX_COUNTERS / TALLY - 1;

/// What [`Meter::open`] is asked for.
#[derive(Clone, Debug)]
pub struct MeterConfig {
    /// Name of the interface.
    pub interface: String,
    /// Which way packets must go to be counted.
    pub direction: Directions,
    /// What to count.
    pub filters: Vec<MeterFilter>,
    /// What ends a wait.
    pub interrupt: Interrupt,
}

/// A filter whose packets are counted.
#[derive(Clone, Debug)]
pub struct MeterFilter {
    /// The filter as its author wrote it.
    pub text: String,
    /// The same, compiled for the interface's link type.
    pub predicate: Predicate,
}

/// Packets, and their bytes on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Packets.
    pub packets: u64,
    /// Bytes, link-layer headers and VLAN tags included.
    pub bytes: u64,
}

impl Tally {
    /// What was counted between an earlier tally and this one.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self { packets: self.packets - earlier.packets, bytes: self.bytes - earlier.bytes }
    }

    fn plus(self, other: Self) -> Self {
        Self { packets: self.packets + other.packets, bytes: self.bytes + other.bytes }
    }
}

/// What was counted since the meter was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// All packets.
    pub total: Tally,
    /// Those that each filter keeps, in the order of [`MeterConfig::filters`]; a packet may be in many.
    pub filters: Vec<Tally>,
}

/// Counts until it is dropped.
#[derive(Debug)]
pub struct Meter {
    interface: String,
    counters: Map,
    /// How many there are: the total, and one for each filter.
    tallies: usize,
    links: Vec<Link>,
    watch: LinkWatch,
    /// The interface is down, which is yet to be told.
    is_down: bool,
    interrupt: Interrupt,
}

impl Meter {
    /// Begins to count.
    ///
    /// # Errors
    /// - [`ErrorKind::NotFound`] when there is no such interface.
    /// - [`ErrorKind::Permission`] without CAP_BPF and CAP_NET_ADMIN.
    /// - [`ErrorKind::Unsupported`] on all interfaces at once, before Linux 6.6, and for filters that
    ///   are too large together.
    /// - [`ErrorKind::Invalid`] for more than [`MAX_METER_FILTERS`] filters.
    pub fn open(config: &MeterConfig) -> Result<Self> {
        Self::attach(config).map_err(|error| with_remedy(error, None))
    }

    fn attach(config: &MeterConfig) -> Result<Self> {
        attach::check(config)?;
        let device = attach::find(&config.interface)?;
        let tallies = config.filters.len() + 1;
        let size = (TALLY * tallies) as u32;
        let counters = Map::new(&MapSpec::per_cpu_array("meter", size, 1))?;
        let watch = LinkWatch::of(device.index)?;
        let ways = attach::ways(config.direction, device.is_loopback);
        let links = ways.iter().map(|way| attach::attach(config, &device, *way, &counters));
        Ok(Self {
            interface: config.interface.clone(),
            links: links.collect::<Result<_>>()?,
            counters,
            tallies,
            watch,
            is_down: !device.is_up,
            interrupt: config.interrupt.clone(),
        })
    }

    /// What was counted so far. Packets that are on their way through the program meanwhile may be in
    /// some tallies already and not yet in others; none is after [`stop`](Self::stop).
    ///
    /// # Errors
    /// None that can be expected: the map is ours.
    pub fn read(&self) -> Result<Reading> {
        let value = self.counters.lookup(&0_u32.to_ne_bytes())?.unwrap_or_default();
        let (words, _) = value.as_chunks();
        let words: Vec<_> = words.iter().map(|word| u64::from_ne_bytes(*word)).collect();
        let (tallies, _) = words.as_chunks();
        let tally = |&[packets, bytes]: &[u64; 2]| Tally { packets, bytes };
        let mut sums = vec![Tally::default(); self.tallies];
        for cpu in tallies.chunks_exact(self.tallies) {
            sums.iter_mut().zip(cpu).for_each(|(sum, own)| *sum = sum.plus(tally(own)));
        }
        Ok(Reading { total: sums[0], filters: sums.split_off(1) })
    }

    /// Waits until `deadline` or for the interrupt; true if that came.
    ///
    /// # Errors
    /// - [`ErrorKind::Gone`], once, when the interface is; what was counted before can still be read.
    /// - [`ErrorKind::Down`], once each time that the interface goes down, or when it was at the beginning.
    ///   Counting goes on.
    pub fn wait(&mut self, deadline: Instant) -> Result<bool> {
        loop {
            if std::mem::take(&mut self.is_down) {
                return Err(self.down());
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let ready = event::poll([self.interrupt.as_fd(), self.watch.as_fd()], left);
            let [interrupt, news] = ready.map_err(|e| Error::system("wait", e))?;
            if interrupt.readable {
                return Ok(true);
            }
            if news.readable {
                let changes = self.watch.read()?;
                if changes.contains(&LinkChange::Gone) {
                    return Err(self.gone());
                }
                self.is_down = changes.contains(&LinkChange::Down);
            }
            if left.is_zero() && !self.is_down {
                return Ok(false);
            }
        }
    }

    /// Counts no more. When this returns no packet is in the program: tallies are exact.
    pub fn stop(&mut self) {
        // Closing a link waits for an RCU grace period (`tcx_link_release` of `kernel/bpf/tcx.c`).
        self.links.clear();
    }

    fn down(&self) -> Error {
        Error::new(ErrorKind::Down, asked(&self.interface), "the interface is down")
            .advise("counting goes on when it is up")
    }

    fn gone(&self) -> Error {
        let answered = "the interface was deleted, or moved to another namespace";
        Error::new(ErrorKind::Gone, asked(&self.interface), answered)
    }
}

fn asked(interface: &str) -> String {
    format!("count packets on {interface}")
}
