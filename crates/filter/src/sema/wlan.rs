//! IEEE 802.11, bare or behind a radio's header: addresses, types, directions, and what it carries.
//!
//! Offsets and codes are of IEEE 802.11-2020 9.2 to 9.4.

use super::Compiler;
use super::host::Offsets;
use super::links::{Link, Radio};
use crate::error::{Error, ErrorKind, Result};
use crate::ir::predicate::{Comparison, PredicateId};
use crate::ir::value::Width;
use crate::syntax::Span;
use crate::syntax::ast::{Direction, Word};
use crate::syntax::token::WlanAddress;
use linerate_base as base;

/// The frame control field's two bytes.
const KIND: u32 = 0;
const FLAGS: u32 = 1;
/// Among the bits of the first: type and subtype.
const TYPE: u32 = 0x0c;
const SUBTYPE: u32 = 0xf0;
const CONTROL_BIT: u32 = 0x04;
const DATA_BIT: u32 = 0x08;
/// Among those of the second: to and from the distribution system.
const TO_SYSTEM: u32 = 0x01;
const FROM_SYSTEM: u32 = 0x02;
/// The four addresses.
const ADDRESSES: [u32; 4] = [4, 10, 16, 24];

const MANAGEMENT: u32 = 0x00;
const CONTROL: u32 = 0x04;
const DATA: u32 = 0x08;
/// Control frames without a second address.
const CLEAR_TO_SEND: u32 = 0xc0;
const ACKNOWLEDGEMENT: u32 = 0xd0;

const TYPES: &[(&str, u32)] = &[
    ("mgt", MANAGEMENT),
    ("management", MANAGEMENT),
    ("ctl", CONTROL),
    ("control", CONTROL),
    ("data", DATA),
];

/// Subtypes by type.
const SUBTYPES: &[(u32, &[(&str, u32)])] = &[
    (
        MANAGEMENT,
        &[
            ("assocreq", 0x00),
            ("assoc-req", 0x00),
            ("assocresp", 0x10),
            ("assoc-resp", 0x10),
            ("reassocreq", 0x20),
            ("reassoc-req", 0x20),
            ("reassocresp", 0x30),
            ("reassoc-resp", 0x30),
            ("probereq", 0x40),
            ("probe-req", 0x40),
            ("proberesp", 0x50),
            ("probe-resp", 0x50),
            ("beacon", 0x80),
            ("atim", 0x90),
            ("disassoc", 0xa0),
            ("disassociation", 0xa0),
            ("auth", 0xb0),
            ("authentication", 0xb0),
            ("deauth", 0xc0),
            ("deauthentication", 0xc0),
        ],
    ),
    (
        CONTROL,
        &[
            ("ps-poll", 0xa0),
            ("rts", 0xb0),
            ("cts", CLEAR_TO_SEND),
            ("ack", ACKNOWLEDGEMENT),
            ("cf-end", 0xe0),
            ("cf-end-ack", 0xf0),
        ],
    ),
    (
        DATA,
        &[
            ("data", 0x00),
            ("data-cf-ack", 0x10),
            ("data-cf-poll", 0x20),
            ("data-cf-ack-poll", 0x30),
            ("null", 0x40),
            ("cf-ack", 0x50),
            ("cf-poll", 0x60),
            ("cf-ack-poll", 0x70),
            ("qos-data", 0x80),
            ("qos-data-cf-ack", 0x90),
            ("qos-data-cf-poll", 0xa0),
            ("qos-data-cf-ack-poll", 0xb0),
            ("qos", 0xc0),
            ("qos-cf-poll", 0xe0),
            ("qos-cf-ack-poll", 0xf0),
        ],
    ),
];

const DIRECTIONS: &[(&str, u32)] = &[("nods", 0), ("tods", 1), ("fromds", 2), ("dstods", 3)];

