//! What to answer to those who ask for the hardware address of an owned address.
//!
//! ARP: RFC 826, and of probes RFC 5227. Neighbour solicitation: RFC 4861, 7.1.1 and 7.2.4; that of a
//! host which checks that nobody has an address yet: RFC 4862, 5.4.

use std::net::{IpAddr, Ipv6Addr};

use etherparse::icmpv6::NeighborAdvertisementHeader;
use etherparse::{
    ArpEthIpv4Packet, ArpOperation, ArpPacket, EtherType, Icmpv6Header, Icmpv6Slice, Icmpv6Type,
    IpNumber, Ipv6Header,
};

/// A hardware address.
pub(super) type Mac = [u8; 6];

/// Two hardware addresses, before tags and EtherType.
const ADDRESSES: usize = 12;
/// VLAN tags that are looked behind.
const TAGS: usize = 2;
/// Neighbour discovery is never forwarded (RFC 4861, 7.1.1).
const HOP_LIMIT: u8 = 255;
/// Everybody on the link (RFC 4291, 2.7.1), and where Ethernet has them (RFC 2464, 7).
const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
const ALL_NODES_MAC: Mac = [0x33, 0x33, 0, 0, 0, 1];

/// The frame that answers `frame`, if it asks for an address that `owns` knows; from the hardware
/// address `mac`. VLAN tags are those of the question.
pub(super) fn answer(frame: &[u8], mac: Mac, owns: impl Fn(IpAddr) -> bool) -> Option<Vec<u8>> {
    let (header, ether_type, payload) = link(frame)?;
    let to: Mac = *header.first_chunk()?;
    // Frames to other hosts are seen, too.
    let is_group = to[0] & 1 != 0;
    if !is_group && to != mac {
        return None;
    }
    let (to, payload) = match ether_type {
        EtherType::ARP => answer_arp(payload, mac, owns)?,
        EtherType::IPV6 => {
            let asker: Mac = *header[6..].first_chunk()?;
            answer_solicitation(payload, asker, mac, owns)?
        }
        _ => return None,
    };
    Some([&to[..], &mac, &header[ADDRESSES..], &payload].concat())
}

/// The link-layer header with its tags, the EtherType at its end, and what follows.
fn link(frame: &[u8]) -> Option<(&[u8], EtherType, &[u8])> {
    let mut at = ADDRESSES;
    for _ in 0..=TAGS {
        let ether_type = u16::from_be_bytes(*frame.get(at..)?.first_chunk()?);
        match EtherType(ether_type) {
            EtherType::VLAN_TAGGED_FRAME | EtherType::PROVIDER_BRIDGING => at += 4,
            other => return Some((&frame[..at + 2], other, &frame[at + 2..])),
        }
    }
    None
}

/// To whom, and what.
type Answer = (Mac, Vec<u8>);

fn answer_arp(payload: &[u8], mac: Mac, owns: impl Fn(IpAddr) -> bool) -> Option<Answer> {
    let asked = ArpPacket::from_slice(payload).ok()?.try_eth_ipv4().ok()?;
    // Who names the same address twice asks nothing, but tells that it has it (RFC 5227, 3).
    let asks = asked.operation == ArpOperation::REQUEST && asked.sender_ipv4 != asked.target_ipv4;
    if !asks || !owns(asked.target_ipv4.into()) {
        return None;
    }
    let reply = ArpEthIpv4Packet {
        operation: ArpOperation::REPLY,
        sender_mac: mac,
        sender_ipv4: asked.target_ipv4,
        target_mac: asked.sender_mac,
        target_ipv4: asked.sender_ipv4,
    };
    Some((asked.sender_mac, reply.to_bytes().to_vec()))
}

fn answer_solicitation(
    packet: &[u8],
    asker: Mac,
    mac: Mac,
    owns: impl Fn(IpAddr) -> bool,
) -> Option<Answer> {
    let (ip, target) = solicitation(packet)?;
    if !owns(target.into()) {
        return None;
    }
    // A host that has no address yet is answered through all (RFC 4861, 7.2.4).
    let has_address = ip.source != Ipv6Addr::UNSPECIFIED.octets();
    let (to, to_mac) =
        if has_address { (ip.source.into(), asker) } else { (ALL_NODES, ALL_NODES_MAC) };
    Some((to_mac, advertisement(target, to, mac, has_address)?))
}

