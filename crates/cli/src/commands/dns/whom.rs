//! Whom questions are put to.

use std::net::IpAddr;

use linerate::base::Timestamp;
use linerate::dns::{Asker, Candidates, Event, Question, Walker};
use linerate::transmit::Blocklist;

/// Who is asked.
pub(super) enum Whom {
    /// Servers that were named.
    Named(Candidates),
    /// Those to whom a walk from the root leads.
    Walked(Box<Walker>, Reach),
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
            walker.go_on(asker, now, &|address| reach.has(address), tell);
        }
    }
}

/// Which servers that nobody has named may be asked.
pub(super) struct Reach {
    pub(super) blocked: Blocklist,
    /// Families that there is an address of our own of: IPv4, IPv6.
    pub(super) families: [bool; 2],
}

impl Reach {
    fn has(&self, address: IpAddr) -> bool {
        let [ipv4, ipv6] = self.families;
        let is_ours = if address.is_ipv4() { ipv4 } else { ipv6 };
        is_ours && !self.blocked.has(address)
    }
}
