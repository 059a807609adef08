//! By whom each of many destinations is reached: routers by the routes, neighbours one by one.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::time::{Duration, Instant};

use linerate_base::{ErrorKind, Result};
use linerate_sys::netlink;

use crate::Outlet;
use crate::space::Span;
use crate::template::{NextHop, Surroundings};

/// Neighbours that are asked for their hardware addresses at the same time: the kernel's table has room for 1,024
/// (`gc_thresh3`), those of others among them.
const MOST_ASKED: usize = 256;

/// How often it is looked who has answered.
const GLANCE: Duration = Duration::from_millis(10);

/// How long a neighbour has to answer: the kernel gives up after three seconds.
const PATIENCE: Duration = Duration::from_millis(3_500);

/// The ways of an interface to some destinations.
#[derive(Debug)]
pub struct Hops {
    outlet: Outlet,
    /// Of IPv4 and of IPv6, in order: between two ends of routes the way is the same.
    stretches: [Vec<Stretch>; 2],
    neighbours: HashMap<IpAddr, Neighbour>,
    /// Those who are being asked, and since when.
    asked: Vec<(IpAddr, Instant)>,
    looked: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stretch {
    last: u128,
    way: Way,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// By a router with this hardware address.
    Router([u8; 6]),
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

/// How a destination is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hop {
    /// By whom has this hardware address.
    At([u8; 6]),
    /// It is a neighbour who is being asked, or will be: ask again later.
    Asked,
    /// Not at all: no route leads there, or the neighbour did not answer.
    Nowhere,
}

impl Hops {
    /// The ways from `outlet` to destinations of IPv4 and of IPv6, both in order. Routers are asked for their hardware
    /// addresses now, neighbours later.
    ///
    /// # Errors
    /// When a router does not answer, no route leads to any destination, or the system does not tell its routes.
    pub fn find(outlet: &Outlet, destinations: [&[Span]; 2]) -> Result<Self> {
        let outlet = outlet.clone().asking();
        let prefixes = netlink::route_prefixes()?;
        let mut refused = None;
        let [ipv4, ipv6] = [false, true].map(|is_ipv6| {
            let ends = ends(&prefixes, is_ipv6);
            stretches(destinations[usize::from(is_ipv6)], &ends, |number| {
                way(&outlet, address(number, is_ipv6), &mut refused)
            })
        });
        let stretches = [ipv4?, ipv6?];
        let is_nowhere = |stretch: &Stretch| stretch.way == Way::Nowhere;
        match refused {
            Some(error) if stretches.iter().flatten().all(is_nowhere) => Err(error),
            _ => Ok(Self {
                outlet,
                stretches,
                neighbours: HashMap::new(),
                asked: Vec::new(),
                looked: Instant::now(),
            }),
        }
    }

    /// How a destination is reached, one of those that the ways were found to.
    ///
    /// # Errors
    /// When the kernel does not let this process ask neighbours.
    pub fn to(&mut self, destination: IpAddr) -> Result<Hop> {
        match self.way(destination) {
            Way::Router(mac) => Ok(Hop::At(mac)),
            Way::Nowhere => Ok(Hop::Nowhere),
            Way::Neighbours => self.neighbour(destination),
        }
    }

