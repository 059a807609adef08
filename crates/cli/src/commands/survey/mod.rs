//! What all commands have in common that go through many targets: whom they leave out, from where they send, what they
//! write and keep.

mod cell;
mod clock;
mod field;
mod hits;
mod journal;
mod parquet;
mod place;
mod rows;
mod sieve;
mod tempo;

use std::collections::hash_map::RandomState;
use std::fmt::{self, Display};
use std::fs;
use std::hash::{BuildHasher, Hasher};
use std::net::IpAddr;

use anyhow::{Context, Result};
use linerate::base::{ErrorKind, LinkType, Timestamp};
use linerate::capture::{self, Capture, Directions, Interrupt, MAX_SNAPLEN, Owned};
use linerate::scan::reserved::RESERVED;
use linerate::scan::{Addresses, Shard, Targets};
use linerate::transmit::pacing::Rate;
use linerate::transmit::space::Span;
use linerate::transmit::template::Surroundings;
use linerate::transmit::{Backend, Blocklist, Hops, Outlet, sink};

pub(super) use cell::Cell;
pub(super) use clock::Clock;
pub(super) use field::{Field, Kind};
pub(super) use hits::Hits;
pub(super) use journal::Journal;
pub(super) use rows::{Line, Rows, target};
pub(super) use sieve::Sieve;
pub(super) use tempo::Tempo;

use super::sending;
use crate::args::{LeaveOutArgs, TargetArgs, WayArgs};
use crate::exit::usage;
use crate::patience::{SOON, with_a_word};
use crate::units::{counted, grouped};
use crate::{compile, output};

/// The interface to send from.
///
/// # Errors
/// When there is none of that name; of usage, when it leads everywhere and the user has not said that this is meant, or an address
/// of the user's own is the host's.
pub(super) fn outlet(way: &WayArgs) -> Result<Outlet> {
    let outlet = Outlet::find(&way.interface)?;
    sending::check_network(&way.interface, way.on_real_network, &outlet)?;
    match way.own.iter().find(|own| outlet.has(**own)) {
        Some(own) => Err(usage(format!(
            "--own: {own} is the host's: without --own, --source-ports of it are taken from the host"
        ))),
        None => Ok(outlet),
    }
}

/// All targets with these ports, in the order of `seed`.
///
/// # Errors
/// When a file cannot be read, or no target is left; of usage, for words that name none.
pub(super) fn targets(args: &TargetArgs, ports: &[(u16, u16)], seed: u64) -> Result<Targets> {
    Ok(Targets::new(addresses(args)?, ports, &blocklist(&args.leave_out)?, seed)?)
}

/// The targets' addresses. A bad one on the command line is a slip; one in a long list is told and left out.
fn addresses(args: &TargetArgs) -> Result<Addresses> {
    let mut addresses = Addresses::default();
    for text in &args.targets {
        if !addresses.add(text) {
            return Err(usage(format!(
                "`{text}` is no target: write an address, a prefix or a range, as in 203.0.113.0/24"
            )));
        }
    }
    for path in &args.targets_file {
        let name = path.display();
        let bytes = fs::read(path).with_context(|| format!("read targets from {name}"))?;
        for (number, entry) in addresses.add_lines(&String::from_utf8_lossy(&bytes)) {
            output::tell(format_args!("{name}: line {number}: `{entry}` is no address: left out"));
        }
    }
    Ok(addresses)
}

/// The addresses that nothing is sent to.
///
/// # Errors
/// When the user's list cannot be read or understood.
pub(super) fn blocklist(args: &LeaveOutArgs) -> Result<Blocklist> {
    // What the user's list has to say of itself, with its own lines' numbers.
    let own = sending::blocklist(args.blocklist.as_deref())?;
    if args.allow_reserved {
        return Ok(own);
    }
    let text = args.blocklist.as_deref().map(fs::read_to_string).transpose()?.unwrap_or_default();
    Ok(Blocklist::parse(&format!("{RESERVED}\n{text}"), "of reserved addresses")?)
}

/// The ways to all of these addresses.
///
/// # Errors
/// When nothing leads to any, or a router does not answer.
pub(super) fn hops(outlet: &Outlet, addresses: [&[Span]; 2]) -> Result<Hops> {
    let say = || output::tell("asking routers for their hardware addresses");
    Ok(with_a_word(SOON, say, || Hops::find(outlet, addresses))?)
}

/// How many are to be sent to: those that are `left` in this pass, and in the ones to come who is silent until then.
pub(super) fn to_come(left: u64, silent: u64, pass: u64, retries: u32) -> u64 {
    // Who has answered is passed over in later ones.
    let now = if pass > 0 { left.min(silent) } else { left };
    now.saturating_add(u64::from(retries).saturating_sub(pass).saturating_mul(silent))
}

/// Below this rate rings that cost no core keep up, in thousandths of frames a second.
const RINGS_KEEP_UP: u64 = 250_000_000;

/// The way out: without a name, one that takes a core only where others would not keep up.
fn backend(way: &WayArgs) -> Option<Backend> {
    let is_slow = matches!(way.rate, Rate::Frames(thousandths) if thousandths <= RINGS_KEEP_UP);
    way.backend.or(is_slow.then_some(Backend::Ring))
}