impl Compiler<'_> {
    /// A data frame's body begins with an 802.2 header.
    pub(super) fn wlan_carries(&mut self, number: u32) -> PredicateId {
        let data = self.wlan_data();
        let carried = self.llc_carries(number);
        self.ir.and(data, carried)
    }

    pub(super) fn wlan_data(&mut self) -> PredicateId {
        let control = self.has(KIND, CONTROL_BIT);
        let not_control = self.ir.not(control);
        let data = self.has(KIND, DATA_BIT);
        self.ir.and(not_control, data)
    }

    fn has(&mut self, offset: u32, bit: u32) -> PredicateId {
        let link = self.link();
        self.compare(Comparison::Intersects, (link, offset, Width::Byte), bit)
    }

    /// `then` if the bit is set, else `otherwise`; both are looked at in the other order.
    fn by_bit(
        &mut self,
        (offset, bit): (u32, u32),
        otherwise: PredicateId,
        then: PredicateId,
    ) -> PredicateId {
        let set = self.has(offset, bit);
        let clear = self.ir.not(set);
        let alternatives = [self.ir.and(clear, otherwise), self.ir.and(set, then)];
        self.ir.any(alternatives)
    }

    /// Where a frame is from and to depends on its type and its way; control frames do not tell.
    pub(super) fn wlan_host(
        &mut self,
        address: [u8; 6],
        direction: Option<Direction>,
    ) -> PredicateId {
        let ends = Offsets { source: 0, destination: 1 };
        self.directed(direction, ends, |compiler, end| {
            let link = compiler.link();
            let at = |compiler: &mut Self, offset| compiler.bytes(link, offset, &address);
            if end == 0 { compiler.wlan_source(at) } else { compiler.wlan_destination(at) }
        })
    }

    fn wlan_source(&mut self, mut at: impl FnMut(&mut Self, u32) -> PredicateId) -> PredicateId {
        let [_, second, third, fourth] = ADDRESSES.map(|offset| at(self, offset));
        let relayed = self.by_bit((FLAGS, TO_SYSTEM), third, fourth);
        let of_data = self.by_bit((FLAGS, FROM_SYSTEM), second, relayed);
        self.unless_control(second, of_data)
    }

    fn wlan_destination(
        &mut self,
        mut at: impl FnMut(&mut Self, u32) -> PredicateId,
    ) -> PredicateId {
        let [first, _, third, _] = ADDRESSES.map(|offset| at(self, offset));
        let of_data = self.by_bit((FLAGS, TO_SYSTEM), first, third);
        self.unless_control(first, of_data)
    }

    fn unless_control(&mut self, management: PredicateId, data: PredicateId) -> PredicateId {
        let control = self.has(KIND, CONTROL_BIT);
        let not_control = self.ir.not(control);
        let either = self.by_bit((KIND, DATA_BIT), management, data);
        self.ir.and(not_control, either)
    }

    pub(super) fn wlan_multicast(&mut self) -> PredicateId {
        self.wlan_destination(|compiler, offset| compiler.has(offset, 1))
    }

    /// One address of the frame, by place or role.
    pub(super) fn wlan_address(
        &mut self,
        address: [u8; 6],
        place: WlanAddress,
        span: Span,
    ) -> Result<PredicateId> {
        if !matches!(self.layout.link_type, Link::Wlan(_)) {
            let names = wlan_names(place);
            let verb = if names.contains(' ') { "are" } else { "is" };
            let message = format!("{names} {verb} only supported on 802.11 with 802.11 headers");
            return Err(Error::unsupported(message, span));
        }
        let link = self.link();
        let [first, second, third, fourth] =
            ADDRESSES.map(|offset| self.bytes(link, offset, &address));
        Ok(match place {
            WlanAddress::First => first,
            WlanAddress::Second => self.with_second(second),
            WlanAddress::Third => {
                let control = self.masked((link, KIND, Width::Byte), TYPE, CONTROL);
                let not_control = self.ir.not(control);
                self.ir.and(not_control, third)
            }
            WlanAddress::Fourth => {
                let both = TO_SYSTEM | FROM_SYSTEM;
                let relayed = self.masked((link, FLAGS, Width::Byte), both, both);
                self.ir.and(relayed, fourth)
            }
            WlanAddress::Receiver => {
                let data = self.has(KIND, DATA_BIT);
                self.ir.and(data, first)
            }
            WlanAddress::Transmitter => {
                let data = self.has(KIND, DATA_BIT);
                let second = self.with_second(second);
                self.ir.and(data, second)
            }
        })
    }

    fn with_second(&mut self, second: PredicateId) -> PredicateId {
        let kind = (self.link(), KIND, Width::Byte);
        let control = self.masked(kind, TYPE, CONTROL);
        let without = [
            self.masked(kind, SUBTYPE, CLEAR_TO_SEND),
            self.masked(kind, SUBTYPE, ACKNOWLEDGEMENT),
        ];
        let without = self.ir.any(without);
        let without = self.ir.and(control, without);
        let has_one = self.ir.not(without);
        self.ir.and(has_one, second)
    }

    pub(super) fn wlan_type(
        &mut self,
        kind: Word<'_>,
        subtype: Option<Word<'_>>,
        span: Span,
    ) -> Result<PredicateId> {
        let kind = number("type", TYPE, kind, TYPES, span)?;
        let Some(subtype) = subtype else {
            return self.frame_control(KIND, TYPE, kind, span);
        };
        let names = SUBTYPES.iter().find(|(of, _)| *of == kind).map_or(&[][..], |(_, names)| names);
        let subtype = number("subtype", SUBTYPE, subtype, names, span)?;
        self.frame_control(KIND, TYPE | SUBTYPE, kind | subtype, span)
    }

    pub(super) fn wlan_subtype(&mut self, name: &str, span: Span) -> Result<PredicateId> {
        let mut kinds = SUBTYPES.iter();
        let found = kinds.find_map(|(kind, names)| Some(kind | by_name(name, names)?));
        let kind = found.ok_or_else(|| unknown("type", name, span))?;
        self.frame_control(KIND, TYPE | SUBTYPE, kind, span)
    }

    pub(super) fn wlan_direction(
        &mut self,
        direction: Word<'_>,
        span: Span,
    ) -> Result<PredicateId> {
        let direction = match direction {
            Word::Number(number) => number,
            Word::Name(name) => by_name(name, DIRECTIONS).ok_or_else(|| {
                Error::at(ErrorKind::Name, "unknown 802.11 direction", span)
                    .expected("nods, tods, fromds or dstods")
            })?,
        };
        self.frame_control(FLAGS, TO_SYSTEM | FROM_SYSTEM, direction, span)
    }

    /// As libpcap has it, not with PPI's header.
    fn frame_control(
        &mut self,
        offset: u32,
        mask: u32,
        value: u32,
        span: Span,
    ) -> Result<PredicateId> {
        match self.layout.link_type {
            Link::Wlan(radio) if radio != Radio::Ppi => {
                let link = self.link();
                Ok(self.masked((link, offset, Width::Byte), mask, value))
            }
            _ => {
                let message = match offset {
                    KIND => "802.11 link-layer types supported only on 802.11",
                    _ => "frame direction supported only with 802.11 headers",
                };
                let link = self.layout.description();
                Err(Error::unsupported(format!("{message}, not on {link}"), span))
            }
        }
    }
}

