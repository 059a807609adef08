//! The Internet Group Management Protocol (RFC 1112, RFC 2236, RFC 3376).

use std::net::Ipv4Addr;

use etherparse::IgmpSlice;
use serde::Serialize;

use super::{Checksum, Decoded, Layer, Next};
use crate::data::Data;

/// An IGMP message.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Igmp<'a> {
    /// The type: 0x11 query, 0x12, 0x16 and 0x22 reports of versions 1 to 3, 0x17 leave.
    #[serde(rename = "type")]
    pub kind: u8,
    /// The maximum response code of a query.
    pub response_code: u8,
    /// The checksum.
    pub checksum: Checksum<'a>,
    /// The group; for a report of version 3 this is no address and null.
    pub group: Option<Ipv4Addr>,
    /// The group records of a report of version 3.
    pub records: Option<u16>,
    /// Bytes on the wire.
    pub length: usize,
}

impl<'a> Igmp<'a> {
    pub(crate) const QUERY: u8 = 0x11;
    pub(crate) const REPORT_V3: u8 = 0x22;

    pub(super) fn decode(data: Data<'a>) -> Decoded<'a> {
        let view = IgmpSlice::from_slice(data.bytes()).ok()?;
        let bytes = view.bytes4to7();
        let report = view.type_u8() == Self::REPORT_V3;
        let igmp = Self {
            kind: view.type_u8(),
            response_code: view.max_resp_code_or_reserved(),
            checksum: Checksum::new(view.checksum(), data.whole()),
            group: (!report).then_some(Ipv4Addr::from_octets(bytes)),
            records: report.then_some(u16::from_be_bytes([bytes[2], bytes[3]])),
            length: data.length(),
        };
        Some((Layer::Igmp(igmp), Next::Nothing))
    }

    /// The time to answer a query in, in tenths of a second (RFC 3376 4.1.1).
    pub fn response_tenths(&self) -> u32 {
        let code = u32::from(self.response_code);
        match code {
            0..128 => code,
            _ => (code & 0xf | 0x10) << ((code >> 4 & 7) + 3),
        }
    }
}
