//! What becomes of a packet: a frame, or nothing.

use linerate_base::{LinkType, Packet};

use super::Rewrite;
use super::addresses::{self, Addresses};
use crate::blocklist::Blocklist;

/// Makes frames of packets.
#[derive(Clone, Debug, Default)]
pub struct Frames {
    /// What is changed.
    pub rewrite: Rewrite,
    /// Packets that were cut when they were recorded get zeroes for what is missing; without it they are skipped.
    pub pad: bool,
    /// Bytes of the longest frame that the device takes; of those with a VLAN tag it takes four more.
    pub longest: usize,
    /// The beginning of frames for packets that were recorded without an Ethernet header, destination first; without
    /// it they are skipped.
    pub addresses: Option<[[u8; 6]; 2]>,
    /// Destinations that nothing is sent to.
    pub blocklist: Blocklist,
}

/// Packets of which no frame was made, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// Cut when they were recorded.
    pub cut: u64,
    /// Shorter than an Ethernet header.
    pub too_short: u64,
    /// Longer than the device takes.
    pub too_long: u64,
    /// Of another link type than the device has, and without an address to make a frame with; or of a protocol that
    /// Ethernet has no number for.
    pub foreign: u64,
    /// To a destination that nothing is sent to.
    pub blocked: u64,
}

impl Skipped {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.cut + self.too_short + self.too_long + self.foreign + self.blocked
    }

    pub(super) fn count(&mut self, reason: Skip) {
        *match reason {
            Skip::Cut => &mut self.cut,
            Skip::TooShort => &mut self.too_short,
            Skip::TooLong => &mut self.too_long,
            Skip::Foreign => &mut self.foreign,
            Skip::Blocked => &mut self.blocked,
        } += 1;
    }
}

/// Why there is no frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Skip {
    Cut,
    TooShort,
    TooLong,
    Foreign,
    Blocked,
}

/// An Ethernet header.
const HEADER: usize = 14;

/// A VLAN tag, and the EtherType that stands for one (IEEE 802.1Q); the kernel allows one more than the MTU for it.
const TAG: usize = 4;
const TAGGED: [u8; 2] = [0x81, 0x00];

/// Below this an EtherType is a length, or a number of Linux's own (`linux/if_ether.h`).
const FIRST_ETHER_TYPE: u16 = 0x600;

/// Whether packets of a link type can be sent on Ethernet: `None` for those that cannot, else true for those that
/// need an Ethernet header made for them.
pub fn carries(link_type: LinkType) -> Option<bool> {
    match link_type {
        LinkType::ETHERNET => Some(false),
        LinkType::RAW | LinkType::IPV4 | LinkType::IPV6 | LinkType::NULL | LinkType::LOOP => {
            Some(true)
        }
        LinkType::LINUX_SLL | LinkType::LINUX_SLL2 => Some(true),
        _ => None,
    }
}

/// The bytes of a packet's own link-layer header, and the EtherType of what follows it.
fn inside(packet: &Packet<'_>) -> Option<(usize, [u8; 2])> {
    let ether_type = |at| {
        let number: [u8; 2] = packet.data.get(at..at + 2)?.try_into().ok()?;
        (u16::from_be_bytes(number) >= FIRST_ETHER_TYPE).then_some(number)
    };
    let of_version = |at: usize| match packet.data.get(at)? >> 4 {
        4 => Some([0x08, 0x00]),
        6 => Some([0x86, 0xdd]),
        _ => None,
    };
    match packet.link_type {
        LinkType::RAW | LinkType::IPV4 | LinkType::IPV6 => Some((0, of_version(0)?)),
        // The family's number depends on the system that wrote it.
        LinkType::NULL | LinkType::LOOP => Some((4, of_version(4)?)),
        LinkType::LINUX_SLL => Some((16, ether_type(14)?)),
        LinkType::LINUX_SLL2 => Some((20, ether_type(0)?)),
        _ => None,
    }
}

impl Frames {
    /// Bytes that a slot for frames must have.
    pub fn slot(&self) -> usize {
        self.longest + TAG
    }

