//! From what the kernel left in memory to a packet as it is delivered.
//!
//! Two things are missing in a packet that the kernel captured: a VLAN tag that the driver (or the
//! kernel itself) took off, and, for cooked link types, the header. Both are written in the space
//! before the packet, so that no packet is copied.

use std::collections::HashMap;

use linerate_base::{Descriptor, Direction, Interface, LinkType, Timestamp};
use linerate_sys::packet_socket::LinkAddress;

/// A packet as the kernel left it in a region.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    pub(crate) time: Timestamp,
    /// The time is the network card's.
    pub(crate) by_card: bool,
    /// Start of its bytes in the region.
    pub(crate) start: usize,
    /// Bytes before `start` that may be overwritten.
    pub(crate) headroom: usize,
    pub(crate) captured: u32,
    pub(crate) length: u32,
    pub(crate) address: LinkAddress,
    /// Control information and, where known, protocol of the VLAN tag that was taken off.
    pub(crate) vlan: Option<(u16, Option<u16>)>,
}

/// Bytes that [`Framer::finish`] needs before a packet at most: a cooked header and a tag.
pub(crate) const HEADROOM: usize = SLL2 + VLAN_TAG;

/// Bytes of a VLAN tag.
pub(crate) const VLAN_TAG: usize = 4;
const SLL: usize = 16;
const SLL2: usize = 20;
/// Two Ethernet addresses: the tag goes after them.
pub(crate) const ADDRESSES: usize = 12;
/// `ETH_P_8021Q`, where the kernel does not tell the tag's protocol.
const VLAN_PROTOCOL: u16 = 0x8100;
/// `PACKET_OUTGOING` of `linux/if_packet.h`.
const OUTGOING: u8 = 4;

/// Finishes packets of one link type, and knows the interfaces that they come from.
#[derive(Debug)]
pub(crate) struct Framer {
    link_type: LinkType,
    snaplen: u32,
    interfaces: Vec<Interface>,
    /// By the system's number of an interface, when packets come from several.
    places: Option<HashMap<u32, u32>>,
}

impl Framer {
    /// For packets of one interface.
    pub(crate) fn single(interface: Interface) -> Self {
        Self {
            link_type: interface.link_type,
            snaplen: interface.snaplen,
            interfaces: vec![interface],
            places: None,
        }
    }

    /// For packets of all interfaces. Each enters the table when its first packet comes, after
    /// `pattern`, which stands for all of them and has no packet of its own.
    pub(crate) fn many(pattern: Interface) -> Self {
        Self { places: Some(HashMap::new()), ..Self::single(pattern) }
    }

    pub(crate) fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    /// Puts header and tag before the packet and describes the whole. `name_of` tells the name of an
    /// interface that was not seen before. `None` when there is no room for the header.
    #[inline]
    pub(crate) fn finish(
        &mut self,
        region: &mut [u8],
        found: &Found,
        name_of: &dyn Fn(u32) -> String,
    ) -> Option<Descriptor> {
        let added = self.complete(region, found)?;
        let outgoing = found.address.packet_type == OUTGOING;
        Some(Descriptor {
            time: found.time,
            offset: (found.start - added) as u32,
            captured: (found.captured + added as u32).min(self.snaplen),
            length: found.length.saturating_add(added as u32),
            interface: self.place(found.address.interface, name_of),
            direction: if outgoing { Direction::Out } else { Direction::In },
        })
    }

    /// Writes what is missing before the packet; returns how many bytes that was.
    #[inline]
    fn complete(&self, region: &mut [u8], found: &Found) -> Option<usize> {
        match self.link_type {
            LinkType::LINUX_SLL2 => {
                cook::<SLL2>(region, found, |protocol| sll2(&found.address, protocol))
            }
            LinkType::LINUX_SLL => {
                cook::<SLL>(region, found, |protocol| sll(&found.address, protocol))
            }
            LinkType::ETHERNET if found.vlan.is_some() => put_tag_back(region, found),
            _ => Some(0),
        }
    }

