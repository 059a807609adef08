//! Relations between arithmetic expressions.
//!
//! Bytes of a protocol, `tcp[13]`, bring a guard: the relation is false, not rejecting, for packets
//! of other protocols. Guards are tested before anything is loaded. As in libpcap, those of an
//! operator's right operand are lost: `1 + tcp[0] = 5` loads from any packet.

use super::Compiler;
use super::links::{Link, Radio};
use super::numbers::{ethertype, ip};
use crate::error::{Error, Result};
use crate::ir::place::{Place, PlaceId};
use crate::ir::predicate::{Comparison, PredicateId};
use crate::ir::value::{Load, Value, ValueId, Width};
use crate::syntax::Span;
use crate::syntax::ast::{Arithmetic, ArithmeticId, BinaryOperator, Relation};
use crate::syntax::token::Protocol;

/// A number, and what must hold for it to be there.
#[derive(Clone, Copy)]
struct Operand {
    value: ValueId,
    guard: Option<PredicateId>,
    /// The number that is written leftmost in it. libpcap takes it for the value when it looks for
    /// divisions by zero, so that it refuses `1 / ip[0]`.
    leftmost: Option<u32>,
}

impl Compiler<'_> {
    pub(super) fn relation(
        &mut self,
        relation: Relation,
        left: ArithmeticId,
        right: ArithmeticId,
    ) -> Result<PredicateId> {
        let (left, right) = (self.arithmetic(left)?, self.arithmetic(right)?);
        let (how, negated) = Comparison::of(relation);
        let mut holds = self.ir.compare(how, left.value, right.value);
        if negated {
            holds = self.ir.not(holds);
        }
        Ok(self
            .ir
            .all([left.guard, right.guard, Some(holds)].into_iter().flatten().collect::<Vec<_>>()))
    }

    fn arithmetic(&mut self, id: ArithmeticId) -> Result<Operand> {
        match self.ast.arithmetic(id) {
            Arithmetic::Number(number) => {
                let value = self.ir.constant(number);
                Ok(Operand { value, guard: None, leftmost: Some(number) })
            }
            Arithmetic::Length => {
                let value = self.packet_length();
                Ok(Operand { value, guard: None, leftmost: None })
            }
            Arithmetic::Negate(operand) => {
                let operand = self.arithmetic(operand)?;
                Ok(Operand { value: self.ir.value(Value::Negate(operand.value)), ..operand })
            }
            Arithmetic::Binary(operator, left, right) => {
                let (left, right_id) = (self.arithmetic(left)?, right);
                let right = self.arithmetic(right_id)?;
                self.refuse_constant(operator, right, right_id)?;
                let guard = match self.options.ipv6 {
                    true => self.guard(&[left.guard, right.guard]),
                    false => left.guard,
                };
                let value = self.ir.binary(operator, left.value, right.value);
                Ok(Operand { value, guard, ..left })
            }
            Arithmetic::Load { protocol, index, size } => {
                let span = self.ast.arithmetic_span(id);
                let width = width(size, span)?;
                let index = self.arithmetic(index)?;
                let (place, guard) = self.loaded_from(protocol, index.guard, span)?;
                let load = Load { place, index: Some(index.value), offset: 0, width };
                Ok(Operand { value: self.ir.value(Value::Load(load)), guard, ..index })
            }
        }
    }

    fn refuse_constant(
        &self,
        operator: BinaryOperator,
        right: Operand,
        id: ArithmeticId,
    ) -> Result<()> {
        let message = match (operator, right.leftmost) {
            (BinaryOperator::Divide, Some(0)) => "division by zero",
            (BinaryOperator::Modulo, Some(0)) => "modulus by zero",
            (BinaryOperator::ShiftLeft | BinaryOperator::ShiftRight, Some(32..)) => {
                "shift by more than 31 bits"
            }
            _ => return Ok(()),
        };
        Err(Error::meaning(message, self.ast.arithmetic_span(id)))
    }

    /// Where `protocol[0]` is, and the guard of loads from there, `inner` being the index's own.
    fn loaded_from(
        &mut self,
        protocol: Protocol,
        inner: Option<PredicateId>,
        span: Span,
    ) -> Result<(PlaceId, Option<PredicateId>)> {
        match protocol {
            Protocol::Link => Ok((self.whole_link(span)?, inner)),
            Protocol::Radio => Ok((self.radio_header(span)?, inner)),
            Protocol::Icmp6 => {
                let ipv6 = self.carries(ethertype::IP6, span)?;
                if self.options.ipv6 {
                    let found = self.behind_extensions();
                    let is_it = self.value_is(found.protocol, ip::ICMP6);
                    let guard = self.guard(&[inner, Some(ipv6), Some(found.find), Some(is_it)]);
                    return Ok((found.place, guard));
                }
                let network = self.network();
                let next_header = self.equals((network, 6, Width::Byte), ip::ICMP6);
                Ok((self.transport6(), self.guard(&[inner, Some(ipv6), Some(next_header)])))
            }
            protocol if is_network(protocol) => {
                let carried = self.protocol(protocol, span)?;
                Ok((self.network(), self.guard(&[inner, Some(carried)])))
            }
            protocol if is_transport(protocol) => {
                let ipv4 = self.carries(ethertype::IP, span)?;
                let carried = self.protocol(protocol, span)?;
                let unfragmented = self.first_fragment();
                let carried = self.ir.and(carried, unfragmented);
                if let Some(number) = over_both(protocol).filter(|_| self.options.ipv6) {
                    let network = self.network();
                    let matches = self.equals((network, 9, Width::Byte), number);
                    let over_ipv4 = self.ir.all([ipv4, matches, unfragmented]);
                    let (place, guard) = self.transport_of_either(number, over_ipv4, span)?;
                    return Ok((place, self.guard(&[inner, Some(guard)])));
                }
                Ok((self.transport(), self.guard(&[Some(ipv4), inner, Some(carried)])))
            }
            other => {
                let message = format!("unsupported index operation on '{other}'");
                Err(Error::meaning(message, span).expected(
                    "`ether`, `ip`, `ip6`, `arp`, `tcp`, `udp`, `icmp` or another header",
                ))
            }
        }
    }

    /// The packet's beginning, where it is a header that a radio wrote.
    fn radio_header(&mut self, span: Span) -> Result<PlaceId> {
        match self.layout.link_type {
            Link::Wlan(Radio::Prism | Radio::Radiotap | Radio::Avs) => {
                Ok(self.ir.place(Place::PACKET))
            }
            _ => Err(Error::unsupported("radio information not present in capture", span)),
        }
    }

    fn guard(&mut self, parts: &[Option<PredicateId>]) -> Option<PredicateId> {
        Some(self.ir.all(parts.iter().flatten().copied().collect::<Vec<_>>()))
    }
}

