//! Pseudo-headers that the capturing machine wrote in its own byte order, turned into this machine's.
//!
//! Sources: `pcap/usb.h`, `pcap/nflog.h`, `pcap/sll.h` and `pcap/can_socketcan.h` of libpcap 1.10, and `net/if_pflog.h`
//! of OpenBSD. Which of the fields are in the machine's order, and when they are there, is as libpcap's
//! `swap_pseudo_headers` has it.

use linerate_base::LinkType;

/// Turns what is in the other byte order of a packet's captured bytes; the second number are its bytes on the wire, which
/// damaged files may have as fewer. Fields that are not there as a whole stay as they are.
pub(super) type Turn = fn(&mut [u8], usize);

/// How to turn packets of a link type; `None` where there is nothing to turn.
pub(super) fn turn(link_type: LinkType) -> Option<Turn> {
    match link_type {
        LinkType::LINUX_SLL => Some(|data, length| can(data, length, 14, 16)),
        LinkType::LINUX_SLL2 => Some(|data, length| can(data, length, 0, 20)),
        LinkType::PFLOG => Some(pflog),
        LinkType::NFLOG => Some(nflog),
        LinkType::USB_LINUX => Some(|data, _| usb(data)),
        LinkType::USB_LINUX_MMAPPED => Some(|data, _| usb_mapped(data)),
        _ => None,
    }
}

/// Turns the fields of these places and sizes.
fn turn_all(data: &mut [u8], fields: &[(usize, usize)]) {
    for &(at, size) in fields {
        if let Some(field) = data.get_mut(at..at + size) {
            field.reverse();
        }
    }
}

/// `LINUX_SLL_P_CAN` and `LINUX_SLL_P_CANFD`.
const CAN: [[u8; 2]; 2] = [[0, 0x0c], [0, 0x0d]];

/// In cooked frames of SocketCAN the identifier.
fn can(data: &mut [u8], length: usize, protocol: usize, identifier: usize) {
    let is_can =
        data.get(protocol..).and_then(<[u8]>::first_chunk).is_some_and(|p| CAN.contains(p));
    if is_can && length >= identifier + 4 {
        turn_all(data, &[(identifier, 4)]);
    }
}

/// User and process of the packet and of the rule, as far as the header is so long as its first byte says.
fn pflog(data: &mut [u8], length: usize) {
    let header = data.first().map_or(0, |&length| length.into());
    let end = data.len().min(length).min(header);
    turn_all(&mut data[..end], &[(44, 4), (48, 4), (52, 4), (56, 4)]);
}

/// Length and type of each attribute after the header, whose second byte is a version.
fn nflog(data: &mut [u8], length: usize) {
    const HEADER: usize = 4;
    let Some((header, mut rest)) = data.split_at_mut_checked(HEADER) else { return };
    let Some(mut length) = length.checked_sub(HEADER).filter(|_| header[1] == 0) else { return };
    while rest.len() >= 4 {
        turn_all(rest, &[(0, 2), (2, 2)]);
        let size = u16::from_ne_bytes([rest[0], rest[1]]).checked_next_multiple_of(4);
        let Some(size) = size.map(usize::from).filter(|size| *size >= 4) else { return };
        let (Some(left), Some(next)) = (length.checked_sub(size), rest.get_mut(size..)) else {
            return;
        };
        (length, rest) = (left, next);
    }
}

/// Offset of the kind of transfer, and what is isochronous.
const TRANSFER: usize = 9;
const ISOCHRONOUS: u8 = 0;

fn is_isochronous(data: &[u8]) -> bool {
    data.get(TRANSFER) == Some(&ISOCHRONOUS)
}

/// Identifier, bus, time, status and lengths; of isochronous transfers two counts in the place of the setup bytes.
fn usb(data: &mut [u8]) {
    turn_all(data, &[(0, 8), (12, 2), (16, 8), (24, 4), (28, 4), (32, 4), (36, 4)]);
    if is_isochronous(data) {
        turn_all(data, &[(40, 4), (44, 4)]);
    }
}

