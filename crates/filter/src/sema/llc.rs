//! IEEE 802.2: what it carries, and its frames by kind.

use super::Compiler;
use super::links::Link;
use super::numbers::{LARGEST_LENGTH, ethertype, sap};
use crate::error::{Error, Result};
use crate::ir::predicate::{Comparison, PredicateId};
use crate::ir::value::Width;
use crate::syntax::Span;
use linerate_base::Word;

impl Compiler<'_> {
    /// The 802.2 header that the payload begins with carries `number`. That a header is SNAP's is
    /// looked at for AppleTalk only.
    pub(super) fn llc_carries(&mut self, number: u32) -> PredicateId {
        let payload = self.payload();
        match number {
            sap::OSI | sap::IP | sap::NETBEUI => self.both_saps(number),
            ethertype::ATALK => self.snap(number),
            number if number <= LARGEST_LENGTH => self.equals((payload, 0, Width::Byte), number),
            _ => self.equals((payload, 6, Width::Half), number),
        }
    }

    /// An 802.2 frame, of a kind if one is named (ISO/IEC 8802-2 5.4).
    pub(super) fn llc(&mut self, kind: Option<&str>, span: Span) -> Result<PredicateId> {
        let frame = self.llc_frame(span)?;
        let Some(kind) = kind else {
            return Ok(frame);
        };
        let payload = self.payload();
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

    fn llc_frame(&mut self, span: Span) -> Result<PredicateId> {
        Ok(match self.layout.link_type {
            Link::Ethernet => {
                let payload = self.payload();
                let is_length = self.is_length();
                let novell = self.equals((payload, 0, Width::Half), 0xffff);
                let not_novell = self.ir.not(novell);
                self.ir.and(is_length, not_novell)
            }
            Link::TokenRing | Link::Fddi | Link::Llc => self.ir.truth(true),
            Link::SunAtm => self.atm_llc(),
            Link::Wlan(_) => self.wlan_data(),
            _ => {
                let link = self.layout.description();
                return Err(Error::unsupported(format!("'llc' not supported for {link}"), span));
            }
        })
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
