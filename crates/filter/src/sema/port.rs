//! Ports and ranges of ports.

use super::Compiler;
use super::extension::Transport6;
use super::host::refuse_wlan;
use super::numbers::{ethertype, ip};
use crate::error::{Error, Result};
use crate::ir::place::PlaceId;
use crate::ir::predicate::{Comparison, PredicateId};
use crate::ir::value::Width;
use crate::syntax::Span;
use crate::syntax::ast::{Direction, OperandKind, Qualifiers};
use crate::syntax::token::Protocol;

/// Ports from `first` to `last`, of one transport protocol or of any.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ports {
    pub(super) first: u32,
    pub(super) last: u32,
    /// What the ports' names say.
    pub(super) transport: Option<Protocol>,
}

impl Compiler<'_> {
    pub(super) fn ports(
        &mut self,
        ports: Ports,
        qualifiers: Qualifiers,
        span: Span,
    ) -> Result<PredicateId> {
        let is_range = qualifiers.kind == Some(OperandKind::PortRange);
        refuse_wlan(qualifiers, if is_range { "for port ranges" } else { "for ports" })?;
        let transports = transports(ports, qualifiers, span)?;
        if ports.first > 65535 || ports.last > 65535 {
            let port = ports.first.max(ports.last);
            return Err(Error::meaning(format!("illegal port number {port} > 65535"), span));
        }
        let ports = Ports {
            first: ports.first.min(ports.last),
            last: ports.first.max(ports.last),
            ..ports
        };
        let test = PortTest { ports, is_range, direction: qualifiers.direction };
        let over_ipv6 = self.ports_over_ipv6(test, transports, span)?;
        let over_ipv4 = self.ports_over_ipv4(test, transports, span)?;
        Ok(self.ir.or(over_ipv6, over_ipv4))
    }

    /// A UDP packet to this port, over IPv4.
    pub(super) fn udp_destination(&mut self, port: u32, span: Span) -> Result<PredicateId> {
        self.ports_over_ipv4(PortTest::destination(port), &[ip::UDP], span)
    }

    /// A UDP packet to this port, over IPv6.
    pub(super) fn udp_destination6(&mut self, port: u32, span: Span) -> Result<PredicateId> {
        self.ports_over_ipv6(PortTest::destination(port), &[ip::UDP], span)
    }

    fn ports_over_ipv4(
        &mut self,
        test: PortTest,
        transports: &[u32],
        span: Span,
    ) -> Result<PredicateId> {
        let carried = self.carries(ethertype::IP, span)?;
        let (network, transport) = (self.network(), self.transport());
        let unfragmented = self.first_fragment();
        let alternatives = transports.iter().map(|number| {
            let tests = [
                self.equals((network, 9, Width::Byte), *number),
                unfragmented,
                self.port_test(test, transport),
            ];
            self.ir.all(tests)
        });
        let alternatives: Vec<_> = alternatives.collect();
        let any = self.ir.any(alternatives);
        Ok(self.ir.and(carried, any))
    }

    fn ports_over_ipv6(
        &mut self,
        test: PortTest,
        transports: &[u32],
        span: Span,
    ) -> Result<PredicateId> {
        let carried = self.carries(ethertype::IP6, span)?;
        if self.options.ipv6 {
            let Transport6 { find, protocol, place } = self.behind_extensions();
            let alternatives = transports.iter().map(|number| {
                let is_it = self.value_is(protocol, *number);
                let matches = self.port_test(test, place);
                self.ir.and(is_it, matches)
            });
            let alternatives: Vec<_> = alternatives.collect();
            let any = self.ir.any(alternatives);
            return Ok(self.ir.all([carried, find, any]));
        }
        let (network, transport) = (self.network(), self.transport6());
        let alternatives = transports.iter().map(|number| {
            let next_header = self.equals((network, 6, Width::Byte), *number);
            let matches = self.port_test(test, transport);
            self.ir.and(next_header, matches)
        });
        let alternatives: Vec<_> = alternatives.collect();
        let any = self.ir.any(alternatives);
        Ok(self.ir.and(carried, any))
    }

    /// Not a later fragment, which has no transport header (RFC 791 3.1).
    pub(super) fn first_fragment(&mut self) -> PredicateId {
        let network = self.network();
        let later = self.compare(Comparison::Intersects, (network, 6, Width::Half), 0x1fff);
        self.ir.not(later)
    }

    fn port_test(&mut self, test: PortTest, transport: PlaceId) -> PredicateId {
        let mut at = |offset| self.port_at(test, transport, offset);
        match test.direction {
            Some(Direction::Source) => at(0),
            Some(Direction::Destination) => at(2),
            Some(Direction::Both) => {
                let both = [at(0), at(2)];
                self.ir.all(both)
            }
            None | Some(Direction::Either | Direction::Wlan(_)) => {
                let either = [at(0), at(2)];
                self.ir.any(either)
            }
        }
    }

    fn port_at(&mut self, test: PortTest, transport: PlaceId, offset: u32) -> PredicateId {
        let field = (transport, offset, Width::Half);
        if !test.is_range {
            return self.equals(field, test.ports.first);
        }
        let above = self.compare(Comparison::GreaterEqual, field, test.ports.first);
        let beyond = self.compare(Comparison::Greater, field, test.ports.last);
        let below = self.ir.not(beyond);
        self.ir.and(above, below)
    }
}

/// What to look for, and at which end.
#[derive(Clone, Copy)]
struct PortTest {
    ports: Ports,
    is_range: bool,
    direction: Option<Direction>,
}

impl PortTest {
    fn destination(port: u32) -> Self {
        let ports = Ports { first: port, last: port, transport: None };
        Self { ports, is_range: false, direction: Some(Direction::Destination) }
    }
}

/// The protocols to look for, from what the qualifiers and the ports' names say.
fn transports(ports: Ports, qualifiers: Qualifiers, span: Span) -> Result<&'static [u32]> {
    let wanted = match (qualifiers.protocol, ports.transport) {
        (Some(wanted), Some(named)) if wanted != named && number(wanted).is_some() => {
            return Err(Error::meaning(format!("this port is {named}, not {wanted}"), span));
        }
        (wanted, named) => wanted.or(named),
    };
    let Some(wanted) = wanted else {
        return Ok(&[ip::SCTP, ip::TCP, ip::UDP]);
    };
    number(wanted).ok_or_else(|| {
        let kind = qualifiers.kind.unwrap_or(OperandKind::Port).keyword();
        Error::meaning(format!("illegal qualifier of '{kind}'"), qualifiers.span)
            .expected("`tcp`, `udp`, `sctp` or nothing")
    })
}

fn number(protocol: Protocol) -> Option<&'static [u32]> {
    match protocol {
        Protocol::Tcp => Some(&[ip::TCP]),
        Protocol::Udp => Some(&[ip::UDP]),
        Protocol::Sctp => Some(&[ip::SCTP]),
        _ => None,
    }
}
