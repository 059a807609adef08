//! The layers that packets are made of: their fields, where these lie and what they are when not given.
//!
//! Names and defaults are Scapy's (2.6). Headers lie as their RFCs show them, bit by bit.

mod icmp;
mod ip;
mod link;
mod payload;
mod transport;

pub(super) use payload::DNS_QUESTION;

/// A kind of layer.
#[derive(Debug)]
pub(super) struct Layer {
    pub(super) name: &'static str,
    /// Bytes of its header, without what of it varies in length.
    pub(super) length: usize,
    pub(super) fields: &'static [Field],
    /// What the layers below call it.
    pub(super) numbers: &'static [(Carrier, u64)],
    /// What it is to those above and beside it.
    pub(super) role: Role,
}

/// A layer's place in a packet, as far as others need to know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Link,
    Arp,
    Ipv4,
    Ipv6,
    Transport,
    /// A message of ICMP, which may carry the beginning of a packet that it is about.
    Message,
    /// A message that only counts when it has never been forwarded (RFC 4861, 7.1).
    Discovery,
    Payload,
}

/// Layers that name what they carry by a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Carrier {
    /// By an EtherType.
    Link,
    /// By an IP protocol number.
    Network,
    /// Carries a packet of its own version of IP, and does not name it.
    Message,
    /// Does not name it.
    Any,
}

impl Role {
    /// How a layer of this role names what it carries.
    pub(super) fn carrier(self) -> Carrier {
        match self {
            Self::Link => Carrier::Link,
            Self::Ipv4 | Self::Ipv6 => Carrier::Network,
            Self::Message => Carrier::Message,
            _ => Carrier::Any,
        }
    }
}

/// A field of a layer.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: &'static str,
    /// Its first bit, counted from the layer's first.
    pub(super) bit: usize,
    /// How many bits; 0 for one of variable length behind the header.
    pub(super) bits: usize,
    pub(super) kind: Kind,
    pub(super) default: Default,
}

/// How a field's values are written.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// A number, or one of these names for one.
    Number(&'static [(&'static str, u64)]),
    /// A number, or letters of which the first stands for the lowest bit.
    Flags(&'static str),
    Mac,
    /// True for one to which packets go, so that a blocklist counts.
    Ipv4(bool),
    /// The same.
    Ipv6(bool),
    /// Bytes behind the header.
    Bytes,
    /// How many bytes the payload has.
    Size,
    /// TCP's options.
    Options,
    /// A question of DNS.
    Question,
}

/// What a field is when not given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Default {
    Number(u128),
    /// The number of the layer that follows, or this where none does.
    Next(u64),
    /// Bytes from the layer's beginning to the packet's end, less this many.
    Length(usize),
    /// The layer's own length, what follows its header included, in words of 32 bits.
    Words,
    Checksum(Cover),
    /// 64, or 255 in front of a message of neighbour discovery.
    HopLimit,
    /// The interface's own.
    SourceMac,
    /// That of the gateway or neighbour to which the packet goes first.
    DestinationMac,
    SourceIpv4,
    SourceIpv6,
    /// Nothing.
    Absent,
}

/// What a checksum is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cover {
    /// The layer's header.
    Header,
    /// All from the layer on.
    Rest,
    /// The same and the addresses, the length and this protocol's number (RFC 9293, 3.1; RFC 8200, 8.1).
    Pseudo(u8),
}

impl Field {
    const fn new(
        name: &'static str,
        bit: usize,
        bits: usize,
        kind: Kind,
        default: Default,
    ) -> Self {
        Self { name, bit, bits, kind, default }
    }

    const fn number(name: &'static str, bit: usize, bits: usize, default: u128) -> Self {
        Self::new(name, bit, bits, Kind::Number(&[]), Default::Number(default))
    }

    const fn auto(name: &'static str, bit: usize, bits: usize, default: Default) -> Self {
        Self::new(name, bit, bits, Kind::Number(&[]), default)
    }
}

const ALL: &[&Layer] = &[
    &link::ETHER,
    &link::DOT1Q,
    &link::ARP,
    &ip::IP,
    &ip::IPV6,
    &icmp::ICMP,
    &icmp::ECHO_REQUEST,
    &icmp::ECHO_REPLY,
    &icmp::UNREACHABLE,
    &icmp::TOO_BIG,
    &icmp::TIME_EXCEEDED,
    &icmp::SOLICITATION,
    &icmp::ADVERTISEMENT,
    &icmp::SOURCE_OPTION,
    &icmp::TARGET_OPTION,
    &transport::TCP,
    &transport::UDP,
    &payload::DNS,
    &payload::RAW,
];

/// The layer called `name`.
pub(super) fn find(name: &str) -> Option<&'static Layer> {
    ALL.iter().find(|layer| layer.name == name).copied()
}

/// The layer that whoever wrote `name` may have meant.
pub(super) fn similar(name: &str) -> Option<&'static str> {
    ALL.iter().map(|layer| layer.name).find(|known| known.eq_ignore_ascii_case(name))
}

/// All names, for people.
pub(super) fn names() -> String {
    ALL.iter().map(|layer| layer.name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_fill_their_headers_without_gaps() {
        for layer in ALL {
            let end = layer.fields.iter().filter(|f| f.bits > 0).fold(0, |end, field| {
                assert_eq!(field.bit, end, "{}.{}", layer.name, field.name);
                end + field.bits
            });
            assert_eq!(end, layer.length * 8, "{}", layer.name);
        }
    }

    #[test]
    fn defaults_fit_their_fields() {
        for field in ALL.iter().flat_map(|layer| layer.fields) {
            if let Default::Number(number) = field.default {
                assert!(field.bits == 128 || number >> field.bits == 0, "{}", field.name);
            }
        }
    }
}
