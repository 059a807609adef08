//! From the root down to the servers that are responsible for a name (RFC 1034 5.3.3).
//!
//! - [`zone`]: [`Zone`], who is responsible for it, and who told so
//! - `meaning`: what a response means
//! - `cache`: what is known of zones, and of servers' addresses
//!
//! A [`Walker`] has an [`Asker`] ask the servers of the zone that is known nearest to the name, follows referrals and aliases,
//! looks for the addresses of servers that were not told along, by walks of their own, and tells where each walk came to.

mod cache;
mod meaning;
pub mod zone;

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use domain::base::iana::Rtype;
use linerate_base::Timestamp;

use self::cache::Cache;
use self::meaning::{Asked, MOST_ALIASES, Meaning};
pub use self::zone::Zone;
use crate::asker::{Asker, Event, Outcome, Route, Tell};
use crate::message::{Reply, Verdict};
use crate::name::Name;
use crate::question::Question;

/// Many walks at once.
///
/// Whoever drives it begins walks as long as there is [room](Self::room), shows it all [events](Self::note) of an asker that is
/// used for nothing else, and has it [go on](Self::go_on) after that.
#[derive(Debug)]
pub struct Walker {
    root: Arc<Zone>,
    /// Families of addresses that servers can be asked at: IPv4, IPv6.
    families: [bool; 2],
    zones: Cache<Arc<Zone>>,
    /// Where servers are whose addresses had to be looked for.
    hosts: Cache<Host>,
    walks: Vec<Option<Walk>>,
    free: Vec<u32>,
    /// Walks to servers' addresses.
    searches: HashMap<Name, Id>,
    /// Walks that may go on.
    ready: VecDeque<Id>,
    serial: u32,
    window: usize,
    /// Walks that somebody asked for.
    asked_for: usize,
    counters: Travels,
}

/// What happened on walks so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Travels {
    /// Delegations that were followed.
    pub referrals: u64,
    /// Answers of servers that are not responsible.
    pub lame: u64,
    /// Servers whose addresses were looked for.
    pub searches: u64,
}

/// Why a walk ended without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The servers of a zone are not responsible for it.
    Lame,
    /// No server of a zone has an address at which it answers.
    Unreachable,
    /// The name is an alias of an alias, and so on.
    Aliases,
    /// It took more questions than one walk may take.
    Effort,
}

impl Loss {
    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lame => "lame",
            Self::Unreachable => "unreachable",
            Self::Aliases => "aliases",
            Self::Effort => "effort",
        }
    }
}

/// Says whether the server at this address may be asked.
pub type May<'a> = dyn Fn(IpAddr) -> bool + 'a;

/// A walk: its place, and what tells it from others that were there before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Id {
    place: u32,
    serial: u32,
}

#[derive(Debug)]
struct Walk {
    serial: u32,
    goal: Goal,
    /// What is looked for now: aliases were followed.
    name: Name,
    rtype: u16,
    question: Question,
    /// Whose servers are asked.
    zone: Arc<Zone>,
    /// Of those, who is being asked.
    asked: Vec<SocketAddr>,
    /// And who is not responsible after all, or does not answer.
    shunned: Vec<SocketAddr>,
    /// What it comes to if nobody else is left.
    loss: Loss,
    /// Servers whose addresses were looked for since it is in this zone.
    sought: Vec<Name>,
    /// Searches that it waits for.
    awaits: Vec<Id>,
    /// Of a search: who waits for it.
    waiting: Vec<Id>,
    is_asking: bool,
    /// Questions that it may still ask, those of its searches included.
    budget: u16,
    aliases: Vec<String>,
}

#[derive(Debug)]
enum Goal {
    /// An answer, to be told with this tag.
    Answer(Question, u64),
    /// The addresses of a server.
    Addresses(Name),
}

/// Where a server is.
#[derive(Clone, Debug)]
struct Host {
    addresses: Vec<IpAddr>,
    until: Timestamp,
}

/// Zones that are remembered, and servers.
const MOST_ZONES: usize = 1 << 20;
const MOST_HOSTS: usize = 1 << 19;
/// Servers that the asker may know before it forgets those that are idle.
const MOST_SERVERS: usize = 1 << 20;
/// Questions of one walk, those of its searches included: each search gets half of what is left, so that whoever delegates to
/// names without addresses cannot multiply queries (Afek, Bremler-Barr, Shafir: "NXNSAttack", 2020).
const BUDGET: u16 = 128;
/// Servers whose addresses are looked for at once.
const SEARCHES: usize = 2;
/// Servers that a question is put to in turn, at most.
const CANDIDATES: usize = 16;
/// For how long it is remembered that a server has no address (RFC 2308 5 has the zone decide; this is short).
const DENIAL: Duration = Duration::from_secs(60);
/// Walks that are looked at to find out whether they wait for each other.
const KNOT: usize = 64;