    /// Writes the packet's frame to the slot and gives its length.
    pub(super) fn make(&self, packet: &Packet<'_>, slot: &mut [u8]) -> Result<usize, Skip> {
        let length = self.copy(packet, slot)?;
        let frame = &mut slot[..length];
        self.rewrite.link(frame);
        if self.rewrite.maps.is_empty() && self.blocklist.is_empty() {
            return Ok(length);
        }
        let Some(found) = addresses::find(frame) else { return Ok(length) };
        self.rewrite.network(frame, &found);
        if self.is_blocked(frame, &found) { Err(Skip::Blocked) } else { Ok(length) }
    }

    fn copy(&self, packet: &Packet<'_>, slot: &mut [u8]) -> Result<usize, Skip> {
        let (head, skipped) = match packet.link_type {
            LinkType::ETHERNET => (None, 0),
            _ => {
                let ([destination, source], (skipped, ether_type)) =
                    self.addresses.zip(inside(packet)).ok_or(Skip::Foreign)?;
                (Some((destination, source, ether_type)), skipped)
            }
        };
        let added = if head.is_some() { HEADER } else { 0 };
        let data = packet.data.get(skipped..).ok_or(Skip::TooShort)?;
        let captured = added + data.len();
        let length = captured.max(added + (packet.length as usize).saturating_sub(skipped));
        if length > captured && !self.pad {
            return Err(Skip::Cut);
        }
        if captured < HEADER {
            return Err(Skip::TooShort);
        }
        if length > slot.len() {
            return Err(Skip::TooLong);
        }
        if let Some((destination, source, ether_type)) = head {
            slot[..6].copy_from_slice(&destination);
            slot[6..12].copy_from_slice(&source);
            slot[12..HEADER].copy_from_slice(&ether_type);
        }
        slot[added..captured].copy_from_slice(data);
        slot[captured..length].fill(0);
        let longest = if slot[12..HEADER] == TAGGED { self.longest + TAG } else { self.longest };
        if length > longest { Err(Skip::TooLong) } else { Ok(length) }
    }