/// Its header is the network-layer header.
fn is_network(protocol: Protocol) -> bool {
    use Protocol as P;
    matches!(protocol, P::Ip | P::Ip6 | P::Arp | P::Rarp | P::Atalk | P::Decnet)
        || matches!(protocol, P::Sca | P::Lat | P::Moprc | P::Mopdl)
}

/// Its header follows an IPv4 header.
fn is_transport(protocol: Protocol) -> bool {
    use Protocol as P;
    matches!(protocol, P::Tcp | P::Udp | P::Sctp | P::Icmp | P::Igmp)
        || matches!(protocol, P::Igrp | P::Pim | P::Vrrp | P::Carp)
}

/// The number of a transport protocol that runs over both versions of IP.
fn over_both(protocol: Protocol) -> Option<u32> {
    match protocol {
        Protocol::Tcp => Some(ip::TCP),
        Protocol::Udp => Some(ip::UDP),
        Protocol::Sctp => Some(ip::SCTP),
        _ => None,
    }
}

fn width(size: u32, span: Span) -> Result<Width> {
    match size {
        1 => Ok(Width::Byte),
        2 => Ok(Width::Half),
        4 => Ok(Width::Word),
        _ => Err(Error::meaning("data size must be 1, 2, or 4", span)),
    }
}
