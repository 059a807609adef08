//! IP packets in Ethernet frames: those that come, taken apart and checked, and those that go.

use std::net::IpAddr;

use etherparse::checksum::Sum16BitWords;
use etherparse::{EtherType, IpNumber, Ipv4Slice, Ipv6Slice};

/// Bytes of an Ethernet header without tags.
pub const ETHERNET: usize = 14;
/// Bytes of an IPv4 header without options.
pub const IPV4: usize = 20;
/// Bytes of an IPv6 header without extensions.
pub const IPV6: usize = 40;

/// Hops that a packet may take, as a common OS has it (RFC 1700: 64).
const HOP_LIMIT: u8 = 64;

/// An IP packet that came.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// The hardware address of the neighbour that sent it.
    pub neighbour: [u8; 6],
    /// Whom it is from.
    pub source: IpAddr,
    /// Whom it is for.
    pub destination: IpAddr,
    /// What the payload is.
    pub protocol: IpNumber,
    /// Hops that it might have gone on for.
    pub hop_limit: u8,
    /// What follows the IP header and its extensions.
    pub payload: &'a [u8],
}

impl<'a> Packet<'a> {
    /// The packet in `frame`. `None` for what is no IP packet, or is broken, cut off, tagged or a fragment.
    pub fn parse(frame: &'a [u8]) -> Option<Self> {
        let (ethernet, packet) = frame.split_at_checked(ETHERNET)?;
        let neighbour = *ethernet[6..].first_chunk()?;
        match EtherType(u16::from_be_bytes([ethernet[12], ethernet[13]])) {
            EtherType::IPV4 => Self::parse_ipv4(neighbour, packet),
            EtherType::IPV6 => Self::parse_ipv6(neighbour, packet),
            _ => None,
        }
    }

    fn parse_ipv4(neighbour: [u8; 6], packet: &'a [u8]) -> Option<Self> {
        let ip = Ipv4Slice::from_slice(packet).ok()?;
        let header = ip.header();
        let sum = Sum16BitWords::new().add_slice(header.slice());
        if sum.ones_complement() != 0 || header.is_fragmenting_payload() {
            return None;
        }
        Some(Self {
            neighbour,
            source: header.source_addr().into(),
            destination: header.destination_addr().into(),
            protocol: ip.payload().ip_number,
            hop_limit: header.ttl(),
            payload: ip.payload().payload,
        })
    }

    fn parse_ipv6(neighbour: [u8; 6], packet: &'a [u8]) -> Option<Self> {
        let ip = Ipv6Slice::from_slice(packet).ok()?;
        let (header, payload) = (ip.header(), ip.payload());
        if payload.fragmented {
            return None;
        }
        Some(Self {
            neighbour,
            source: header.source_addr().into(),
            destination: header.destination_addr().into(),
            protocol: payload.ip_number,
            hop_limit: header.hop_limit(),
            payload: payload.payload,
        })
    }

    /// True when the payload's checksum, which covers the pseudo-header too, is right.
    pub fn is_sound(&self) -> bool {
        let sum = pseudo_header(self.source, self.destination, self.protocol, self.payload.len());
        sum.add_slice(self.payload).ones_complement() == 0
    }

    /// True when `field`, the payload's checksum, covers the pseudo-header only: the sender's kernel leaves the rest to a
    /// card (`CHECKSUM_PARTIAL` of linux/skbuff.h), and the packet never went by one.
    pub fn is_partial(&self, field: [u8; 2]) -> bool {
        let sum = pseudo_header(self.source, self.destination, self.protocol, self.payload.len());
        (!sum.ones_complement()).to_ne_bytes() == field
    }
}

/// The sum of the pseudo-header (RFC 9293 3.1, RFC 8200 8.1).
fn pseudo_header(
    source: IpAddr,
    destination: IpAddr,
    protocol: IpNumber,
    length: usize,
) -> Sum16BitWords {
    let mut sum = Sum16BitWords::new();
    for address in [source, destination] {
        sum = match address {
            IpAddr::V4(address) => sum.add_4bytes(address.octets()),
            IpAddr::V6(address) => sum.add_16bytes(address.octets()),
        };
    }
    sum = sum.add_2bytes([0, protocol.0]);
    sum.add_4bytes((length as u32).to_be_bytes())
}

/// Between which ends packets go, and by which neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// The hardware address that frames are from.
    pub mac: [u8; 6],
    /// The hardware address of the next hop.
    pub next_hop: [u8; 6],
    /// Whom packets are from.
    pub source: IpAddr,
    /// Whom they are for, of the same family.
    pub destination: IpAddr,
}

impl Path {
    /// The way back to the sender of `packet`.
    pub fn back(packet: &Packet<'_>, mac: [u8; 6]) -> Self {
        Self {
            mac,
            next_hop: packet.neighbour,
            source: packet.destination,
            destination: packet.source,
        }
    }

    /// Bytes of the headers before the payload.
    pub fn overhead(&self) -> usize {
        ETHERNET + if self.source.is_ipv4() { IPV4 } else { IPV6 }
    }

    /// Writes a frame to `slot`: headers, and the payload that `fill` writes and tells the length of. The two bytes at
    /// `checksum` in it become its checksum. Returns the frame's length.
    ///
    /// # Panics
    /// When `slot` has no room.
    pub fn write(
        &self,
        slot: &mut [u8],
        protocol: IpNumber,
        checksum: usize,
        fill: impl FnOnce(&mut [u8]) -> usize,
    ) -> usize {
        let (headers, payload) = slot.split_at_mut(self.overhead());
        let length = fill(payload);
        let payload = &mut payload[..length];
        self.write_headers(headers, protocol, length);
        payload[checksum..checksum + 2].fill(0);
        let sum = self.sum(protocol, payload);
        payload[checksum..checksum + 2].copy_from_slice(&sum);
        headers.len() + length
    }

