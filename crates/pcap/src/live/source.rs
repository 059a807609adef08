//! A capture that runs.
//!
//! The filter, the direction and the link type are properties of a source from its beginning. Where a program changes
//! them, a new source takes the place of the old one, whose packets are given up, as libpcap gives up those from
//! before a filter.

use std::ffi::{c_int, c_uint};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use linerate::base::{Batch, Error, ErrorKind, LinkType, Result, Source, Stats};
use linerate::bpf::classic::Program;
use linerate::capture::{self, ANY, Config, Directions, Filter, Gatekeeper, UserFilter};
use linerate::filter::{self, Options, Target};
use linerate::sys::interface;

use super::report::{self, Report};
use super::select::Selectable;
use super::settings::Settings;
use super::{at_exit, protocol};
use crate::abi::{
    DIRECTION_BOTH, DIRECTION_IN, DIRECTION_OUT, Direction, ERROR, ExtendedStat, PcapStat,
};
use crate::entry::entry;
use crate::filter::{ByProgram, Compiled, Request};
use crate::handle::{self, Handle, Inner, Kind};
use crate::names::resolver::System;
use crate::packets::Lent;
use crate::send::Sending;
use crate::winpcap::dump::BEING_DUMPED;
use crate::winpcap::statistics::Statistics;

/// A capture that runs.
pub(crate) struct Live {
    pub(crate) source: Box<dyn Source + Send>,
    pub(crate) config: Config,
    pub(crate) link_types: Vec<LinkType>,
    pub(crate) timeout: Duration,
    pub(crate) is_nonblocking: bool,
    pub(crate) mode: Mode,
    pub(crate) sending: Sending,
    /// Where the program waits for packets.
    pub(crate) selectable: Option<Selectable>,
    /// The EtherType of packets to see; `None` for all.
    protocol: Option<u16>,
    /// What puts another filter in the kernel where a new source cannot be had.
    gatekeeper: Option<Gatekeeper>,
    /// How packets are captured, and where that is told at the end.
    way: String,
    report: Option<Arc<Report>>,
    /// What the sources before this one have counted.
    earlier: Stats,
    /// Whether this source has lent packets.
    has_lent: bool,
}

/// What a program gets of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// They themselves.
    Capture,
    /// How many they were, and their bytes.
    Statistics,
}

impl Live {
    /// Begins to capture. It stays where it is in memory, as the end of the program may look for it.
    pub(crate) fn open(mut config: Config, settings: &Settings) -> Result<Box<Self>> {
        let link_types = link_types(&config.interface)?;
        let &Settings { timeout, is_nonblocking, protocol, .. } = settings;
        if let Some(protocol) = protocol {
            let link_type = config.link_type.or_else(|| link_types.first().copied());
            restrict(&mut config, protocol, link_type.unwrap_or_default())?;
        }
        let (source, way, gatekeeper) = begin(&config, Mode::Capture, timeout)?;
        let report = Report::asked(&config).map(Arc::new);
        let mut live = Box::new(Self {
            source,
            config,
            link_types,
            timeout,
            is_nonblocking,
            mode: Mode::Capture,
            sending: Sending::default(),
            selectable: None,
            protocol,
            gatekeeper,
            way,
            report: report.clone(),
            earlier: Stats::default(),
            has_lent: false,
        });
        if let Some(report) = report {
            at_exit::remember(&mut live, report);
        }
        Ok(live)
    }

    /// Captures in another way from now on. Where that fails the capture goes on as it was.
    fn reopen(&mut self, config: Config, mode: Mode) -> Result<()> {
        let (mut source, way, gatekeeper) = begin(&config, mode, self.timeout)?;
        if let Some(selectable) = &self.selectable {
            selectable.follow(&mut source)?;
        }
        let _inside = self.report.as_deref().map(Report::enter);
        if self.has_lent {
            self.earlier += self.source.stats().unwrap_or_default();
        }
        (self.source, self.config, self.mode, self.has_lent) = (source, config, mode, false);
        (self.way, self.gatekeeper) = (way, gatekeeper);
        Ok(())
    }

    /// Puts a filter in the kernel before the source that there is, if it can have one; else the kernel keeps all. False
    /// where the source has a filter of its own for good.
    fn refilter(&self, filter: &Filter) -> bool {
        match &self.gatekeeper {
            // Where the kernel does not take it, it keeps all.
            Some(keeper) => {
                keeper.replace(filter.kernel.as_ref()).is_ok() || filter.kernel.is_some()
            }
            None => self.config.filter.is_none(),
        }
    }

