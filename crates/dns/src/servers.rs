//! Whom to ask: how fast each may be asked, and who is left in peace.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use linerate_base::Timestamp;

/// How fast servers may be asked.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// The time between two queries to one server, on average.
    pub server: Duration,
    /// The time between two queries to servers of one network: a /24 of IPv4, a /48 of IPv6.
    pub network: Duration,
}

/// A server's number.
pub(crate) type Number = u32;

/// All servers that are known.
#[derive(Debug)]
pub(crate) struct Servers {
    limits: Limits,
    all: Vec<Server>,
    /// Numbers of those that were forgotten.
    free: Vec<Number>,
    by_address: HashMap<SocketAddr, Number>,
    /// By the first address of the network, where those have a limit.
    networks: HashMap<IpAddr, Bucket>,
    /// With whom the next search begins.
    turn: usize,
}

#[derive(Debug)]
struct Server {
    address: SocketAddr,
    /// No way leads to it.
    is_lost: bool,
    bucket: Bucket,
    /// Questions in a row that it did not answer.
    silences: u32,
    rests_until: Timestamp,
}

/// When a query would be due if all were evenly spaced (the generic cell rate algorithm of ITU-T I.371).
#[derive(Clone, Copy, Debug, Default)]
struct Bucket(Timestamp);

/// So far queries may be ahead of even spacing: they are sent in batches.
const BURST: Duration = Duration::from_millis(10);
/// After so many silences in a row a server rests, and twice as long after each further one.
const PATIENCE: u32 = 8;
const REST: Duration = Duration::from_secs(1);
/// The longest rest is this many times doubled.
const MOST_DOUBLED: u32 = 6;
/// At so many servers is looked for one that may be asked now.
const LOOKED_AT: usize = 8;

impl Servers {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            all: Vec::new(),
            free: Vec::new(),
            by_address: HashMap::new(),
            networks: HashMap::new(),
            turn: 0,
        }
    }

    /// The number of a server, which is new or known.
    pub(crate) fn add(&mut self, address: SocketAddr) -> Number {
        if let Some(number) = self.find(address) {
            return number;
        }
        let server = Server {
            address,
            is_lost: false,
            bucket: Bucket(Timestamp::EPOCH),
            silences: 0,
            rests_until: Timestamp::EPOCH,
        };
        let number = match self.free.pop() {
            Some(number) => {
                self.all[number as usize] = server;
                number
            }
            None => {
                self.all.push(server);
                self.all.len() as Number - 1
            }
        };
        self.by_address.insert(address, number);
        number
    }

    /// How many are known.
    pub(crate) fn count(&self) -> usize {
        self.by_address.len()
    }

    /// Forgets those that are not in use and may be asked at any time: they would be no different if they came again.
    pub(crate) fn forget(&mut self, now: Timestamp, is_used: impl Fn(Number) -> bool) {
        let numbers = self.by_address.values().copied();
        let idle = numbers.filter(|number| !is_used(*number) && self.free_at(*number) <= now);
        for number in idle.collect::<Vec<_>>() {
            self.by_address.remove(&self.all[number as usize].address);
            self.free.push(number);
        }
        self.networks.retain(|_, bucket| bucket.free_at() > now);
    }

    pub(crate) fn find(&self, address: SocketAddr) -> Option<Number> {
        self.by_address.get(&address).copied()
    }

    /// The server's address.
    pub(crate) fn at(&self, number: Number) -> SocketAddr {
        self.all[number as usize].address
    }

    /// No way leads to it: it is not asked any more.
    pub(crate) fn lose(&mut self, number: Number) {
        self.all[number as usize].is_lost = true;
    }

    /// The one of `candidates` who may be asked first, but not `avoid` if there are others; and when. The query counts. None if
    /// no way leads to any of them.
    pub(crate) fn book(
        &mut self,
        candidates: &[Number],
        avoid: Option<Number>,
        now: Timestamp,
    ) -> Option<(Number, Timestamp)> {
        self.turn = self.turn.wrapping_add(1);
        let count = candidates.len();
        let in_turn = (0..count).map(|step| candidates[(self.turn + step) % count]);
        let reached = in_turn.filter(|number| !self.all[*number as usize].is_lost);
        let mut best: Option<((bool, Timestamp), Number)> = None;
        for number in reached.take(LOOKED_AT) {
            let cost = (Some(number) == avoid, self.free_at(number).max(now));
            if best.is_none_or(|(least, _)| cost < least) {
                best = Some((cost, number));
            }
            if cost == (false, now) {
                break;
            }
        }
        let ((_, time), number) = best?;
        let server = &mut self.all[number as usize];
        server.bucket.take(self.limits.server, time);
        if !self.limits.network.is_zero() {
            let network = self.networks.entry(network(server.address.ip())).or_default();
            network.take(self.limits.network, time);
        }
        Some((number, time))
    }

    fn free_at(&self, number: Number) -> Timestamp {
        let server = &self.all[number as usize];
        let own = server.bucket.free_at().max(server.rests_until);
        if self.limits.network.is_zero() {
            return own;
        }
        let network = self.networks.get(&network(server.address.ip()));
        network.map_or(own, |network| own.max(network.free_at()))
    }

    /// It answered.
    pub(crate) fn answered(&mut self, number: Number) {
        self.all[number as usize].silences = 0;
    }

    /// It did not answer in time. True when it rests from now on.
    pub(crate) fn was_silent(&mut self, number: Number, now: Timestamp) -> bool {
        let server = &mut self.all[number as usize];
        // Those that were under way when its rest began tell nothing new.
        if now < server.rests_until {
            return false;
        }
        server.silences += 1;
        let Some(beyond) = server.silences.checked_sub(PATIENCE) else { return false };
        server.rests_until = now + REST * (1 << beyond.min(MOST_DOUBLED));
        true
    }
}

