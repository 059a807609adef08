//! Addresses of the link layer: hosts, broadcast, multicast.

use super::Compiler;
use super::host::Offsets;
use super::links::Link;
use crate::error::{Error, Result};
use crate::ir::place::Place;
use crate::ir::predicate::{Comparison, PredicateId};
use crate::ir::value::{Value, Width};
use crate::syntax::Span;
use crate::syntax::ast::{Direction, Qualifiers};
use crate::syntax::token::Protocol;

/// Where the cell of a SunATM packet begins, and what LAN emulation's control frames begin with there
/// (ATM Forum af-lane-0021).
const CELL: u32 = 4;
const LANE_CONTROL: u32 = 0xff00;

impl Compiler<'_> {
    /// A MAC address of the link layer in force.
    pub(super) fn mac_host(
        &mut self,
        address: [u8; 6],
        direction: Option<Direction>,
        span: Span,
    ) -> Result<PredicateId> {
        if let Some(Direction::Wlan(place)) = direction {
            return self.wlan_address(address, place, span);
        }
        if let Link::Wlan(_) = self.layout.link_type {
            return Ok(self.wlan_host(address, direction));
        }
        let Some(offsets) = addresses(self.layout.link_type) else {
            let message = "ethernet addresses supported only on \
                           ethernet/FDDI/token ring/802.11/ATM LANE/Fibre Channel";
            return Err(self.not_on(message, span));
        };
        let link = self.link();
        let matches = self.directed(direction, offsets, |compiler, offset| {
            compiler.bytes(link, offset, &address)
        });
        Ok(self.where_there_is_a_link_header(matches))
    }

    /// An address of ARCnet, one byte.
    pub(super) fn arcnet_host(
        &mut self,
        address: u8,
        qualifiers: Qualifiers,
        span: Span,
    ) -> Result<PredicateId> {
        if self.layout.link_type != Link::Arcnet {
            return Err(self.not_on("aid supported only on ARCnet", span));
        }
        if qualifiers.protocol != Some(Protocol::Link) {
            let message = "ARCnet address used in non-arc expression";
            return Err(Error::meaning(message, qualifiers.span).expected("`link` before it"));
        }
        if let Some(Direction::Wlan(place)) = qualifiers.direction {
            return self.wlan_address([0; 6], place, span);
        }
        let link = self.link();
        let offsets = Offsets { source: 0, destination: 1 };
        Ok(self.directed(qualifiers.direction, offsets, |compiler, offset| {
            compiler.equals((link, offset, Width::Byte), address.into())
        }))
    }

    pub(super) fn link_broadcast(&mut self, span: Span) -> Result<PredicateId> {
        let link_type = self.layout.link_type;
        if link_type == Link::Arcnet {
            return Ok(self.arcnet_to_all());
        }
        if addresses(link_type).is_none() && !matches!(link_type, Link::Wlan(_)) {
            return Err(self.not_on("not a broadcast link", span));
        }
        self.mac_host([0xff; 6], Some(Direction::Destination), span)
    }

    /// The lowest bit of the first byte is set in group addresses (IEEE 802 8.2).
    pub(super) fn link_multicast(&mut self, span: Span) -> Result<PredicateId> {
        match self.layout.link_type {
            Link::Arcnet => return Ok(self.arcnet_to_all()),
            Link::Wlan(_) => return Ok(self.wlan_multicast()),
            _ => {}
        }
        let Some(offsets) = addresses(self.layout.link_type) else {
            let message = "link-layer multicast filters supported only on \
                           ethernet/FDDI/token ring/ARCNET/802.11/ATM LANE/Fibre Channel";
            return Err(self.not_on(message, span));
        };
        let field = (self.link(), offsets.destination, Width::Byte);
        let group = self.compare(Comparison::Intersects, field, 1);
        Ok(self.where_there_is_a_link_header(group))
    }

    fn arcnet_to_all(&mut self) -> PredicateId {
        let link = self.link();
        self.equals((link, 1, Width::Byte), 0)
    }

    fn not_on(&self, message: &str, span: Span) -> Error {
        Error::unsupported(format!("{message}, not on {}", self.layout.description()), span)
    }

    /// Inside a tunnel there may be none: then link header and payload begin at the same byte. LAN
    /// emulation's control frames have none either.
    fn where_there_is_a_link_header(&mut self, predicate: PredicateId) -> PredicateId {
        let (link, payload) = (self.layout.link.slot, self.layout.payload.slot);
        let (Some(link), Some(payload), true) = (link, payload, self.layout.tunnelled) else {
            return self.unless_lane_control(predicate);
        };
        let (link, payload) =
            (self.ir.value(Value::Slot(link)), self.ir.value(Value::Slot(payload)));
        let absent = self.ir.compare(Comparison::Equal, link, payload);
        let present = self.ir.not(absent);
        self.ir.and(present, predicate)
    }

    /// In LAN emulation, not of its control frames.
    pub(super) fn unless_lane_control(&mut self, predicate: PredicateId) -> PredicateId {
        if !self.layout.emulated {
            return predicate;
        }
        let packet = self.ir.place(Place::PACKET);
        let control = self.equals((packet, CELL, Width::Half), LANE_CONTROL);
        let data = self.ir.not(control);
        self.ir.and(data, predicate)
    }
}

/// Where MAC addresses of 6 bytes are in the link-layer header.
fn addresses(link: Link) -> Option<Offsets> {
    Some(match link {
        Link::Ethernet | Link::NetAnalyzer => Offsets { source: 6, destination: 0 },
        Link::Fddi => Offsets { source: 7, destination: 1 },
        Link::TokenRing => Offsets { source: 8, destination: 2 },
        Link::FibreChannel => Offsets { source: 10, destination: 2 },
        _ => return None,
    })
}