/// What the keywords are that say this address, in quotes.
pub(super) fn wlan_names(address: WlanAddress) -> &'static str {
    match address {
        WlanAddress::First => "'addr1' and 'address1'",
        WlanAddress::Second => "'addr2' and 'address2'",
        WlanAddress::Third => "'addr3' and 'address3'",
        WlanAddress::Fourth => "'addr4' and 'address4'",
        WlanAddress::Receiver => "'ra'",
        WlanAddress::Transmitter => "'ta'",
    }
}

fn by_name(name: &str, names: &[(&str, u32)]) -> Option<u32> {
    names.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, number)| *number)
}

fn number(what: &str, mask: u32, word: Word<'_>, names: &[(&str, u32)], span: Span) -> Result<u32> {
    match word {
        Word::Number(number) if number & !mask != 0 => {
            let message = format!("invalid 802.11 {what} value 0x{number:02x}");
            Err(Error::meaning(message, span))
        }
        Word::Number(number) => Ok(number),
        Word::Name(name) => by_name(name, names).ok_or_else(|| unknown(what, name, span)),
    }
}

fn unknown(what: &str, name: &str, span: Span) -> Error {
    let message = format!("unknown 802.11 {what} name \"{}\"", base::Word(name));
    Error::at(ErrorKind::Name, message, span)
}
