//! Where in the packet the headers are, at this point of the expression.
//!
//! `vlan`, `mpls`, `pppoes`, `geneve` and `vxlan` move the headers for everything written after them,
//! whatever stands between: `vlan or ip` looks for IP behind a VLAN tag. That is the language's
//! documented rule, and this structure is all there is to it.

use super::Compiler;
use crate::error::{Error, ErrorKind, Result};
use crate::ir::place::{Header, Place, PlaceId};
use crate::ir::predicate::{Comparison, PredicateId};
use crate::ir::value::{Load, SlotId, Value, ValueId, Width};
use crate::options::Target;
use crate::syntax::Span;
use crate::syntax::ast::BinaryOperator;
use linerate_base::LinkType;

/// The link layers whose headers we know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    Ethernet,
    Cooked,
    Cooked2,
    Raw,
    Ipv4,
    Ipv6,
    /// The address family in the byte order of the machine that captured.
    Null,
    /// The address family in network byte order.
    Loop,
    Ppp,
}

const KNOWN: [(LinkType, Link); 9] = [
    (LinkType::ETHERNET, Link::Ethernet),
    (LinkType::LINUX_SLL, Link::Cooked),
    (LinkType::LINUX_SLL2, Link::Cooked2),
    (LinkType::RAW, Link::Raw),
    (LinkType::IPV4, Link::Ipv4),
    (LinkType::IPV6, Link::Ipv6),
    (LinkType::NULL, Link::Null),
    (LinkType::LOOP, Link::Loop),
    (LinkType::PPP, Link::Ppp),
];

/// The link types that filters can be compiled for.
pub fn link_types() -> impl ExactSizeIterator<Item = LinkType> {
    KNOWN.iter().map(|(link_type, _)| *link_type)
}

impl Link {
    pub(crate) fn from_type(link_type: LinkType) -> Option<Self> {
        KNOWN.iter().find(|(known, _)| *known == link_type).map(|(_, link)| *link)
    }

    pub(crate) fn description(self) -> &'static str {
        match self {
            Self::Ethernet => "Ethernet",
            Self::Cooked => "Linux cooked v1",
            Self::Cooked2 => "Linux cooked v2",
            Self::Raw => "raw IP",
            Self::Ipv4 => "raw IPv4",
            Self::Ipv6 => "raw IPv6",
            Self::Null => "BSD loopback",
            Self::Loop => "OpenBSD loopback",
            Self::Ppp => "PPP",
        }
    }
}

/// A position: a constant, and what only the packet can say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) constant: u32,
    pub(crate) slot: Option<SlotId>,
}

impl Position {
    const fn fixed(constant: u32) -> Self {
        Self { constant, slot: None }
    }
}

/// Where the headers are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    pub(crate) link_type: Link,
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
    /// How many bytes of cooked header the packet has for its reader and not for the program.
    pub(crate) hidden: u32,
}

impl Layout {
    pub(crate) fn new(link_type: Link, target: Target) -> Self {
        let (protocol, payload) = match link_type {
            Link::Ethernet => (12, 14),
            Link::Cooked => (14, 16),
            Link::Cooked2 => (0, 20),
            Link::Raw | Link::Ipv4 | Link::Ipv6 => (0, 0),
            Link::Null | Link::Loop => (0, 4),
            Link::Ppp => (2, 4),
        };
        let is_cooked = matches!(link_type, Link::Cooked | Link::Cooked2);
        let hidden = if is_cooked && target.is_kernel() { payload } else { 0 };
        Self {
            link_type,
            link: Position::fixed(0),
            protocol: Position::fixed(protocol),
            payload: Position::fixed(payload - hidden),
            network: 0,
            network_llc: if link_type == Link::Ethernet { 3 } else { 0 },
            vlan_tags: 0,
            mpls_labels: 0,
            tunnelled: false,
            hidden,
        }
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
        self.place(Header::Transport6, self.layout.payload, self.layout.network + 40)
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
