//! Headers whose length the packet says: those of radios before 802.11 frames, of 802.11 itself, of PF's
//! log.
//!
//! Lengths that any test of the expression uses are found before the first test and kept in slots.

use super::Compiler;
use super::layout::Position;
use super::links::{Link, Radio};
use crate::ir::place::Place;
use crate::ir::predicate::{Comparison, Predicate, PredicateId};
use crate::ir::value::{Load, SlotId, Value, ValueId, Width};
use crate::syntax::ast::BinaryOperator;

/// Bits of radiotap's first word of presence, as it lies in the packet: there is a field of flags; an
/// eight-byte time before it; and whether another word of presence follows.
const FLAGS_PRESENT: u32 = 0x0200_0000;
const TIME_PRESENT: u32 = 0x0100_0000;
const MORE_PRESENT: u32 = 0x0000_0080;
/// Among those flags: the 802.11 header is padded to a multiple of 4 bytes.
const PADDED: u32 = 0x20;
/// `DLT_IEEE802_11`, the only one that filters look into, where PPI's header says what follows it.
const PPI_WLAN: u32 = 0x6900_0000;
/// What an AVS header begins with; Prism's own, of constant length, begins otherwise.
const AVS_MAGIC: u32 = 0x8021_1000;
const PRISM_HEADER: u32 = 144;
const WLAN_HEADER: u32 = 24;

/// Where the lengths are kept.
#[derive(Clone, Copy)]
pub(super) struct Lengths {
    link_type: Link,
    link: Option<SlotId>,
    payload: SlotId,
}

