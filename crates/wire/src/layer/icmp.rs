//! The Internet Control Message Protocols: of IPv4 (RFC 792) and of IPv6 (RFC 4443).

use std::net::Ipv6Addr;

use serde::Serialize;

use super::{Checksum, Decoded, Layer, Next, Upper, numbers};
use crate::data::Data;

/// An ICMP message.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Icmp<'a> {
    /// The type of message.
    #[serde(rename = "type")]
    pub kind: u8,
    /// The code within the type.
    pub code: u8,
    /// The checksum.
    pub checksum: Checksum<'a>,
    /// The identifier of an echo or a timestamp.
    pub identifier: Option<u16>,
    /// The sequence number of an echo or a timestamp.
    pub sequence: Option<u16>,
    /// Bytes on the wire, this header included.
    pub length: usize,
    /// The message from its first byte on.
    #[serde(skip)]
    pub(crate) data: Data<'a>,
}

impl<'a> Icmp<'a> {
    /// Where the packet that an error is about begins in the message.
    pub(crate) const QUOTE: usize = 8;

    pub(super) fn decode(upper: Upper, data: Data<'a>) -> Decoded<'a> {
        let [kind, code] = data.array(0)?;
        let covered = data.whole().filter(|_| !upper.fragmented);
        let has_identifier = matches!(kind, 0 | 8 | 13..=18);
        let number = |at| data.u16(at).filter(|_| has_identifier);
        let icmp = Self {
            kind,
            code,
            checksum: Checksum::new(data.u16(2)?, covered),
            identifier: number(4),
            sequence: number(6),
            length: data.length(),
            data,
        };
        Some((Layer::Icmp(icmp), Next::Nothing))
    }

    /// True for messages about a packet, the head of which they quote.
    pub fn is_error(&self) -> bool {
        matches!(self.kind, 3 | 4 | 5 | 11 | 12)
    }

    /// The quoted packet.
    pub(crate) fn quoted(&self) -> Data<'a> {
        self.data.skip(Self::QUOTE)
    }
}

/// An ICMPv6 message, neighbour discovery (RFC 4861) and listener discovery (RFC 3810) included.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Icmpv6<'a> {
    /// The type of message.
    #[serde(rename = "type")]
    pub kind: u8,
    /// The code within the type.
    pub code: u8,
    /// The checksum, its pseudo-header included.
    pub checksum: Checksum<'a>,
    /// The identifier of an echo.
    pub identifier: Option<u16>,
    /// The sequence number of an echo.
    pub sequence: Option<u16>,
    /// The target of a neighbour solicitation or advertisement, or of a redirect.
    pub target: Option<Ipv6Addr>,
    /// Bytes on the wire, this header included.
    pub length: usize,
    /// The message from its first byte on.
    #[serde(skip)]
    pub(crate) data: Data<'a>,
}

impl<'a> Icmpv6<'a> {
    pub(super) fn decode(upper: Upper, data: Data<'a>) -> Decoded<'a> {
        let [kind, code] = data.array(0)?;
        let upper = Upper { protocol: numbers::ICMPV6, ..upper };
        let is_echo = matches!(kind, 128 | 129);
        let has_target = matches!(kind, 135..=137);
        let icmp = Self {
            kind,
            code,
            checksum: upper.checksum(data.u16(2)?, data),
            identifier: data.u16(4).filter(|_| is_echo),
            sequence: data.u16(6).filter(|_| is_echo),
            target: data.array(8).map(Ipv6Addr::from_octets).filter(|_| has_target),
            length: data.length(),
            data,
        };
        Some((Layer::Icmpv6(icmp), Next::Nothing))
    }

    /// True for messages about a packet, the head of which they quote (RFC 4443 2.1).
    pub fn is_error(&self) -> bool {
        self.kind < 128
    }

    /// The quoted packet.
    pub(crate) fn quoted(&self) -> Data<'a> {
        self.data.skip(Icmp::QUOTE)
    }
}
