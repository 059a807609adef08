//! IEEE 802.2: logical link control and the subnetwork access protocol.

use serde::Serialize;

use super::{Decoded, Layer, Next, Protocol};
use crate::data::Data;

/// A logical link control header (IEEE 802.2 3.2).
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Llc {
    /// The receiver's service access point, its group bit included.
    pub dsap: u8,
    /// The sender's service access point, its command or response bit included.
    pub ssap: u8,
    /// The control field: one byte for unnumbered frames, else two.
    pub control: u16,
    /// Bytes on the wire, this header included.
    pub length: usize,
}

/// The control field of an unnumbered information frame.
const UNNUMBERED_INFORMATION: u16 = 0x03;
const SNAP_SAP: u8 = 0xaa;
const IP_SAP: u8 = 0x06;

impl Llc {
    /// True when the frame is of the unnumbered format, whose control field has one byte.
    pub fn is_unnumbered(&self) -> bool {
        self.control & 3 == 3 && self.control <= 0xff
    }

    pub(super) fn decode(data: Data<'_>) -> Decoded<'_> {
        let [dsap, ssap, first] = data.array(0)?;
        let unnumbered = first & 3 == 3;
        let control = if unnumbered { first.into() } else { data.u16(2)?.swap_bytes() };
        let llc = Self { dsap, ssap, control, length: data.length() };
        let rest = data.skip(if unnumbered { 3 } else { 4 });
        Some((Layer::Llc(llc), llc.next(rest)))
    }

    fn next<'a>(&self, rest: Data<'a>) -> Next<'a> {
        match (self.dsap, self.ssap & !1, self.control) {
            (SNAP_SAP, SNAP_SAP, UNNUMBERED_INFORMATION) => Next::Snap(rest),
            (IP_SAP, IP_SAP, UNNUMBERED_INFORMATION) => Next::Ip(rest),
            _ => Next::Other(Protocol::llc(self.dsap & !1, rest), rest),
        }
    }
}

/// A header of the subnetwork access protocol (IEEE 802 9.2, RFC 1042).
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Snap {
    /// The organisation that numbers the protocols.
    pub oui: u32,
    /// The protocol's number.
    pub protocol: u16,
    /// Bytes on the wire after this header.
    pub length: usize,
}

pub(crate) const OUI_ETHERTYPE: u32 = 0x00_0000;
pub(crate) const OUI_CISCO: u32 = 0x00_000c;
/// Frames bridged from Ethernet, RFC 2684 5.2, with (1) and without (7) their checksum.
const OUI_BRIDGED: u32 = 0x00_80c2;

impl Snap {
    const LENGTH: usize = 5;

    pub(super) fn decode(data: Data<'_>) -> Decoded<'_> {
        let [a, b, c] = data.array(0)?;
        let rest = data.skip(Self::LENGTH);
        let snap = Self {
            oui: u32::from_be_bytes([0, a, b, c]),
            protocol: data.u16(3)?,
            length: rest.length(),
        };
        let next = match (snap.oui, snap.protocol) {
            // Below 1536 it would be a length, and lead back here for ever.
            (OUI_ETHERTYPE, protocol @ 0x600..) => Next::Ethertype(protocol, rest),
            (OUI_BRIDGED, 1 | 7) => Next::Ethernet(rest),
            (oui, protocol) => Next::Other(Protocol::snap(oui, protocol, rest), rest),
        };
        Some((Layer::Snap(snap), next))
    }
}