impl Compiler<'_> {
    /// Sees to it that the layout tells of lengths found at run time, if this link type has any.
    pub(super) fn begin(&mut self) -> Option<Lengths> {
        let link_type = self.layout.link_type;
        let has_radio = match link_type {
            Link::Wlan(radio) => radio != Radio::Nothing,
            Link::PfLog => false,
            _ => return None,
        };
        let link = has_radio.then(|| self.ir.slot("link"));
        let payload = self.ir.slot("payload");
        if let Some(link) = link {
            self.layout.link = Position { constant: 0, slot: Some(link) };
        }
        self.layout.payload = Position { constant: 0, slot: Some(payload) };
        self.layout.protocol = self.layout.payload;
        Some(Lengths { link_type, link, payload })
    }

    /// What has to be found before `root` is tested, and `root`.
    pub(super) fn behind_lengths(&mut self, lengths: Lengths, root: PredicateId) -> PredicateId {
        let uses_payload = self.ir.has_value(Value::Slot(lengths.payload));
        let link =
            lengths.link.filter(|link| uses_payload || self.ir.has_value(Value::Slot(*link)));
        let mut parts = Vec::new();
        if lengths.link_type == Link::Wlan(Radio::Ppi) {
            parts.push(self.header_test((4, Width::Word), Comparison::Equal, PPI_WLAN));
        }
        if let (Link::Wlan(radio), Some(slot)) = (lengths.link_type, link) {
            parts.push(self.find_link(radio, slot));
        }
        if uses_payload {
            parts.push(match lengths.link_type {
                Link::Wlan(radio) => self.find_payload(radio, link, lengths.payload),
                _ => self.find_packet_of_log(lengths.payload),
            });
        }
        parts.push(root);
        self.ir.all(parts)
    }

    fn find_link(&mut self, radio: Radio, slot: SlotId) -> PredicateId {
        match radio {
            Radio::Prism => {
                let word = self.header(0, Width::Word);
                let magic = self.ir.with_constant(BinaryOperator::And, word, 0xffff_f000);
                let avs = self.ir.constant(AVS_MAGIC);
                let is_avs = self.ir.compare(Comparison::Equal, magic, avs);
                let (length, constant) =
                    (self.header(4, Width::Word), self.ir.constant(PRISM_HEADER));
                self.bind_either(slot, is_avs, length, constant)
            }
            Radio::Avs => {
                let length = self.header(4, Width::Word);
                self.ir.predicate(Predicate::Bind(slot, length))
            }
            // In little-endian order.
            Radio::Nothing | Radio::Radiotap | Radio::Ppi => {
                let high = self.header(3, Width::Byte);
                let high = self.ir.with_constant(BinaryOperator::ShiftLeft, high, 8);
                let low = self.header(2, Width::Byte);
                let length = self.ir.binary(BinaryOperator::Or, high, low);
                self.ir.predicate(Predicate::Bind(slot, length))
            }
        }
    }

    /// The 802.11 header has 24 bytes; 2 more, for quality of service, in data frames that say so; and
    /// perhaps padding.
    fn find_payload(&mut self, radio: Radio, link: Option<SlotId>, slot: SlotId) -> PredicateId {
        let start = match link {
            Some(link) => self.ir.value(Value::Slot(link)),
            None => self.ir.constant(0),
        };
        let packet = self.ir.place(Place::PACKET);
        let load =
            Load { place: packet, index: link.map(|_| start), offset: 0, width: Width::Byte };
        let kind = self.ir.value(Value::Load(load));
        let behind = self.ir.with_constant(BinaryOperator::Add, start, WLAN_HEADER);
        let quality = self.quality_of_service(kind);
        let behind = self.ir.binary(BinaryOperator::Add, behind, quality);
        if radio != Radio::Radiotap {
            return self.ir.predicate(Predicate::Bind(slot, behind));
        }
        let padded = self.is_padded(kind);
        let rounded = self.rounded_up(behind);
        self.bind_either(slot, padded, rounded, behind)
    }

    /// 2 in data frames of which bits 3 and 7 of the first byte are set and bit 2 is not, else 0.
    fn quality_of_service(&mut self, kind: ValueId) -> ValueId {
        let data = self.ir.with_constant(BinaryOperator::ShiftRight, kind, 2);
        let quality = self.ir.with_constant(BinaryOperator::ShiftRight, kind, 6);
        let flipped = self.ir.with_constant(BinaryOperator::Xor, kind, 4);
        let not_control = self.ir.with_constant(BinaryOperator::ShiftRight, flipped, 1);
        let both = self.ir.binary(BinaryOperator::And, data, quality);
        let all = self.ir.binary(BinaryOperator::And, both, not_control);
        self.ir.with_constant(BinaryOperator::And, all, 2)
    }

    /// A data frame whose radiotap header says so: flags are its first field, or its second after the
    /// time.
    fn is_padded(&mut self, kind: ValueId) -> PredicateId {
        let bit = |compiler: &mut Self, bit| {
            let bit = compiler.ir.constant(bit);
            compiler.ir.compare(Comparison::Intersects, kind, bit)
        };
        let (data, control) = (bit(self, 0x08), bit(self, 0x04));
        let present = |compiler: &mut Self, bit| {
            compiler.header_test((4, Width::Word), Comparison::Intersects, bit)
        };
        let (flags, more, time) = (
            present(self, FLAGS_PRESENT),
            present(self, MORE_PRESENT),
            present(self, TIME_PRESENT),
        );
        let late = self.header_test((16, Width::Byte), Comparison::Intersects, PADDED);
        let early = self.header_test((8, Width::Byte), Comparison::Intersects, PADDED);
        let no_time = self.ir.not(time);
        let alternatives = [self.ir.and(time, late), self.ir.and(no_time, early)];
        let padded = self.ir.any(alternatives);
        let tests = [data, self.ir.not(control), flags, self.ir.not(more), padded];
        self.ir.all(tests)
    }

    /// The header's first byte is its length without what pads it.
    fn find_packet_of_log(&mut self, slot: SlotId) -> PredicateId {
        let length = self.header(0, Width::Byte);
        let length = self.rounded_up(length);
        self.ir.predicate(Predicate::Bind(slot, length))
    }

    /// To a multiple of four.
    fn rounded_up(&mut self, length: ValueId) -> ValueId {
        let length = self.ir.with_constant(BinaryOperator::Add, length, 3);
        self.ir.with_constant(BinaryOperator::And, length, !3)
    }

    fn bind_either(
        &mut self,
        slot: SlotId,
        condition: PredicateId,
        then: ValueId,
        otherwise: ValueId,
    ) -> PredicateId {
        let then = self.ir.predicate(Predicate::Bind(slot, then));
        let otherwise = self.ir.predicate(Predicate::Bind(slot, otherwise));
        let then = self.ir.and(condition, then);
        self.ir.or(then, otherwise)
    }

    fn header(&mut self, offset: u32, width: Width) -> ValueId {
        let packet = self.ir.place(Place::PACKET);
        self.load(packet, offset, width)
    }

    fn header_test(
        &mut self,
        (offset, width): (u32, Width),
        how: Comparison,
        constant: u32,
    ) -> PredicateId {
        let packet = self.ir.place(Place::PACKET);
        self.compare(how, (packet, offset, width), constant)
    }
}