    /// The next packets, waiting for them as long as was set.
    pub(crate) fn next_batch(&mut self) -> Result<Option<Batch<'_>>> {
        self.batch_within(if self.is_nonblocking { Duration::ZERO } else { self.timeout })
    }

    /// The same, waiting so long.
    pub(crate) fn batch_within(&mut self, wait: Duration) -> Result<Option<Batch<'_>>> {
        let _inside = self.report.as_deref().map(Report::enter);
        let batch = self.source.next_batch(wait)?;
        self.has_lent |= batch.is_some_and(|batch| !batch.is_empty());
        Ok(batch)
    }

    /// What became of all packets, those of earlier sources among them.
    fn total(&mut self) -> Result<Stats> {
        let mut stats = self.source.stats()?;
        stats += self.earlier;
        Ok(stats)
    }

    /// Adds the line of the report, if one was asked for.
    pub(super) fn tell(&mut self) {
        if let (Some(report), Ok(stats)) = (self.report.clone(), self.total()) {
            report.tell(&self.way, &stats, self.sending.sent());
        }
    }

    fn stats(&mut self) -> Result<ExtendedStat> {
        let stats = self.total()?;
        Ok(ExtendedStat {
            base: counts(&stats),
            ps_capt: saturated(stats.delivered),
            ps_sent: saturated(self.sending.sent()),
            ps_netdrop: 0,
        })
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        if let Some(report) = &self.report {
            at_exit::forget(report);
        }
        self.tell();
    }
}

/// The link types that packets of an interface can be told to have. What a cable modem's head end puts on an Ethernet
/// nobody but the user knows.
fn link_types(interface: &str) -> Result<Vec<LinkType>> {
    let mut all = capture::link_types(interface)?;
    if interface == ANY {
        // The older header first, which programs get that do not choose.
        all.sort_by_key(|link_type| *link_type != LinkType::LINUX_SLL);
    }
    if all.contains(&LinkType::ETHERNET) && !interface::by_name(interface)?.is_loopback {
        all.push(LinkType::DOCSIS);
    }
    Ok(all)
}

/// A source, how it captures, and who can put another filter before it.
type Begun = (Box<dyn Source + Send>, String, Option<Gatekeeper>);

/// Begins to capture, or to count.
fn begin(config: &Config, mode: Mode, timeout: Duration) -> Result<Begun> {
    match mode {
        Mode::Capture => {
            let capture = capture::open(config)?;
            let way = report::way(&capture);
            Ok((capture.source, way, capture.gatekeeper))
        }
        Mode::Statistics => {
            let statistics = Statistics::open(config, timeout)?;
            Ok((Box::new(statistics), "counting in the kernel".into(), None))
        }
    }
}

fn restrict(config: &mut Config, protocol: u16, link_type: LinkType) -> Result<()> {
    protocol::restrict(config, protocol, link_type).map_err(|error| {
        let asked = format!("capture packets of the protocol {protocol:#06x}");
        Error::new(ErrorKind::Unsupported, asked, error.to_string())
    })
}

fn saturated(count: u64) -> c_uint {
    c_uint::try_from(count).unwrap_or(c_uint::MAX)
}

/// Counts as libpcap has them, at most as large as they can be there. Its packets received are those that the filter
/// kept, whether there was room for them or not.
fn counts(stats: &Stats) -> PcapStat {
    PcapStat {
        ps_recv: saturated(stats.delivered + stats.pending + stats.dropped),
        ps_drop: saturated(stats.dropped),
        ps_ifdrop: saturated(stats.interface_dropped.unwrap_or(0)),
    }
}

/// An expression, for all places where a capture's filter can run; `user` is it, compiled for user space.
pub(super) fn everywhere(
    text: &str,
    netmask: Option<Ipv4Addr>,
    user: UserFilter,
    config: &Config,
    link_type: LinkType,
) -> Filter {
    let options = Options { snaplen: config.snaplen, netmask, ..Options::new(link_type, &System) };
    let compile = |target| filter::compile(text, &Options { target, ..options });
    Filter {
        text: text.into(),
        kernel: compile(Target::Kernel).ok().map(|filter| filter.program().clone()),
        tap: compile(Target::Tap).and_then(|filter| filter.predicate()).ok(),
        user,
    }
}

