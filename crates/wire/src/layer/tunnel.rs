//! Headers that carry another packet: GRE, VXLAN, GENEVE, MPLS, PPPoE.

use serde::Serialize;

use super::{Decoded, Layer, Next, Protocol, numbers};
use crate::data::Data;

/// A GRE header (RFC 2784, RFC 2890; version 1 is RFC 2637's).
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Gre {
    /// 0, or 1 for PPTP's.
    pub version: u8,
    /// The Ethernet type of the payload.
    pub protocol: u16,
    /// The key, or in version 1 the call's identifier in the low half.
    pub key: Option<u32>,
    /// The sequence number.
    pub sequence: Option<u32>,
    /// Bytes on the wire, this header included.
    pub length: usize,
}

impl Gre {
    const CHECKSUM: u16 = 0x8000;
    const ROUTING: u16 = 0x4000;
    const KEY: u16 = 0x2000;
    const SEQUENCE: u16 = 0x1000;
    const ACKNOWLEDGMENT: u16 = 0x0080;

    pub(super) fn decode(data: Data<'_>) -> Decoded<'_> {
        let flags = data.u16(0)?;
        let mut at = 4;
        let mut field = |present: bool| {
            let start = at;
            at += if present { 4 } else { 0 };
            present.then(|| data.u32(start))
        };
        field(flags & (Self::CHECKSUM | Self::ROUTING) != 0);
        let key = field(flags & Self::KEY != 0);
        let sequence = field(flags & Self::SEQUENCE != 0);
        let version = (flags & 7) as u8;
        field(version == 1 && flags & Self::ACKNOWLEDGMENT != 0);
        let gre = Self {
            version,
            protocol: data.u16(2)?,
            key: unless_cut(key)?,
            sequence: unless_cut(sequence)?,
            length: data.length(),
        };
        Some((Layer::Gre(gre), gre.next(flags, data.skip(at))))
    }

    fn next<'a>(&self, flags: u16, payload: Data<'a>) -> Next<'a> {
        match (self.version, self.protocol) {
            _ if flags & Self::ROUTING != 0 => Next::Payload(payload),
            (0 | 1, _) if payload.length() == 0 => Next::Nothing,
            (0 | 1, protocol) if numbers::ethertype(protocol).is_none() => {
                Next::Other(Protocol::gre(protocol, payload), payload)
            }
            (0 | 1, protocol) => Next::Ethertype(protocol, payload),
            _ => Next::Payload(payload),
        }
    }
}

/// A field that is absent, or present and captured; `None` when it was cut off.
fn unless_cut(field: Option<Option<u32>>) -> Option<Option<u32>> {
    match field {
        Some(None) => None,
        Some(value) => Some(value),
        None => Some(None),
    }
}

/// A VXLAN header (RFC 7348 5).
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Vxlan {
    /// The flags; the valid bit of the network identifier is 0x08.
    pub flags: u8,
    /// The network identifier.
    pub vni: u32,
}

impl Vxlan {
    const LENGTH: usize = 8;

    pub(super) fn decode(data: Data<'_>) -> Decoded<'_> {
        let vxlan = Self { flags: data.u8(0)?, vni: data.u32(4)? >> 8 };
        Some((Layer::Vxlan(vxlan), Next::Ethernet(data.skip(Self::LENGTH))))
    }
}

/// A GENEVE header (RFC 8926 3.4).
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Geneve {
    /// 0 is the only version there is.
    pub version: u8,
    /// Control packet, not data.
    pub control: bool,
    /// Critical options are present.
    pub critical: bool,
    /// The network identifier.
    pub vni: u32,
    /// The Ethernet type of the payload.
    pub protocol: u16,
    /// Bytes of options.
    pub options_length: u8,
}

impl Geneve {
    const LENGTH: usize = 8;

    pub(super) fn decode(data: Data<'_>) -> Decoded<'_> {
        let [first, flags] = data.array(0)?;
        let geneve = Self {
            version: first >> 6,
            control: flags & 0x80 != 0,
            critical: flags & 0x40 != 0,
            vni: data.u32(4)? >> 8,
            protocol: data.u16(2)?,
            options_length: (first & 0x3f) * 4,
        };
        let payload = data.skip(Self::LENGTH + usize::from(geneve.options_length));
        let next = match geneve.protocol {
            _ if geneve.version != 0 => Next::Payload(payload),
            protocol @ 0x600.. => Next::Ethertype(protocol, payload),
            _ => Next::Payload(payload),
        };
        Some((Layer::Geneve(geneve), next))
    }
}

/// One entry of an MPLS label stack (RFC 3032 2.1).
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Mpls {
    /// The label.
    pub label: u32,
    /// The traffic class, once called experimental.
    pub traffic_class: u8,
    /// Whether it is the last of the stack.
    pub bottom: bool,
    /// The time to live.
    pub ttl: u8,
}

impl Mpls {
    const LENGTH: usize = 4;

    pub(super) fn decode(data: Data<'_>) -> Decoded<'_> {
        let word = data.u32(0)?;
        let mpls = Self {
            label: word >> 12,
            traffic_class: (word >> 9 & 7) as u8,
            bottom: word & 0x100 != 0,
            ttl: word as u8,
        };
        let rest = data.skip(Self::LENGTH);
        // Nothing in the header says what the payload is: IP shows by its version.
        let next = match rest.u8(0).map(|first| first >> 4) {
            _ if !mpls.bottom => Next::Mpls(rest),
            Some(4 | 6) => Next::Ip(rest),
            _ => Next::Payload(rest),
        };
        Some((Layer::Mpls(mpls), next))
    }
}

/// A PPPoE header (RFC 2516 4).
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Pppoe {
    /// The code; 0 in a session, else a step of discovery.
    pub code: u8,
    /// `session`, `padi`, `pado`, `padr`, `pads`, `padt`, or null for an unknown code.
    pub name: Option<&'static str>,
    /// The session's identifier.
    pub session: u16,
    /// Bytes of payload, by the header's own count.
    pub length: u16,
}

impl Pppoe {
    const LENGTH: usize = 6;

    pub(super) fn decode(ethertype: u16, data: Data<'_>) -> Decoded<'_> {
        let code = data.u8(1)?;
        let pppoe = Self { code, name: name(code), session: data.u16(2)?, length: data.u16(4)? };
        let payload = data.skip(Self::LENGTH).clip(pppoe.length.into());
        let next = match ethertype {
            numbers::PPPOE_SESSION if code == 0 => Next::Ppp(payload),
            _ => Next::Other(Protocol::named("PPPoE tags", payload), payload),
        };
        Some((Layer::Pppoe(pppoe), next))
    }
}

fn name(code: u8) -> Option<&'static str> {
    Some(match code {
        0x00 => "session",
        0x07 => "pado",
        0x09 => "padi",
        0x19 => "padr",
        0x65 => "pads",
        0xa7 => "padt",
        _ => return None,
    })
}
