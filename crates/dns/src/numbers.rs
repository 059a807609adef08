//! Numbers and ports of queries: from those of an answer the place of its question is read, by who has the key.

use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;

use linerate_tcp::Key;

/// How a query is known again.
///
/// The port is a MAC of which query of a run this is, and the number is the question's place under a mask that is a MAC of
/// server and port. To everybody else both look random: who forges an answer has to guess them together.
#[derive(Debug)]
pub(crate) struct Numbers {
    key: Key,
    first_port: u16,
    /// Ports among which chance decides.
    ports: u32,
    /// Where a number has not enough bits for all places, the port has the rest: its remainder by this.
    parts: u32,
}

/// What a number can tell apart.
const PLACES: usize = 1 << 16;

/// A query: which question of a run it is about, and which time that is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Query {
    pub(crate) birth: u32,
    pub(crate) attempt: u8,
}

impl Numbers {
    /// Numbers for so many places at least, if there are enough ports.
    pub(crate) fn new(key: Key, ports: &RangeInclusive<u16>, places: usize) -> Self {
        let count = u32::from(*ports.end()) - u32::from(*ports.start()) + 1;
        let parts = (places.div_ceil(PLACES) as u32).clamp(1, count);
        Self { key, first_port: *ports.start(), ports: count / parts, parts }
    }

    /// How many places there can be.
    pub(crate) fn places(&self) -> usize {
        PLACES * self.parts as usize
    }

    /// The number and the port of a query to `server` about the question at `place`.
    pub(crate) fn of(&self, server: SocketAddr, place: u32, query: Query) -> (u16, u16) {
        let offset = self.choice(query) * self.parts + (place >> 16);
        let port = self.first_port + offset as u16;
        (place as u16 ^ self.mask(server, port), port)
    }

    /// Where the question is that this number and port are about, if they are of a query at all.
    pub(crate) fn place(&self, server: SocketAddr, id: u16, port: u16) -> Option<u32> {
        let offset = u32::from(port.checked_sub(self.first_port)?);
        let low = u32::from(id ^ self.mask(server, port));
        (offset < self.ports * self.parts).then_some(((offset % self.parts) << 16) | low)
    }

    /// True when queries like this are from `port`.
    pub(crate) fn is_from(&self, query: Query, port: u16) -> bool {
        u32::from(port - self.first_port) / self.parts == self.choice(query)
    }

    fn choice(&self, query: Query) -> u32 {
        let [a, b, c, d] = query.birth.to_le_bytes();
        let chance = self.key.of(&[a, b, c, d, query.attempt]).hidden();
        ((u64::from(chance) * u64::from(self.ports)) >> 32) as u32
    }

    fn mask(&self, server: SocketAddr, port: u16) -> u16 {
        let mut bytes = [0; 16 + 2 + 2];
        match server.ip() {
            IpAddr::V4(address) => bytes[..4].copy_from_slice(&address.octets()),
            IpAddr::V6(address) => bytes[..16].copy_from_slice(&address.octets()),
        }
        bytes[16..18].copy_from_slice(&server.port().to_le_bytes());
        bytes[18..].copy_from_slice(&port.to_le_bytes());
        self.key.of(&bytes).0 as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn numbers(ports: RangeInclusive<u16>, places: usize) -> Numbers {
        Numbers::new(Key::new([3; 16]), &ports, places)
    }

    #[test]
    fn there_are_as_many_places_as_ports_allow() {
        let places = |ports, places| numbers(ports, places).places();
        assert_eq!(places(61_000..=65_535, 1), 65_536);
        assert_eq!(places(61_000..=65_535, 10_000_000), 153 * 65_536);
        assert_eq!(places(5_000..=5_000, 10_000_000), 65_536);
        assert_eq!(places(0..=65_535, 1), 65_536);
    }

    proptest! {
        #[test]
        fn the_place_is_read_back_and_by_the_server_only(
            place: u32, birth: u32, attempt: u8, first: u16, more in 0..5_000_u16,
            size in 1..10_000_000_usize, server: [u8; 4],
        ) {
            let ports = first..=first.saturating_add(more);
            let numbers = numbers(ports.clone(), size);
            let place = place % numbers.places() as u32;
            let server = SocketAddr::from((server, 53));
            let query = Query { birth, attempt };
            let (id, port) = numbers.of(server, place, query);
            prop_assert!(ports.contains(&port));
            prop_assert_eq!(numbers.place(server, id, port), Some(place));
            prop_assert!(numbers.is_from(query, port));
            prop_assert_ne!(numbers.place(server, id ^ 1, port), Some(place));
        }

        #[test]
        fn any_port_is_taken(id: u16, port: u16, birth: u32) {
            let numbers = numbers(61_000..=65_535, 10_000);
            let server = SocketAddr::from(([192, 0, 2, 1], 53));
            if numbers.place(server, id, port).is_some() {
                numbers.is_from(Query { birth, attempt: 0 }, port);
            }
        }
    }
}
