//! What is in a packet: one [`Layer`] after another.
//!
//! [`Layers`] walks a packet from the link layer inwards without allocating; each item is a
//! decoded header that borrows the packet. The walk ends with what no header describes: a
//! [`Payload`], or a mark that says why there is no more ([`Layer::Truncated`],
//! [`Layer::Malformed`]). It never fails and never panics, whatever the bytes.
//!
//! One file per protocol. A header's `decode` takes the bytes from its start on and returns the
//! header and what follows it, or `None` when the capture ends within the header.
//!
//! # Schema
//! With serde every layer is an object with the key `layer` (its name in snake case, as in the
//! variants of [`Layer`]) and the fields of the struct of that name. Addresses are strings,
//! numbers are numbers, flags are lists of names, absent values are null. `length` is always in
//! bytes on the wire.

mod address;
mod arp;
mod checksum;
mod dhcp;
mod dns;
mod icmp;
mod igmp;
mod ipsec;
mod ipv4;
mod ipv6;
mod link;
mod llc;
pub(crate) mod numbers;
mod payload;
mod tcp;
mod tcp_option;
mod tunnel;
mod udp;

use linerate_base::{LinkType, Packet};
use serde::Serialize;

use crate::data::Data;

pub use address::{Addresses, Mac, Octets};
pub use arp::Arp;
pub use checksum::Checksum;
pub use dhcp::{Dhcp, DhcpOption, DhcpOptions};
pub use dns::{Dns, DnsData, DnsName, DnsQuestion, DnsRecord, Strings};
pub(crate) use dns::{Item, Section, class_name, type_name};
pub use icmp::{Icmp, Icmpv6};
pub use igmp::Igmp;
pub use ipsec::{Ah, Esp};
pub use ipv4::{Ipv4, Ipv4Flags};
pub use ipv6::{Fragment, Ipv6, Ipv6Extension, Routing};
pub use link::{Ethernet, LinuxCooked, Loopback, Ppp, Vlan};
pub use llc::{Llc, Snap};
pub(crate) use llc::{OUI_CISCO, OUI_ETHERTYPE};
pub use payload::{Payload, Protocol, Register, Text};
pub use tcp::{Tcp, TcpFlag, TcpFlags};
pub use tcp_option::{SackBlocks, TcpOption, TcpOptions};
pub use tunnel::{Geneve, Gre, Mpls, Pppoe, Vxlan};
pub use udp::Udp;

