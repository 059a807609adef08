//! What all commands have in common that go through many targets: whom they leave out, from where they send, what they
//! write and keep.

mod clock;
mod journal;
mod rows;
mod tempo;

use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::{BuildHasher, Hasher};
use std::net::IpAddr;

use anyhow::{Context, Result};
use linerate::base::Timestamp;
use linerate::scan::reserved::RESERVED;
use linerate::scan::{Addresses, Targets};
use linerate::transmit::pacing::Rate;
use linerate::transmit::template::Surroundings;
use linerate::transmit::{Backend, Blocklist, Outlet};

pub(super) use clock::Clock;
pub(super) use journal::Journal;
pub(super) use rows::{Line, Rows, target};
pub(super) use tempo::Tempo;

use super::sending;
use crate::args::{LeaveOutArgs, TargetArgs, WayArgs};
use crate::exit::usage;
use crate::output;
use crate::patience::{SOON, with_a_word};

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

/// The hardware address of whom packets to `target` are given to first.
///
/// # Errors
/// When nothing leads there, or the neighbour does not answer.
pub(super) fn next_hop(outlet: &Outlet, target: IpAddr) -> Result<[u8; 6]> {
    let say = || output::tell("asking the next hop for its hardware address");
    let outlet = outlet.clone().asking();
    Ok(with_a_word(SOON, say, || outlet.next_hop(target)).map(|hop| hop.mac)?)
}

/// Below this rate rings that cost no core keep up, in thousandths of frames a second.
const RINGS_KEEP_UP: u64 = 250_000_000;

/// The way out: without a name, one that takes a core only where others would not keep up.
pub(super) fn backend(way: &WayArgs) -> Option<Backend> {
    let is_slow = matches!(way.rate, Rate::Frames(thousandths) if thousandths <= RINGS_KEEP_UP);
    way.backend.or(is_slow.then_some(Backend::Ring))
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
pub(super) fn seconds(time: Timestamp) -> String {
    format!("{}.{:06}", time.seconds(), time.subsec_nanos() / 1_000)
}