    /// The checksum of a payload. ICMP for IPv4 has no pseudo-header (RFC 792); UDP has no zero (RFC 768).
    fn sum(&self, protocol: IpNumber, payload: &[u8]) -> [u8; 2] {
        let sum = match protocol {
            IpNumber::ICMP => Sum16BitWords::new(),
            _ => pseudo_header(self.source, self.destination, protocol, payload.len()),
        };
        let sum = sum.add_slice(payload);
        match protocol {
            IpNumber::UDP => sum.to_ones_complement_with_no_zero(),
            _ => sum.ones_complement(),
        }
        .to_ne_bytes()
    }

    fn write_headers(&self, slot: &mut [u8], protocol: IpNumber, length: usize) {
        slot[..6].copy_from_slice(&self.next_hop);
        slot[6..12].copy_from_slice(&self.mac);
        let (ethernet, ip) = slot.split_at_mut(ETHERNET);
        let ether_type = match (self.source, self.destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                let total = ((IPV4 + length) as u16).to_be_bytes();
                // Never to be fragmented, so the identification may be anything (RFC 6864 4.1).
                ip[..10].copy_from_slice(&[
                    0x45, 0, total[0], total[1], 0, 0, 0x40, 0, HOP_LIMIT, protocol.0,
                ]);
                ip[10..12].fill(0);
                ip[12..16].copy_from_slice(&source.octets());
                ip[16..20].copy_from_slice(&destination.octets());
                let sum = Sum16BitWords::new().add_slice(ip).ones_complement();
                ip[10..12].copy_from_slice(&sum.to_ne_bytes());
                EtherType::IPV4
            }
            (source, destination) => {
                let length = (length as u16).to_be_bytes();
                let fixed = [0x60, 0, 0, 0, length[0], length[1], protocol.0, HOP_LIMIT];
                ip[..8].copy_from_slice(&fixed);
                ip[8..24].copy_from_slice(&ipv6(source));
                ip[24..40].copy_from_slice(&ipv6(destination));
                EtherType::IPV6
            }
        };
        ethernet[12..14].copy_from_slice(&ether_type.0.to_be_bytes());
    }
}

/// The address in 16 bytes, that of IPv4 mapped (RFC 4291 2.5.5.2).
pub(crate) fn ipv6(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn path(source: &str, destination: &str) -> Path {
        let (source, destination) = (source.parse().unwrap(), destination.parse().unwrap());
        Path { mac: [2; 6], next_hop: [4; 6], source, destination }
    }

    fn datagram(path: &Path) -> Vec<u8> {
        let mut slot = vec![0; 100];
        let length = path.write(&mut slot, IpNumber::UDP, 6, |payload| {
            payload[..11].copy_from_slice(&[0, 7, 0, 9, 0, 11, 0xff, 0xff, 1, 2, 3]);
            11
        });
        slot.truncate(length);
        slot
    }

    #[test]
    fn what_is_written_reads_back() {
        for (source, destination) in [("10.0.0.1", "10.0.0.2"), ("fd00::1", "fd00::2")] {
            let path = path(source, destination);
            let mut frame = datagram(&path);
            frame.extend([0xaa; 9]); // padding
            let packet = Packet::parse(&frame).unwrap();
            assert_eq!((packet.source, packet.destination), (path.source, path.destination));
            assert_eq!((packet.neighbour, packet.protocol), ([2; 6], IpNumber::UDP));
            assert_eq!((packet.payload.len(), packet.is_sound()), (11, true));
            let sound: [u8; 2] = [packet.payload[6], packet.payload[7]];
            assert!(!packet.is_partial(sound));
        }
    }

    #[test]
    fn a_single_wrong_bit_is_found() {
        for (source, destination) in [("10.0.0.1", "10.0.0.2"), ("fd00::1", "fd00::2")] {
            let frame = datagram(&path(source, destination));
            for bit in 8 * ETHERNET..8 * frame.len() {
                let mut frame = frame.clone();
                frame[bit / 8] ^= 1 << (bit % 8);
                let found = Packet::parse(&frame)
                    .filter(|packet| packet.protocol == IpNumber::UDP && packet.is_sound());
                // Of IPv6's header the traffic class, flow label and hop limit are not covered.
                let bare = bit / 8 - ETHERNET;
                let is_open = destination.contains(':') && (bare < 4 || bare == 7);
                assert!(found.is_none() || is_open, "{source} {bit}");
            }
        }
    }

    #[test]
    fn checksums_left_to_a_card_are_recognised() {
        let path = path("10.0.0.1", "10.0.0.2");
        let mut frame = datagram(&path);
        let sum = pseudo_header(path.source, path.destination, IpNumber::UDP, 11).ones_complement();
        frame[40..42].copy_from_slice(&(!sum).to_ne_bytes());
        let packet = Packet::parse(&frame).unwrap();
        assert!(!packet.is_sound() && packet.is_partial([frame[40], frame[41]]));
    }

    proptest! {
        #[test]
        fn nothing_panics(mut frame in prop::collection::vec(any::<u8>(), 0..120), six: bool) {
            if let Some(ether_type) = frame.get_mut(12..15) {
                ether_type.copy_from_slice(if six { &[0x86, 0xdd, 0x60] } else { &[8, 0, 0x45] });
            }
            if let Some(packet) = Packet::parse(&frame) {
                packet.is_sound();
            }
        }
    }
}
