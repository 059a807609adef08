//! A capture that runs.
//!
//! The filter, the direction and the link type are properties of a source from its beginning. Where a program changes
//! them, a new source takes the place of the old one, whose packets are given up, as libpcap gives up those from
//! before a filter.

use std::ffi::{c_int, c_uint};
use std::sync::Arc;
use std::time::Duration;

use linerate::base::{Batch, Error, LinkType, Result, Source, Stats};
use linerate::bpf::classic::Program;
use linerate::capture::{self, ANY, Config, Directions, Filter};
use linerate::filter::{self, Options, Target};

use crate::abi::{ERROR, PcapStat};
use crate::entry::entry;
use crate::filter::{ByProgram, Compiled, Request};
use crate::handle::{self, Handle, Inner, Kind};
use crate::names::resolver::System;
use crate::packets::Lent;

/// A capture that runs.
pub(crate) struct Live {
    pub(crate) source: Box<dyn Source + Send>,
    pub(crate) config: Config,
    pub(crate) link_types: Vec<LinkType>,
    pub(crate) timeout: Duration,
    pub(crate) is_nonblocking: bool,
    /// What the sources before this one have counted.
    earlier: Stats,
    /// Whether this source has lent packets.
    has_lent: bool,
}

impl Live {
    pub(crate) fn open(config: Config, timeout: Duration, is_nonblocking: bool) -> Result<Self> {
        let link_types = capture::link_types(&config.interface)?;
        let source = capture::open(&config)?.source;
        let (earlier, has_lent) = (Stats::default(), false);
        Ok(Self { source, config, link_types, timeout, is_nonblocking, earlier, has_lent })
    }

    /// Captures in another way from now on. Where that fails the capture goes on as it was.
    fn reopen(&mut self, config: Config) -> Result<()> {
        let source = capture::open(&config)?.source;
        if self.has_lent {
            self.earlier += self.source.stats().unwrap_or_default();
        }
        (self.source, self.config, self.has_lent) = (source, config, false);
        Ok(())
    }

    /// The next packets, waiting for them as long as was set.
    pub(crate) fn next_batch(&mut self) -> Result<Option<Batch<'_>>> {
        let wait = if self.is_nonblocking { Duration::ZERO } else { self.timeout };
        let batch = self.source.next_batch(wait)?;
        self.has_lent |= batch.is_some_and(|batch| !batch.is_empty());
        Ok(batch)
    }

    fn stats(&mut self) -> Result<PcapStat> {
        let mut stats = self.source.stats()?;
        stats += self.earlier;
        Ok(counts(&stats))
    }
}

/// Counts as libpcap has them, at most as large as they can be there. Its packets received are those that the filter
/// kept, whether there was room for them or not.
fn counts(stats: &Stats) -> PcapStat {
    let saturated = |count: u64| c_uint::try_from(count).unwrap_or(c_uint::MAX);
    PcapStat {
        ps_recv: saturated(stats.delivered + stats.pending + stats.dropped),
        ps_drop: saturated(stats.dropped),
        ps_ifdrop: saturated(stats.interface_dropped.unwrap_or(0)),
    }
}

/// What was compiled, for all places where a capture's filter can run.
fn everywhere(compiled: &Compiled, config: &Config, link_type: LinkType) -> Filter {
    let Request { text, netmask, .. } = &compiled.request;
    let options =
        Options { snaplen: config.snaplen, netmask: *netmask, ..Options::new(link_type, &System) };
    let compile = |target| filter::compile(text, &Options { target, ..options });
    Filter {
        text: text.clone(),
        kernel: compile(Target::Kernel).ok().map(|filter| filter.program().clone()),
        tap: compile(Target::Tap).and_then(|filter| filter.predicate()).ok(),
        user: Arc::new(compiled.engine.clone()),
    }
}

/// A program made by hand, for all places where it can run: cooked headers are made in user space.
fn by_hand(program: Program, config: &Config) -> Filter {
    let fits = config.interface != ANY && program.fits_kernel();
    let kernel = fits.then(|| program.clone());
    Filter { text: String::new(), kernel, tap: None, user: Arc::new(ByProgram(program)) }
}

impl Inner {
    /// Filters a live capture: where a new source cannot be had, as after privileges were given up, in user space.
    pub(crate) fn filter_live(&mut self, own: Option<&Compiled>, program: Program) {
        let Kind::Live(live) = &mut self.kind else { return };
        let filter = match own {
            Some(own) => everywhere(own, &live.config, self.link_type),
            None => by_hand(program, &live.config),
        };
        let user = filter.user.clone();
        let config = Config { filter: Some(filter), ..live.config.clone() };
        match live.reopen(config) {
            Ok(()) => (self.chosen, self.lent) = (None, Lent::default()),
            Err(_) => {
                self.chosen = Some(user);
                self.select();
            }
        }
    }

    /// Captures in another way from now on: 0, or an error and all is as it was.
    fn change_live(&mut self, change: impl FnOnce(&mut Config)) -> c_int {
        let Kind::Live(live) = &mut self.kind else { return ERROR };
        let mut config = live.config.clone();
        change(&mut config);
        match live.reopen(config) {
            Ok(()) => {
                self.lent = Lent::default();
                0
            }
            Err(error) => self.refuse(&error),
        }
    }

    /// Takes another of the link types that a live capture can have.
    pub(crate) fn relink(&mut self, link_type: LinkType) -> c_int {
        let status = self.change_live(|config| {
            config.link_type = Some(link_type);
            // It was for packets of the other one.
            config.filter = None;
        });
        if status == 0 {
            (self.link_type, self.chosen) = (link_type, None);
        }
        status
    }

    fn refuse(&mut self, error: &Error) -> c_int {
        self.fail(&error.to_string());
        ERROR
    }

    /// Counts of a live capture.
    pub(crate) fn live_stats(&mut self) -> std::result::Result<PcapStat, String> {
        match &mut self.kind {
            Kind::Live(live) => live.stats().map_err(|error| error.to_string()),
            Kind::File(_) => Err("Statistics aren't available from savefiles".into()),
            Kind::Dead => Err("Statistics aren't available from a pcap_open_dead pcap_t".into()),
            Kind::Created(_) => Err("the capture has not begun".into()),
        }
    }
}

/// Which way packets must go, by `pcap_direction_t`.
fn directions(number: c_int) -> Option<Directions> {
    match number {
        0 => Some(Directions::Both),
        1 => Some(Directions::In),
        2 => Some(Directions::Out),
        _ => None,
    }
}

entry! {
    /// Which way packets must go, of a live capture.
    fn pcap_setdirection(handle: *mut Handle, direction: c_int) -> c_int, ERROR => {
        handle::active_or(handle, |inner| match (directions(direction), &inner.kind) {
            (Some(direction), Kind::Live(_)) => inner.change_live(|c| c.direction = direction),
            (None, _) => {
                inner.fail("Invalid direction");
                ERROR
            }
            _ => {
                inner.fail("Setting direction is for live captures only");
                ERROR
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_stop_at_what_there_is_room_for() {
        let stats = Stats {
            delivered: 1 << 40,
            dropped: 3,
            interface_dropped: Some(2),
            ..Stats::default()
        };
        assert_eq!(counts(&stats), PcapStat { ps_recv: u32::MAX, ps_drop: 3, ps_ifdrop: 2 });
    }
}
