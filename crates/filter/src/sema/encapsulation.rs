//! `vlan`, `mpls`, `pppoes`: what follows looks behind the tag, label or session header.

use super::Compiler;
use super::layout::Position;
use super::links::{Link, Radio};
use super::numbers::{ethertype, ppp};
use crate::error::{Error, Result};
use crate::ir::predicate::{Comparison, Predicate, PredicateId};
use crate::ir::value::{Metadata, Value, Width};
use crate::syntax::Span;
use crate::syntax::ast::BinaryOperator;
use linerate_base::LinkType;

/// The VLAN's number among a tag's 16 bits (IEEE 802.1Q 9.6).
const VLAN_NUMBER: u32 = 0x0fff;
/// An MPLS label among its entry's 32 bits (RFC 3032 2.1).
const MPLS_LABEL: u32 = 0xffff_f000;

impl Compiler<'_> {
    pub(super) fn vlan(&mut self, number: Option<u32>, span: Span) -> Result<PredicateId> {
        if self.layout.mpls_labels > 0 {
            return Err(Error::meaning("no VLAN match after MPLS", span));
        }
        let tags = match self.layout.link_type {
            Link::Wlan(radio) => radio != Radio::Ppi,
            link => link.is_ethernet(),
        };
        if !tags {
            let link = self.layout.description();
            return Err(Error::unsupported(format!("no VLAN support for {link}"), span));
        }
        at_most("VLAN tag", number, VLAN_NUMBER, span)?;
        let outermost = self.layout.link_type == Link::Ethernet
            && self.layout.vlan_tags == 0
            && self.layout.link == Position { constant: 0, slot: None };
        self.layout.vlan_tags += 1;
        if outermost && self.options.target.is_kernel() {
            self.vlan_in_kernel(number, span)
        } else {
            self.vlan_in_band(number, span)
        }
    }

    fn vlan_in_band(&mut self, number: Option<u32>, span: Span) -> Result<PredicateId> {
        let tagged = self.tagged(span)?;
        let network = self.network();
        self.layout.payload.constant += 4;
        self.layout.protocol.constant += 4;
        let Some(number) = number else {
            return Ok(tagged);
        };
        let matches = self.masked((network, 0, Width::Half), VLAN_NUMBER, number);
        Ok(self.ir.and(tagged, matches))
    }

    fn tagged(&mut self, span: Span) -> Result<PredicateId> {
        let tags = [
            self.carries(ethertype::VLAN, span)?,
            self.carries(ethertype::SERVICE_VLAN, span)?,
            self.carries(ethertype::OLD_QINQ, span)?,
        ];
        Ok(self.ir.any(tags))
    }

    /// The kernel may have taken the tag off. If it has not, headers are 4 bytes further on: known
    /// only at run time, and only if this test is made at all, so it is kept in a slot.
    fn vlan_in_kernel(&mut self, number: Option<u32>, span: Span) -> Result<PredicateId> {
        let taken_off = self.metadata_is(Metadata::VlanPresent, 1);
        let tagged = self.tagged(span)?;
        let network = self.network();
        let slot = self.ir.slot("vlan");
        let four = self.ir.constant(4);
        let shift = self.ir.predicate(Predicate::Bind(slot, four));
        let in_band = self.ir.and(shift, tagged);
        let tagged = self.ir.or(taken_off, in_band);
        self.layout.payload.slot = Some(slot);
        self.layout.protocol.slot = Some(slot);
        let Some(number) = number else {
            return Ok(tagged);
        };
        let in_metadata = self.vlan_in_metadata(number);
        let in_metadata = self.ir.and(taken_off, in_metadata);
        let in_bytes = self.masked((network, 0, Width::Half), VLAN_NUMBER, number);
        let not_taken_off = self.ir.not(taken_off);
        let in_bytes = self.ir.and(not_taken_off, in_bytes);
        let matches = self.ir.or(in_metadata, in_bytes);
        Ok(self.ir.and(tagged, matches))
    }

    fn vlan_in_metadata(&mut self, number: u32) -> PredicateId {
        let tag = self.ir.value(Value::Metadata(Metadata::VlanTag));
        let tag_number = self.ir.with_constant(BinaryOperator::And, tag, VLAN_NUMBER);
        let wanted = self.ir.constant(number);
        self.ir.compare(Comparison::Equal, tag_number, wanted)
    }

    pub(super) fn mpls(&mut self, label: Option<u32>, span: Span) -> Result<PredicateId> {
        at_most("MPLS label", label, MPLS_LABEL >> 12, span)?;
        let labelled = self.labelled(span)?;
        let network = self.network();
        self.layout.network = self.layout.network.wrapping_add(4);
        self.layout.network_llc = self.layout.network_llc.wrapping_add(4);
        self.layout.mpls_labels += 1;
        let Some(label) = label else {
            return Ok(labelled);
        };
        let matches = self.masked((network, 0, Width::Word), MPLS_LABEL, label << 12);
        Ok(self.ir.and(labelled, matches))
    }

    /// The link layer carries MPLS, or the label before was not the last.
    fn labelled(&mut self, span: Span) -> Result<PredicateId> {
        if self.layout.mpls_labels > 0 {
            let network = self.network();
            let bottom_of_stack = 2_u32.wrapping_neg();
            return Ok(self.masked((network, bottom_of_stack, Width::Byte), 0x01, 0));
        }
        match self.layout.link_type {
            Link::Ethernet | Link::NetAnalyzer | Link::CiscoHdlc => {
                self.carries(ethertype::MPLS, span)
            }
            Link::Ppp => self.carries(ppp::MPLS, span),
            _ => {
                let message = format!("no MPLS support for {}", self.layout.description());
                Err(Error::unsupported(message, span))
            }
        }
    }

    /// A PPPoE session header is 6 bytes; a PPP frame without HDLC framing follows (RFC 2516 4, 6).
    pub(super) fn pppoe_session(
        &mut self,
        session: Option<u32>,
        span: Span,
    ) -> Result<PredicateId> {
        at_most("PPPoE session number", session, 0xffff, span)?;
        let carried = self.carries(ethertype::PPPOE_SESSION, span)?;
        let network = self.network();
        self.enter_ppp();
        let Some(session) = session else {
            return Ok(carried);
        };
        let matches = self.masked((network, 0, Width::Word), 0xffff, session);
        Ok(self.ir.and(carried, matches))
    }

    fn enter_ppp(&mut self) {
        let Position { constant, slot } = self.layout.payload;
        let frame =
            Position { constant: constant.wrapping_add(self.layout.network).wrapping_add(6), slot };
        self.layout.link_type = Link::Ppp;
        self.layout.name = LinkType::PPP;
        self.layout.link = frame;
        self.layout.protocol = frame;
        self.layout.payload = Position { constant: frame.constant.wrapping_add(2), slot };
        self.layout.network = 0;
        self.layout.network_llc = 0;
        self.layout.tunnelled = false;
        self.layout.emulated = false;
    }
}

pub(super) fn at_most(what: &str, number: Option<u32>, maximum: u32, span: Span) -> Result<()> {
    match number.filter(|number| *number > maximum) {
        Some(number) => {
            let message = format!("{what} {number} greater than maximum {maximum}");
            Err(Error::meaning(message, span))
        }
        None => Ok(()),
    }
}