/// The same and 16 bytes more; of isochronous transfers as many descriptors follow as the last four of them say.
fn usb_mapped(data: &mut [u8]) {
    const HEADER: usize = 64;
    const DESCRIPTOR: usize = 16;
    usb(data);
    turn_all(data, &[(48, 4), (52, 4), (56, 4), (60, 4)]);
    let Some((header, rest)) = data.split_at_mut_checked(HEADER) else { return };
    if !is_isochronous(header) {
        return;
    }
    let count = u32::from_ne_bytes([header[60], header[61], header[62], header[63]]);
    for descriptor in rest.chunks_mut(DESCRIPTOR).take(count as usize) {
        turn_all(descriptor, &[(0, 4), (4, 4), (8, 4)]);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TURNED: [LinkType; 6] = [
        LinkType::LINUX_SLL,
        LinkType::LINUX_SLL2,
        LinkType::PFLOG,
        LinkType::NFLOG,
        LinkType::USB_LINUX,
        LinkType::USB_LINUX_MMAPPED,
    ];

    /// Numbers in this machine's order, or in the other one.
    struct Numbers(bool, Vec<u8>);

    impl Numbers {
        fn add(&mut self, number: &[u8]) {
            let turned = number.iter().rev().copied().collect();
            self.1.extend(if self.0 { turned } else { number.to_vec() });
        }
    }

    /// An isochronous transfer with these descriptors and three bytes of data.
    fn isochronous(is_other: bool, descriptors: &[[u32; 3]]) -> Vec<u8> {
        let mut packet = Numbers(is_other, Vec::new());
        packet.add(&0x0102_0304_0506_0708_u64.to_ne_bytes());
        packet.1.extend([b'C', ISOCHRONOUS, 0x81, 5]);
        packet.add(&7_u16.to_ne_bytes());
        packet.1.extend([b'-', 0]);
        packet.add(&1_700_000_000_u64.to_ne_bytes());
        for number in [4, 5, 6, 7, 8, 9, 10, 11, 12, descriptors.len() as u32] {
            packet.add(&number.to_ne_bytes());
        }
        for number in descriptors {
            number.iter().for_each(|number| packet.add(&number.to_ne_bytes()));
            packet.1.extend([1, 2, 3, 4]);
        }
        packet.1.extend([1, 2, 3]);
        packet.1
    }

    /// A message of netfilter's log with attributes of these values.
    fn logged(is_other: bool, values: &[Vec<u8>]) -> Vec<u8> {
        let mut packet = Numbers(is_other, vec![2, 0, 0, 77]);
        for (kind, value) in values.iter().enumerate() {
            packet.add(&(value.len() as u16 + 4).to_ne_bytes());
            packet.add(&(kind as u16).to_ne_bytes());
            packet.1.extend(value);
            packet.1.resize(packet.1.len().next_multiple_of(4), 0);
        }
        packet.1
    }

    fn turned(link_type: LinkType, mut data: Vec<u8>) -> Vec<u8> {
        let length = data.len();
        turn(link_type).unwrap()(&mut data, length);
        data
    }

    proptest! {
        #[test]
        fn attributes_and_descriptors_are_turned_however_many_there_are(
            descriptors in prop::collection::vec(any::<[u32; 3]>(), 0..5),
            values in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 0..9),
        ) {
            let mapped = turned(LinkType::USB_LINUX_MMAPPED, isochronous(true, &descriptors));
            prop_assert_eq!(mapped, isochronous(false, &descriptors));
            prop_assert_eq!(turned(LinkType::NFLOG, logged(true, &values)), logged(false, &values));
        }

        #[test]
        fn no_bytes_make_it_panic(
            mut data in prop::collection::vec(any::<u8>(), 0..200),
            length in 0..300_usize,
            small in any::<bool>(),
        ) {
            if small {
                // Kinds and lengths that mean something.
                data.iter_mut().for_each(|byte| *byte &= 0x0d);
            }
            for link_type in TURNED {
                turn(link_type).unwrap()(&mut data, length);
            }
        }

        #[test]
        fn fields_of_a_cut_header_are_turned_as_far_as_they_are_there(cut in 0..64_usize) {
            let (other, own) = (isochronous(true, &[]), isochronous(false, &[]));
            let found = turned(LinkType::USB_LINUX_MMAPPED, other[..cut].to_vec());
            let begun = found.iter().zip(&own).take_while(|(found, own)| found == own).count();
            // The longest field has eight bytes.
            prop_assert!(cut - begun < 8);
            prop_assert_eq!(&found[begun..], &other[begun..cut]);
        }
    }

    #[test]
    fn identifiers_of_can_are_turned_and_nothing_else() {
        for (link_type, protocol, identifier) in
            [(LinkType::LINUX_SLL, 14, 16), (LinkType::LINUX_SLL2, 0, 20)]
        {
            let mut packet: Vec<u8> = (100..140).collect();
            assert_eq!(turned(link_type, packet.clone()), packet);
            packet[protocol..][..2].copy_from_slice(&[0, 0x0d]);
            let mut expected = packet.clone();
            expected[identifier..][..4].reverse();
            assert_eq!(
                turned(link_type, packet[..identifier + 3].to_vec()),
                packet[..identifier + 3]
            );
            assert_eq!(turned(link_type, packet), expected);
        }
    }

    #[test]
    fn the_log_of_pf_is_turned_as_far_as_its_header_goes() {
        for (header, fields) in [(44, 0), (48, 1), (56, 3), (61, 4), (255, 4)] {
            let mut packet: Vec<u8> = (0..90).collect();
            packet[0] = header;
            let mut expected = packet.clone();
            expected[44..60].chunks_mut(4).take(fields).for_each(<[u8]>::reverse);
            assert_eq!(turned(LinkType::PFLOG, packet), expected);
        }
    }
}
