//! Whatever wires do: every stream that is received equals the one that was sent, nothing is left behind, and what is
//! dead ends.

use std::time::Duration;

use linerate_base::{Batch, Descriptor, Interface, LinkType, Slots, Timestamp};
use linerate_tcp::faults::{FaultBox, Faults};
use linerate_tcp::{Application, Client, Config, End, Flow, Local, Next, Refusal};

use crate::peer::{REQUEST, Servers, byte};

/// Runs with different seeds. (`LINERATE_SEEDS=100000` makes a longer campaign.)
const SEEDS: u64 = 4_000;

/// Numbers that look random: splitmix64.
struct Dice(u64);

impl Dice {
    fn below(&mut self, count: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) % count
    }

    /// Often 0, else up to `most`.
    fn share(&mut self, most: f64) -> f64 {
        if self.below(2) == 0 { 0.0 } else { self.below(1_000) as f64 / 1_000.0 * most }
    }
}

/// Who says that it is over, once all answers are there.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Ending {
    Server,
    Client,
    Abort,
}

/// A connection as its user sees it.
#[derive(Debug)]
struct Session {
    /// Lengths of each request and of its answer.
    exchanges: Vec<(u32, u32)>,
    ending: Ending,
    number: Option<u32>,
    asked: usize,
    received: u32,
    end: Option<End>,
    /// When it ended.
    at: Timestamp,
}

impl Session {
    fn ask(&mut self) -> Next {
        self.asked += 1;
        Next::Send(self.exchanges[self.asked - 1].0)
    }

    /// All bytes that it sends.
    fn stream(&self) -> Vec<u8> {
        let last = self.exchanges.len() - 1;
        let request = |(index, (length, answer)): (usize, &(u32, u32))| {
            let closes = index == last && self.ending == Ending::Server;
            let mut request = [answer.to_le_bytes(), length.to_le_bytes()].concat();
            request.push(closes.into());
            request.extend((REQUEST as u32..*length).map(|n| byte(1, n)));
            request
        };
        self.exchanges.iter().enumerate().flat_map(request).collect()
    }

    fn expected(&self, exchanges: usize) -> u32 {
        self.exchanges[..exchanges].iter().map(|(_, answer)| answer).sum()
    }
}

struct User {
    sessions: Vec<Session>,
    refused: usize,
    /// Connections that servers, which could not be told that it is over, began again.
    revived: Vec<u32>,
    now: Timestamp,
}

const FIRST_PORT: u16 = 40_000;

impl User {
    fn session(&mut self, connection: u32) -> &mut Session {
        let is =
            |session: &&mut Session| session.number == Some(connection) && session.end.is_none();
        self.sessions.iter_mut().find(is).expect("a connection that is open")
    }
}

impl Application for User {
    fn opened(&mut self, connection: u32, flow: &Flow, _rtt: Option<Duration>) -> Next {
        let session = &mut self.sessions[usize::from(flow.local.port() - FIRST_PORT)];
        if session.number.is_some() {
            let is_late = session.end.is_some() && self.now >= session.at + LINGER;
            assert!(is_late, "opened again: {session:?}");
            self.revived.push(connection);
            return Next::Abort;
        }
        session.number = Some(connection);
        session.ask()
    }

    fn write(&mut self, connection: u32, _: &Flow, offset: u32, into: &mut [u8]) {
        let stream = self.session(connection).stream();
        into.copy_from_slice(&stream[offset as usize..offset as usize + into.len()]);
    }

    fn received(&mut self, connection: u32, data: &[u8]) -> Next {
        let session = self.session(connection);
        for found in data {
            assert_eq!(*found, byte(0, session.received), "{session:?}");
            session.received += 1;
        }
        match session.received == session.expected(session.asked) {
            false => Next::Wait,
            true if session.asked < session.exchanges.len() => session.ask(),
            true => match session.ending {
                Ending::Server => Next::Wait,
                Ending::Client => Next::Close,
                Ending::Abort => Next::Abort,
            },
        }
    }

    fn ended(&mut self, connection: u32, _: &Flow, end: End) {
        if self.revived.contains(&connection) {
            return self.revived.retain(|revived| *revived != connection);
        }
        let now = self.now;
        let session = self.session(connection);
        (session.end, session.at) = (Some(end), now);
    }

