//! Where a frame's network addresses are, and which checksums cover them.

use std::ops::Range;

/// The places in a frame that a change of addresses touches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Addresses {
    pub(super) source: Range<usize>,
    pub(super) destination: Range<usize>,
    /// The checksum of an IPv4 header.
    pub(super) header_sum: Option<usize>,
    /// The checksum of what the header carries, which covers the addresses by a pseudo-header.
    pub(super) transport: Option<Transport>,
}

/// A transport's checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Transport {
    pub(super) at: usize,
    /// Zero stands for no checksum (RFC 768).
    pub(super) is_optional: bool,
    /// False on the way through a routing header, whose last address counts instead (RFC 8200, 8.1).
    pub(super) covers_destination: bool,
}

/// Protocols whose checksums cover the addresses, and where these are in their headers: TCP, UDP, DCCP, ICMPv6,
/// mobility headers, UDP-Lite.
const SUMS: [(u8, usize); 6] = [(6, 16), (UDP, 6), (33, 6), (58, 2), (135, 4), (136, 6)];

const UDP: u8 = 17;

/// EtherTypes of VLAN tags: IEEE 802.1Q, 802.1ad, and what came before the latter.
const TAGS: [u16; 3] = [0x8100, 0x88a8, 0x9100];

/// The addresses of an Ethernet frame that carries IPv4, IPv6 or ARP, behind any number of VLAN tags; `None` for any
/// other frame, and where the header is cut. Packets within packets are left alone.
pub(super) fn find(frame: &[u8]) -> Option<Addresses> {
    let mut at = 12;
    while TAGS.contains(&word(frame, at)?) {
        at += 4;
    }
    match word(frame, at)? {
        0x0800 => ipv4(frame, at + 2),
        0x86dd => ipv6(frame, at + 2),
        0x0806 => arp(frame, at + 2),
        _ => None,
    }
}

fn ipv4(frame: &[u8], at: usize) -> Option<Addresses> {
    let header = frame.get(at..at + 20)?;
    let length = usize::from(header[0] & 0xf) * 4;
    if header[0] >> 4 != 4 || length < 20 {
        return None;
    }
    // Only the first fragment has the transport's header.
    let is_first = word(header, 6)? & 0x1fff == 0;
    let end = end(frame, at, word(header, 2)?.into());
    Some(Addresses {
        source: at + 12..at + 16,
        destination: at + 16..at + 20,
        header_sum: Some(at + 10),
        transport: is_first.then(|| transport(header[9], at + length, end, true)).flatten(),
    })
}

fn ipv6(frame: &[u8], at: usize) -> Option<Addresses> {
    let header = frame.get(at..at + 40)?;
    if header[0] >> 4 != 6 {
        return None;
    }
    let payload = usize::from(word(header, 4)?);
    let end = end(frame, at, if payload == 0 { 0 } else { 40 + payload });
    Some(Addresses {
        source: at + 8..at + 24,
        destination: at + 24..at + 40,
        header_sum: None,
        transport: behind_extensions(frame, header[6], at + 40, end),
    })
}

/// Walks the extension headers (RFC 8200, 4; RFC 4302) to the transport's. The walk ends, as each has a length.
fn behind_extensions(frame: &[u8], next: u8, at: usize, end: usize) -> Option<Transport> {
    let (mut next, mut at, mut covers_destination) = (next, at, true);
    loop {
        let length = match next {
            0 | 43 | 60 => 8 * (usize::from(*frame.get(at + 1)?) + 1),
            44 if word(frame, at + 2)? >> 3 != 0 => return None,
            44 => 8,
            51 => 4 * (usize::from(*frame.get(at + 1)?) + 2),
            _ => return transport(next, at, end, covers_destination),
        };
        let has_segments_left = next == 43 && *frame.get(at + 3)? > 0;
        covers_destination &= !has_segments_left;
        next = *frame.get(at)?;
        at += length;
    }
}

fn transport(protocol: u8, at: usize, end: usize, covers_destination: bool) -> Option<Transport> {
    let (_, offset) = SUMS.into_iter().find(|(number, _)| *number == protocol)?;
    let at = at + offset;
    let is_optional = protocol == UDP;
    (at + 2 <= end).then_some(Transport { at, is_optional, covers_destination })
}

