//! Where in the packet the headers are, at this point of the expression.
//!
//! `vlan`, `mpls`, `pppoes`, `geneve` and `vxlan` move the headers for everything written after them,
//! whatever stands between: `vlan or ip` looks for IP behind a VLAN tag. That is the language's
//! documented rule, and this structure is all there is to it.

use super::Compiler;
use super::links::{Entry, Link};
use crate::error::{Error, ErrorKind, Result};
use crate::ir::place::{Header, Place, PlaceId};
use crate::ir::predicate::{Comparison, PredicateId};
use crate::ir::value::{Load, SlotId, Value, ValueId, Width};
use crate::options::Target;
use crate::syntax::Span;
use crate::syntax::ast::BinaryOperator;
use linerate_base::LinkType;

/// A position: a constant, and what only the packet can say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) constant: u32,
    pub(crate) slot: Option<SlotId>,
}

impl Position {
    pub(crate) const fn fixed(constant: u32) -> Self {
        Self { constant, slot: None }
    }
}

/// Where the headers are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    pub(crate) link_type: Link,
    /// What messages call it.
    pub(crate) name: LinkType,
    pub(crate) link: Position,
    /// The field that names the protocol; meaningless on raw links, which have none.
    pub(crate) protocol: Position,
    pub(crate) payload: Position,
    /// From the payload to the network-layer header.
    pub(crate) network: u32,
    /// The same where an 802.2 header stands between.
    pub(crate) network_llc: u32,
    pub(crate) vlan_tags: u32,
    pub(crate) mpls_labels: u32,
    /// Inside Geneve or VXLAN: there may or may not be a link-layer header.
    pub(crate) tunnelled: bool,
    /// Directly inside an ATM LAN emulation cell, which may be one of its control frames.
    pub(crate) emulated: bool,
    /// On raw ATM, or in what it carries.
    pub(crate) is_atm: bool,
    /// How many bytes of cooked header the packet has for its reader and not for the program.
    pub(crate) hidden: u32,
}

impl Layout {
    pub(crate) fn new(entry: Entry, target: Target) -> Self {
        let is_cooked = matches!(entry.link, Link::Cooked | Link::Cooked2);
        let hidden = if is_cooked && target.is_kernel() { entry.payload } else { 0 };
        Self {
            link_type: entry.link,
            name: entry.link_type,
            link: Position::fixed(entry.start),
            protocol: Position::fixed(entry.protocol),
            payload: Position::fixed(entry.payload.wrapping_sub(hidden)),
            network: entry.network,
            network_llc: entry.network_llc,
            vlan_tags: 0,
            mpls_labels: 0,
            tunnelled: false,
            emulated: false,
            is_atm: entry.link == Link::SunAtm,
            hidden,
        }
    }

    /// The link layer in force, for messages.
    pub(crate) fn description(&self) -> String {
        let unnamed = || format!("link type {}", self.name);
        self.name.description().map_or_else(unnamed, str::to_owned)
    }

    /// The link-layer header in force is one that the program does not see.
    pub(crate) fn hides_header(&self) -> bool {
        self.hidden > 0 && matches!(self.link_type, Link::Cooked | Link::Cooked2)
    }
}

