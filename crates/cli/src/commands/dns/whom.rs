//! Whom questions are put to.

use std::collections::HashMap;
use std::net::IpAddr;

use linerate::base::Timestamp;
use linerate::dns::{Asker, Candidates, Event, Question, Walker};
use linerate::transmit::{Blocklist, Outlet};

use crate::commands::survey;

/// Who is asked.
pub(super) enum Whom {
    /// Servers that were named.
    Named(Candidates),
    /// Those to whom a walk from the root leads.
    Walked(Box<Walker>, Box<Reach>),
}

impl Whom {
    /// How many more questions may be asked.
    pub(super) fn room(&self, asker: &Asker) -> usize {
        match self {
            Self::Named(_) => asker.room(),
            Self::Walked(walker, _) => walker.room(),
        }
    }

    /// True when no question is under way.
    pub(super) fn is_idle(&self, asker: &Asker) -> bool {
        match self {
            Self::Named(_) => asker.is_idle(),
            Self::Walked(walker, _) => walker.is_idle(),
        }
    }

    /// Asks a question.
    pub(super) fn ask(
        &mut self,
        asker: &mut Asker,
        question: Question,
        number: u64,
        now: Timestamp,
    ) {
        match self {
            Self::Named(servers) => asker.ask(question, number, servers.clone()),
            Self::Walked(walker, _) => walker.begin(question, number, now),
        }
    }

    /// Tells of an event of the asker, or of what follows from it.
    pub(super) fn note(
        &mut self,
        event: &Event<'_>,
        now: Timestamp,
        tell: &mut dyn FnMut(&Event<'_>),
    ) {
        match self {
            Self::Named(_) => tell(event),
            Self::Walked(walker, _) => walker.note(event, now, tell),
        }
    }

    /// Lets walks go on.
    pub(super) fn go_on(
        &mut self,
        asker: &mut Asker,
        now: Timestamp,
        tell: &mut dyn FnMut(&Event<'_>),
    ) {
        if let Self::Walked(walker, reach) = self {
            walker.go_on(asker, now, &mut |address| reach.find(address), tell);
        }
    }
}

/// The ways to servers that nobody has named.
pub(super) struct Reach {
    pub(super) outlet: Outlet,
    pub(super) blocked: Blocklist,
    /// Families that there is an address of our own of: IPv4, IPv6.
    pub(super) families: [bool; 2],
    /// Hardware addresses of next hops that were asked for; of who does not answer there is none.
    pub(super) hops: HashMap<IpAddr, Option<[u8; 6]>>,
}

impl Reach {
    /// The hardware address of whom packets to this server are given to first. None for servers that are blocked, or to which no
    /// way leads.
    fn find(&mut self, address: IpAddr) -> Option<[u8; 6]> {
        let [ipv4, ipv6] = self.families;
        let is_ours = if address.is_ipv4() { ipv4 } else { ipv6 };
        if !is_ours || self.blocked.has(address) {
            return None;
        }
        let (hop, _) = self.outlet.neighbour(address).ok()?;
        let find = || survey::next_hop(&self.outlet, hop).ok();
        *self.hops.entry(hop).or_insert_with(find)
    }
}
