//! What a response means for a walk (RFC 1034 5.3.3, step 4).

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use domain::base::iana::Rtype;
use linerate_base::Timestamp;

use super::DENIAL;
use super::zone::{Zone, kept};
use crate::message::{Record, Reply, Told};
use crate::name::Name;

/// What is asked of a zone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked<'a> {
    pub(super) name: &'a Name,
    pub(super) rtype: u16,
    pub(super) zone: &'a Arc<Zone>,
}

/// What a server said.
#[derive(Debug)]
pub(super) enum Meaning {
    /// There are these records, or none.
    Answer,
    /// The name is another's alias by these records, and the other one is to be looked for elsewhere (step 4c).
    Alias(Name, Vec<String>),
    /// Others are responsible (step 4b).
    Referral(Zone),
    /// Nothing of use: the server is not responsible for the zone, or sends its askers upwards (step 4d; RFC 1912 2.8).
    Lame,
}

/// Aliases that are followed in one response, and in one walk.
pub(super) const MOST_ALIASES: usize = 16;

impl Meaning {
    /// What the response of a `server` of the zone means. Its code says that there are such records, or that there are none.
    pub(super) fn of(
        reply: &Reply<'_>,
        asked: Asked<'_>,
        server: SocketAddr,
        now: Timestamp,
    ) -> Self {
        let Some(records) = reply.records() else { return Self::Lame };
        if !reply.is_authoritative() {
            let zone = Zone::referred(asked.zone, server, asked.name, &records, now);
            return zone.filter(|_| !reply.is_denial()).map_or(Self::Lame, Self::Referral);
        }
        let [answer, authority, _] = &records;
        let (name, aliases) = followed(answer, asked);
        let is_here = aliases.is_empty()
            || name.is_within(&asked.zone.name)
                && (answer.iter().any(|record| is_answer(record, &name, asked.rtype))
                    // RFC 2308 2.1, 2.2: what denies is about the last name. Without the zone's SOA it may lie in another one.
                    || authority.iter().any(|record| denies(record, &name, asked.zone)));
        match is_here {
            true => Self::Answer,
            false => Self::Alias(name, aliases),
        }
    }
}

/// The addresses in an answer, and how long they may be kept.
pub(super) fn addresses(reply: &Reply<'_>, asked: Asked<'_>) -> (Vec<IpAddr>, Duration) {
    let answer: Vec<_> = reply.answers().collect();
    let (name, _) = followed(&answer, asked);
    let own = answer.iter().filter(|record| is_answer(record, &name, asked.rtype));
    let found = own.filter_map(|record| match record.told() {
        Told::Address(address) => Some((address, record.ttl())),
        _ => None,
    });
    let (addresses, ttls): (Vec<_>, Vec<_>) = found.unzip();
    (addresses, ttls.into_iter().min().map_or(DENIAL, kept))
}

/// Whose alias the name is in the end, as far as the zone has to tell, and by which records.
fn followed(answer: &[Record<'_>], asked: Asked<'_>) -> (Name, Vec<String>) {
    let (mut name, mut aliases) = (asked.name.clone(), Vec::new());
    // RFC 1034 3.6.2: who asks for the alias itself, or for all there is, gets it.
    if [Rtype::CNAME, Rtype::ANY].map(Rtype::to_int).contains(&asked.rtype) {
        return (name, aliases);
    }
    while aliases.len() < MOST_ALIASES && name.is_within(&asked.zone.name) {
        let own = answer.iter().filter(|record| record.known_owner() == name);
        let next = own.filter_map(|record| match record.told() {
            Told::Alias(next) => Some((next, record.to_string())),
            _ => None,
        });
        let Some((next, record)) = { next }.next() else { break };
        aliases.push(record);
        name = next;
    }
    (name, aliases)
}

fn is_answer(record: &Record<'_>, name: &Name, rtype: u16) -> bool {
    record.rtype() == rtype && record.known_owner() == *name
}

/// True for an SOA of a zone that the name is in, and that is not above the one that was asked.
fn denies(record: &Record<'_>, name: &Name, zone: &Zone) -> bool {
    let owner = record.known_owner();
    record.rtype() == Rtype::SOA.to_int() && name.is_within(&owner) && owner.is_within(&zone.name)
}
