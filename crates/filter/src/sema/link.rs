//! Primitives that are keywords of their own: the link layer, lengths, and what the kernel knows.

use super::Compiler;
use super::layout::Layout;
use super::links::Link;
use super::numbers::ethertype;
use crate::error::{Error, Result};
use crate::ir::predicate::{Comparison, PredicateId};
use crate::ir::value::{Metadata, Value, Width};
use crate::syntax::Span;
use crate::syntax::ast::{ByteTest, Primitive};
use crate::syntax::token::Protocol;
use Wanted::{Is, Not};
use linerate_bpf::classic::ancillary;

/// `PACKET_OUTGOING` of `linux/if_packet.h`, which cooked headers have too.
const OUTGOING: u32 = ancillary::OUTGOING as u32;

/// Which way a packet goes, as the host sees it that captured.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    In,
    Out,
}

/// What a direction's field is, or is not.
enum Wanted {
    Is(u32),
    Not(u32),
}

/// Offset and width of a field.
type Bytes = (u32, Width);

/// The field of the link-layer header that says the direction, its mask, and its value for packets in
/// and out.
fn direction_field(layout: &Layout) -> Option<(Bytes, u32, [Wanted; 2])> {
    const ALL: u32 = u32::MAX;
    Some(match layout.link_type {
        _ if layout.hidden > 0 => return None,
        Link::Cooked => ((0, Width::Half), ALL, [Not(OUTGOING), Is(OUTGOING)]),
        Link::Cooked2 => ((10, Width::Byte), ALL, [Not(OUTGOING), Is(OUTGOING)]),
        Link::Slip => ((0, Width::Byte), ALL, [Is(0), Not(0)]),
        Link::PppDirected => ((0, Width::Byte), ALL, [Is(0), Is(1)]),
        Link::PfLog => ((60, Width::Byte), ALL, [Is(1), Is(2)]),
        Link::IpNet => ((2, Width::Half), ALL, [Is(2), Is(1)]),
        Link::Juniper => ((3, Width::Byte), 1, [Is(1), Is(0)]),
        _ => return None,
    })
}

