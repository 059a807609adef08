//! Questions under way.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use etherparse::IpNumber;
use linerate_base::{Hop, Result, Timestamp, Ways};
use linerate_tcp::frame::{Packet, Path};
use linerate_tcp::{Flow, Key};

use crate::Question;
use crate::message::{LONGEST_QUERY, Manner, Reply, Verdict, write_query};
use crate::numbers::{Numbers, Query};
use crate::servers::{Limits, Number, Servers};
use crate::walk::{Loss, Zone};

/// How questions are asked.
#[derive(Clone, Debug)]
pub struct Config {
    /// The hardware address that frames are from.
    pub mac: [u8; 6],
    /// The addresses that queries are from, one of each family that there are servers of.
    pub sources: Vec<IpAddr>,
    /// The ports that queries are from.
    pub ports: RangeInclusive<u16>,
    /// A secret, random and new for each run: who knows it can forge answers.
    pub key: [u8; 16],
    /// How queries are asked.
    pub manner: Manner,
    /// How fast servers may be asked.
    pub limits: Limits,
    /// How long an answer is waited for.
    pub timeout: Duration,
    /// Times that a question is asked, at least once.
    pub attempts: u8,
    /// Questions under way at once, at most.
    pub window: usize,
    /// What does not fit a datagram is asked for again over TCP, by who drives it.
    pub streams: bool,
}

/// Whom a question may be put to: [`Asker::server`]'s numbers.
pub type Candidates = Arc<[u32]>;

/// Many questions at once.
///
/// Whoever drives it gives it questions as long as there is [room](Self::room), has it [write](Self::write) what may leave, shows
/// it [what came](Self::hear), and lets it see that [time passes](Self::expire).
#[derive(Debug)]
pub struct Asker {
    config: Config,
    numbers: Numbers,
    servers: Servers,
    slots: Vec<Option<Pending>>,
    free: Vec<u32>,
    /// To be asked as soon as a server may be.
    ready: VecDeque<Ticket>,
    /// To be asked at a time.
    booked: BinaryHeap<Reverse<(Timestamp, Ticket)>>,
    /// When who has not answered yet is late; in order, as all have the same time.
    late: VecDeque<(Timestamp, Ticket)>,
    /// To be asked over TCP.
    streams: VecDeque<Ticket>,
    serial: u32,
    counters: Counters,
}

/// What happened so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Queries that were written.
    pub sent: u64,
    /// Answers to questions under way.
    pub answers: u64,
    /// Queries that were not answered in time.
    pub silent: u64,
    /// Messages that answer nothing that is under way: late, again, or somebody else's.
    pub unexpected: u64,
    /// Messages that break the rules.
    pub malformed: u64,
    /// Questions that were asked again over TCP.
    pub streamed: u64,
}

/// A question that is to be asked over TCP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    /// What [`Asker::streamed`] wants to have back.
    pub ticket: Ticket,
    /// Whom to ask.
    pub server: SocketAddr,
    /// The query, without its length.
    pub query: Vec<u8>,
}

/// A question as it was given.
#[derive(Debug)]
struct Asked {
    question: Question,
    tag: u64,
    whom: Candidates,
}

#[derive(Debug)]
struct Pending {
    asked: Asked,
    /// Its first ticket's serial: what tells it from others that were at its place before.
    birth: u32,
    /// Which time it is asked, from 0.
    attempt: u8,
    server: Option<Number>,
    sent: Timestamp,
    is_under_way: bool,
    /// This attempt goes on over TCP.
    is_streamed: bool,
    /// That of its latest ticket.
    serial: u32,
}

/// A question in a queue: it counts as long as its question has no later one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket {
    place: u32,
    serial: u32,
}

/// What became of a query.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// What was asked.
    pub question: &'a Question,
    /// What the question was given with.
    pub tag: u64,
    /// Which time it was asked, from 1.
    pub attempt: u8,
    /// Who was asked; nobody, where it came to its end without asking.
    pub server: Option<SocketAddr>,
    /// When it was sent; `None` when an earlier query than the last one is answered.
    pub sent: Option<Timestamp>,
    /// It came over TCP, or did not.
    pub is_streamed: bool,
    /// What came.
    pub outcome: Outcome<'a>,
    /// The question is not asked again.
    pub is_last: bool,
    /// At the end of a walk, where that came to.
    pub route: Option<Route<'a>>,
}