/// The header and the target of a valid solicitation (RFC 4861, 7.1.1).
fn solicitation(packet: &[u8]) -> Option<(Ipv6Header, Ipv6Addr)> {
    let (ip, rest) = Ipv6Header::from_slice(packet).ok()?;
    let message = rest.get(..usize::from(ip.payload_length))?;
    if ip.next_header != IpNumber::IPV6_ICMP || ip.hop_limit != HOP_LIMIT {
        return None;
    }
    let icmp = Icmpv6Slice::from_slice(message).ok()?;
    let is_solicitation = icmp.icmp_type() == Icmpv6Type::NeighborSolicitation;
    if !is_solicitation || !icmp.is_checksum_valid(ip.source, ip.destination) {
        return None;
    }
    let (target, options) = icmp.payload().split_first_chunk::<16>()?;
    let target = Ipv6Addr::from(*target);
    let has_address = ip.source != Ipv6Addr::UNSPECIFIED.octets();
    let to_solicited = ip.destination.starts_with(&SOLICITED_NODE);
    let allowed = |option: u8| has_address || option != SOURCE_LINK_LAYER_ADDRESS;
    let valid =
        !target.is_multicast() && are_valid(options, allowed) && (has_address || to_solicited);
    valid.then_some((ip, target))
}

/// The first bytes of solicited-node multicast addresses (RFC 4291, 2.7.1).
const SOLICITED_NODE: [u8; 13] = [0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff];

/// Options of neighbour discovery (RFC 4861, 4.6.1): where the sender is, where the target is.
const SOURCE_LINK_LAYER_ADDRESS: u8 = 1;
const TARGET_LINK_LAYER_ADDRESS: u8 = 2;

/// True when all options are whole, and allowed.
fn are_valid(mut options: &[u8], allowed: impl Fn(u8) -> bool) -> bool {
    while let [kind, units, ..] = *options {
        let length = usize::from(units) * 8;
        if length == 0 || length > options.len() || !allowed(kind) {
            return false;
        }
        options = &options[length..];
    }
    options.is_empty()
}

