//! Primitives that are keywords of their own: the link layer, lengths, and what the kernel knows.

use super::Compiler;
use super::layout::Link;
use super::numbers::ethertype;
use crate::error::{Error, Result};
use crate::ir::predicate::{Comparison, PredicateId};
use crate::ir::value::{Metadata, Value, Width};
use crate::syntax::Span;
use crate::syntax::ast::{ByteTest, Direction, Primitive};
use crate::syntax::token::Protocol;
use linerate_base::Word;
use linerate_bpf::classic::ancillary;

/// `PACKET_OUTGOING` of `linux/if_packet.h`, which cooked headers have too.
const OUTGOING: u32 = ancillary::OUTGOING as u32;

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
            Primitive::Inbound => {
                let outbound = self.outbound(span)?;
                Ok(self.ir.not(outbound))
            }
            Primitive::Outbound => self.outbound(span),
            Primitive::IfIndex(index) => self.interface(index, span),
            Primitive::Vlan(tag) => self.vlan(tag, span),
            Primitive::Mpls(label) => self.mpls(label, span),
            Primitive::PppoeDiscovery => self.carries(ethertype::PPPOE_DISCOVERY, span),
            Primitive::PppoeSession(session) => self.pppoe_session(session, span),
            Primitive::Geneve(network) => self.geneve(network, span),
            Primitive::Vxlan(network) => self.vxlan(network, span),
            Primitive::Llc(kind) => self.llc(kind, span),
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
            None | Some(Protocol::Link) => {
                self.require_ethernet("link-layer broadcasts are", span)?;
                self.ethernet_host([0xff; 6], Some(Direction::Destination), span)
            }
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
            None | Some(Protocol::Link) => {
                self.require_ethernet("link-layer multicasts are", span)?;
                let link = self.link();
                let group = self.compare(Comparison::Intersects, (link, 0, Width::Byte), 1);
                Ok(self.where_there_is_a_link_header(group))
            }
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

    fn outbound(&mut self, span: Span) -> Result<PredicateId> {
        let link = self.link();
        match self.layout.link_type {
            Link::Cooked if self.layout.hidden == 0 => {
                Ok(self.equals((link, 0, Width::Half), OUTGOING))
            }
            Link::Cooked2 if self.layout.hidden == 0 => {
                Ok(self.equals((link, 10, Width::Byte), OUTGOING))
            }
            _ => {
                self.require_metadata("inbound/outbound is", span)?;
                Ok(self.metadata_is(Metadata::PacketType, OUTGOING))
            }
        }
    }

    fn interface(&mut self, index: u32, span: Span) -> Result<PredicateId> {
        let link = self.link();
        match self.layout.link_type {
            Link::Cooked2 if self.layout.hidden == 0 => {
                Ok(self.equals((link, 4, Width::Word), index))
            }
            _ => {
                self.require_metadata("ifindex is", span)?;
                Ok(self.metadata_is(Metadata::InterfaceIndex, index))
            }
        }
    }

    fn require_metadata(&self, what: &str, span: Span) -> Result<()> {
        if self.options.target.is_kernel() || self.options.metadata {
            return Ok(());
        }
        let link = self.layout.link_type.description();
        let message = format!("{what} not supported on {link} when reading savefiles");
        Err(Error::unsupported(message, span))
    }

    pub(super) fn metadata_is(&mut self, metadata: Metadata, number: u32) -> PredicateId {
        let known = self.ir.value(Value::Metadata(metadata));
        let number = self.ir.constant(number);
        self.ir.compare(Comparison::Equal, known, number)
    }

    /// An 802.2 frame, of a kind if one is named (ISO/IEC 8802-2 5.4).
    fn llc(&mut self, kind: Option<&str>, span: Span) -> Result<PredicateId> {
        self.require_ethernet("'llc' is", span)?;
        let payload = self.payload();
        let is_length = self.is_length();
        let novell = self.equals((payload, 0, Width::Half), 0xffff);
        let not_novell = self.ir.not(novell);
        let frame = self.ir.and(is_length, not_novell);
        let Some(kind) = kind else {
            return Ok(frame);
        };
        let control = (payload, 2, Width::Byte);
        if kind.eq_ignore_ascii_case("i") {
            let other = self.compare(Comparison::Intersects, control, 0x01);
            let information = self.ir.not(other);
            return Ok(self.ir.and(frame, information));
        }
        let (mask, value) = llc_kind(kind).ok_or_else(|| {
            Error::meaning(format!("unknown LLC type name \"{}\"", Word(kind)), span)
                .expected("i, s, u, rr, rnr, rej, ui, ua, disc, dm, sabme, test, xid or frmr")
        })?;
        let matches = self.masked(control, mask, value);
        Ok(self.ir.and(frame, matches))
    }
}

/// Mask and value of the control field.
fn llc_kind(name: &str) -> Option<(u32, u32)> {
    const SUPERVISORY: u32 = 0x0f;
    const UNNUMBERED: u32 = 0xef;
    Some(match name.to_ascii_lowercase().as_str() {
        "s" => (0x03, 0x01),
        "u" => (0x03, 0x03),
        "rr" => (SUPERVISORY, 0x01),
        "rnr" => (SUPERVISORY, 0x05),
        "rej" => (SUPERVISORY, 0x09),
        "ui" => (UNNUMBERED, 0x03),
        "ua" => (UNNUMBERED, 0x63),
        "disc" => (UNNUMBERED, 0x43),
        "dm" => (UNNUMBERED, 0x0f),
        "sabme" => (UNNUMBERED, 0x6f),
        "test" => (UNNUMBERED, 0xe3),
        "xid" => (UNNUMBERED, 0xaf),
        "frmr" => (UNNUMBERED, 0x87),
        _ => return None,
    })
}
