//! By whom each of many destinations is reached: routers by the routes, neighbours one by one.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::time::{Duration, Instant};

use linerate_base::{ErrorKind, Hop, Result};
use linerate_sys::netlink;

use crate::Outlet;
use crate::space::Span;
use crate::template::Surroundings;

/// Neighbours that are asked for their hardware addresses at the same time: the kernel's table has room for 1,024
/// (`gc_thresh3`), those of others among them.
const MOST_ASKED: usize = 256;

/// How often it is looked who has answered.
const GLANCE: Duration = Duration::from_millis(10);

/// How long a neighbour has to answer: the kernel gives up after three seconds.
const PATIENCE: Duration = Duration::from_millis(3_500);

/// The ways of an interface, found out as they are asked for.
#[derive(Debug)]
pub struct Hops {
    outlet: Outlet,
    /// Of IPv4 and of IPv6.
    ways: [Ways; 2],
    neighbours: HashMap<IpAddr, Neighbour>,
    /// Those who are being asked, and since when.
    asked: Vec<(IpAddr, Instant)>,
    looked: Instant,
}

/// The ways to the addresses of a family.
#[derive(Debug)]
struct Ways {
    /// The last addresses before, and of, the prefixes of routes: from one to the next the way is the same.
    ends: BTreeSet<u128>,
    /// Those that are known, in order.
    known: Vec<Stretch>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stretch {
    first: u128,
    last: u128,
    way: Way,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// By a router with this hardware address.
    Router([u8; 6]),
    /// By the router at this address, which is asked for as neighbours are.
    By(IpAddr),
    /// Destinations are neighbours.
    Neighbours,
    /// No route leads there.
    Nowhere,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Neighbour {
    Known([u8; 6]),
    Asked,
    Silent,
}

impl Hops {
    /// The ways from `outlet`. Those to `destinations`, of IPv4 and of IPv6, are found out now, and their routers asked for their
    /// hardware addresses; neighbours are asked later.
    ///
    /// # Errors
    /// When a router does not answer, no route leads to any of the destinations, or the system does not tell its routes.
    pub fn find(outlet: &Outlet, destinations: [&[Span]; 2]) -> Result<Self> {
        let prefixes = netlink::route_prefixes()?;
        let mut hops = Self {
            outlet: outlet.clone().asking(),
            ways: [false, true].map(|is_ipv6| Ways::new(&prefixes, is_ipv6)),
            neighbours: HashMap::new(),
            asked: Vec::new(),
            looked: Instant::now(),
        };
        for (spans, is_ipv6) in destinations.into_iter().zip([false, true]) {
            spans.iter().try_for_each(|span| hops.explore(*span, is_ipv6))?;
        }
        hops.check()?;
        Ok(hops)
    }

    /// Finds out the ways to all of these addresses.
    fn explore(&mut self, span: Span, is_ipv6: bool) -> Result<()> {
        let mut next = Some(span.first);
        while let Some(first) = next.filter(|first| *first <= span.last) {
            let destination = address(first, is_ipv6);
            let stretch = stretch(&self.outlet, &mut self.ways, destination)?;
            if let Way::By(_) = stretch.way {
                stretch.way = Way::Router(self.outlet.next_hop(destination)?.mac);
            }
            next = stretch.last.checked_add(1);
        }
        Ok(())
    }

    /// That some way leads somewhere, if any were looked for.
    fn check(&self) -> Result<()> {
        let known = |is_ipv6: bool| self.ways[usize::from(is_ipv6)].known.iter();
        if [false, true].into_iter().flat_map(known).any(|stretch| stretch.way != Way::Nowhere) {
            return Ok(());
        }
        [false, true].into_iter().try_for_each(|is_ipv6| match known(is_ipv6).next() {
            // It says why not.
            Some(stretch) => self.outlet.neighbour(address(stretch.first, is_ipv6)).map(drop),
            None => Ok(()),
        })
    }

    /// How a destination is reached. Who is not known is asked, and nobody waits.
    ///
    /// # Errors
    /// When the kernel does not let this process ask neighbours, or does not tell its routes.
    pub fn to(&mut self, destination: IpAddr) -> Result<Hop> {
        match stretch(&self.outlet, &mut self.ways, destination)?.way {
            Way::Router(mac) => Ok(Hop::At(mac)),
            Way::By(router) => self.neighbour(router),
            Way::Neighbours => self.neighbour(destination),
            Way::Nowhere => Ok(Hop::Nowhere),
        }
    }

    /// The hardware address of the next hop to a destination, where it is known; nobody is asked.
    pub fn known(&self, destination: IpAddr) -> Option<[u8; 6]> {
        let (number, is_ipv6) = number(destination);
        let next = match self.ways[usize::from(is_ipv6)].get(number)? {
            Way::Router(mac) => return Some(mac),
            Way::By(router) => router,
            Way::Neighbours => destination,
            Way::Nowhere => return None,
        };
        match self.neighbours.get(&next)? {
            Neighbour::Known(mac) => Some(*mac),
            Neighbour::Asked | Neighbour::Silent => None,
        }
    }

    fn neighbour(&mut self, address: IpAddr) -> Result<Hop> {
        if !self.asked.is_empty() && self.looked.elapsed() >= GLANCE {
            self.look()?;
        }
        let known = match self.neighbours.get(&address) {
            Some(known) => *known,
            None if self.asked.len() == MOST_ASKED => return Ok(Hop::Asked),
            None => self.ask(address)?,
        };
        Ok(match known {
            Neighbour::Known(mac) => Hop::At(mac),
            Neighbour::Asked => Hop::Asked,
            Neighbour::Silent => Hop::Nowhere,
        })
    }

    /// Asks a neighbour whom the kernel does not know. Nobody is at the ends of a network, nor where the host is itself.
    fn ask(&mut self, address: IpAddr) -> Result<Neighbour> {
        let known = match self.outlet.may_be_neighbour(address) {
            false => Neighbour::Silent,
            true => match self.outlet.ask_ahead(address)? {
                Some(mac) => Neighbour::Known(mac),
                None => {
                    self.asked.push((address, Instant::now()));
                    Neighbour::Asked
                }
            },
        };
        self.neighbours.insert(address, known);
        Ok(known)
    }

    /// Looks who has answered.
    fn look(&mut self) -> Result<()> {
        self.looked = Instant::now();
        for (address, since) in std::mem::take(&mut self.asked) {
            let known = match self.outlet.answer(address)? {
                Some(Some(mac)) => Neighbour::Known(mac),
                None if since.elapsed() < PATIENCE => {
                    self.asked.push((address, since));
                    continue;
                }
                _ => Neighbour::Silent,
            };
            self.neighbours.insert(address, known);
        }
        Ok(())
    }
}

impl Ways {
    fn new(prefixes: &[(IpAddr, u8)], is_ipv6: bool) -> Self {
        let of_family = prefixes.iter().filter(|(address, _)| address.is_ipv6() == is_ipv6);
        let span = |(address, length): &(IpAddr, u8)| {
            let width = if is_ipv6 { 128 } else { 32 };
            Span::prefix(number(*address).0, (*length).into(), width)
        };
        let ends = of_family.map(span).flat_map(|s| [s.first.checked_sub(1), Some(s.last)]);
        Self { ends: ends.flatten().collect(), known: Vec::new() }
    }

    fn get(&self, number: u128) -> Option<Way> {
        let stretch = self.known.get(self.place(number))?;
        (stretch.first <= number).then_some(stretch.way)
    }

    /// The stretch with this address; where it is not known, `find` says what the way there is.
    fn stretch(
        &mut self,
        number: u128,
        find: impl FnOnce() -> Result<Way>,
    ) -> Result<&mut Stretch> {
        let place = self.place(number);
        if self.known.get(place).is_none_or(|stretch| number < stretch.first) {
            let before = self.ends.range(..number).next_back();
            let first = before.map_or(0, |end| end + 1);
            let last = self.ends.range(number..).next().copied().unwrap_or(u128::MAX);
            self.known.insert(place, Stretch { first, last, way: find()? });
        }
        Ok(&mut self.known[place])
    }

    /// Where the stretch with this address is, or would be.
    fn place(&self, number: u128) -> usize {
        self.known.partition_point(|stretch| stretch.last < number)
    }
}

/// The stretch with a destination.
fn stretch<'a>(
    outlet: &Outlet,
    ways: &'a mut [Ways; 2],
    destination: IpAddr,
) -> Result<&'a mut Stretch> {
    let (number, is_ipv6) = number(destination);
    ways[usize::from(is_ipv6)].stretch(number, || way(outlet, destination))
}

