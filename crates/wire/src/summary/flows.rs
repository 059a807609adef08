//! Where the sequence numbers of TCP connections begin, so that they can be shown from there.

use std::collections::HashMap;
use std::net::IpAddr;

use crate::layer::{Tcp, TcpFlag};

/// One end of a connection.
type Endpoint = (u16, IpAddr);

/// A connection: its ends in ascending order, so that both directions are one.
type Key = (Endpoint, Endpoint);

/// The sequence numbers to count from: of the lower end, and of the higher.
type Bases = (u32, u32);

/// Connections seen lately. When the young half is full it becomes the old one and the old is
/// forgotten, so that the table stays bounded and keeps what is in use.
#[derive(Debug, Default)]
pub(super) struct Flows {
    young: HashMap<Key, Bases>,
    old: HashMap<Key, Bases>,
}

/// The sequence numbers of a segment as they are to be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Numbers {
    pub(super) sequence: u32,
    pub(super) acknowledgment: u32,
    /// What to count selective acknowledgements from.
    pub(super) sack_base: u32,
}

impl Numbers {
    pub(super) fn absolute(tcp: &Tcp<'_>) -> Self {
        Self { sequence: tcp.sequence, acknowledgment: tcp.acknowledgment, sack_base: 0 }
    }
}

impl Flows {
    const HALF: usize = 32_768;

    /// Counts from the connection's beginning, as tcpdump does: the first segment with an
    /// acknowledgement that is seen of a connection, and any SYN, shows absolute numbers and
    /// sets the bases.
    pub(super) fn relative(&mut self, tcp: &Tcp<'_>) -> Numbers {
        let absolute = Numbers::absolute(tcp);
        if !tcp.flags.has(TcpFlag::Ack) {
            return absolute;
        }
        let from = (tcp.source_port, tcp.addresses.source());
        let to = (tcp.destination_port, tcp.addresses.destination());
        let reversed = from > to;
        let key = if reversed { (to, from) } else { (from, to) };
        let known = self.find(key).filter(|_| !tcp.flags.has(TcpFlag::Syn));
        let Some(bases) = known else {
            let ends = (tcp.sequence, tcp.acknowledgment.wrapping_sub(1));
            self.insert(key, swap_if(reversed, ends));
            return Numbers { sack_base: ends.1, ..absolute };
        };
        let (own, peer) = swap_if(reversed, bases);
        Numbers {
            sequence: tcp.sequence.wrapping_sub(own),
            acknowledgment: tcp.acknowledgment.wrapping_sub(peer),
            sack_base: peer,
        }
    }

    fn find(&mut self, key: Key) -> Option<Bases> {
        if let Some(bases) = self.young.get(&key) {
            return Some(*bases);
        }
        let bases = self.old.remove(&key)?;
        self.insert(key, bases);
        Some(bases)
    }

    fn insert(&mut self, key: Key, bases: Bases) {
        if self.young.len() == Self::HALF {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, bases);
    }
}

fn swap_if(swap: bool, (a, b): (u32, u32)) -> (u32, u32) {
    if swap { (b, a) } else { (a, b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_stays_bounded_and_keeps_what_is_in_use() {
        let mut flows = Flows::default();
        let end = |port| (port, IpAddr::from([10, 0, 0, 1]));
        for n in 0..200_000u32 {
            flows.insert((end((n >> 16) as u16), end(n as u16)), (n, n));
            assert_eq!(flows.find((end(0), end(0))), Some((0, 0)));
        }
        assert!(flows.young.len() + flows.old.len() <= 2 * Flows::HALF);
    }
}
