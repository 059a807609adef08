//! The Internet Protocol, version 4 (RFC 791).

use std::net::Ipv4Addr;

use etherparse::Ipv4HeaderSlice;
use etherparse::err::ipv4::{HeaderError, HeaderSliceError};
use serde::{Serialize, Serializer};

use super::{Addresses, Checksum, Decoded, Layer, Next, Upper};
use crate::data::Data;

/// An IPv4 header.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Ipv4<'a> {
    /// The sender.
    pub source: Ipv4Addr,
    /// The receiver.
    pub destination: Ipv4Addr,
    /// The type of service: six bits of DSCP, two of ECN.
    pub tos: u8,
    /// The time to live.
    pub ttl: u8,
    /// The identification, common to all fragments of a packet.
    pub identification: u16,
    /// `reserved`, `do_not_fragment`, `more_fragments`.
    #[serde(serialize_with = "flag_names")]
    pub flags: Ipv4Flags,
    /// Where the payload belongs in the unfragmented packet, in bytes.
    pub fragment_offset: u16,
    /// The protocol of the payload.
    pub protocol: u8,
    /// The length field, in bytes. 0 in a packet captured before the card segmented it.
    pub length: u16,
    /// Bytes of the header, its options included.
    pub header_length: u8,
    /// Bytes that the length field promises beyond what the enclosing layer has room for.
    pub missing: usize,
    /// The header's checksum.
    pub checksum: Checksum<'a>,
    /// The options, undecoded.
    #[serde(skip)]
    pub options: &'a [u8],
}

/// The three flag bits of an IPv4 header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv4Flags {
    /// RFC 791 wants it zero.
    pub reserved: bool,
    /// Do not fragment.
    pub dont_fragment: bool,
    /// More fragments follow.
    pub more_fragments: bool,
}

fn flag_names<S: Serializer>(flags: &Ipv4Flags, serializer: S) -> Result<S::Ok, S::Error> {
    let named = [
        (flags.reserved, "reserved"),
        (flags.dont_fragment, "do_not_fragment"),
        (flags.more_fragments, "more_fragments"),
    ];
    serializer.collect_seq(named.iter().filter(|(set, _)| *set).map(|(_, name)| name))
}

impl<'a> Ipv4<'a> {
    /// Source and destination.
    pub fn addresses(&self) -> Addresses {
        Addresses::V4(self.source, self.destination)
    }

    /// True for every fragment but the first: its payload begins amid a packet.
    pub fn is_later_fragment(&self) -> bool {
        self.fragment_offset != 0
    }

    pub(super) fn decode(data: Data<'a>) -> Decoded<'a> {
        match Ipv4HeaderSlice::from_slice(data.bytes()) {
            Ok(header) => Some(Self::read(header, data)),
            Err(HeaderSliceError::Len(_)) if data.length() < 20 => malformed("truncated-ip"),
            Err(HeaderSliceError::Len(_)) => None,
            Err(HeaderSliceError::Content(HeaderError::UnexpectedVersion { .. })) => {
                malformed("wrong version")
            }
            Err(HeaderSliceError::Content(_)) => malformed("bad header length"),
        }
    }

    fn read(header: Ipv4HeaderSlice<'a>, data: Data<'a>) -> (Layer<'a>, Next<'a>) {
        let header_length = header.slice().len();
        let total = usize::from(header.total_len());
        let ipv4 = Self {
            source: header.source_addr(),
            destination: header.destination_addr(),
            tos: header.slice()[1],
            ttl: header.ttl(),
            identification: header.identification(),
            flags: Ipv4Flags {
                reserved: header.slice()[6] & 0x80 != 0,
                dont_fragment: header.dont_fragment(),
                more_fragments: header.more_fragments(),
            },
            fragment_offset: header.fragments_offset().value() * 8,
            protocol: header.protocol().0,
            length: header.total_len(),
            header_length: header_length as u8,
            missing: total.saturating_sub(data.length()),
            checksum: Checksum::new(header.header_checksum(), Some(header.slice())),
            options: &header.slice()[20..],
        };
        (Layer::Ipv4(ipv4), ipv4.next(data))
    }

    fn next(&self, data: Data<'a>) -> Next<'a> {
        let total = usize::from(self.length);
        let header = usize::from(self.header_length);
        if total != 0 && total < header {
            return Next::Malformed("ip", "length shorter than header");
        }
        let data = if total == 0 { data } else { data.claim(total) };
        let payload = data.skip(header);
        if self.is_later_fragment() {
            return Next::Payload(payload);
        }
        let fragmented = self.flags.more_fragments;
        let upper = Upper { protocol: self.protocol, addresses: self.addresses(), fragmented };
        Next::Upper(upper, payload)
    }
}

fn malformed(reason: &'static str) -> Decoded<'static> {
    Some((Layer::Malformed { protocol: "ip", reason }, Next::Nothing))
}