/// A header of a packet, or what stands in place of one.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(tag = "layer", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Layer<'a> {
    /// Ethernet II, or IEEE 802.3 with a length.
    Ethernet(Ethernet),
    /// An IEEE 802.1Q tag.
    Vlan(Vlan),
    /// A Linux cooked header, version 1 or 2.
    LinuxCooked(LinuxCooked<'a>),
    /// The address family before a packet on a BSD loopback.
    Loopback(Loopback),
    /// The Point-to-Point Protocol.
    Ppp(Ppp),
    /// PPP over Ethernet.
    Pppoe(Pppoe),
    /// IEEE 802.2 logical link control.
    Llc(Llc),
    /// The subnetwork access protocol.
    Snap(Snap),
    /// One MPLS label.
    Mpls(Mpls),
    /// The Address Resolution Protocol.
    Arp(Arp<'a>),
    /// The Internet Protocol, version 4.
    Ipv4(Ipv4<'a>),
    /// The Internet Protocol, version 6.
    Ipv6(Ipv6),
    /// An extension header of IPv6.
    Ipv6Extension(Ipv6Extension),
    /// IPsec's authentication header.
    Ah(Ah),
    /// IPsec's encapsulating security payload.
    Esp(Esp),
    /// The Internet Control Message Protocol.
    Icmp(Icmp<'a>),
    /// The Internet Control Message Protocol of IPv6.
    Icmpv6(Icmpv6<'a>),
    /// The Internet Group Management Protocol.
    Igmp(Igmp<'a>),
    /// The Transmission Control Protocol.
    Tcp(Tcp<'a>),
    /// The User Datagram Protocol.
    Udp(Udp<'a>),
    /// Generic routing encapsulation.
    Gre(Gre),
    /// A virtual extensible LAN.
    Vxlan(Vxlan),
    /// Generic network virtualisation encapsulation.
    Geneve(Geneve),
    /// The Domain Name System, multicast DNS included.
    Dns(Dns<'a>),
    /// The Dynamic Host Configuration Protocol, and BOOTP.
    Dhcp(Dhcp<'a>),
    /// A line-based protocol such as HTTP.
    Text(Text<'a>),
    /// A protocol that is named but not decoded.
    Protocol(Protocol),
    /// Bytes that no header describes.
    Payload(Payload<'a>),
    /// The capture ended within a header of this protocol.
    Truncated {
        /// Its name.
        protocol: &'static str,
    },
    /// The bytes break the rules of this protocol.
    Malformed {
        /// Its name.
        protocol: &'static str,
        /// Which rule.
        reason: &'static str,
    },
}

impl Layer<'_> {
    /// True for headers that belong to the link, before the network layer.
    pub(crate) fn is_link(&self) -> bool {
        use Layer::{Ethernet, LinuxCooked, Llc, Loopback, Ppp, Snap, Vlan};
        matches!(
            self,
            Ethernet(_) | Vlan(_) | LinuxCooked(_) | Loopback(_) | Ppp(_) | Llc(_) | Snap(_)
        )
    }
}

/// What the bytes after a header are.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Next<'a> {
    Nothing,
    Link(LinkType, Data<'a>),
    Ethernet(Data<'a>),
    Ethertype(u16, Data<'a>),
    Llc(Data<'a>),
    Snap(Data<'a>),
    Ip(Data<'a>),
    Upper(Upper, Data<'a>),
    Ppp(Data<'a>),
    Mpls(Data<'a>),
    /// Payload of a transport, with the protocol that its ports suggest.
    Application(Application, Data<'a>),
    Other(Protocol, Data<'a>),
    Payload(Data<'a>),
    Malformed(&'static str, &'static str),
}

/// How IP hands a payload over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Upper {
    pub(crate) protocol: u8,
    pub(crate) addresses: Addresses,
    /// The payload is the first of several fragments: it is not all here.
    pub(crate) fragmented: bool,
}

impl Upper {
    /// The checksum `value` at work over all of `data`, where that is to be had.
    pub(crate) fn checksum<'a>(&self, value: u16, data: Data<'a>) -> Checksum<'a> {
        let covered = data.whole().filter(|_| !self.fragmented);
        Checksum::new(value, covered).with_pseudo(self.addresses, self.protocol)
    }
}

/// Protocols over TCP and UDP that are decoded, by their well-known ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Application {
    Dns { multicast: bool },
    DnsOverTcp,
    Dhcp,
    Vxlan,
    Geneve,
    Mpls,
    Text(&'static str),
    Named(&'static str),
}

/// A decoded header and what follows it, or `None` when the capture ends within it.
pub(crate) type Decoded<'a> = Option<(Layer<'a>, Next<'a>)>;

/// More headers than any honest packet has.
const MAX_LAYERS: u8 = 64;

/// The layers of a packet, from the link inwards.
#[derive(Clone, Debug)]
pub struct Layers<'a> {
    next: Next<'a>,
    left: u8,
}

impl<'a> Layers<'a> {
    /// The layers of `packet`.
    pub fn new(packet: &Packet<'a>) -> Self {
        let data = Data::new(packet.data, packet.length as usize);
        Self::from(Next::Link(packet.link_type, data))
    }

    pub(crate) fn from(next: Next<'a>) -> Self {
        Self { next, left: MAX_LAYERS }
    }

    /// Bytes of `packet` before what is left to decode.
    pub(crate) fn consumed(&self, packet: &[u8]) -> usize {
        self.next.data().map_or(packet.len(), |data| data.offset_in(packet))
    }
}

impl<'a> Iterator for Layers<'a> {
    type Item = Layer<'a>;

    fn next(&mut self) -> Option<Layer<'a>> {
        let step = std::mem::replace(&mut self.next, Next::Nothing);
        if matches!(step, Next::Nothing) {
            return None;
        }
        if self.left == 0 {
            return Some(Layer::Malformed { protocol: "packet", reason: "too many headers" });
        }
        self.left -= 1;
        match step.decode() {
            Some((layer, next)) => {
                self.next = next;
                Some(layer)
            }
            None => Some(Layer::Truncated { protocol: step.name() }),
        }
    }
}

impl<'a> Next<'a> {
    fn decode(self) -> Decoded<'a> {
        match self {
            Self::Nothing => None,
            Self::Link(link_type, data) => link::decode(link_type, data),
            Self::Ethernet(data) => Ethernet::decode(data),
            Self::Ethertype(ethertype, data) => link::decode_ethertype(ethertype, data),
            Self::Llc(data) => Llc::decode(data),
            Self::Snap(data) => Snap::decode(data),
            Self::Ip(data) => decode_ip(data),
            Self::Upper(upper, data) => decode_upper(upper, data),
            Self::Ppp(data) => Ppp::decode(data),
            Self::Mpls(data) => Mpls::decode(data),
            Self::Application(application, data) => decode_application(application, data),
            Self::Other(protocol, _) => Some((Layer::Protocol(protocol), Self::Nothing)),
            Self::Payload(data) => Some((Layer::Payload(Payload::new(data)), Self::Nothing)),
            Self::Malformed(protocol, reason) => {
                Some((Layer::Malformed { protocol, reason }, Self::Nothing))
            }
        }
    }

    fn data(self) -> Option<Data<'a>> {
        match self {
            Self::Nothing | Self::Malformed(..) => None,
            Self::Link(_, data)
            | Self::Ethernet(data)
            | Self::Ethertype(_, data)
            | Self::Llc(data)
            | Self::Snap(data)
            | Self::Ip(data)
            | Self::Upper(_, data)
            | Self::Ppp(data)
            | Self::Mpls(data)
            | Self::Application(_, data)
            | Self::Other(_, data)
            | Self::Payload(data) => Some(data),
        }
    }

    /// What a header here is called when it is cut off.
    fn name(self) -> &'static str {
        match self {
            Self::Nothing | Self::Other(..) | Self::Payload(_) => "packet",
            Self::Link(link_type, _) => link_type.name().unwrap_or("link"),
            Self::Ethernet(_) => "ether",
            Self::Ethertype(ethertype, _) => link::cut_name(ethertype),
            Self::Llc(_) => "llc",
            Self::Snap(_) => "snap",
            Self::Ip(_) => "ip",
            Self::Upper(upper, _) => upper_name(upper.protocol),
            Self::Ppp(_) => "ppp",
            Self::Mpls(_) => "mpls",
            Self::Application(application, _) => application.cut_name(),
            Self::Malformed(protocol, _) => protocol,
        }
    }
}

impl Application {
    fn cut_name(self) -> &'static str {
        match self {
            Self::Dns { .. } | Self::DnsOverTcp => "domain",
            Self::Dhcp => "bootp",
            Self::Vxlan => "vxlan",
            Self::Geneve => "geneve",
            Self::Mpls => "mpls",
            Self::Text(name) | Self::Named(name) => name,
        }
    }
}

/// IP of either version, by its first four bits.
fn decode_ip(data: Data<'_>) -> Decoded<'_> {
    match data.u8(0)? >> 4 {
        4 => Ipv4::decode(data),
        6 => Ipv6::decode(data),
        _ => Some((Layer::Malformed { protocol: "ip", reason: "unknown version" }, Next::Nothing)),
    }
}

fn decode_upper(upper: Upper, data: Data<'_>) -> Decoded<'_> {
    use numbers::{
        AH, DESTINATION_OPTIONS, ESP, FRAGMENT, GRE, HOP_BY_HOP, ICMP, ICMPV6, IGMP, IPIP,
        IPV6_IN_IP, NO_NEXT_HEADER, ROUTING, TCP, UDP,
    };
    let v6 = matches!(upper.addresses, Addresses::V6(..));
    match upper.protocol {
        TCP => Tcp::decode(upper, data),
        UDP => Udp::decode(upper, data),
        ICMP => Icmp::decode(upper, data),
        ICMPV6 if v6 => Icmpv6::decode(upper, data),
        IGMP => Igmp::decode(data),
        IPIP => Ipv4::decode(data),
        IPV6_IN_IP => Ipv6::decode(data),
        GRE => Gre::decode(data),
        ESP => Esp::decode(data),
        AH => Ah::decode(upper, data),
        HOP_BY_HOP | ROUTING | FRAGMENT | DESTINATION_OPTIONS if v6 => {
            Ipv6Extension::decode(upper, data)
        }
        NO_NEXT_HEADER if v6 => {
            Some((Layer::Protocol(Protocol::named("no next header", data)), Next::Nothing))
        }
        number => Some((Layer::Protocol(Protocol::ip(number, data)), Next::Nothing)),
    }
}

fn upper_name(protocol: u8) -> &'static str {
    use numbers::{AH, ESP, FRAGMENT, GRE, ICMP, ICMPV6, IGMP, IPIP, IPV6_IN_IP, TCP, UDP};
    match protocol {
        TCP => "tcp",
        UDP => "udp",
        ICMP => "icmp",
        ICMPV6 => "icmp6",
        IGMP => "igmp",
        IPIP => "ip",
        IPV6_IN_IP => "ip6",
        GRE => "gre",
        ESP => "esp",
        AH => "ah",
        FRAGMENT => "frag",
        _ => "ip6ext",
    }
}

fn decode_application(application: Application, data: Data<'_>) -> Decoded<'_> {
    match application {
        Application::Dns { multicast } => Dns::decode(data, multicast),
        Application::DnsOverTcp => Dns::decode_over_tcp(data),
        Application::Dhcp => Dhcp::decode(data),
        Application::Vxlan => Vxlan::decode(data),
        Application::Geneve => Geneve::decode(data),
        Application::Mpls => Mpls::decode(data),
        Application::Named(name) => {
            Some((Layer::Protocol(Protocol::named(name, data)), Next::Nothing))
        }
        Application::Text(name) => Some((Layer::Text(Text::new(name, data)), Next::Nothing)),
    }
}