    fn is_blocked(&self, frame: &[u8], found: &Addresses) -> bool {
        let destination = &frame[found.destination.clone()];
        let number = destination.iter().fold(0, |number, byte| number << 8 | u128::from(*byte));
        self.blocklist.contains(number, 8 * destination.len() as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_base::{Direction, Timestamp};

    fn packet(link_type: LinkType, data: &[u8], length: usize) -> Packet<'_> {
        let time = Timestamp::EPOCH;
        let (length, interface, direction) = (length as u32, 0, Direction::Unknown);
        Packet { time, data, length, interface, link_type, direction }
    }

    fn make(
        frames: &Frames,
        link_type: LinkType,
        data: &[u8],
        length: usize,
    ) -> Result<Vec<u8>, Skip> {
        let mut slot = vec![0xee; frames.slot()];
        let length = frames.make(&packet(link_type, data, length), &mut slot)?;
        Ok(slot[..length].to_vec())
    }

    fn frames() -> Frames {
        Frames { longest: 100, ..Frames::default() }
    }

    #[test]
    fn an_ethernet_frame_stays_as_it_is() {
        let data: Vec<u8> = (0..100).collect();
        assert_eq!(make(&frames(), LinkType::ETHERNET, &data, 100), Ok(data));
    }

    #[test]
    fn what_is_cut_is_skipped_or_padded() {
        let (cut, padding) = (frames(), Frames { pad: true, ..frames() });
        assert_eq!(make(&cut, LinkType::ETHERNET, &[7; 20], 22), Err(Skip::Cut));
        let padded = make(&padding, LinkType::ETHERNET, &[7; 20], 22).unwrap();
        assert_eq!((&padded[..20], &padded[20..]), (&[7; 20][..], &[0; 2][..]));
        assert_eq!(make(&padding, LinkType::ETHERNET, &[7; 20], 2000), Err(Skip::TooLong));
        // A length below what was captured is the file's mistake.
        assert_eq!(make(&cut, LinkType::ETHERNET, &[7; 20], 3).unwrap().len(), 20);
    }

    #[test]
    fn a_tag_may_be_longer_than_the_device_is() {
        let mut data = [7; 105];
        assert_eq!(make(&frames(), LinkType::ETHERNET, &data[..101], 101), Err(Skip::TooLong));
        data[12..14].copy_from_slice(&TAGGED);
        assert_eq!(make(&frames(), LinkType::ETHERNET, &data[..104], 104).unwrap().len(), 104);
        assert_eq!(make(&frames(), LinkType::ETHERNET, &data, 105), Err(Skip::TooLong));
    }

    #[test]
    fn packets_without_a_frame_get_one_where_addresses_are_known() {
        let with = Frames { addresses: Some([[1; 6], [2; 6]]), ..frames() };
        let (ip, mut sll, mut sll2) = ([0x45; 20], [0; 36], [0; 40]);
        sll[14..16].copy_from_slice(&[8, 0]);
        sll[16..].copy_from_slice(&ip);
        sll2[..2].copy_from_slice(&[8, 0]);
        sll2[20..].copy_from_slice(&ip);
        let null = [&[2, 0, 0, 0][..], &ip].concat();
        let expected = [&[1; 6][..], &[2; 6], &[8, 0], &ip].concat();
        for (link_type, data) in [
            (LinkType::RAW, &ip[..]),
            (LinkType::LINUX_SLL, &sll),
            (LinkType::LINUX_SLL2, &sll2),
            (LinkType::NULL, &null),
        ] {
            assert_eq!(carries(link_type), Some(true));
            assert_eq!(
                make(&with, link_type, data, data.len()).as_ref(),
                Ok(&expected),
                "{link_type}"
            );
            assert_eq!(make(&frames(), link_type, data, data.len()), Err(Skip::Foreign));
            assert_eq!(make(&with, link_type, data, data.len() + 1), Err(Skip::Cut));
            assert_eq!(make(&with, link_type, &[], 0), Err(Skip::Foreign));
        }
        assert_eq!(make(&with, LinkType::LINUX_SLL2, &sll2[..10], 10), Err(Skip::TooShort));
        sll[14..16].copy_from_slice(&[0, 4]); // 802.2, of Linux's own numbers
        assert_eq!(make(&with, LinkType::LINUX_SLL, &sll, 36), Err(Skip::Foreign));
        assert_eq!(make(&with, LinkType::IEEE802_11, &ip, 20), Err(Skip::Foreign));
    }

    #[test]
    fn less_than_a_header_is_no_frame() {
        assert_eq!(make(&frames(), LinkType::ETHERNET, &[7; 13], 13), Err(Skip::TooShort));
        let padding = Frames { pad: true, ..frames() };
        assert_eq!(make(&padding, LinkType::ETHERNET, &[7; 13], 60), Err(Skip::TooShort));
        assert_eq!(make(&frames(), LinkType::ETHERNET, &[7; 14], 14).unwrap().len(), 14);
    }

    #[test]
    fn blocked_is_the_destination_that_a_frame_has_in_the_end() {
        let mut data = [0; 42];
        data[12..24].copy_from_slice(&[8, 6, 0, 1, 8, 0, 6, 4, 0, 1, 2, 2]);
        data[38..].copy_from_slice(&[10, 0, 0, 1]);
        let blocklist = Blocklist::parse("192.168.0.0/16", "f").unwrap();
        let open = Frames { blocklist, ..frames() };
        assert_eq!(make(&open, LinkType::ETHERNET, &data, 42).unwrap(), data);
        let maps = vec!["10.0.0.0/8=192.168.0.0/16".parse().unwrap()];
        let mapped = Frames { rewrite: Rewrite { maps, ..Rewrite::default() }, ..open };
        assert_eq!(make(&mapped, LinkType::ETHERNET, &data, 42), Err(Skip::Blocked));
    }
}
