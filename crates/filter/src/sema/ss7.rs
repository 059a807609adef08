//! SS7: signal units of MTP2, and the labels of MTP3 in them (ITU-T Q.703, Q.704); and the numbers of
//! these and of ATM that keywords compare.

use super::Compiler;
use super::atm;
use super::layout::Field as Bytes;
use super::links::Link;
use crate::error::{Error, Result};
use crate::ir::place::Place;
use crate::ir::predicate::{Comparison, PredicateId};
use crate::ir::value::Width;
use crate::syntax::Span;
use crate::syntax::ast::{BinaryOperator, Relation};
use crate::syntax::token::{Field, Keyword, Mtp2, word};

/// The length indicator among its byte's bits, and the 9 bits of high-speed links (Q.703 annex A), which
/// are two bytes further on. 0 is of fill-in units, 1 and 2 of link status units.
const LENGTH: u32 = 0x3f;
const FAST_LENGTH: u32 = 0xff80;
const FAST: u32 = 2;
const LONGEST_STATUS: u32 = 2;

impl Compiler<'_> {
    pub(super) fn mtp2(&mut self, kind: Mtp2, span: Span) -> Result<PredicateId> {
        let is_fast = matches!(kind, Mtp2::FastFillIn | Mtp2::FastLinkStatus | Mtp2::FastMessage);
        let suffix = if is_fast { "_HSL" } else { "" };
        let on = format!("only on MTP2{suffix}");
        let length = self.length_indicator(Keyword::Mtp2(kind), &on, span)?;
        let (place, at, _) = length;
        let (field, mask, unit) = match is_fast {
            true => ((place, at + FAST, Width::Half), FAST_LENGTH, 0x80),
            false => (length, LENGTH, 1),
        };
        let status = LONGEST_STATUS * unit;
        Ok(match kind {
            Mtp2::FillIn | Mtp2::FastFillIn => self.masked(field, mask, 0),
            Mtp2::LinkStatus | Mtp2::FastLinkStatus => {
                let (some, more) = (self.above(field, mask, 0), self.above(field, mask, status));
                let not_more = self.ir.not(more);
                self.ir.and(some, not_more)
            }
            Mtp2::Message | Mtp2::FastMessage => self.above(field, mask, status),
        })
    }

    fn above(&mut self, field: Bytes, mask: u32, limit: u32) -> PredicateId {
        self.compared(field, mask, Relation::Greater, limit)
    }

    /// `field & mask relation constant`
    fn compared(&mut self, field: Bytes, mask: u32, relation: Relation, k: u32) -> PredicateId {
        let (place, offset, width) = field;
        let mut value = self.load(place, offset, width);
        if mask != u32::MAX {
            value = self.ir.with_constant(BinaryOperator::And, value, mask);
        }
        let constant = self.ir.constant(k);
        let (how, negated) = Comparison::of(relation);
        let holds = self.ir.compare(how, value, constant);
        if negated { self.ir.not(holds) } else { holds }
    }

    fn length_indicator(&mut self, keyword: Keyword, on: &str, span: Span) -> Result<Bytes> {
        if self.layout.link_type != Link::Mtp2 {
            let (word, link) = (word(keyword), self.layout.description());
            let message = format!("'{word}' supported {on}, not on {link}");
            return Err(Error::unsupported(message, span));
        }
        let packet = self.ir.place(Place::PACKET);
        Ok((packet, self.layout.protocol.constant, Width::Byte))
    }

    /// A number of a header against one of the expression.
    pub(super) fn field(
        &mut self,
        field: Field,
        relation: Relation,
        number: u32,
        span: Span,
    ) -> Result<PredicateId> {
        if matches!(field, Field::Vpi | Field::Vci) {
            self.require_atm(Keyword::Field(field), span)?;
            let link = self.link();
            let bytes = match field {
                Field::Vpi => (link, atm::VPI, Width::Byte),
                _ => (link, atm::VCI, Width::Half),
            };
            return Ok(self.compared(bytes, u32::MAX, relation, number));
        }
        let (place, length, _) =
            self.length_indicator(Keyword::Field(field), "only on SS7", span)?;
        let label = label(field);
        if number > label.maximum {
            let (name, maximum) = (label.name, label.maximum);
            let message = format!("{name} value {number} too big; max value = {maximum}");
            return Err(Error::meaning(message, span));
        }
        let bytes = (place, length + label.offset, label.width);
        Ok(self.compared(bytes, label.mask, relation, (label.place)(number)))
    }
}

/// A number of an MTP3 label.
struct Label {
    name: &'static str,
    maximum: u32,
    /// From the length indicator.
    offset: u32,
    width: Width,
    mask: u32,
    /// The number as it lies in the packet, in little-endian order and across bytes.
    place: fn(u32) -> u32,
}

fn label(field: Field) -> Label {
    let (plain, shift) = match field {
        Field::FastSio => (Field::Sio, 3),
        Field::FastOpc => (Field::Opc, 3),
        Field::FastDpc => (Field::Dpc, 3),
        Field::FastSls => (Field::Sls, 3),
        other => (other, 0),
    };
    let name = word(Keyword::Field(plain));
    let (maximum, offset, width, mask, place): (_, _, _, _, fn(u32) -> u32) = match plain {
        Field::Sio => (0xff, 1, Width::Byte, u32::MAX, |number| number),
        Field::Opc => (0x3fff, 2, Width::Word, 0x00c0_ff0f, |number| {
            (number & 0x3) << 22 | (number & 0x3fc) << 6 | (number & 0x3c00) >> 10
        }),
        Field::Dpc => (0x3fff, 2, Width::Word, 0xff3f_0000, |number| {
            (number & 0xff) << 24 | (number & 0x3f00) << 8
        }),
        _ => (0xf, 5, Width::Byte, 0xf0, |number| number << 4),
    };
    Label { name, maximum, offset: offset + shift, width, mask, place }
}