/// Where a walk came to.
#[derive(Clone, Copy, Debug)]
pub struct Route<'a> {
    /// The zone whose servers were asked last.
    pub zone: &'a Zone,
    /// The records by which the name is another's alias, of the zones that were left for it.
    pub aliases: &'a [String],
}

/// What came of a query.
#[derive(Clone, Copy, Debug)]
pub enum Outcome<'a> {
    /// A response at this time.
    Reply(Reply<'a>, Timestamp),
    /// A response that cannot be read, at this time.
    Malformed(Timestamp),
    /// Nothing.
    Silence,
    /// No query was sent, for this reason.
    Lost(Loss),
}

/// Told of what happens.
pub type Tell<'a> = dyn FnMut(&Event<'_>) + 'a;

/// When it is looked again whether the way to a server is known.
const GLANCE: Duration = Duration::from_millis(10);
/// Bytes of a UDP header.
const UDP: usize = 8;
/// Bytes of headers before a message, at most.
const HEADERS: usize = 14 + 40 + UDP;

impl Asker {
    /// One that has no question yet.
    pub fn new(config: Config) -> Self {
        Self {
            numbers: Numbers::new(Key::new(config.key), &config.ports, config.window),
            servers: Servers::new(config.limits),
            config,
            slots: Vec::new(),
            free: Vec::new(),
            ready: VecDeque::new(),
            booked: BinaryHeap::new(),
            late: VecDeque::new(),
            streams: VecDeque::new(),
            serial: 0,
            counters: Counters::default(),
        }
    }

    /// Makes a server known, and gives its number. It must be of a family that there is an address of our own of.
    pub fn server(&mut self, address: SocketAddr) -> u32 {
        self.servers.add(address)
    }

    /// The number of a server that is known.
    pub fn known_server(&self, address: SocketAddr) -> Option<u32> {
        self.servers.find(address)
    }

    /// How many servers are known.
    pub fn server_count(&self) -> usize {
        self.servers.count()
    }

    /// Forgets servers of which no question under way knows, but for those that may not be asked yet. Others may get their
    /// numbers.
    pub fn forget_servers(&mut self, now: Timestamp) {
        let pending = self.slots.iter().flatten();
        let used: HashSet<Number> =
            pending.flat_map(|pending| pending.asked.whom.iter().copied()).collect();
        self.servers.forget(now, |number| used.contains(&number));
    }

    /// How many more questions it takes.
    pub fn room(&self) -> usize {
        self.config.window.min(self.numbers.places()).saturating_sub(self.count())
    }

    /// True when no question is under way.
    pub fn is_idle(&self) -> bool {
        self.count() == 0
    }

