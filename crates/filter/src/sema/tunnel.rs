//! `geneve` and `vxlan`: what follows looks at the packet inside the tunnel.
//!
//! Where that packet begins is known only at run time, so it is bound to slots as soon as the outer
//! headers have matched.

use super::Compiler;
use super::encapsulation::at_most;
use super::layout::Position;
use super::links::Link;
use super::numbers::ethertype;
use crate::error::Result;
use crate::ir::place::{Place, PlaceId};
use crate::ir::predicate::{Comparison, Predicate, PredicateId};
use crate::ir::value::{Load, SlotId, Value, ValueId, Width};
use crate::syntax::Span;
use crate::syntax::ast::BinaryOperator;
use linerate_base::LinkType;

/// RFC 8926 3.3
const GENEVE_PORT: u32 = 6081;
/// RFC 7348 8
const VXLAN_PORT: u32 = 4789;
/// RFC 768
const UDP_HEADER: u32 = 8;
/// A virtual network's number is in the upper three bytes of the header's second word.
const VIRTUAL_NETWORK: u32 = 0xffff_ff00;
/// Of an Ethernet header: up to the type field, and as a whole.
const TO_TYPE: u32 = 12;
const ETHERNET_HEADER: u32 = 14;

impl Compiler<'_> {
    /// Version 0; options follow the header, whose first byte says how long they are in words; the
    /// packet inside is Ethernet or whatever else its protocol field says.
    pub(super) fn geneve(&mut self, network: Option<u32>, span: Span) -> Result<PredicateId> {
        at_most("Geneve VNI", network, VIRTUAL_NETWORK >> 8, span)?;
        let header = self.ir.slot("geneve");
        let outer = self.tunnelled(GENEVE_PORT, header, network, span, |compiler, transport| {
            compiler.masked((transport, UDP_HEADER, Width::Byte), 0xc0, 0)
        })?;
        let inner = Inner::new(self);
        let header = self.ir.value(Value::Slot(header));
        let link = self.behind_options(header);
        let link = self.ir.predicate(Predicate::Bind(inner.link, link));
        let rest = self.bind_bridged_or_bare(inner, header);
        self.enter(inner);
        Ok(self.ir.all([outer, link, rest]))
    }

    /// Behind a Geneve header of 8 bytes and its options (RFC 8926 3.4).
    fn behind_options(&mut self, header: ValueId) -> ValueId {
        let words = self.load_at(header, 0, Width::Byte);
        let words = self.ir.with_constant(BinaryOperator::And, words, 0x3f);
        let options = self.ir.with_constant(BinaryOperator::Multiply, words, 4);
        let length = self.ir.with_constant(BinaryOperator::Add, options, 8);
        self.ir.binary(BinaryOperator::Add, length, header)
    }

    fn bind_bridged_or_bare(&mut self, inner: Inner, header: ValueId) -> PredicateId {
        let protocol = self.load_at(header, 2, Width::Half);
        let bridging = self.ir.constant(ethertype::BRIDGING);
        let bridged = self.ir.compare(Comparison::Equal, protocol, bridging);
        let ethernet = self.bind_ethernet(inner);
        let bare = self.bind_bare(inner, header);
        let not_bridged = self.ir.not(bridged);
        let alternatives = [self.ir.and(bridged, ethernet), self.ir.and(not_bridged, bare)];
        self.ir.any(alternatives)
    }

    /// A header of 8 bytes, then Ethernet.
    pub(super) fn vxlan(&mut self, network: Option<u32>, span: Span) -> Result<PredicateId> {
        at_most("VXLAN VNI", network, VIRTUAL_NETWORK >> 8, span)?;
        let header = self.ir.slot("vxlan");
        let outer = self.tunnelled(VXLAN_PORT, header, network, span, |compiler, transport| {
            compiler.equals((transport, UDP_HEADER, Width::Byte), 0x08)
        })?;
        let inner = Inner::new(self);
        let header = self.ir.value(Value::Slot(header));
        let link = self.ir.with_constant(BinaryOperator::Add, header, 8);
        let link = self.ir.predicate(Predicate::Bind(inner.link, link));
        let ethernet = self.bind_ethernet(inner);
        self.enter(inner);
        Ok(self.ir.all([outer, link, ethernet]))
    }

    /// The tunnel's UDP port, a check of its header and its network's number, over IPv4 or IPv6;
    /// binds `slot` to where the tunnel's header begins.
    fn tunnelled(
        &mut self,
        port: u32,
        slot: SlotId,
        network: Option<u32>,
        span: Span,
        check: impl Fn(&mut Self, PlaceId) -> PredicateId,
    ) -> Result<PredicateId> {
        let (over_ipv4, over_ipv6) =
            (self.udp_destination(port, span)?, self.udp_destination6(port, span)?);
        let outer = [(over_ipv4, self.transport()), (over_ipv6, self.transport6())];
        let alternatives = outer.map(|(udp, transport)| {
            let mut tests = vec![udp, check(self, transport)];
            tests.extend(network.map(|number| {
                let field = (transport, UDP_HEADER + 4, Width::Word);
                self.masked(field, VIRTUAL_NETWORK, number << 8)
            }));
            let header = self.position(transport, UDP_HEADER);
            tests.push(self.ir.predicate(Predicate::Bind(slot, header)));
            self.ir.all(tests)
        });
        Ok(self.ir.any(alternatives))
    }

    /// How far into the packet `place + offset` is, as a number.
    pub(super) fn position(&mut self, place: PlaceId, offset: u32) -> ValueId {
        let place = self.ir.get_place(place);
        let constant = place.constant.wrapping_add(offset);
        match place.variable {
            Some(variable) => self.ir.with_constant(BinaryOperator::Add, variable, constant),
            None => self.ir.constant(constant),
        }
    }

    fn load_at(&mut self, position: ValueId, offset: u32, width: Width) -> ValueId {
        let place = self.ir.place(Place::PACKET);
        self.ir.value(Value::Load(Load { place, index: Some(position), offset, width }))
    }

    fn bind_ethernet(&mut self, inner: Inner) -> PredicateId {
        let link = self.ir.value(Value::Slot(inner.link));
        let protocol = self.ir.with_constant(BinaryOperator::Add, link, TO_TYPE);
        let payload = self.ir.with_constant(BinaryOperator::Add, link, ETHERNET_HEADER);
        self.bind(inner, protocol, payload)
    }

    /// No link-layer header inside: the protocol is in the tunnel's own header.
    fn bind_bare(&mut self, inner: Inner, header: ValueId) -> PredicateId {
        let link = self.ir.value(Value::Slot(inner.link));
        let protocol = self.ir.with_constant(BinaryOperator::Add, header, 2);
        self.bind(inner, protocol, link)
    }

    fn bind(&mut self, inner: Inner, protocol: ValueId, payload: ValueId) -> PredicateId {
        let protocol = self.ir.predicate(Predicate::Bind(inner.protocol, protocol));
        let payload = self.ir.predicate(Predicate::Bind(inner.payload, payload));
        self.ir.and(protocol, payload)
    }

    fn enter(&mut self, inner: Inner) {
        let at = |slot| Position { constant: 0, slot: Some(slot) };
        self.layout.link_type = Link::Ethernet;
        self.layout.name = LinkType::ETHERNET;
        self.layout.emulated = false;
        self.layout.link = at(inner.link);
        self.layout.protocol = at(inner.protocol);
        self.layout.payload = at(inner.payload);
        self.layout.network = 0;
        self.layout.tunnelled = true;
    }
}

/// Where the headers of the packet inside are.
#[derive(Clone, Copy)]
struct Inner {
    link: SlotId,
    protocol: SlotId,
    payload: SlotId,
}

impl Inner {
    fn new(compiler: &mut Compiler<'_>) -> Self {
        Self {
            link: compiler.ir.slot("link"),
            protocol: compiler.ir.slot("type"),
            payload: compiler.ir.slot("payload"),
        }
    }
}