impl Compiler<'_> {
    pub(super) fn primitive(
        &mut self,
        primitive: Primitive<'_>,
        span: Span,
    ) -> Result<PredicateId> {
        match primitive {
            Primitive::Broadcast(protocol) => self.broadcast(protocol, span),
            Primitive::Multicast(protocol) => self.multicast(protocol, span),
            Primitive::Less(length) => {
                let longer = self.length(Comparison::Greater, length);
                Ok(self.ir.not(longer))
            }
            Primitive::Greater(length) => Ok(self.length(Comparison::GreaterEqual, length)),
            Primitive::Byte(index, test, value) => self.byte(index, test, value, span),
            Primitive::Inbound => self.towards(Way::In, span),
            Primitive::Outbound => self.towards(Way::Out, span),
            Primitive::IfIndex(index) => self.interface(index, span),
            Primitive::Vlan(tag) => self.vlan(tag, span),
            Primitive::Mpls(label) => self.mpls(label, span),
            Primitive::PppoeDiscovery => self.carries(ethertype::PPPOE_DISCOVERY, span),
            Primitive::PppoeSession(session) => self.pppoe_session(session, span),
            Primitive::Geneve(network) => self.geneve(network, span),
            Primitive::Vxlan(network) => self.vxlan(network, span),
            Primitive::Llc(kind) => self.llc(kind, span),
            Primitive::WlanType(kind, subtype) => self.wlan_type(kind, subtype, span),
            Primitive::WlanSubtype(subtype) => self.wlan_subtype(subtype, span),
            Primitive::WlanDirection(direction) => self.wlan_direction(direction, span),
            Primitive::Atm(kind) => self.atm(kind, span),
            Primitive::Mtp2(kind) => self.mtp2(kind, span),
            Primitive::Field(field, relation, number) => self.field(field, relation, number, span),
            Primitive::Pf(field, value) => self.pf(field, value, span),
        }
    }

    fn length(&mut self, how: Comparison, length: u32) -> PredicateId {
        let packet = self.packet_length();
        let length = self.ir.constant(length);
        self.ir.compare(how, packet, length)
    }

    /// `byte N op V`. With `&` and `|`, libpcap tests whatever its accumulator holds.
    fn byte(&mut self, index: u32, test: ByteTest, value: u32, span: Span) -> Result<PredicateId> {
        let link = self.whole_link(span)?;
        let field = (link, index, Width::Byte);
        match test {
            ByteTest::Equal => Ok(self.equals(field, value)),
            ByteTest::Greater => Ok(self.compare(Comparison::Greater, field, value)),
            ByteTest::Less => {
                let not_less = self.compare(Comparison::GreaterEqual, field, value);
                Ok(self.ir.not(not_less))
            }
            ByteTest::And | ByteTest::Or => {
                let message =
                    "'byte' with `&` or `|` is not supported, as it does not work in libpcap";
                Err(Error::unsupported(message, span).expected("`link[N] & V != 0`"))
            }
        }
    }

    fn broadcast(&mut self, protocol: Option<Protocol>, span: Span) -> Result<PredicateId> {
        match protocol {
            None | Some(Protocol::Link) => self.link_broadcast(span),
            Some(Protocol::Ip) => self.ip_broadcast(span),
            Some(_) => Err(Error::meaning("only link-layer/IP broadcast filters supported", span)
                .expected("`ether`, `ip` or nothing before it")),
        }
    }

    /// To all hosts of this network: all host bits are zeros, or ones.
    fn ip_broadcast(&mut self, span: Span) -> Result<PredicateId> {
        let Some(netmask) = self.options.netmask else {
            let message = "netmask not known, so 'ip broadcast' not supported";
            return Err(Error::unsupported(message, span));
        };
        let hosts = !netmask.to_bits();
        let carried = self.carries(ethertype::IP, span)?;
        let destination = (self.network(), 16, Width::Word);
        let zeros = self.masked(destination, hosts, 0);
        let ones = self.masked(destination, hosts, hosts);
        let either = self.ir.or(zeros, ones);
        Ok(self.ir.and(carried, either))
    }

    fn multicast(&mut self, protocol: Option<Protocol>, span: Span) -> Result<PredicateId> {
        match protocol {
            None | Some(Protocol::Link) => self.link_multicast(span),
            Some(Protocol::Ip) => {
                let carried = self.carries(ethertype::IP, span)?;
                let destination = (self.network(), 16, Width::Byte);
                let group = self.compare(Comparison::GreaterEqual, destination, 224);
                Ok(self.ir.and(carried, group))
            }
            Some(Protocol::Ip6) => {
                let carried = self.carries(ethertype::IP6, span)?;
                let destination = (self.network(), 24, Width::Byte);
                let group = self.equals(destination, 255);
                Ok(self.ir.and(carried, group))
            }
            Some(_) => {
                Err(Error::meaning("only link-layer/IP/IPv6 multicast filters supported", span)
                    .expected("`ether`, `ip`, `ip6` or nothing before it"))
            }
        }
    }

    /// On its way out of the host that captured, or into it.
    fn towards(&mut self, way: Way, span: Span) -> Result<PredicateId> {
        let Some((field, mask, [inbound, outbound])) = direction_field(&self.layout) else {
            self.require_metadata("inbound/outbound", span)?;
            let out = self.metadata_is(Metadata::PacketType, OUTGOING);
            return Ok(if way == Way::Out { out } else { self.ir.not(out) });
        };
        let value = if way == Way::Out { outbound } else { inbound };
        let (link, (offset, width)) = (self.link(), field);
        let field = (link, offset, width);
        Ok(match value {
            Is(value) => self.masked(field, mask, value),
            Not(value) => {
                let other = self.masked(field, mask, value);
                self.ir.not(other)
            }
        })
    }

    fn interface(&mut self, index: u32, span: Span) -> Result<PredicateId> {
        if self.layout.link_type == Link::Cooked2 && self.layout.hidden == 0 {
            let link = self.link();
            return Ok(self.equals((link, 4, Width::Word), index));
        }
        self.require_metadata("ifindex", span)?;
        Ok(self.metadata_is(Metadata::InterfaceIndex, index))
    }

    fn require_metadata(&self, what: &str, span: Span) -> Result<()> {
        if self.options.target.is_kernel() || self.options.metadata {
            return Ok(());
        }
        let link = self.layout.description();
        let message = format!("{what} not supported on {link} when reading savefiles");
        Err(Error::unsupported(message, span))
    }

    pub(super) fn metadata_is(&mut self, metadata: Metadata, number: u32) -> PredicateId {
        let known = self.ir.value(Value::Metadata(metadata));
        let number = self.ir.constant(number);
        self.ir.compare(Comparison::Equal, known, number)
    }
}