/// Places of the layout in force.
impl Compiler<'_> {
    pub(super) fn link(&mut self) -> PlaceId {
        self.place(Header::Link, self.layout.link, 0)
    }

    /// The link-layer header, for expressions about any byte of it.
    pub(super) fn whole_link(&mut self, span: Span) -> Result<PlaceId> {
        if self.layout.hides_header() {
            let reason = "it does not see the link-layer header of cooked packets";
            return Err(Error::kernel(ErrorKind::Hidden, reason).placed(span));
        }
        Ok(self.link())
    }

    pub(super) fn protocol_field(&mut self) -> PlaceId {
        self.place(Header::Type, self.layout.protocol, 0)
    }

    pub(super) fn payload(&mut self) -> PlaceId {
        self.place(Header::Payload, self.layout.payload, 0)
    }

    pub(super) fn network(&mut self) -> PlaceId {
        self.place(Header::Network, self.layout.payload, self.layout.network)
    }

    pub(super) fn network_llc(&mut self) -> PlaceId {
        self.place(Header::NetworkLlc, self.layout.payload, self.layout.network_llc)
    }

    /// Behind an IPv6 header without extension headers.
    pub(super) fn transport6(&mut self) -> PlaceId {
        let offset = self.layout.network.wrapping_add(40);
        self.place(Header::Transport6, self.layout.payload, offset)
    }

    /// Behind an IPv4 header, whose length the packet says.
    pub(super) fn transport(&mut self) -> PlaceId {
        let length = self.ipv4_header_length();
        let variable = match self.layout.payload.slot {
            Some(slot) => {
                let slot = self.ir.value(Value::Slot(slot));
                self.ir.binary(BinaryOperator::Add, slot, length)
            }
            None => length,
        };
        let constant = self.layout.payload.constant.wrapping_add(self.layout.network);
        self.ir.place(Place { header: Header::Transport, constant, variable: Some(variable) })
    }

    fn ipv4_header_length(&mut self) -> ValueId {
        let network = self.network();
        let byte = self.load(network, 0, Width::Byte);
        let words = self.ir.with_constant(BinaryOperator::And, byte, 0xf);
        self.ir.with_constant(BinaryOperator::ShiftLeft, words, 2)
    }

    fn place(&mut self, header: Header, position: Position, offset: u32) -> PlaceId {
        let variable = position.slot.map(|slot| self.ir.value(Value::Slot(slot)));
        let constant = position.constant.wrapping_add(offset);
        self.ir.place(Place { header, constant, variable })
    }
}

/// Loads and comparisons.
impl Compiler<'_> {
    /// The packet's length, link-layer header included.
    pub(super) fn packet_length(&mut self) -> ValueId {
        let length = self.ir.value(Value::Length);
        match self.layout.hidden {
            0 => length,
            hidden => self.ir.with_constant(BinaryOperator::Add, length, hidden),
        }
    }

    pub(super) fn load(&mut self, place: PlaceId, offset: u32, width: Width) -> ValueId {
        self.ir.value(Value::Load(Load { place, index: None, offset, width }))
    }

    pub(super) fn compare(
        &mut self,
        how: Comparison,
        (place, offset, width): Field,
        constant: u32,
    ) -> PredicateId {
        let field = self.load(place, offset, width);
        let constant = self.ir.constant(constant);
        self.ir.compare(how, field, constant)
    }

    pub(super) fn equals(&mut self, field: Field, constant: u32) -> PredicateId {
        self.compare(Comparison::Equal, field, constant)
    }

    /// `field & mask == constant`
    pub(super) fn masked(&mut self, field: Field, mask: u32, constant: u32) -> PredicateId {
        if mask == u32::MAX {
            return self.equals(field, constant);
        }
        let (place, offset, width) = field;
        let field = self.load(place, offset, width);
        let masked = self.ir.with_constant(BinaryOperator::And, field, mask);
        let constant = self.ir.constant(constant);
        self.ir.compare(Comparison::Equal, masked, constant)
    }

    /// The bytes at `offset` are `bytes`; the last four are looked at first, as libpcap does.
    pub(super) fn bytes(&mut self, place: PlaceId, offset: u32, bytes: &[u8]) -> PredicateId {
        let (mut end, mut tests) = (bytes.len(), Vec::new());
        while end > 0 {
            let width = match end {
                4.. => Width::Word,
                2.. => Width::Half,
                _ => Width::Byte,
            };
            let start = end - width.bytes();
            let value = bytes[start..end].iter().fold(0, |value, b| value << 8 | u32::from(*b));
            tests.push(self.equals((place, offset + start as u32, width), value));
            end = start;
        }
        self.ir.all(tests)
    }
}

/// Where a field is, and how wide.
pub(super) type Field = (PlaceId, u32, Width);