fn way(outlet: &Outlet, destination: IpAddr) -> Result<Way> {
    if outlet.is_loopback() {
        return Ok(Way::Router([0; 6]));
    }
    match outlet.neighbour(destination) {
        Ok((hop, _)) if hop == destination => Ok(Way::Neighbours),
        Ok((hop, _)) => Ok(Way::By(hop)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Way::Nowhere),
        Err(error) => Err(error),
    }
}

/// An address as a number, and whether it is one of IPv6.
fn number(address: IpAddr) -> (u128, bool) {
    match address {
        IpAddr::V4(address) => (address.to_bits().into(), false),
        IpAddr::V6(address) => (address.to_bits(), true),
    }
}

fn address(number: u128, is_ipv6: bool) -> IpAddr {
    match is_ipv6 {
        true => IpAddr::V6(number.into()),
        false => IpAddr::V4((number as u32).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_way_is_asked_for_once_between_two_ends() {
        let prefixes = [("10.0.0.0", 8), ("10.0.0.0", 24), ("10.0.0.1", 32), ("0.0.0.0", 0)];
        let prefixes = prefixes.map(|(address, length)| (address.parse().unwrap(), length));
        let mut ways = Ways::new(&prefixes, false);
        let number = |text: &str| number(text.parse().unwrap()).0;
        let mut asked = Vec::new();
        for to in ["10.2.0.0", "10.0.0.9", "10.0.0.1", "10.0.0.200", "10.255.0.0", "12.0.0.0"] {
            let way = Way::Router([asked.len() as u8; 6]);
            let find = || {
                asked.push(to);
                Ok(way)
            };
            ways.stretch(number(to), find).unwrap();
        }
        assert_eq!(asked, ["10.2.0.0", "10.0.0.9", "10.0.0.1", "12.0.0.0"]);
        let found = |text: &str| match ways.get(number(text)) {
            Some(Way::Router([place, ..])) => Some(asked[usize::from(place)]),
            _ => None,
        };
        assert_eq!(found("10.0.1.0"), Some("10.2.0.0"));
        assert_eq!(found("10.0.0.2"), Some("10.0.0.9"));
        assert_eq!(found("255.255.255.255"), Some("12.0.0.0"));
        assert_eq!((found("10.0.0.0"), found("9.255.255.255")), (None, None));
    }

    proptest! {
        #[test]
        fn each_destination_has_its_way(
            prefixes in prop::collection::vec((0..32_u32, 27..=32_u8), 0..8),
            destinations in prop::collection::vec(0..40_u128, 1..20),
        ) {
            // The longest prefix that contains an address decides.
            let prefixes: Vec<_> = prefixes
                .iter()
                .map(|(at, length)| {
                    let first = Span::prefix((*at).into(), (*length).into(), 32).first as u32;
                    (IpAddr::V4(first.into()), *length)
                })
                .collect();
            let way = |number: u128| {
                let has = |(address, length): &&(IpAddr, u8)| {
                    let span = Span::prefix(super::number(*address).0, (*length).into(), 32);
                    (span.first..=span.last).contains(&number)
                };
                let best = prefixes.iter().filter(has).map(|(_, length)| *length).max();
                best.map_or(Way::Nowhere, |length| Way::Router([length; 6]))
            };
            let mut ways = Ways::new(&prefixes, false);
            for number in destinations {
                let found = *ways.stretch(number, || Ok(way(number))).unwrap();
                prop_assert_eq!(found.way, way(number), "{}", number);
                prop_assert!((found.first..=found.last).contains(&number));
            }
            for number in 0..40 {
                prop_assert!(ways.get(number).is_none_or(|found| found == way(number)));
            }
        }
    }
}
