//! Counting in the kernel: packets and bytes by filter, and no packet leaves it.
//!
//! One program with all filters stands at each of the interface's traffic-control hooks (TCX, Linux 6.6)
//! and passes every packet on. A few filters are parts of the program; many lie in maps ([`set`]), as far as they can
//! be taken apart into rules, and cost little more than one. Each CPU counts for itself; [`Meter::read`] adds up. What the host has
//! merged on receiving, or leaves to the interface to cut before sending, is one packet, as in a
//! capture.

mod attach;
mod program;
mod set;

use std::os::fd::{AsFd, AsRawFd};
use std::time::Instant;

use linerate_base::{Error, ErrorKind, Result};
use linerate_bpf::extended::Predicate;
use linerate_bpf::extended::set::Rule;
use linerate_sys::bpf::{Link, Map, MapSpec, Way};
use linerate_sys::event;
use linerate_sys::interface::Interface;
use linerate_sys::netlink::{LinkChange, LinkWatch};

use crate::privilege::with_remedy;
use crate::{Directions, Interrupt};
use program::{Plan, TALLY};
use set::Set;

/// The most that a value of a per-CPU map can have, `PCPU_MIN_UNIT_SIZE` of `linux/percpu.h` (Linux 6.18).
const MAX_COUNTERS: usize = 32 << 10;

/// The most filters of one [`Meter`], those included that were removed.
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
    /// The same as rules, if it has any.
    pub rules: Option<Vec<Rule>>,
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
    /// Those that each filter keeps, by its number: those of [`MeterConfig::filters`] in their order, then those that were
    /// added. A packet may be in many.
    pub filters: Vec<Tally>,
}

/// Counts until it is dropped.
#[derive(Debug)]
pub struct Meter {
    interface: String,
    counters: Map,
    /// How many filters there were so far.
    filters: usize,
    /// Those that are part of the programs, by number.
    inlined: Vec<(usize, MeterFilter)>,
    /// The others.
    set: Option<Set>,
    links: Vec<(Way, Link)>,
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
        match Set::for_filters(&config.filters)? {
            // With a process without CAP_PERFMON the verifier is stricter, and refuses programs that look into sets.
            Some(set) => Self::count(config, &device, Some(set))
                .or_else(|_| Self::count(config, &device, None)),
            None => Self::count(config, &device, None),
        }
    }

    /// Begins to count, with a set or without.
    fn count(config: &MeterConfig, device: &Interface, set: Option<Set>) -> Result<Self> {
        let counters = MapSpec::per_cpu_array("meter", MAX_COUNTERS as u32, 1);
        let mut meter = Self {
            interface: config.interface.clone(),
            counters: Map::new(&counters)?,
            filters: 0,
            inlined: Vec::new(),
            set,
            links: Vec::new(),
            watch: LinkWatch::of(device.index)?,
            is_down: !device.is_up,
            interrupt: config.interrupt.clone(),
        };
        for filter in &config.filters {
            meter.place(filter)?;
        }
        for way in attach::ways(config.direction, device.is_loopback) {
            meter.links.push((*way, attach::attach(&meter.plan(), device, *way)?));
        }
        Ok(meter)
    }

    /// Counts one more filter from now on, and gives its number, the next. Where there are many filters and this one
    /// asks for nothing new, only maps are written; else the programs are replaced, and no packet is missed meanwhile.
    ///
    /// # Errors
    /// - [`ErrorKind::Invalid`] where there were [`MAX_METER_FILTERS`] already.
    /// - [`ErrorKind::Unsupported`] when the programs become too large with it: nothing is changed.
    pub fn insert(&mut self, filter: &MeterFilter) -> Result<usize> {
        attach::room_for(self.filters + 1, &self.interface)?;
        let is_inlined = !self.place(filter)?;
        if is_inlined && let Err(error) = self.replace_programs() {
            self.inlined.pop();
            self.filters -= 1;
            // One of them may have taken it.
            let _ = self.replace_programs();
            return Err(error);
        }
        Ok(self.filters - 1)
    }

    /// Counts a filter no more; false if there is none of this number. Its tally stays as it is.
    ///
    /// # Errors
    /// None that can be expected: the programs become smaller.
    pub fn remove(&mut self, number: usize) -> Result<bool> {
        if let Some(set) = &mut self.set
            && set.remove(number)?
        {
            return Ok(true);
        }
        let before = self.inlined.len();
        self.inlined.retain(|(inlined, _)| *inlined != number);
        let is_there = self.inlined.len() < before;
        if is_there {
            self.replace_programs()?;
        }
        Ok(is_there)
    }

    /// Gives a filter its number and its place; true if that is in the set.
    fn place(&mut self, filter: &MeterFilter) -> Result<bool> {
        let number = self.filters;
        let taken = match (&mut self.set, &filter.rules) {
            (Some(set), Some(rules)) => set.insert(number, rules)?,
            _ => false,
        };
        if !taken {
            self.inlined.push((number, filter.clone()));
        }
        self.filters += 1;
        Ok(taken)
    }

    fn plan(&self) -> Plan<'_> {
        let counters = self.counters.as_fd().as_raw_fd();
        Plan { filters: &self.inlined, set: self.set.as_ref(), counters }
    }

    fn replace_programs(&self) -> Result<()> {
        let replace =
            |(way, link): &(Way, Link)| link.replace(&attach::program(&self.plan(), *way)?);
        self.links.iter().try_for_each(replace)
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
        let mut sums = vec![Tally::default(); 1 + self.filters];
        for cpu in tallies.chunks_exact(MAX_COUNTERS / TALLY) {
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