    fn refused(&mut self, _flow: &Flow, _refusal: Refusal) {
        self.refused += 1;
    }
}

/// The client, the servers, and a wire for each direction.
struct World {
    client: Client,
    user: User,
    servers: Servers,
    out: FaultBox,
    back: FaultBox,
    now: Timestamp,
    six: bool,
}

const SLOT: usize = 1_514;
const LIFETIME: Duration = Duration::from_secs(20);
const LINGER: Duration = Duration::from_secs(3);

impl World {
    fn new(seed: u64) -> Self {
        let mut dice = Dice(seed);
        let six = dice.below(2) == 1;
        let faults = |dice: &mut Dice| Faults {
            loss: dice.share(0.2),
            duplication: dice.share(0.3),
            reordering: dice.share(0.5),
            corruption: dice.share(0.1),
            resegmentation: dice.share(0.5),
            delay: Duration::from_millis(dice.below(30)),
            held: Duration::from_millis(dice.below(60)),
        };
        let (out, back) = (faults(&mut dice), faults(&mut dice));
        let session = |dice: &mut Dice| Session {
            exchanges: (0..1 + dice.below(3))
                .map(|_| (REQUEST as u32 + dice.below(4_000) as u32, 1 + dice.below(30_000) as u32))
                .collect(),
            ending: [Ending::Server, Ending::Client, Ending::Abort][dice.below(3) as usize],
            number: None,
            asked: 0,
            received: 0,
            end: None,
            at: Timestamp::EPOCH,
        };
        let sessions: Vec<_> = (0..1 + dice.below(4)).map(|_| session(&mut dice)).collect();
        let buffer = 1_000 + dice.below(20_000) as usize;
        let servers = Servers::new(six, sessions.len() + 4, buffer, dice.below(2) == 0);
        let address = if six { "fd00::1" } else { "10.0.0.1" }.parse().unwrap();
        let local = Local { address, ports: FIRST_PORT..=50_000, mac: [2; 6] };
        // Some runs begin just before the clock of timers and timestamps wraps.
        let before_wrap = (1_i64 << 32) - 2_000;
        let now =
            Timestamp::from_nanos(1_000_000 * if dice.below(4) == 0 { before_wrap } else { 5 });
        let config = Config {
            lifetime: LIFETIME,
            linger: LINGER,
            window: 2_000 + dice.below(100_000) as u32,
            disorder: if dice.below(4) == 0 { 4_000 } else { 1 << 20 },
            connections: 8,
            ..Config::new(vec![local], [seed as u8; 16])
        };
        let client = Client::new(config, now).unwrap();
        let user = User { sessions, refused: 0, revived: vec![], now };
        let (out, back) = (FaultBox::new(out, seed), FaultBox::new(back, !seed));
        Self { client, user, servers, out, back, now, six }
    }

    /// Sends SYNs for what is not open yet.
    fn knock(&mut self) {
        let remote = if self.six { "[fd00::2]:80" } else { "10.0.0.2:80" }.parse().unwrap();
        for (index, session) in self.user.sessions.iter().enumerate() {
            if session.number.is_none() {
                let mut slot = [0; SLOT];
                let port = FIRST_PORT + index as u16;
                let length = self.client.syn(&mut slot, 0, port, remote, [2; 6], self.now);
                self.out.push(&slot[..length], self.now);
            }
        }
    }

    /// Lets everybody do what is to be done now.
    fn turn(&mut self) {
        self.user.now = self.now;
        while let Some(frame) = self.out.pop(self.now) {
            self.servers.push(&frame);
        }
        self.servers.poll(self.now);
        while let Some(frame) = self.servers.pop() {
            self.back.push(&frame, self.now);
        }
        let (mut region, mut descriptors) = (vec![], vec![]);
        while let Some(frame) = self.back.pop(self.now) {
            let (offset, captured) = (region.len() as u32, frame.len() as u32);
            descriptors.push(Descriptor {
                offset,
                captured,
                length: captured,
                ..Descriptor::default()
            });
            region.extend(frame);
        }
        let interfaces = [Interface { link_type: LinkType::ETHERNET, ..Interface::default() }];
        let batch = Batch::new(&region, &descriptors, &interfaces);
        self.client.receive(&batch, self.now, &mut self.user);
        self.client.advance(self.now, &mut self.user);
        self.transmit();
    }