/// Says what is about to be done.
pub(super) fn announce(targets: &Targets, shard: Shard, way: &WayArgs, journal: &Journal) {
    let count = counted(targets.count_in(shard), "targets");
    let (interface, rate, seed) = (&way.interface, way.rate, journal.seed);
    output::tell(format_args!("{count} on {interface}, rate {rate}, seed {seed}"));
    if journal.position > 0 || journal.pass > 0 {
        output::tell(format_args!("going on behind target {}", grouped(journal.position)));
    }
}

/// Our address of a family: one of the user's own, or else the host's.
///
/// # Errors
/// Of usage, when there is none.
pub(super) fn source(way: &WayArgs, outlet: &Outlet, is_ipv4: bool) -> Result<IpAddr> {
    let own = || way.own.iter().find(|own| own.is_ipv4() == is_ipv4).copied();
    let hosts = || match is_ipv4 {
        true => outlet.ipv4().map(IpAddr::V4),
        false => outlet.ipv6().map(IpAddr::V6),
    };
    let (found, whose) = match way.own.is_empty() {
        true => (hosts(), format!("{} has", way.interface)),
        false => (own(), "--own names".into()),
    };
    let family = if is_ipv4 { "IPv4" } else { "IPv6" };
    found.ok_or_else(|| usage(format!("{whose} no address of {family} to reach such targets from")))
}

/// Captures what comes to the user's own addresses, or else to the source ports of the host's `sources`: the host does not get it.
///
/// # Errors
/// Without a tap, which alone can take packets from the host; when the host needs the ports itself.
pub(super) fn open_own(
    way: &WayArgs,
    sources: &[IpAddr],
    interrupt: Interrupt,
) -> linerate::base::Result<Capture> {
    let own: Vec<_> = way.own.iter().map(|address| (*address).into()).collect();
    let owned = Owned::new(&own)?;
    let (first, last) = way.source_ports;
    let hosts = if own.is_empty() { sources } else { &[] };
    hosts.iter().try_for_each(|source| owned.insert_ports(*source, first..=last))?;
    let opened =
        capture::open(&capture::Config { owned: Some(owned), ..incoming(way, interrupt) })?;
    for source in hosts {
        output::tell(format_args!(
            "ports {first}-{last} of {source} are not the host's until this ends"
        ));
    }
    Ok(opened)
}

/// The same, and true; or false, where ports cannot be taken from the host, and what comes to its `sources` and meets `answers` is
/// captured beside it.
///
/// # Errors
/// When there is no way to capture, or the host needs the ports itself.
pub(super) fn open_answers(
    way: &WayArgs,
    sources: &[IpAddr],
    answers: &str,
    interrupt: Interrupt,
) -> Result<(Capture, bool)> {
    match open_own(way, sources, interrupt.clone()) {
        Ok(opened) => Ok((opened, true)),
        Err(error) if way.own.is_empty() && LACKS.contains(&error.kind()) => {
            output::tell(format_args!("the host gets the answers, too: {error}"));
            Ok((open_beside(way, sources, answers, interrupt)?, false))
        }
        Err(error) => Err(error.into()),
    }
}

/// Errors of who may not have a tap, or whose kernel has none.
const LACKS: [ErrorKind; 2] = [ErrorKind::Permission, ErrorKind::Unsupported];

/// Captures what comes to the host's `sources` and meets the filter `answers`; the host gets it, too.
///
/// # Errors
/// When there is no way to capture.
pub(super) fn open_beside(
    way: &WayArgs,
    sources: &[IpAddr],
    answers: &str,
    interrupt: Interrupt,
) -> Result<Capture> {
    let hosts: Vec<_> = sources.iter().map(|ip| format!("dst host {ip}")).collect();
    let text = format!("({}) and ({answers})", hosts.join(" or "));
    let options = compile::options(LinkType::ETHERNET, MAX_SNAPLEN);
    let filter = Some(compile::for_capture(&text, &options)?.filter);
    Ok(capture::open(&capture::Config { filter, ..incoming(way, interrupt) })?)
}

/// What comes in, without delay.
fn incoming(way: &WayArgs, interrupt: Interrupt) -> capture::Config {
    capture::Config {
        link_type: Some(LinkType::ETHERNET),
        promiscuous: false,
        immediate: true,
        direction: Directions::In,
        ..capture::Config::new(&way.interface, interrupt)
    }
}

/// By which way to send frames of `longest` bytes, `slots` of them at a time.
pub(super) fn sink(way: &WayArgs, slots: usize, longest: usize) -> sink::Config {
    sink::Config {
        interface: way.interface.clone(),
        backend: backend(way),
        queue: 0,
        slots,
        longest,
        offloads: sink::Offloads::default(),
        mark: None,
        alike: None,
    }
}

/// A secret that chance makes.
pub(super) fn key() -> [u8; 16] {
    let half = || RandomState::new().build_hasher().finish().to_le_bytes();
    let mut key = [0; 16];
    key[..8].copy_from_slice(&half());
    key[8..].copy_from_slice(&half());
    key
}

/// A time as it is written: seconds since 1970, to the microsecond.
pub(super) fn seconds(time: Timestamp) -> impl Display {
    fmt::from_fn(move |f| write!(f, "{}.{:06}", time.seconds(), time.subsec_nanos() / 1_000))
}