impl Walker {
    /// Walks from these servers of the root, `window` of them at once, by addresses of the families IPv4 and IPv6, or one of them.
    pub fn new(roots: Vec<SocketAddr>, families: [bool; 2], window: usize) -> Self {
        Self {
            root: Arc::new(Zone::root(roots)),
            families,
            zones: Cache::new(MOST_ZONES),
            hosts: Cache::new(MOST_HOSTS),
            walks: Vec::new(),
            free: Vec::new(),
            searches: HashMap::new(),
            ready: VecDeque::new(),
            serial: 0,
            window,
            asked_for: 0,
            counters: Travels::default(),
        }
    }

    /// How many more walks may begin.
    pub fn room(&self) -> usize {
        self.window.saturating_sub(self.asked_for)
    }

    /// True when no walk is under way.
    pub fn is_idle(&self) -> bool {
        self.walks.len() == self.free.len()
    }

    /// What happened so far.
    pub fn counters(&self) -> Travels {
        self.counters
    }

    /// Begins a walk, whose end will be told with `tag`.
    pub fn begin(&mut self, question: Question, tag: u64, now: Timestamp) {
        let (name, rtype) = (question.known(), question.rtype());
        self.asked_for += 1;
        self.start(Goal::Answer(question, tag), name, rtype, BUDGET, now);
    }

    fn start(&mut self, goal: Goal, name: Name, rtype: u16, budget: u16, now: Timestamp) -> Id {
        let place = self.free.pop().unwrap_or_else(|| {
            self.walks.push(None);
            self.walks.len() as u32 - 1
        });
        self.serial = self.serial.wrapping_add(1);
        let id = Id { place, serial: self.serial };
        let (question, zone) = (Question::of(&name, rtype), self.nearest(&name, rtype, now));
        self.walks[place as usize] = Some(Walk {
            serial: id.serial,
            goal,
            name,
            rtype,
            question,
            zone,
            asked: Vec::new(),
            shunned: Vec::new(),
            loss: Loss::Unreachable,
            sought: Vec::new(),
            awaits: Vec::new(),
            waiting: Vec::new(),
            is_asking: false,
            budget,
            aliases: Vec::new(),
        });
        self.ready.push_back(id);
        id
    }

    /// The zone that is known nearest to the name (RFC 1034 5.3.3, step 2).
    fn nearest(&mut self, name: &Name, rtype: u16, now: Timestamp) -> Arc<Zone> {
        // RFC 4035 3.1.4.1: who signs a zone is told by the zone above it.
        let skipped = usize::from(rtype == Rtype::DS.to_int());
        for above in name.upwards().skip(skipped) {
            if let Some(zone) = self.zones.get(above)
                && zone.until > now
            {
                return zone.clone();
            }
        }
        self.root.clone()
    }

    fn walk(&mut self, id: Id) -> Option<&mut Walk> {
        let walk = self.walks.get_mut(id.place as usize)?.as_mut();
        walk.filter(|walk| walk.serial == id.serial)
    }

    /// Notes an event of the asker, and tells of it: the last one of a walk is told as the walk's own.
    pub fn note(&mut self, event: &Event<'_>, now: Timestamp, tell: &mut Tell<'_>) {
        let place = event.tag as u32;
        let walk = self.walks[place as usize].as_mut().expect("who asks is under way");
        let id = Id { place, serial: walk.serial };
        if !event.is_last {
            return tell(event);
        }
        walk.is_asking = false;
        let asked = Asked { name: &walk.name, rtype: walk.rtype, zone: &walk.zone };
        let meaning = match (&event.outcome, event.server) {
            (Outcome::Reply(reply, _), Some(server)) if is_use(reply) => {
                Meaning::of(reply, asked, server, now)
            }
            _ => return self.fail(id, event, now, tell),
        };
        let on_the_way = Event { is_last: false, ..*event };
        match meaning {
            Meaning::Answer => return self.arrive(id, event, now, tell),
            Meaning::Referral(zone) => {
                self.counters.referrals += 1;
                let zone = Arc::new(zone);
                walk.enter(zone.clone());
                self.zones.put(zone.name.clone(), zone);
            }
            Meaning::Lame => {
                self.counters.lame += 1;
                walk.loss = Loss::Lame;
                walk.shunned.extend(event.server);
            }
            Meaning::Alias(name, records) => {
                walk.aliases.extend(records);
                if walk.aliases.len() > MOST_ALIASES {
                    tell(&on_the_way);
                    return self.lose(id, Loss::Aliases, now, tell);
                }
                let rtype = walk.rtype;
                walk.question = Question::of(&name, rtype);
                walk.name = name.clone();
                let zone = self.nearest(&name, rtype, now);
                self.walk(id).expect("it was there").enter(zone);
            }
        }
        self.ready.push_back(id);
        tell(&on_the_way);
    }