/// An IPv6 packet that tells `to` that `target` is at `mac`.
fn advertisement(target: Ipv6Addr, to: Ipv6Addr, mac: Mac, solicited: bool) -> Option<Vec<u8>> {
    let payload = [&target.octets()[..], &[TARGET_LINK_LAYER_ADDRESS, 1], &mac].concat();
    let kind = Icmpv6Type::NeighborAdvertisement(NeighborAdvertisementHeader {
        router: false,
        solicited,
        r#override: true,
    });
    let icmp =
        Icmpv6Header::with_checksum(kind, target.octets(), to.octets(), &payload).ok()?.to_bytes();
    let ip = Ipv6Header {
        payload_length: (icmp.len() + payload.len()) as u16,
        next_header: IpNumber::IPV6_ICMP,
        hop_limit: HOP_LIMIT,
        source: target.octets(),
        destination: to.octets(),
        ..Ipv6Header::default()
    };
    Some([&ip.to_bytes()[..], &icmp, &payload].concat())
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use proptest::prelude::*;

    use super::*;

    const MAC: Mac = [2, 0, 0, 0, 0, 9];
    const ASKER: Mac = [2, 0, 0, 0, 0, 1];
    const TARGET4: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 77);
    const TARGET6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 0x77);
    const ASKER6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1);
    const SOLICITED: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00, 0x77);
    const SOURCE_OPTION: [u8; 8] = [1, 1, 2, 0, 0, 0, 0, 1];

    fn owns(address: IpAddr) -> bool {
        address == TARGET4 || address == TARGET6
    }

    fn frame(to: Mac, tags: &[u8], ether_type: u16, payload: &[u8]) -> Vec<u8> {
        [&to[..], &ASKER, tags, &ether_type.to_be_bytes(), payload].concat()
    }

    fn request(sender: [u8; 4], target: Ipv4Addr) -> Vec<u8> {
        let request = ArpEthIpv4Packet {
            operation: ArpOperation::REQUEST,
            sender_mac: ASKER,
            sender_ipv4: sender,
            target_mac: [0; 6],
            target_ipv4: target.octets(),
        };
        request.to_bytes().to_vec()
    }

    fn solicit(from: Ipv6Addr, to: Ipv6Addr, target: Ipv6Addr, options: &[u8]) -> Vec<u8> {
        let payload = [&target.octets()[..], options].concat();
        let kind = Icmpv6Type::NeighborSolicitation;
        let icmp = Icmpv6Header::with_checksum(kind, from.octets(), to.octets(), &payload).unwrap();
        let ip = Ipv6Header {
            payload_length: 8 + payload.len() as u16,
            next_header: IpNumber::IPV6_ICMP,
            hop_limit: 255,
            source: from.octets(),
            destination: to.octets(),
            ..Ipv6Header::default()
        };
        [&ip.to_bytes()[..], &icmp.to_bytes(), &payload].concat()
    }

    fn answer_to(payload: &[u8], ether_type: u16) -> Option<Vec<u8>> {
        answer(&frame([0x33, 0x33, 0xff, 0, 0, 0x77], &[], ether_type, payload), MAC, owns)
    }

    #[test]
    fn a_request_for_an_owned_address_is_answered_in_its_vlan() {
        let tags = [0x88, 0xa8, 0, 5, 0x81, 0, 0, 7];
        for (to, tags) in [([0xff; 6], &[][..]), (MAC, &tags[..4]), ([0xff; 6], &tags[..])] {
            let asked = frame(to, tags, 0x0806, &request([10, 0, 0, 1], TARGET4));
            let answered = answer(&asked, MAC, owns).unwrap();
            assert_eq!(answered[..12], [&ASKER[..], &MAC].concat());
            assert_eq!(answered[12..12 + tags.len()], *tags);
            let reply = ArpPacket::from_slice(&answered[14 + tags.len()..]).unwrap();
            let reply = reply.try_eth_ipv4().unwrap();
            assert_eq!(reply.operation, ArpOperation::REPLY);
            assert_eq!((reply.sender_mac, reply.sender_ipv4), (MAC, TARGET4.octets()));
            assert_eq!((reply.target_mac, reply.target_ipv4), (ASKER, [10, 0, 0, 1]));
        }
    }

    #[test]
    fn what_is_no_question_for_us_is_not_answered() {
        let other = request([10, 0, 0, 1], Ipv4Addr::new(10, 0, 0, 78));
        assert_eq!(answer_to(&other, 0x0806), None);
        assert_eq!(answer_to(&request(TARGET4.octets(), TARGET4), 0x0806), None);
        let mine = request([10, 0, 0, 1], TARGET4);
        assert!(answer_to(&mine, 0x0806).is_some() && answer_to(&mine, 0x0800).is_none());
        assert_eq!(answer(&frame([2, 0, 0, 0, 0, 8], &[], 0x0806, &mine), MAC, owns), None);
        let three_tags = [[0x81, 0, 0, 7]; 3].concat();
        assert_eq!(answer(&frame(MAC, &three_tags, 0x0806, &mine), MAC, owns), None);
    }

    /// The header, and the message where its checksum is right.
    fn advertised(answered: &[u8]) -> (Ipv6Header, &[u8]) {
        let (ip, message) = Ipv6Header::from_slice(&answered[14..]).unwrap();
        assert_eq!((ip.hop_limit, usize::from(ip.payload_length)), (255, message.len()));
        let icmp = Icmpv6Slice::from_slice(message).unwrap();
        assert!(icmp.is_checksum_valid(ip.source, ip.destination));
        (ip, message)
    }

    #[test]
    fn a_solicitation_is_answered_to_who_asked() {
        for to in [SOLICITED, TARGET6] {
            let asked = solicit(ASKER6, to, TARGET6, &SOURCE_OPTION);
            let answered = answer_to(&asked, 0x86dd).unwrap();
            assert_eq!(answered[..12], [&ASKER[..], &MAC].concat());
            let (ip, message) = advertised(&answered);
            assert_eq!((ip.source, ip.destination), (TARGET6.octets(), ASKER6.octets()));
            assert_eq!(message[..2], [136, 0]);
            assert_eq!(message[4..8], [0x60, 0, 0, 0], "solicited, override");
            assert_eq!(message[8..24], TARGET6.octets());
            assert_eq!(message[24..], [&[2, 1][..], &MAC].concat());
        }
    }

    #[test]
    fn who_has_no_address_yet_is_answered_through_all() {
        let asked = solicit(Ipv6Addr::UNSPECIFIED, SOLICITED, TARGET6, &[]);
        let answered = answer_to(&asked, 0x86dd).unwrap();
        assert_eq!(answered[..6], ALL_NODES_MAC);
        let (ip, message) = advertised(&answered);
        assert_eq!((ip.destination, message[4]), (ALL_NODES.octets(), 0x20));
    }

    #[test]
    fn a_solicitation_that_is_not_valid_is_not_answered() {
        let good = solicit(ASKER6, SOLICITED, TARGET6, &SOURCE_OPTION);
        let change = |at: usize, value: u8| {
            let mut bad = good.clone();
            bad[at] = value;
            assert_eq!(answer_to(&bad, 0x86dd), None, "byte {at}");
        };
        change(7, 254);
        change(6, 17);
        change(40, 136);
        change(41, 1);
        change(42, good[42] ^ 1);
        change(65, 0);
        let none = |from, to, options: &[u8]| {
            assert_eq!(answer_to(&solicit(from, to, TARGET6, options), 0x86dd), None);
        };
        none(Ipv6Addr::UNSPECIFIED, SOLICITED, &SOURCE_OPTION);
        none(Ipv6Addr::UNSPECIFIED, TARGET6, &[]);
        none(ASKER6, SOLICITED, &[1, 0, 0, 0, 0, 0, 0, 0]);
        none(ASKER6, SOLICITED, &[1, 2, 0, 0, 0, 0, 0, 0]);
        let other = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 0x78);
        assert_eq!(answer_to(&solicit(ASKER6, SOLICITED, other, &[]), 0x86dd), None);
    }

    proptest! {
        #[test]
        fn no_frame_makes_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
            let _ = answer(&bytes, MAC, |_| true);
            let _ = answer_to(&bytes, 0x0806);
            let _ = answer_to(&bytes, 0x86dd);
        }
    }
}