    fn transmit(&mut self) {
        loop {
            let (mut region, mut lengths) = (vec![0; 4 * SLOT], vec![]);
            let mut slots = Slots::new(&mut region, SLOT, 0, &mut lengths);
            self.client.fill(&mut slots, &|_| Some([2; 6]), &mut self.user);
            for (slot, length) in region.chunks(SLOT).zip(&lengths) {
                self.out.push(&slot[..*length as usize], self.now);
            }
            if lengths.len() < 4 {
                return;
            }
        }
    }

    /// From now on nothing comes through, and time passes until nothing is left.
    fn cut(&mut self) {
        let cut = Faults { loss: 1.0, ..Faults::default() };
        (self.out, self.back) = (FaultBox::new(cut, 0), FaultBox::new(cut, 0));
        self.run(Duration::ZERO, LIFETIME + LINGER + Duration::from_secs(1));
    }

    /// Goes on to when something may happen.
    fn pass(&mut self) {
        let step = Duration::from_millis(10);
        let next = [self.out.next(), self.back.next()].into_iter().flatten().min();
        let least = self.now + Duration::from_millis(1);
        self.now = next.unwrap_or(self.now + step).clamp(least, self.now + step);
    }

    /// Runs until the client keeps nothing any more, or for so long at most.
    fn run(&mut self, knocking: Duration, most: Duration) {
        let start = self.now;
        let mut knocked = None;
        while self.now < start + most {
            let is_time = knocked.is_none_or(|at| self.now >= at + Duration::from_millis(400));
            if is_time && self.now < start + knocking {
                knocked = Some(self.now);
                self.knock();
            }
            self.turn();
            let is_open = |session: &Session| session.number.is_some();
            if self.client.is_idle() && self.user.sessions.iter().all(is_open) {
                return;
            }
            self.pass();
        }
    }
}

fn seeds() -> u64 {
    std::env::var("LINERATE_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(SEEDS)
}

#[test]
fn streams_are_whole_and_nothing_is_left() {
    let (mut closed, mut all) = (0, 0);
    for seed in 0..seeds() {
        let mut world = World::new(seed);
        world.run(Duration::from_secs(5), LIFETIME + LINGER + Duration::from_secs(7));
        world.cut();
        assert!(world.client.is_idle(), "{seed}: {:?}", world.client);
        for session in &world.user.sessions {
            let whole = session.received == session.expected(session.exchanges.len());
            match session.end {
                Some(End::Closed | End::Aborted) => assert!(whole, "{seed}: {session:?}"),
                None => assert_eq!(session.number, None, "{seed}"),
                Some(End::Reset | End::Silent | End::Expired) => {}
            }
            closed += u32::from(whole);
            all += 1;
        }
    }
    // Some wires are too bad for anything.
    assert!(closed * 10 > all * 9, "{closed} of {all} were whole");
}

#[test]
fn on_a_good_wire_every_connection_is_whole() {
    for seed in 0..100 {
        let mut world = World::new(seed);
        world.out = FaultBox::new(Faults::default(), 0);
        world.back = FaultBox::new(Faults::default(), 0);
        world.run(Duration::from_secs(1), Duration::from_secs(40));
        assert!(world.client.is_idle(), "{seed}: {:?}", world.client);
        for session in &world.user.sessions {
            let end = if session.ending == Ending::Abort { End::Aborted } else { End::Closed };
            assert_eq!(session.end, Some(end), "{seed}: {session:?} {:?}", world.client.counters());
            assert_eq!(session.received, session.expected(session.exchanges.len()));
        }
        let counters = world.client.counters();
        assert_eq!((counters.damaged, counters.again), (0, 0), "{seed}: {counters:?}");
    }
}

#[test]
fn timers_end_what_is_dead() {
    for seed in 0..300 {
        let mut world = World::new(seed);
        world.run(Duration::from_secs(1), Duration::from_millis(20 + seed));
        let opened: Vec<_> = world.user.sessions.iter().map(|s| s.number.is_some()).collect();
        world.cut();
        assert!(world.client.is_idle(), "{seed}: {:?}", world.client);
        for (session, opened) in world.user.sessions.iter().zip(opened) {
            assert_eq!(session.end.is_some(), opened, "{seed}: {session:?}");
        }
    }
}