    /// Servers refused or were silent, as often as they are asked. If the zone has others, the walk goes on with them.
    fn fail(&mut self, id: Id, event: &Event<'_>, now: Timestamp, tell: &mut Tell<'_>) {
        let zone = self.walk(id).expect("who asks is under way").zone.clone();
        let (known, unknown) = self.addresses(&zone, now);
        let walk = self.walk(id).expect("it was there");
        walk.shunned.append(&mut walk.asked);
        // While they were asked, others' addresses may have been found.
        if known.iter().all(|address| walk.shunned.contains(address))
            && unknown.iter().all(|name| walk.sought.contains(name))
        {
            return self.arrive(id, event, now, tell);
        }
        if matches!(event.outcome, Outcome::Reply(reply, _) if !reply.is_truncated()) {
            walk.loss = Loss::Lame;
        }
        self.ready.push_back(id);
        tell(&Event { is_last: false, ..*event });
    }

    /// Lets all walks go on that may: their questions are given to the asker. Ends are told.
    pub fn go_on(&mut self, asker: &mut Asker, now: Timestamp, may: &May<'_>, tell: &mut Tell<'_>) {
        if asker.server_count() > MOST_SERVERS {
            asker.forget_servers(now);
        }
        while let Some(id) = self.ready.pop_front() {
            self.step(id, asker, now, may, tell);
        }
    }

    /// Asks the servers of the walk's zone, looks for their addresses, or gives up.
    fn step(
        &mut self,
        id: Id,
        asker: &mut Asker,
        now: Timestamp,
        may: &May<'_>,
        tell: &mut Tell<'_>,
    ) {
        let Some(walk) = self.walk(id).filter(|walk| !walk.is_asking) else { return };
        let zone = walk.zone.clone();
        let shunned = walk.shunned.clone();
        let (addresses, unknown) = self.addresses(&zone, now);
        let left = addresses.into_iter().filter(|address| !shunned.contains(address));
        let reached = left.filter_map(|address| {
            let known = asker.known_server(address);
            let new = || may(address.ip()).then(|| asker.server(address));
            Some((address, known.or_else(new)?))
        });
        let (asked, whom): (Vec<_>, Vec<_>) = reached.take(CANDIDATES).unzip();
        let walk = self.walk(id).expect("it was there");
        if whom.is_empty() {
            return self.search(id, unknown, now, tell);
        }
        let Some(budget) = walk.budget.checked_sub(1) else {
            return self.lose(id, Loss::Effort, now, tell);
        };
        (walk.budget, walk.is_asking) = (budget, true);
        walk.asked = asked;
        asker.ask(walk.question.clone(), id.place.into(), whom.into());
    }

    /// The addresses of a zone's servers that are known and of our families, and the names of those without.
    fn addresses(&mut self, zone: &Zone, now: Timestamp) -> (Vec<SocketAddr>, Vec<Name>) {
        let (mut addresses, mut unknown) = (Vec::new(), Vec::new());
        let [ipv4, ipv6] = self.families;
        let is_ours = |address: &SocketAddr| if address.is_ipv4() { ipv4 } else { ipv6 };
        for server in &zone.servers {
            let glue = server.glue.iter().copied().filter(is_ours);
            let before = addresses.len();
            addresses.extend(glue);
            if addresses.len() > before {
                continue;
            }
            match self.hosts.get(server.name.as_slice()).filter(|host| host.until > now) {
                Some(host) => addresses.extend(host.addresses.iter().copied().map(zone::server)),
                None => unknown.push(server.name.clone()),
            }
        }
        (addresses, unknown)
    }

    /// Looks for the addresses of some of these servers, unless that is being done.
    fn search(&mut self, id: Id, unknown: Vec<Name>, now: Timestamp, tell: &mut Tell<'_>) {
        for name in unknown {
            let walk = self.walk(id).expect("it was there");
            if walk.awaits.len() >= SEARCHES {
                return;
            }
            if walk.sought.contains(&name) {
                continue;
            }
            walk.sought.push(name.clone());
            let search = match self.searches.get(&name).copied() {
                Some(search) if self.awaits(search, id) => continue,
                Some(search) => search,
                None => self.begin_search(id, name, now),
            };
            self.walk(id).expect("it was there").awaits.push(search);
            self.walk(search).expect("it is under way").waiting.push(id);
        }
        let walk = self.walk(id).expect("it was there");
        if walk.awaits.is_empty() {
            let loss = walk.loss;
            self.lose(id, loss, now, tell);
        }
    }

