//! IPv6 as a peer of IPv4, for those who ask for it: extension headers are followed to the transport
//! header, and `tcp[...]` means both versions.
//!
//! The way through the headers is one number after the other, each in a slot of its own: how far behind
//! the IPv6 header's beginning a header begins, in the upper 24 bits, and which it is, in the lower 8.

use super::Compiler;
use super::layout::Position;
use super::numbers::{ethertype, ip};
use crate::error::Result;
use crate::ir::place::{Header, Place, PlaceId};
use crate::ir::predicate::{Comparison, Predicate, PredicateId};
use crate::ir::value::{Load, SlotId, Value, ValueId, Width};
use crate::syntax::Span;
use crate::syntax::ast::BinaryOperator as Op;

/// How many headers are followed: as many as RFC 8200 4.1 recommends.
const STEPS: usize = 6;
const IPV6_HEADER: u32 = 40;
/// Hop-by-hop options, routing, destination options: a length byte counts 8 bytes, but for the first.
const COUNTED: [u32; 3] = [0, 43, 60];
const NO_NEXT_HEADER: u32 = 59;
/// Of a fragment header's second half word: where in the packet the fragment is (RFC 8200 4.5).
const FRAGMENT_OFFSET: u32 = 0xfff8;

/// A transport header that has been found.
#[derive(Clone, Copy)]
pub(super) struct Transport6 {
    /// Finds it; false of no packet.
    pub(super) find: PredicateId,
    /// Which protocol it is.
    pub(super) protocol: ValueId,
    pub(super) place: PlaceId,
}

/// What has been made already, by where the network header is.
#[derive(Default)]
pub(super) struct Known {
    transports: Vec<(Network, Transport6)>,
    /// By protocol, too.
    either: Vec<((Network, u32), Guarded)>,
}

/// Where a network header is: the link layer's payload, and how far behind its beginning.
type Network = (Position, u32);
/// Where a header is, and what must hold for it to be there.
type Guarded = (PlaceId, PredicateId);

impl Compiler<'_> {
    /// The transport header behind the IPv6 header and its extension headers.
    pub(super) fn behind_extensions(&mut self) -> Transport6 {
        let key = (self.layout.payload, self.layout.network);
        if let Some((_, known)) = self.known.transports.iter().find(|(known, _)| *known == key) {
            return *known;
        }
        let network = self.network();
        let next = self.load(network, 6, Width::Byte);
        let mut state = self.ir.with_constant(Op::Or, next, IPV6_HEADER << 8);
        let mut steps = Vec::new();
        for _ in 0..STEPS {
            let slot = self.ir.slot("header");
            steps.push(self.step(network, state, slot));
            state = self.ir.value(Value::Slot(slot));
        }
        let find = self.ir.all(steps);
        let protocol = self.ir.with_constant(Op::And, state, 0xff);
        let at = self.ir.with_constant(Op::ShiftRight, state, 8);
        let start = self.ir.get_place(network);
        let variable = match start.variable {
            Some(variable) => self.ir.binary(Op::Add, variable, at),
            None => at,
        };
        let header = Header::Transport6;
        let place = Place { header, constant: start.constant, variable: Some(variable) };
        let found = Transport6 { find, protocol, place: self.ir.place(place) };
        self.known.transports.push((key, found));
        found
    }

    /// Past one header, if it is one to be followed.
    fn step(&mut self, network: PlaceId, state: ValueId, slot: SlotId) -> PredicateId {
        let kind = self.ir.with_constant(Op::And, state, 0xff);
        let at = self.ir.with_constant(Op::ShiftRight, state, 8);
        let counted = COUNTED.map(|number| self.value_is(kind, number));
        let counted = self.ir.any(counted);
        let past_counted = self.past(network, at, Some((1, 8)), slot);
        let authentication = self.value_is(kind, ip::AH);
        let past_authentication = self.past(network, at, Some((2, 4)), slot);
        let fragment = self.value_is(kind, ip::FRAGMENT);
        let past_fragment = self.past(network, at, None, slot);
        let place = self.load_behind(network, at, 2, Width::Half);
        let offset = self.ir.constant(FRAGMENT_OFFSET);
        let later = self.ir.compare(Comparison::Intersects, place, offset);
        let nothing = self.ir.constant(NO_NEXT_HEADER);
        let nothing = self.ir.predicate(Predicate::Bind(slot, nothing));
        let stay = self.ir.predicate(Predicate::Bind(slot, state));
        let alternatives = [
            self.ir.and(counted, past_counted),
            self.ir.and(authentication, past_authentication),
            self.ir.all([fragment, later, nothing]),
            self.ir.and(fragment, past_fragment),
            stay,
        ];
        self.ir.any(alternatives)
    }

    /// Binds the slot to what is behind a header whose length byte counts in `unit` beyond `extra`; that
    /// of a fragment header is constant.
    fn past(
        &mut self,
        network: PlaceId,
        at: ValueId,
        counts: Option<(u32, u32)>,
        slot: SlotId,
    ) -> PredicateId {
        let length = match counts {
            Some((extra, unit)) => {
                let count = self.load_behind(network, at, 1, Width::Byte);
                let units = self.ir.with_constant(Op::Add, count, extra);
                self.ir.with_constant(Op::Multiply, units, unit)
            }
            None => self.ir.constant(8),
        };
        let next = self.load_behind(network, at, 0, Width::Byte);
        let at = self.ir.binary(Op::Add, at, length);
        let at = self.ir.with_constant(Op::ShiftLeft, at, 8);
        let state = self.ir.binary(Op::Or, at, next);
        self.ir.predicate(Predicate::Bind(slot, state))
    }

    fn load_behind(&mut self, place: PlaceId, at: ValueId, offset: u32, width: Width) -> ValueId {
        self.ir.value(Value::Load(Load { place, index: Some(at), offset, width }))
    }

    pub(super) fn value_is(&mut self, value: ValueId, number: u32) -> PredicateId {
        let number = self.ir.constant(number);
        self.ir.compare(Comparison::Equal, value, number)
    }

    /// The transport header of `number` behind IPv4, where `over_ipv4` holds, or behind IPv6; and what
    /// must hold for it to be there.
    pub(super) fn transport_of_either(
        &mut self,
        number: u32,
        over_ipv4: PredicateId,
        span: Span,
    ) -> Result<Guarded> {
        let key = ((self.layout.payload, self.layout.network), number);
        if let Some((_, known)) = self.known.either.iter().find(|(known, _)| *known == key) {
            return Ok(*known);
        }
        let slot = self.ir.slot("transport");
        let transport = self.transport();
        let behind_ipv4 = self.position(transport, 0);
        let behind_ipv4 = self.ir.predicate(Predicate::Bind(slot, behind_ipv4));
        let ipv6 = self.carries(ethertype::IP6, span)?;
        let Transport6 { find, protocol, place } = self.behind_extensions();
        let matches = self.value_is(protocol, number);
        let behind_ipv6 = self.position(place, 0);
        let behind_ipv6 = self.ir.predicate(Predicate::Bind(slot, behind_ipv6));
        let alternatives =
            [self.ir.and(over_ipv4, behind_ipv4), self.ir.all([ipv6, find, matches, behind_ipv6])];
        let guard = self.ir.any(alternatives);
        let variable = Some(self.ir.value(Value::Slot(slot)));
        let place = self.ir.place(Place { header: Header::Transport, constant: 0, variable });
        self.known.either.push((key, (place, guard)));
        Ok((place, guard))
    }
}