    #[inline]
    fn place(&mut self, index: u32, name_of: &dyn Fn(u32) -> String) -> u32 {
        let Some(places) = &mut self.places else { return 0 };
        *places.entry(index).or_insert_with(|| {
            let name = name_of(index);
            self.interfaces.push(Interface { name, ..self.interfaces[0].clone() });
            self.interfaces.len() as u32 - 1
        })
    }
}

/// Moves the two addresses down and writes the tag into the gap. A packet captured too short to
/// have both addresses stays as it is.
fn put_tag_back(region: &mut [u8], found: &Found) -> Option<usize> {
    if (found.captured as usize) < ADDRESSES {
        return Some(0);
    }
    let (tci, protocol) = found.vlan?;
    let start = found.start.checked_sub(VLAN_TAG).filter(|_| VLAN_TAG <= found.headroom)?;
    let packet = region.get_mut(start..)?.first_chunk_mut()?;
    insert_tag(packet, protocol.unwrap_or(VLAN_PROTOCOL), tci);
    Some(VLAN_TAG)
}

/// Bytes of a frame up to the end of its first VLAN tag.
pub(crate) const TAGGED: usize = ADDRESSES + VLAN_TAG;

/// Puts a tag behind a frame's addresses, which stand behind the room for it.
pub(crate) fn insert_tag(frame: &mut [u8; TAGGED], protocol: u16, tci: u16) {
    frame.copy_within(VLAN_TAG.., 0);
    frame[ADDRESSES..].copy_from_slice(&pair(protocol, tci));
}

/// Two numbers in network byte order.
fn pair(first: u16, second: u16) -> [u8; VLAN_TAG] {
    (u32::from(first) << 16 | u32::from(second)).to_be_bytes()
}

/// Writes a cooked header before the packet. With a tag, the header's protocol is the tag's, and
/// the rest of the tag and the packet's own protocol follow the header, as they would in a frame.
fn cook<const N: usize>(
    region: &mut [u8],
    found: &Found,
    header: impl Fn(u16) -> [u8; N],
) -> Option<usize> {
    let own = found.address.protocol;
    let (protocol, rest) = match found.vlan {
        Some((tci, protocol)) => (protocol.unwrap_or(VLAN_PROTOCOL), Some((tci, own))),
        None => (own, None),
    };
    let added = N + rest.map_or(0, |_| VLAN_TAG);
    let start = found.start.checked_sub(added).filter(|_| added <= found.headroom)?;
    let space = region.get_mut(start..found.start)?;
    space[..N].copy_from_slice(&header(protocol));
    if let Some((tci, own)) = rest {
        space[N..].copy_from_slice(&pair(tci, own));
    }
    Some(added)
}

/// LINKTYPE_LINUX_SLL2: protocol, 2 reserved bytes, interface, hardware type, packet type, length
/// of the address, address.
fn sll2(address: &LinkAddress, protocol: u16) -> [u8; SLL2] {
    let mut header = [0; SLL2];
    header[0..2].copy_from_slice(&protocol.to_be_bytes());
    header[4..8].copy_from_slice(&address.interface.to_be_bytes());
    header[8..10].copy_from_slice(&address.hardware_type.to_be_bytes());
    header[10] = address.packet_type;
    header[11] = address.address_length;
    header[12..].copy_from_slice(&address.address);
    header
}