    fn way(&self, destination: IpAddr) -> Way {
        let (number, stretches) = match destination {
            IpAddr::V4(address) => (address.to_bits().into(), &self.stretches[0]),
            IpAddr::V6(address) => (address.to_bits(), &self.stretches[1]),
        };
        let place = stretches.partition_point(|stretch| stretch.last < number);
        stretches.get(place).map_or(Way::Nowhere, |stretch| stretch.way)
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

/// The way to a destination; why there is none goes to `refused`.
fn way(outlet: &Outlet, to: IpAddr, refused: &mut Option<linerate_base::Error>) -> Result<Way> {
    if outlet.is_loopback() {
        return Ok(Way::Router([0; 6]));
    }
    match outlet.neighbour(to) {
        Ok((hop, _)) if hop == to => Ok(Way::Neighbours),
        Ok(_) => outlet.next_hop(to).map(|NextHop { mac, .. }| Way::Router(mac)),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            refused.get_or_insert(error);
            Ok(Way::Nowhere)
        }
        Err(error) => Err(error),
    }
}

fn address(number: u128, is_ipv6: bool) -> IpAddr {
    match is_ipv6 {
        true => IpAddr::V6(number.into()),
        false => IpAddr::V4((number as u32).into()),
    }
}

/// The last addresses before, and of, the prefixes of a family.
fn ends(prefixes: &[(IpAddr, u8)], is_ipv6: bool) -> BTreeSet<u128> {
    let of_family = prefixes.iter().filter(|(address, _)| address.is_ipv6() == is_ipv6);
    let span = |(address, length): &(IpAddr, u8)| match address {
        IpAddr::V4(address) => Span::prefix(address.to_bits().into(), (*length).into(), 32),
        IpAddr::V6(address) => Span::prefix(address.to_bits(), (*length).into(), 128),
    };
    of_family
        .map(span)
        .flat_map(|span| [span.first.checked_sub(1), Some(span.last)])
        .flatten()
        .collect()
}

/// The ways to all destinations: one is asked for at the first of them behind each end.
fn stretches(
    destinations: &[Span],
    ends: &BTreeSet<u128>,
    mut way: impl FnMut(u128) -> Result<Way>,
) -> Result<Vec<Stretch>> {
    let mut all: Vec<Stretch> = Vec::new();
    for span in destinations {
        let mut next = Some(span.first);
        if let Some(known) = all.last().filter(|known| known.last >= span.first) {
            next = known.last.checked_add(1);
        }
        while let Some(first) = next.filter(|first| *first <= span.last) {
            let last = ends.range(first..).next().copied().unwrap_or(u128::MAX);
            all.push(Stretch { last, way: way(first)? });
            next = last.checked_add(1);
        }
    }
    // What goes the same way is one stretch, whoever asks.
    all.dedup_by(|next, known| {
        let is_same = next.way == known.way;
        known.last = if is_same { next.last } else { known.last };
        is_same
    });
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_way_is_asked_for_once_between_two_ends() {
        let prefixes = [("10.0.0.0", 8), ("10.0.0.0", 24), ("10.0.0.1", 32), ("0.0.0.0", 0)];
        let prefixes = prefixes.map(|(address, length)| (address.parse().unwrap(), length));
        let number = |text: &str| u128::from(text.parse::<std::net::Ipv4Addr>().unwrap().to_bits());
        let span = |first: &str, last: &str| Span::new(number(first), number(last)).unwrap();
        let targets = [
            span("10.0.0.1", "10.0.0.1"),
            span("10.0.0.9", "10.2.0.0"),
            span("10.9.0.0", "11.0.0.0"),
        ];
        let mut asked = Vec::new();
        let found = stretches(&targets, &ends(&prefixes, false), |first| {
            asked.push(first);
            Ok(if first < number("10.0.1.0") {
                Way::Neighbours
            } else {
                Way::Router([first as u8; 6])
            })
        });
        let expected = ["10.0.0.1", "10.0.0.9", "10.0.1.0", "11.0.0.0"].map(number);
        assert_eq!(asked, expected);
        let lasts: Vec<_> = found.unwrap().iter().map(|stretch| stretch.last).collect();
        assert_eq!(lasts, [number("10.0.0.255"), number("255.255.255.255")]);
    }

    proptest! {
        #[test]
        fn each_destination_has_its_way(
            prefixes in prop::collection::vec((0..32_u32, 27..=32_u8), 0..8),
            starts in prop::collection::vec((0..32_u128, 0..4_u128), 1..6),
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
                    let IpAddr::V4(address) = address else { return false };
                    let span = Span::prefix(address.to_bits().into(), (*length).into(), 32);
                    (span.first..=span.last).contains(&number)
                };
                let best = prefixes.iter().filter(has).map(|(_, length)| *length).max();
                best.map_or(Way::Nowhere, |length| Way::Router([length; 6]))
            };
            let spans = starts.iter().filter_map(|(at, more)| Span::new(*at, at + more)).collect();
            let spans = crate::space::merged(spans);
            let found = stretches(&spans, &ends(&prefixes, false), |first| Ok(way(first))).unwrap();
            for span in spans {
                for number in span.first..=span.last {
                    let place = found.partition_point(|stretch| stretch.last < number);
                    prop_assert_eq!(found[place].way, way(number), "{}", number);
                }
            }
        }
    }
}