/// ARP for IPv4 on Ethernet (RFC 826).
fn arp(frame: &[u8], at: usize) -> Option<Addresses> {
    let header = frame.get(at..at + 28)?;
    let is_known = header.starts_with(&[0, 1, 8, 0, 6, 4]);
    let places = (at + 14..at + 18, at + 24..at + 28);
    is_known.then(|| Addresses { source: places.0, destination: places.1, ..Addresses::default() })
}

/// Where the packet at `at` ends; a length of 0, as before the segmentation of large packets, says nothing.
fn end(frame: &[u8], at: usize, length: usize) -> usize {
    if length == 0 { frame.len() } else { frame.len().min(at + length) }
}

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn frame(ether_type: &[u8], packet: &[u8]) -> Vec<u8> {
        [&[0; 12], ether_type, packet].concat()
    }

    /// An IPv6 packet of an empty header, these extensions and eight bytes.
    fn ipv6(next: u8, extensions: &[u8]) -> Vec<u8> {
        let length = extensions.len() as u8 + 8;
        let header = [&[0x60, 0, 0, 0, 0, length, next, 64][..], &[0; 32], extensions, &[0; 8]];
        frame(&[0x86, 0xdd], &header.concat())
    }

    #[test]
    fn addresses_are_found_behind_tags() {
        let packet = [&[0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17][..], &[0; 18]].concat();
        let found = find(&frame(&[0x88, 0xa8, 0, 1, 0x81, 0, 0, 2, 8, 0], &packet)).unwrap();
        assert_eq!((found.source, found.destination), (34..38, 38..42));
        assert_eq!(found.header_sum, Some(32));
        assert_eq!(
            found.transport,
            Some(Transport { at: 48, is_optional: true, covers_destination: true })
        );
    }

    #[test]
    fn a_later_fragment_and_a_trailer_have_no_transport() {
        let mut packet = [&[0x45, 0, 0, 28, 0, 0, 0, 1, 64, 17][..], &[0; 18]].concat();
        assert_eq!(find(&frame(&[8, 0], &packet)).unwrap().transport, None);
        packet[7] = 0;
        packet[3] = 24; // Of UDP's header only four bytes belong to the packet.
        assert_eq!(find(&frame(&[8, 0], &packet)).unwrap().transport, None);
    }

    #[test]
    fn extension_headers_are_walked() {
        let transport = |next, extensions| find(&ipv6(next, extensions)).unwrap().transport;
        assert_eq!(transport(58, &[]).unwrap().at, 14 + 40 + 2);
        assert_eq!(transport(60, &[58, 0, 0, 0, 0, 0, 0, 0]).unwrap().at, 14 + 48 + 2);
        let routed = transport(43, &[58, 0, 4, 1, 0, 0, 0, 0]).unwrap();
        assert!(!routed.covers_destination);
        assert_eq!(transport(44, &[58, 0, 0, 1, 0, 0, 0, 0]).unwrap().at, 14 + 48 + 2);
        assert_eq!(transport(44, &[58, 0, 0, 8, 0, 0, 0, 0]), None, "a later fragment");
        assert_eq!(transport(51, &[58, 4, 0, 0, 0, 0, 0, 0]), None, "beyond the end");
        assert_eq!(transport(59, &[]), None);
    }

    proptest! {
        #[test]
        fn whatever_is_found_is_in_the_frame(
            ether_type in prop::sample::select(vec![0x0800_u16, 0x86dd, 0x0806, 0x8100]),
            first in prop::sample::select(vec![0x45_u8, 0x4f, 0x60]),
            mut bytes in prop::collection::vec(any::<u8>(), 14..120),
        ) {
            bytes[12..14].copy_from_slice(&ether_type.to_be_bytes());
            if let Some(byte) = bytes.get_mut(14) {
                *byte = first;
            }
            if let Some(found) = find(&bytes) {
                let ends = [found.source.end, found.destination.end, found.header_sum.map_or(0, |at| at + 2)];
                prop_assert!(ends.iter().all(|end| *end <= bytes.len()));
                prop_assert!(found.transport.is_none_or(|sum| sum.at + 2 <= bytes.len()));
            }
        }
    }
}