    /// How many questions are under way.
    fn count(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Bytes of the longest frame that it writes.
    pub fn longest(&self) -> usize {
        HEADERS + LONGEST_QUERY
    }

    /// What happened so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Asks a question of one of the servers `whom`, and of others of them if that one does not answer. Events will tell its
    /// `tag`.
    ///
    /// # Panics
    /// When there is no server.
    pub fn ask(&mut self, question: Question, tag: u64, whom: Candidates) {
        assert!(!whom.is_empty(), "whom is to be asked?");
        let place = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() as u32 - 1
        });
        self.slots[place as usize] = Some(Pending {
            asked: Asked { question, tag, whom },
            birth: 0,
            attempt: 0,
            server: None,
            sent: Timestamp::EPOCH,
            is_under_way: false,
            is_streamed: false,
            serial: 0,
        });
        let ticket = self.ticket(place);
        self.pending(place).birth = ticket.serial;
        self.ready.push_back(ticket);
    }

    /// A new ticket, by which all earlier ones of the question become void.
    fn ticket(&mut self, place: u32) -> Ticket {
        self.serial = self.serial.wrapping_add(1);
        self.pending(place).serial = self.serial;
        Ticket { place, serial: self.serial }
    }

    /// The question of a ticket that is not void.
    fn holder(&mut self, ticket: Ticket) -> Option<&mut Pending> {
        let pending = self.slots[ticket.place as usize].as_mut();
        pending.filter(|pending| pending.serial == ticket.serial)
    }

    fn pending(&mut self, place: u32) -> &mut Pending {
        self.slots[place as usize].as_mut().expect("the question is under way")
    }

    /// True when a query may leave now, as far as is known.
    pub fn has_due(&self, now: Timestamp) -> bool {
        !self.ready.is_empty() || self.booked.peek().is_some_and(|Reverse((time, _))| *time <= now)
    }

    /// Writes a query that may leave now to `slot`, and gives its length. A question waits for who is asked for its hardware
    /// address, and goes to another server where no way leads to one; if there is none, that is its end.
    ///
    /// # Errors
    /// Those of `ways`.
    ///
    /// # Panics
    /// When `slot` is shorter than [`longest`](Self::longest).
    pub fn write(
        &mut self,
        now: Timestamp,
        slot: &mut [u8],
        ways: &mut Ways<'_>,
        tell: &mut Tell<'_>,
    ) -> Result<Option<usize>> {
        while let Some((place, server)) = self.next_due(now) {
            let Some(server) = server else {
                self.lose(place, tell);
                continue;
            };
            match ways(self.servers.at(server).ip())? {
                Hop::At(next_hop) => {
                    return Ok(Some(self.query(place, server, next_hop, now, slot)));
                }
                Hop::Asked => {
                    self.pending(place).server = Some(server);
                    let ticket = self.ticket(place);
                    self.booked.push(Reverse((now + GLANCE, ticket)));
                }
                Hop::Nowhere => {
                    self.servers.lose(server);
                    let ticket = self.ticket(place);
                    self.ready.push_back(ticket);
                }
            }
        }
        Ok(None)
    }

    fn query(
        &mut self,
        place: u32,
        server: Number,
        next_hop: [u8; 6],
        now: Timestamp,
        slot: &mut [u8],
    ) -> usize {
        let ticket = self.ticket(place);
        self.late.push_back((now + self.config.timeout, ticket));
        self.counters.sent += 1;
        let pending = self.pending(place);
        (pending.server, pending.sent, pending.is_under_way) = (Some(server), now, true);
        let query = pending.query();
        let address = self.servers.at(server);
        let (id, port) = self.numbers.of(address, place, query);
        let source = self.source(address.ip()).expect("an address of the server's family");
        let path = Path { mac: self.config.mac, next_hop, source, destination: address.ip() };
        let manner = self.config.manner;
        let question = &self.pending(place).asked.question;
        path.write(slot, IpNumber::UDP, 6, |datagram| {
            let (head, message) = datagram.split_at_mut(UDP);
            let length = UDP + write_query(message, id, question, manner);
            head[..2].copy_from_slice(&port.to_be_bytes());
            head[2..4].copy_from_slice(&address.port().to_be_bytes());
            head[4..6].copy_from_slice(&(length as u16).to_be_bytes());
            length
        })
    }

    /// The next question that may be asked now, and the server that it is booked with, if a way leads to any.
    fn next_due(&mut self, now: Timestamp) -> Option<(u32, Option<Number>)> {
        while let Some(Reverse((time, ticket))) = self.booked.peek().copied()
            && time <= now
        {
            self.booked.pop();
            if let Some(pending) = self.holder(ticket) {
                return Some((ticket.place, pending.server));
            }
        }
        while let Some(ticket) = self.ready.pop_front() {
            let pending = self.slots[ticket.place as usize].as_mut();
            let Some(pending) = pending.filter(|pending| pending.serial == ticket.serial) else {
                continue;
            };
            match self.servers.book(&pending.asked.whom, pending.server, now) {
                Some((server, time)) if time > now => {
                    pending.server = Some(server);
                    self.booked.push(Reverse((time, ticket)));
                }
                booked => return Some((ticket.place, booked.map(|(server, _)| server))),
            }
        }
        None
    }

    /// Shows it a frame that came at `time`. Frames of others are passed over.
    pub fn hear(&mut self, frame: &[u8], time: Timestamp, tell: &mut Tell<'_>) {
        let Some((flow, message)) = datagram(frame) else { return };
        if self.source(flow.remote.ip()) != Some(flow.local.ip()) {
            return;
        }
        let Some(reply) = Reply::parse(message) else {
            self.counters.malformed += 1;
            return;
        };
        match self.query_of(&flow, &reply) {
            Some((place, attempt)) => self.take(place, attempt, flow.remote, reply, time, tell),
            None => self.counters.unexpected += 1,
        }
    }

    /// Where the question is that a response with these ends is about, and which attempt it answers, of those made so far.
    fn query_of(&self, flow: &Flow, reply: &Reply<'_>) -> Option<(u32, u8)> {
        let port = flow.local.port();
        let place = self.numbers.place(flow.remote, reply.id(), port)?;
        let pending = self.slots.get(place as usize)?.as_ref()?;
        let birth = pending.birth;
        let made = pending.attempt + u8::from(pending.is_under_way);
        let mut attempts = (0..made).rev();
        let attempt = attempts.find(|attempt| {
            let query = Query { birth, attempt: *attempt };
            self.numbers.is_from(query, port)
        })?;
        reply.is_about(&pending.asked.question).then_some((place, attempt))
    }

    fn take(
        &mut self,
        place: u32,
        attempt: u8,
        from: SocketAddr,
        reply: Reply<'_>,
        time: Timestamp,
        tell: &mut Tell<'_>,
    ) {
        if let Some(server) = self.servers.find(from) {
            self.servers.answered(server);
        }
        if reply.is_truncated() && self.config.streams {
            return self.want_stream(place);
        }
        self.judge(place, attempt, from, reply, time, tell);
    }

    /// Tells of a response, whatever it is good for.
    fn judge(
        &mut self,
        place: u32,
        attempt: u8,
        from: SocketAddr,
        reply: Reply<'_>,
        time: Timestamp,
        tell: &mut Tell<'_>,
    ) {
        let is_sound = reply.is_truncated() || reply.is_sound();
        self.counters.answers += u64::from(is_sound);
        self.counters.malformed += u64::from(!is_sound);
        let is_good = is_sound && reply.verdict() == Verdict::Answer;
        let outcome = match is_sound {
            true => Outcome::Reply(reply, time),
            false => Outcome::Malformed(time),
        };
        self.conclude(place, attempt, from, outcome, is_good, tell);
    }

    /// The answer did not fit. It may come again.
    fn want_stream(&mut self, place: u32) {
        let pending = self.pending(place);
        if pending.is_streamed || !pending.is_under_way {
            self.counters.unexpected += 1;
            return;
        }
        pending.is_streamed = true;
        let ticket = self.ticket(place);
        self.streams.push_back(ticket);
        self.counters.streamed += 1;
    }

    /// The next question that is to be asked over TCP. It is waited for until [`streamed`](Self::streamed) tells what came of it.
    pub fn next_stream(&mut self, now: Timestamp) -> Option<Stream> {
        let ticket = self.streams.pop_front()?;
        let manner = self.config.manner;
        let pending = self.holder(ticket).expect("it is waited for");
        pending.sent = now;
        let sent = pending.query();
        let server = pending.server.expect("it was asked");
        let server = self.servers.at(server);
        let (id, _) = self.numbers.of(server, ticket.place, sent);
        let mut query = vec![0; LONGEST_QUERY];
        let length =
            write_query(&mut query, id, &self.pending(ticket.place).asked.question, manner);
        query.truncate(length);
        Some(Stream { ticket, server, query })
    }

    /// What came of a question over TCP at `time`: the message, or nothing.
    pub fn streamed(
        &mut self,
        ticket: Ticket,
        message: Option<&[u8]>,
        time: Timestamp,
        tell: &mut Tell<'_>,
    ) {
        let Some(pending) = self.holder(ticket) else { return };
        let (query, attempt) = (pending.query(), pending.attempt);
        let server = pending.server.expect("it was asked");
        let server = self.servers.at(server);
        let (id, _) = self.numbers.of(server, ticket.place, query);
        let question = &self.pending(ticket.place).asked.question;
        let answer = message
            .and_then(Reply::parse)
            .filter(|reply| reply.id() == id && reply.is_about(question));
        match (answer, message) {
            (Some(reply), _) => self.judge(ticket.place, attempt, server, reply, time, tell),
            (None, Some(_)) => {
                self.counters.malformed += 1;
                let outcome = Outcome::Malformed(time);
                self.conclude(ticket.place, attempt, server, outcome, false, tell);
            }
            (None, None) => {
                self.counters.silent += 1;
                self.conclude(ticket.place, attempt, server, Outcome::Silence, false, tell);
            }
        }
    }

    /// Time has passed: who has not answered is late.
    pub fn expire(&mut self, now: Timestamp, tell: &mut Tell<'_>) {
        while let Some((time, ticket)) = self.late.front().copied()
            && time <= now
        {
            self.late.pop_front();
            let Some(pending) = self.holder(ticket) else { continue };
            let (attempt, server) = (pending.attempt, pending.server.expect("it was asked"));
            self.counters.silent += 1;
            self.servers.was_silent(server, now);
            let address = self.servers.at(server);
            self.conclude(ticket.place, attempt, address, Outcome::Silence, false, tell);
        }
    }

    /// Tells what came of an attempt, and asks again if that is not enough.
    fn conclude(
        &mut self,
        place: u32,
        attempt: u8,
        server: SocketAddr,
        outcome: Outcome<'_>,
        is_enough: bool,
        tell: &mut Tell<'_>,
    ) {
        let most = self.config.attempts;
        let pending = self.pending(place);
        let is_current = pending.is_under_way && attempt == pending.attempt;
        let is_last = is_enough || is_current && attempt + 1 >= most;
        tell(&Event {
            question: &pending.asked.question,
            tag: pending.asked.tag,
            attempt: attempt + 1,
            server: Some(server),
            sent: is_current.then_some(pending.sent),
            is_streamed: is_current && pending.is_streamed,
            outcome,
            is_last,
            route: None,
        });
        if is_last {
            self.end(place);
        } else if is_current {
            pending.attempt += 1;
            (pending.is_under_way, pending.is_streamed) = (false, false);
            let ticket = self.ticket(place);
            self.ready.push_back(ticket);
        }
    }

    /// No way leads to any server.
    fn lose(&mut self, place: u32, tell: &mut Tell<'_>) {
        let pending = self.pending(place);
        tell(&Event {
            question: &pending.asked.question,
            tag: pending.asked.tag,
            attempt: pending.attempt,
            server: None,
            sent: None,
            is_streamed: false,
            outcome: Outcome::Lost(Loss::Unreachable),
            is_last: true,
            route: None,
        });
        self.end(place);
    }

    fn end(&mut self, place: u32) {
        if self.slots[place as usize].take().is_some() {
            self.free.push(place);
        }
    }

    /// Our address of the same family.
    fn source(&self, of: IpAddr) -> Option<IpAddr> {
        let mut sources = self.config.sources.iter();
        sources.find(|source| source.is_ipv4() == of.is_ipv4()).copied()
    }
}

impl Pending {
    /// The query that is made now.
    fn query(&self) -> Query {
        Query { birth: self.birth, attempt: self.attempt }
    }
}

/// The ends of a sound datagram of UDP in a frame, and its payload. A checksum that its sender's kernel left to a card, as on
/// virtual wires, is taken: the MAC tells whether it is an answer.
fn datagram(frame: &[u8]) -> Option<(Flow, &[u8])> {
    let packet = Packet::parse(frame)?;
    if packet.protocol != IpNumber::UDP {
        return None;
    }
    let (head, _) = packet.payload.split_first_chunk::<UDP>()?;
    let number = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
    let message = packet.payload.get(UDP..usize::from(number(4)))?;
    let field = [head[6], head[7]];
    // RFC 768: 0 means that there is none.
    let is_sound = field == [0, 0] || packet.is_sound() || packet.is_partial(field);
    let flow = Flow {
        local: SocketAddr::new(packet.destination, number(2)),
        remote: SocketAddr::new(packet.source, number(0)),
    };
    is_sound.then_some((flow, message))
}
