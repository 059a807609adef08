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
use linerate::base::{LinkType, Timestamp};
use linerate::capture::{self, Directions, Interrupt, MAX_SNAPLEN, Owned};
use linerate::scan::reserved::RESERVED;
use linerate::scan::{Addresses, Shard, Targets};
use linerate::transmit::pacing::Rate;
use linerate::transmit::space::Span;
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
/// When there is none of that name; of usage, when it leads everywhere and the user has not said that this is meant.
pub(super) fn outlet(way: &WayArgs) -> Result<Outlet> {
    let outlet = Outlet::find(&way.interface)?;
    sending::check_network(&way.interface, way.on_real_network, &outlet)?;
    Ok(outlet)
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
        let text = fs::read_to_string(path).with_context(|| format!("read targets from {name}"))?;
        for (number, entry) in addresses.add_lines(&text) {
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

/// What to capture: what comes in, and packets to the user's own addresses, if there are any, alone.
///
/// # Errors
/// Those of the tap's tables of addresses.
pub(super) fn capture(way: &WayArgs, interrupt: Interrupt) -> Result<capture::Config> {
    let mut config = capture::Config::new(&way.interface, interrupt);
    config.link_type = Some(LinkType::ETHERNET);
    config.promiscuous = false;
    config.immediate = true;
    config.direction = Directions::In;
    if !way.own.is_empty() {
        let own: Vec<_> = way.own.iter().map(|address| (*address).into()).collect();
        config.owned = Some(Owned::new(&own)?);
    }
    Ok(config)
}

/// The same where there may be no addresses but the host's `sources`: of packets to them what the filter `answers` keeps.
///
/// # Errors
/// As for [`capture`].
pub(super) fn capture_answers(
    way: &WayArgs,
    sources: &[IpAddr],
    answers: &str,
    interrupt: Interrupt,
) -> Result<capture::Config> {
    let mut config = capture(way, interrupt)?;
    if way.own.is_empty() {
        let hosts: Vec<_> = sources.iter().map(|ip| format!("dst host {ip}")).collect();
        let text = format!("({}) and ({answers})", hosts.join(" or "));
        let options = compile::options(LinkType::ETHERNET, MAX_SNAPLEN);
        config.filter = Some(compile::for_capture(&text, &options)?.filter);
    }
    Ok(config)
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