impl Bucket {
    fn free_at(self) -> Timestamp {
        self.0 - BURST
    }

    fn take(&mut self, interval: Duration, time: Timestamp) {
        self.0 = self.0.max(time) + interval;
    }
}

/// The first address of the network.
fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(address) => Ipv4Addr::from_bits(address.to_bits() & !0xff).into(),
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 80 << 80).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_parts(1_000, 0) + Duration::from_millis(millis)
    }

    fn servers(limits: Limits, addresses: &[&str]) -> (Servers, Vec<Number>) {
        let mut servers = Servers::new(limits);
        let add = |address: &&str| servers.add(address.parse().unwrap());
        let numbers = addresses.iter().map(add).collect();
        (servers, numbers)
    }

    fn book(
        servers: &mut Servers,
        candidates: &[Number],
        avoid: Option<Number>,
        millis: u64,
    ) -> (Number, Timestamp) {
        servers.book(candidates, avoid, at(millis)).expect("a way to one")
    }

    #[test]
    fn a_server_is_asked_at_its_rate_and_no_faster() {
        let limits = Limits { server: Duration::from_millis(100), network: Duration::ZERO };
        let (mut servers, all) = servers(limits, &["192.0.2.1:53"]);
        let times: Vec<_> = (0..4).map(|_| book(&mut servers, &all, None, 0).1).collect();
        assert_eq!(times, [at(0), at(90), at(190), at(290)]);
        assert_eq!(book(&mut servers, &all, None, 5_000).1, at(5_000), "what was not used is gone");
    }

    #[test]
    fn servers_of_a_network_share_its_rate() {
        let limits = Limits { server: Duration::ZERO, network: Duration::from_millis(100) };
        let (mut servers, all) =
            servers(limits, &["192.0.2.1:53", "192.0.2.200:53", "198.51.100.1:53"]);
        let times: Vec<_> = (0..4).map(|_| book(&mut servers, &all, None, 0).1).collect();
        assert_eq!(times.iter().filter(|time| **time == at(0)).count(), 2, "{times:?}");
        let (mut one, pair) = {
            let (servers, all) =
                self::servers(limits, &["[2001:db8::1]:53", "[2001:db8:0:9::1]:53"]);
            (servers, all)
        };
        assert_eq!(
            [book(&mut one, &pair, None, 0).1, book(&mut one, &pair, None, 0).1],
            [at(0), at(90)]
        );
    }

    #[test]
    fn all_have_their_turn_and_another_one_is_asked_again() {
        let (mut servers, all) =
            servers(Limits::default(), &["192.0.2.1:53", "192.0.2.2:53", "192.0.2.3:53"]);
        let mut counts = [0; 3];
        for _ in 0..30 {
            counts[book(&mut servers, &all, None, 0).0 as usize] += 1;
        }
        assert_eq!(counts, [10; 3]);
        assert!((0..9).all(|_| book(&mut servers, &all, Some(1), 0).0 != 1));
        assert_eq!(book(&mut servers, &all[1..2], Some(1), 0).0, 1, "there is no other");
    }

    #[test]
    fn who_is_silent_rests_for_longer_and_longer() {
        let (mut servers, all) = servers(Limits::default(), &["192.0.2.1:53", "192.0.2.2:53"]);
        let rests: Vec<_> = (0..9).map(|_| servers.was_silent(0, at(0))).collect();
        assert_eq!(rests, [[false; 7].as_slice(), &[true, false]].concat());
        assert!((0..9).all(|_| book(&mut servers, &all, None, 500).0 == 1));
        assert_eq!(book(&mut servers, &all[..1], None, 500), (0, at(1_000)));
        assert!(servers.was_silent(0, at(1_000)));
        assert_eq!(book(&mut servers, &all[..1], None, 1_500), (0, at(3_000)));
        servers.answered(0);
        assert!(!servers.was_silent(0, at(3_000)));
    }

    #[test]
    fn who_is_not_in_use_and_not_held_back_is_forgotten() {
        let limits =
            Limits { server: Duration::from_millis(100), network: Duration::from_millis(100) };
        let (mut servers, all) =
            servers(limits, &["192.0.2.1:53", "198.51.100.1:53", "203.0.113.1:53"]);
        let last = (0..3).map(|_| book(&mut servers, &all[..1], None, 0).1).last();
        assert_eq!(last, Some(at(190)));
        servers.forget(at(0), |number| number == 1);
        assert_eq!(servers.count(), 2);
        assert_eq!(servers.find("203.0.113.1:53".parse().unwrap()), None);
        assert_eq!(servers.add("203.0.113.9:53".parse().unwrap()), 2, "its number serves again");
        assert_eq!(book(&mut servers, &all[..1], None, 0).1, at(290), "its limit holds");
        servers.forget(at(9_000), |_| false);
        assert_eq!((servers.count(), servers.networks.len()), (0, 0));
    }

    #[test]
    fn a_server_that_comes_again_is_the_same() {
        let (mut servers, all) = servers(Limits::default(), &["192.0.2.1:53", "192.0.2.1:53"]);
        assert_eq!(all, [0, 0]);
        assert_eq!(servers.find("192.0.2.9:53".parse().unwrap()), None);
        assert_eq!(servers.add("[2001:db8::1]:53".parse().unwrap()), 1);
        assert_eq!(servers.at(1), "[2001:db8::1]:53".parse().unwrap());
    }

    #[test]
    fn to_whom_no_way_leads_is_not_asked_any_more() {
        let addresses: Vec<_> = (1..=20).map(|n| format!("192.0.2.{n}:53")).collect();
        let addresses: Vec<_> = addresses.iter().map(String::as_str).collect();
        let (mut servers, all) = servers(Limits::default(), &addresses);
        (0..20).filter(|number| ![3, 17].contains(number)).for_each(|lost| servers.lose(lost));
        for _ in 0..9 {
            assert_eq!(book(&mut servers, &all, Some(3), 0).0, 17);
        }
        servers.lose(17);
        assert_eq!(book(&mut servers, &all, Some(3), 0).0, 3, "there is no other");
        servers.lose(3);
        assert_eq!(servers.book(&all, None, at(0)), None);
    }
}
