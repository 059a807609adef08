//! Link layers: Ethernet, VLAN tags, Linux cooked, loopback, PPP.

use etherparse::{Ethernet2HeaderSlice, SingleVlanHeaderSlice};
use linerate_base::LinkType;
use serde::Serialize;

use super::numbers::{self, MAX_802_3_LENGTH};
use super::{Arp, Decoded, Ipv4, Ipv6, Layer, Mac, Next, Octets, Pppoe, Protocol};
use crate::data::Data;

/// The layer that a packet of this link type begins with.
pub(super) fn decode(link_type: LinkType, data: Data<'_>) -> Decoded<'_> {
    match link_type {
        LinkType::ETHERNET => Ethernet::decode(data),
        LinkType::LINUX_SLL => LinuxCooked::decode_v1(data),
        LinkType::LINUX_SLL2 => LinuxCooked::decode_v2(data),
        LinkType::NULL => Loopback::decode(data, u32::from_le_bytes),
        LinkType::LOOP => Loopback::decode(data, u32::from_be_bytes),
        LinkType::PPP | LinkType::PPP_HDLC => Ppp::decode(data),
        LinkType::PPP_ETHER => Pppoe::decode(numbers::PPPOE_SESSION, data),
        // Whatever a file calls its packets, they say themselves which version they are.
        LinkType::RAW | LinkType::IPV4 | LinkType::IPV6 => super::decode_ip(data),
        other => Some((Layer::Protocol(Protocol::link_type(other, data)), Next::Nothing)),
    }
}

/// The layer that an Ethernet type announces.
pub(super) fn decode_ethertype(ethertype: u16, data: Data<'_>) -> Decoded<'_> {
    match ethertype {
        numbers::IPV4 => Ipv4::decode(data),
        numbers::IPV6 => Ipv6::decode(data),
        numbers::ARP | numbers::REVERSE_ARP => Arp::decode(data),
        numbers::MPLS | numbers::MPLS_MULTICAST => super::Mpls::decode(data),
        numbers::PPPOE_DISCOVERY | numbers::PPPOE_SESSION => Pppoe::decode(ethertype, data),
        numbers::TRANSPARENT_ETHERNET => Ethernet::decode(data),
        numbers::PPP => Ppp::decode(data),
        0..=MAX_802_3_LENGTH => super::Llc::decode(data.clip(ethertype.into())),
        _ if numbers::is_vlan(ethertype) => Vlan::decode(data),
        _ => Some((Layer::Protocol(Protocol::ethertype(ethertype, data)), Next::Nothing)),
    }
}

pub(super) fn cut_name(ethertype: u16) -> &'static str {
    match ethertype {
        numbers::IPV4 => "ip",
        numbers::IPV6 => "ip6",
        numbers::ARP | numbers::REVERSE_ARP => "arp",
        numbers::MPLS | numbers::MPLS_MULTICAST => "mpls",
        numbers::PPPOE_DISCOVERY | numbers::PPPOE_SESSION => "pppoe",
        numbers::TRANSPARENT_ETHERNET => "ether",
        numbers::PPP => "ppp",
        0..=MAX_802_3_LENGTH => "llc",
        _ => "vlan",
    }
}

/// An Ethernet header (IEEE 802.3 3.1.1).
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Ethernet {
    /// The sender.
    pub source: Mac,
    /// The receiver.
    pub destination: Mac,
    /// The type field: an Ethernet type, or up to 1500 the length of an 802.3 frame.
    pub ethertype: u16,
    /// Bytes of the frame on the wire, this header included.
    pub length: usize,
}

impl Ethernet {
    const LENGTH: usize = 14;

    pub(super) fn decode(data: Data<'_>) -> Decoded<'_> {
        let header = Ethernet2HeaderSlice::from_slice(data.bytes()).ok()?;
        let ethernet = Self {
            source: Mac(header.source()),
            destination: Mac(header.destination()),
            ethertype: header.ether_type().0,
            length: data.length(),
        };
        let next = Next::Ethertype(ethernet.ethertype, data.skip(Self::LENGTH));
        Some((Layer::Ethernet(ethernet), next))
    }
}

/// A tag of IEEE 802.1Q 9.6.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Vlan {
    /// The VLAN's identifier.
    pub id: u16,
    /// The priority code point, 0 to 7.
    pub priority: u8,
    /// Whether the frame may be dropped first.
    pub drop_eligible: bool,
    /// The Ethernet type of what is tagged.
    pub ethertype: u16,
}

impl Vlan {
    const LENGTH: usize = 4;

    fn decode(data: Data<'_>) -> Decoded<'_> {
        let header = SingleVlanHeaderSlice::from_slice(data.bytes()).ok()?;
        let vlan = Self {
            id: header.vlan_identifier().value(),
            priority: header.priority_code_point().value(),
            drop_eligible: header.drop_eligible_indicator(),
            ethertype: header.ether_type().0,
        };
        Some((Layer::Vlan(vlan), Next::Ethertype(vlan.ethertype, data.skip(Self::LENGTH))))
    }
}

/// A Linux cooked header: `LINKTYPE_LINUX_SLL` and `LINKTYPE_LINUX_SLL2` of the tcpdump group's
/// register.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct LinuxCooked<'a> {
    /// 1 or 2.
    pub version: u8,
    /// `in`, `broadcast`, `multicast`, `other_host`, `out`, or null for an unknown one.
    pub packet_type: Option<&'static str>,
    /// The interface's index (version 2 only).
    pub interface_index: Option<u32>,
    /// The hardware type, an `ARPHRD_` of the kernel.
    pub hardware_type: u16,
    /// The sender's address on the link.
    pub source: Octets<'a>,
    /// The Ethernet type, or one of Linux's own below 1536.
    pub ethertype: u16,
    /// Bytes on the wire, this header included.
    pub length: usize,
}

/// Linux's own number for 802.2 frames (`ETH_P_802_2`, linux/if_ether.h).
const ETH_P_802_2: u16 = 4;

impl<'a> LinuxCooked<'a> {
    fn decode_v1(data: Data<'a>) -> Decoded<'a> {
        const LENGTH: usize = 16;
        let bytes = data.bytes().get(..LENGTH)?;
        let address = usize::from(data.u16(4)?).min(8);
        let cooked = Self {
            version: 1,
            packet_type: packet_type(data.u16(0)?),
            interface_index: None,
            hardware_type: data.u16(2)?,
            source: Octets(&bytes[6..6 + address]),
            ethertype: data.u16(14)?,
            length: data.length(),
        };
        Some((Layer::LinuxCooked(cooked), cooked.next(data.skip(LENGTH))))
    }

    fn decode_v2(data: Data<'a>) -> Decoded<'a> {
        const LENGTH: usize = 20;
        let bytes = data.bytes().get(..LENGTH)?;
        let address = usize::from(bytes[11]).min(8);
        let cooked = Self {
            version: 2,
            packet_type: packet_type(bytes[10].into()),
            interface_index: data.u32(4),
            hardware_type: data.u16(8)?,
            source: Octets(&bytes[12..12 + address]),
            ethertype: data.u16(0)?,
            length: data.length(),
        };
        Some((Layer::LinuxCooked(cooked), cooked.next(data.skip(LENGTH))))
    }

    fn next(&self, data: Data<'a>) -> Next<'a> {
        match self.ethertype {
            ETH_P_802_2 => Next::Llc(data),
            linux @ 0..=MAX_802_3_LENGTH => Next::Other(Protocol::linux(linux, data), data),
            ethertype => Next::Ethertype(ethertype, data),
        }
    }
}

fn packet_type(number: u16) -> Option<&'static str> {
    ["in", "broadcast", "multicast", "other_host", "out"].get(usize::from(number)).copied()
}

/// The address family before a packet, on BSD's loopback (`LINKTYPE_NULL`) and OpenBSD's
/// (`LINKTYPE_LOOP`).
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Loopback {
    /// The address family's number; 2 is IPv4, and 24, 28 and 30 are IPv6 on one BSD or another.
    pub family: u32,
    /// Bytes on the wire, this header included.
    pub length: usize,
}

impl Loopback {
    const LENGTH: usize = 4;

    fn decode(data: Data<'_>, order: fn([u8; 4]) -> u32) -> Decoded<'_> {
        let family = order(data.array(0)?);
        // A host of the other byte order wrote it: no family needs more than 16 bits.
        let family = if family > 0xffff { family.swap_bytes() } else { family };
        let rest = data.skip(Self::LENGTH);
        let next = match family {
            2 | 10 | 24 | 28 | 30 => Next::Ip(rest),
            _ => Next::Payload(rest),
        };
        Some((Layer::Loopback(Self { family, length: data.length() }), next))
    }
}

/// A PPP header, with or without the address and control bytes of HDLC (RFC 1661 2, RFC 1662 3.1).
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Ppp {
    /// The protocol's number.
    pub protocol: u16,
    /// The protocol's name, null when it has none here.
    pub name: Option<&'static str>,
    /// Bytes on the wire, this header included.
    pub length: usize,
}

impl Ppp {
    pub(super) fn decode(data: Data<'_>) -> Decoded<'_> {
        let hdlc = if data.u16(0)? == 0xff03 { 2 } else { 0 };
        let first = data.u8(hdlc)?;
        // RFC 1661 6.5: an odd first byte is a protocol compressed to that byte.
        let (protocol, width) = match first & 1 {
            1 => (u16::from(first), 1),
            _ => (data.u16(hdlc)?, 2),
        };
        let rest = data.skip(hdlc + width);
        let next = match protocol {
            0x0021 => Next::Ethertype(numbers::IPV4, rest),
            0x0057 => Next::Ethertype(numbers::IPV6, rest),
            0x0281 => Next::Mpls(rest),
            other => Next::Other(Protocol::ppp(other, rest), rest),
        };
        let ppp = Self { protocol, name: numbers::ppp(protocol), length: data.length() };
        Some((Layer::Ppp(ppp), next))
    }
}
