//! Other addresses for frames.

use std::ops::Range;

use super::PrefixMap;
use super::addresses::{Addresses, Transport};
use super::checksum::follow;

/// What is changed in a frame; checksums follow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rewrite {
    /// The hardware address that frames come from.
    pub mac_source: Option<[u8; 6]>,
    /// The hardware address that frames go to.
    pub mac_destination: Option<[u8; 6]>,
    /// Prefixes of IPv4 and IPv6, sources' and destinations' alike and those that ARP asks for; of several that hold
    /// an address the first counts. Packets that others carry, as in tunnels and ICMP errors, stay as they are.
    pub maps: Vec<PrefixMap>,
}

impl Rewrite {
    /// Changes an Ethernet frame's header.
    ///
    /// # Panics
    /// When that is cut.
    pub(super) fn link(&self, frame: &mut [u8]) {
        if let Some(mac) = self.mac_destination {
            frame[..6].copy_from_slice(&mac);
        }
        if let Some(mac) = self.mac_source {
            frame[6..12].copy_from_slice(&mac);
        }
    }

    /// Changes the addresses that were found in a frame.
    pub(super) fn network(&self, frame: &mut [u8], found: &Addresses) {
        let routed = found.transport.filter(|sum| sum.covers_destination);
        self.one(frame, &found.source, found.header_sum, found.transport);
        self.one(frame, &found.destination, found.header_sum, routed);
    }

    fn one(
        &self,
        frame: &mut [u8],
        place: &Range<usize>,
        header_sum: Option<usize>,
        transport: Option<Transport>,
    ) {
        let Some((old, new)) = self.mapped(&frame[place.clone()]) else { return };
        let (old, new) = (&old[16 - place.len()..], &new[16 - place.len()..]);
        frame[place.clone()].copy_from_slice(new);
        if let Some(at) = header_sum {
            let sum = follow(sum_at(frame, at), old, new);
            frame[at..at + 2].copy_from_slice(&sum.to_be_bytes());
        }
        if let Some(Transport { at, is_optional, .. }) = transport {
            let sum = match (sum_at(frame, at), is_optional) {
                (0, true) => 0,
                (sum, true) => nonzero(follow(sum, old, new)),
                (sum, false) => follow(sum, old, new),
            };
            frame[at..at + 2].copy_from_slice(&sum.to_be_bytes());
        }
    }

    /// An address before and after, as the last bytes of a number.
    fn mapped(&self, address: &[u8]) -> Option<([u8; 16], [u8; 16])> {
        let mut old = [0; 16];
        old[16 - address.len()..].copy_from_slice(address);
        let (number, width) = (u128::from_be_bytes(old), 8 * address.len() as u32);
        let new = self.maps.iter().find_map(|map| map.map(number, width))?;
        Some((old, new.to_be_bytes()))
    }
}

/// A sum of zero that does not stand for none (RFC 768).
fn nonzero(sum: u16) -> u16 {
    if sum == 0 { 0xffff } else { sum }
}

fn sum_at(frame: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([frame[at], frame[at + 1]])
}