/// LINKTYPE_LINUX_SLL: packet type, hardware type, length of the address, address, protocol.
fn sll(address: &LinkAddress, protocol: u16) -> [u8; SLL] {
    let mut header = [0; SLL];
    header[0..2].copy_from_slice(&u16::from(address.packet_type).to_be_bytes());
    header[2..4].copy_from_slice(&address.hardware_type.to_be_bytes());
    header[4..6].copy_from_slice(&u16::from(address.address_length).to_be_bytes());
    header[6..14].copy_from_slice(&address.address);
    header[14..].copy_from_slice(&protocol.to_be_bytes());
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framer(link_type: LinkType) -> Framer {
        Framer::single(Interface { link_type, snaplen: 100, ..Interface::default() })
    }

    fn found(start: usize, captured: u32) -> Found {
        let address = LinkAddress {
            protocol: 0x0800,
            interface: 7,
            hardware_type: 1,
            packet_type: OUTGOING,
            address_length: 6,
            address: [1, 2, 3, 4, 5, 6, 0, 0],
        };
        let (time, by_card) = (Timestamp::EPOCH, false);
        Found { time, by_card, start, headroom: start, captured, length: 200, address, vlan: None }
    }

    fn finish(link_type: LinkType, region: &mut [u8], found: &Found) -> Option<Descriptor> {
        framer(link_type).finish(region, found, &|_| String::new())
    }

    fn numbered() -> Vec<u8> {
        (0..64).collect()
    }

    #[test]
    fn a_packet_without_a_tag_stays_where_it_is() {
        let mut region = numbered();
        let d = finish(LinkType::ETHERNET, &mut region, &found(24, 40)).unwrap();
        assert_eq!((d.offset, d.captured, d.length), (24, 40, 200));
        assert_eq!(d.direction, Direction::Out);
        assert_eq!(region, numbered());
    }

    #[test]
    fn a_tag_goes_after_the_addresses() {
        let mut region = numbered();
        let tagged = Found { vlan: Some((0x2005, Some(0x88a8))), ..found(24, 40) };
        let d = finish(LinkType::ETHERNET, &mut region, &tagged).unwrap();
        assert_eq!((d.offset, d.captured, d.length), (20, 44, 204));
        assert_eq!(region[20..32], numbered()[24..36]);
        assert_eq!(region[32..36], [0x88, 0xa8, 0x20, 0x05]);
        assert_eq!(region[36..], numbered()[36..]);
    }

    #[test]
    fn a_tag_does_not_lengthen_a_packet_past_snaplen() {
        let tagged = Found { vlan: Some((5, None)), ..found(24, 98) };
        let d = finish(LinkType::ETHERNET, &mut [0; 128], &tagged).unwrap();
        assert_eq!((d.captured, d.length), (100, 204));
    }

    #[test]
    fn a_packet_too_short_for_its_addresses_gets_no_tag() {
        let tagged = Found { vlan: Some((5, None)), ..found(24, 11) };
        let d = finish(LinkType::ETHERNET, &mut numbered(), &tagged).unwrap();
        assert_eq!((d.offset, d.captured), (24, 11));
    }

    #[test]
    fn cooked_packets_get_the_header_of_the_registry() {
        let mut region = numbered();
        let d = finish(LinkType::LINUX_SLL2, &mut region, &found(24, 40)).unwrap();
        assert_eq!((d.offset, d.captured, d.length), (4, 60, 220));
        let header = [8, 0, 0, 0, 0, 0, 0, 7, 0, 1, 4, 6, 1, 2, 3, 4, 5, 6, 0, 0];
        assert_eq!(region[4..24], header);
        let d = finish(LinkType::LINUX_SLL, &mut region, &found(24, 40)).unwrap();
        assert_eq!((d.offset, d.captured, d.length), (8, 56, 216));
        assert_eq!(region[8..24], [0, 4, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0, 8, 0]);
    }

    #[test]
    fn a_cooked_header_names_the_tag_and_the_rest_of_it_follows() {
        let mut region = numbered();
        let tagged = Found { vlan: Some((5, None)), ..found(24, 40) };
        let d = finish(LinkType::LINUX_SLL2, &mut region, &tagged).unwrap();
        assert_eq!((d.offset, d.length), (0, 224));
        assert_eq!((&region[0..2], &region[20..24]), (&[0x81, 0][..], &[0, 5, 8, 0][..]));
    }

    #[test]
    fn without_room_for_the_header_there_is_no_packet() {
        for headroom in 0..SLL2 {
            let tight = Found { headroom, ..found(24, 40) };
            assert!(finish(LinkType::LINUX_SLL2, &mut numbered(), &tight).is_none());
        }
    }

    #[test]
    fn interfaces_enter_the_table_with_their_first_packet() {
        let pattern = Interface { link_type: LinkType::LINUX_SLL2, ..Interface::default() };
        let mut framer = Framer::many(pattern);
        let mut place = |index| framer.place(index, &|index| format!("if{index}"));
        assert_eq!([place(7), place(3), place(7)], [1, 2, 1]);
        let names: Vec<_> = framer.interfaces().iter().map(|i| i.name.as_str()).collect();
        assert_eq!(names, ["", "if7", "if3"]);
    }
}