    /// Begins to look for a server's addresses, for a walk that pays for it.
    fn begin_search(&mut self, payer: Id, name: Name, now: Timestamp) -> Id {
        let payer = self.walk(payer).expect("it is under way");
        let share = payer.budget / 2;
        payer.budget -= share;
        self.counters.searches += 1;
        let rtype = if self.families[0] { Rtype::A } else { Rtype::AAAA }.to_int();
        let search = self.start(Goal::Addresses(name.clone()), name.clone(), rtype, share, now);
        self.searches.insert(name, search);
        search
    }

    /// True when `one` is `other`, or waits for it by way of others: then `other` must not wait for `one`.
    fn awaits(&mut self, one: Id, other: Id) -> bool {
        let mut seen = vec![one];
        let mut next = 0;
        while let Some(id) = seen.get(next).copied() {
            if id == other || seen.len() > KNOT {
                return true;
            }
            let awaits = self.walk(id).map(|walk| walk.awaits.clone()).unwrap_or_default();
            let fresh: Vec<_> = awaits.into_iter().filter(|id| !seen.contains(id)).collect();
            seen.extend(fresh);
            next += 1;
        }
        false
    }

    /// The walk is over without an answer.
    fn lose(&mut self, id: Id, loss: Loss, now: Timestamp, tell: &mut Tell<'_>) {
        let question = self.walk(id).expect("it is under way").question.clone();
        let event = Event {
            question: &question,
            tag: 0,
            attempt: 0,
            server: None,
            sent: None,
            is_streamed: false,
            outcome: Outcome::Lost(loss),
            is_last: true,
            route: None,
        };
        self.arrive(id, &event, now, tell);
    }

    /// The walk is over with this event.
    fn arrive(&mut self, id: Id, event: &Event<'_>, now: Timestamp, tell: &mut Tell<'_>) {
        let walk = self.walks[id.place as usize].take().expect("it is under way");
        match walk.goal {
            Goal::Answer(question, tag) => {
                let route = Route { zone: &walk.zone, aliases: &walk.aliases };
                tell(&Event { question: &question, tag, route: Some(route), ..*event });
                self.asked_for -= 1;
                self.free.push(id.place);
            }
            Goal::Addresses(_) => {
                tell(&Event { is_last: false, ..*event });
                self.found(id, walk, event, now);
            }
        }
    }

    /// A search came to its end: who waits for it goes on.
    fn found(&mut self, id: Id, mut walk: Walk, event: &Event<'_>, now: Timestamp) {
        let Goal::Addresses(server) = &walk.goal else { return };
        let asked = Asked { name: &walk.name, rtype: walk.rtype, zone: &walk.zone };
        let (addresses, kept) = match &event.outcome {
            Outcome::Reply(reply, _) if is_use(reply) => meaning::addresses(reply, asked),
            // That it took too much is the fault of who asked for it.
            Outcome::Lost(Loss::Effort) => Default::default(),
            _ => (Vec::new(), DENIAL),
        };
        let server = server.clone();
        if addresses.is_empty() && self.families[1] && walk.rtype == Rtype::A.to_int() {
            // It may have one of the other family.
            walk.rtype = Rtype::AAAA.to_int();
            (walk.name, walk.question) = (server.clone(), Question::of(&server, walk.rtype));
            walk.enter(self.nearest(&server, walk.rtype, now));
            walk.aliases.clear();
            self.walks[id.place as usize] = Some(walk);
            return self.ready.push_back(id);
        }
        self.searches.remove(&server);
        // What may not be kept at all serves those who wait.
        let until = now + kept.max(Duration::from_secs(1));
        self.hosts.put(server, Host { addresses, until });
        for waiting in walk.waiting {
            if let Some(other) = self.walk(waiting) {
                other.awaits.retain(|awaited| *awaited != id);
                self.ready.push_back(waiting);
            }
        }
        self.free.push(id.place);
    }
}

impl Walk {
    /// Goes on with the servers of another zone.
    fn enter(&mut self, zone: Arc<Zone>) {
        self.zone = zone;
        self.shunned.clear();
        self.sought.clear();
        self.loss = Loss::Unreachable;
    }
}

/// True for a response that may lead on: what is cut off is not believed in part (RFC 2181 9).
fn is_use(reply: &Reply<'_>) -> bool {
    reply.verdict() == Verdict::Answer && !reply.is_truncated()
}