/// A program made by hand, for all places where it can run: cooked headers are made in user space.
fn by_hand(program: Program, config: &Config) -> Filter {
    let fits = config.interface != ANY && program.fits_kernel();
    let kernel = fits.then(|| program.clone());
    Filter { text: String::new(), kernel, tap: None, user: Arc::new(ByProgram(program)) }
}

impl Inner {
    /// Filters a live capture. Where a new source cannot be had, as after privileges were given up, the packets that wait
    /// and all that the kernel's filter lets through are filtered in user space.
    pub(crate) fn filter_live(&mut self, own: Option<&Compiled>, program: Program) -> c_int {
        let Kind::Live(live) = &mut self.kind else { return ERROR };
        let filter = match own {
            Some(own) => {
                let Request { text, netmask, .. } = &own.request;
                let user = Arc::new(own.engine.clone());
                everywhere(text, *netmask, user, &live.config, self.link_type)
            }
            None => by_hand(program, &live.config),
        };
        let user = filter.user.clone();
        // The kernel's place is taken by the filter for a protocol.
        if live.protocol.is_none() {
            let config = Config { filter: Some(filter.clone()), ..live.config.clone() };
            match live.reopen(config, live.mode) {
                Ok(()) => {
                    self.chosen = None;
                    self.give_up_lent();
                    return 0;
                }
                Err(error) if live.mode == Mode::Statistics || !live.refilter(&filter) => {
                    return self.refuse(&error);
                }
                Err(_) => {}
            }
        }
        self.chosen = Some(user);
        self.select();
        self.tell_waiting();
        0
    }

    /// Captures in another way from now on: 0, or an error and all is as it was.
    pub(crate) fn change_live(&mut self, change: impl FnOnce(&mut Config, &mut Mode)) -> c_int {
        let Kind::Live(live) = &mut self.kind else {
            self.fail("that is for live captures only");
            return ERROR;
        };
        let (mut config, mut mode) = (live.config.clone(), live.mode);
        change(&mut config, &mut mode);
        match live.reopen(config, mode) {
            Ok(()) => {
                self.give_up_lent();
                0
            }
            Err(error) => self.refuse(&error),
        }
    }

    /// The packets at hand are those of a source that is gone.
    fn give_up_lent(&mut self) {
        self.lent = Lent::default();
        self.tell_waiting();
    }

    /// Takes another of the link types that a live capture can have.
    pub(crate) fn relink(&mut self, link_type: LinkType) -> c_int {
        let protocol = match &self.kind {
            Kind::Live(live) => live.protocol,
            _ => None,
        };
        let status = self.change_live(|config, _| {
            let is_docsis = link_type == LinkType::DOCSIS;
            config.link_type = Some(if is_docsis { LinkType::ETHERNET } else { link_type });
            // It was for packets of the other one.
            config.filter = None;
            if let Some(protocol) = protocol {
                // Of a link type without such numbers none is looked for.
                let _ = protocol::restrict(config, protocol, link_type);
            }
        });
        if status == 0 {
            (self.link_type, self.chosen) = (link_type, None);
        }
        status
    }

    /// Keeps an error for the caller, who is told that there is one.
    pub(crate) fn refuse(&mut self, error: &Error) -> c_int {
        self.fail(&error.to_string());
        ERROR
    }

    /// Counts of a live capture.
    pub(crate) fn live_stats(&mut self) -> std::result::Result<ExtendedStat, String> {
        match &mut self.kind {
            Kind::Live(live) => live.stats().map_err(|error| error.to_string()),
            Kind::File(_) => Err("Statistics aren't available from savefiles".into()),
            Kind::Dead => Err("Statistics aren't available from a pcap_open_dead pcap_t".into()),
            Kind::Created(_) => Err("the capture has not begun".into()),
            Kind::Dumping(_) => Err(BEING_DUMPED.into()),
        }
    }
}

/// Which way packets must go, by `pcap_direction_t`.
fn directions(number: Direction) -> Option<Directions> {
    match number {
        DIRECTION_BOTH => Some(Directions::Both),
        DIRECTION_IN => Some(Directions::In),
        DIRECTION_OUT => Some(Directions::Out),
        _ => None,
    }
}

entry! {
    /// Which way packets must go, of a live capture.
    fn pcap_setdirection(handle: *mut Handle, direction: Direction) -> c_int, ERROR => {
        handle::active_or(handle, |inner| match (directions(direction), &inner.kind) {
            (Some(direction), Kind::Live(_)) => inner.change_live(|c, _| c.direction = direction),
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
