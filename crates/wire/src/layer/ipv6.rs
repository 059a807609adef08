//! The Internet Protocol, version 6, and its extension headers (RFC 8200).

use std::net::Ipv6Addr;

use etherparse::err::ipv6::HeaderSliceError;
use etherparse::{Ipv6FragmentHeaderSlice, Ipv6HeaderSlice, Ipv6RawExtHeaderSlice};
use serde::Serialize;

use super::numbers::{DESTINATION_OPTIONS, FRAGMENT, HOP_BY_HOP, ROUTING};
use super::{Addresses, Decoded, Layer, Next, Upper};
use crate::data::Data;

/// An IPv6 header.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Ipv6 {
    /// The sender.
    pub source: Ipv6Addr,
    /// The receiver.
    pub destination: Ipv6Addr,
    /// The traffic class: six bits of DSCP, two of ECN.
    pub traffic_class: u8,
    /// The flow label.
    pub flow_label: u32,
    /// The hop limit.
    pub hop_limit: u8,
    /// The protocol of the next header.
    pub next_header: u8,
    /// The payload length field, in bytes; 0 in a jumbogram.
    pub length: u16,
    /// Bytes that the length field promises beyond what the enclosing layer has room for.
    pub missing: usize,
}

impl Ipv6 {
    const LENGTH: usize = 40;

    /// Source and destination.
    pub fn addresses(&self) -> Addresses {
        Addresses::V6(self.source, self.destination)
    }

    pub(super) fn decode(data: Data<'_>) -> Decoded<'_> {
        match Ipv6HeaderSlice::from_slice(data.bytes()) {
            Ok(header) => Some(Self::read(&header, data)),
            Err(HeaderSliceError::Len(_)) if data.length() < Self::LENGTH => {
                malformed("truncated-ip6")
            }
            Err(HeaderSliceError::Len(_)) => None,
            Err(HeaderSliceError::Content(_)) => malformed("wrong version"),
        }
    }

    fn read<'a>(header: &Ipv6HeaderSlice<'a>, data: Data<'a>) -> (Layer<'a>, Next<'a>) {
        let payload = data.skip(Self::LENGTH);
        let length = header.payload_length();
        let ipv6 = Self {
            source: header.source_addr(),
            destination: header.destination_addr(),
            traffic_class: header.traffic_class(),
            flow_label: header.flow_label().value(),
            hop_limit: header.hop_limit(),
            next_header: header.next_header().0,
            length,
            missing: usize::from(length).saturating_sub(payload.length()),
        };
        // RFC 2675 3: in a jumbogram the field is zero and an option has the length. Whether or
        // not the option is there, zero cannot bound a payload that is.
        let payload = if length == 0 { payload } else { payload.claim(length.into()) };
        let protocol = ipv6.next_header;
        let upper = Upper { protocol, addresses: ipv6.addresses(), fragmented: false };
        (Layer::Ipv6(ipv6), Next::Upper(upper, payload))
    }
}

fn malformed(reason: &'static str) -> Decoded<'static> {
    Some((Layer::Malformed { protocol: "ip6", reason }, Next::Nothing))
}

/// An extension header.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Ipv6Extension {
    /// Which one: 0 hop-by-hop options, 43 routing, 44 fragment, 60 destination options.
    pub protocol: u8,
    /// `hop_by_hop`, `routing`, `fragment` or `destination_options`.
    pub name: &'static str,
    /// The protocol of the next header.
    pub next_header: u8,
    /// Bytes of this header.
    pub length: usize,
    /// The details of a fragment header.
    pub fragment: Option<Fragment>,
    /// The details of a routing header.
    pub routing: Option<Routing>,
}

/// What a fragment header says (RFC 8200 4.5).
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Fragment {
    /// Where the payload belongs in the unfragmented packet, in bytes.
    pub offset: u16,
    /// Whether more fragments follow.
    pub more_fragments: bool,
    /// The identification, common to all fragments of a packet.
    pub identification: u32,
    /// Bytes of payload in this fragment.
    pub length: usize,
}

/// What a routing header says (RFC 8200 4.4).
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Routing {
    /// The type; 2 is mobile IPv6's, 4 is segment routing.
    pub kind: u8,
    /// How many listed nodes are still to be visited.
    pub segments_left: u8,
    /// The header's own length field, in units of 8 bytes beyond the first 8.
    pub length_field: u8,
}

impl Ipv6Extension {
    pub(super) fn decode(upper: Upper, data: Data<'_>) -> Decoded<'_> {
        if upper.protocol == FRAGMENT {
            return Self::decode_fragment(upper, data);
        }
        let header = Ipv6RawExtHeaderSlice::from_slice(data.bytes()).ok()?;
        let bytes = header.slice();
        let routing = (upper.protocol == ROUTING).then(|| Routing {
            kind: bytes[2],
            segments_left: bytes[3],
            length_field: bytes[1],
        });
        let extension = Self {
            protocol: upper.protocol,
            name: name(upper.protocol),
            next_header: header.next_header().0,
            length: bytes.len(),
            fragment: None,
            routing,
        };
        let next = Upper { protocol: extension.next_header, ..upper };
        Some((Layer::Ipv6Extension(extension), Next::Upper(next, data.skip(bytes.len()))))
    }

    fn decode_fragment(upper: Upper, data: Data<'_>) -> Decoded<'_> {
        let header = Ipv6FragmentHeaderSlice::from_slice(data.bytes()).ok()?;
        let length = header.slice().len();
        let payload = data.skip(length);
        let fragment = Fragment {
            offset: header.fragment_offset().value() * 8,
            more_fragments: header.more_fragments(),
            identification: header.identification(),
            length: payload.length(),
        };
        let extension = Self {
            protocol: FRAGMENT,
            name: name(FRAGMENT),
            next_header: header.next_header().0,
            length,
            fragment: Some(fragment),
            routing: None,
        };
        let upper =
            Upper { protocol: extension.next_header, fragmented: fragment.more_fragments, ..upper };
        let later = fragment.offset != 0;
        let next = if later { Next::Payload(payload) } else { Next::Upper(upper, payload) };
        Some((Layer::Ipv6Extension(extension), next))
    }
}

fn name(protocol: u8) -> &'static str {
    match protocol {
        HOP_BY_HOP => "hop_by_hop",
        ROUTING => "routing",
        DESTINATION_OPTIONS => "destination_options",
        _ => "fragment",
    }
}
