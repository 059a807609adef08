//! Qualifiers and an operand to the primitive they mean.

use super::Compiler;
use super::numbers;
use super::port::Ports;
use super::resolver::Transport;
use crate::error::{Error, ErrorKind, Result};
use crate::ir::predicate::PredicateId;
use crate::syntax::Span;
use crate::syntax::ast::{Operand, OperandKind, Qualifiers};
use crate::syntax::token::Protocol;
use linerate_base::Word;
use std::net::{IpAddr, Ipv6Addr};

impl Compiler<'_> {
    pub(super) fn operand(
        &mut self,
        operand: Operand<'_>,
        qualifiers: Qualifiers,
        span: Span,
    ) -> Result<PredicateId> {
        match operand {
            Operand::Number(number) => self.number(number, qualifiers, span),
            Operand::Name(name) => self.name(name, qualifiers, span),
            Operand::Dotted(text) => self.dotted(text, qualifiers, span),
            Operand::Prefix(text, length) => {
                let (address, _) = ipv4(text, span)?;
                let mask = prefix_mask(length, span)?;
                self.masked_network(address, mask, qualifiers, span)
            }
            Operand::Masked(text, mask) => {
                let ((address, _), (mask, _)) = (ipv4(text, span)?, ipv4(mask, span)?);
                self.masked_network(address, mask, qualifiers, span)
            }
            Operand::Ipv6(address) => self.ipv6(address, 128, qualifiers, span),
            Operand::Ipv6Prefix(address, length) => self.ipv6(address, length, qualifiers, span),
            Operand::Ethernet(address) => self.ethernet_operand(address, qualifiers, span),
            Operand::Arcnet(address) => self.arcnet_host(address, qualifiers, span),
        }
    }

    fn number(&mut self, number: u32, qualifiers: Qualifiers, span: Span) -> Result<PredicateId> {
        match qualifiers.kind {
            None | Some(OperandKind::Host) => self.host_number(number, u32::MAX, qualifiers, span),
            Some(OperandKind::Net) => {
                let (address, mask) = left_justified(number);
                self.host_number(address, mask, qualifiers, span)
            }
            Some(OperandKind::Port | OperandKind::PortRange) => {
                self.ports(Ports { first: number, last: number, transport: None }, qualifiers, span)
            }
            Some(OperandKind::Protocol) => self.protocol_number(number, qualifiers.protocol, span),
            Some(OperandKind::ProtocolChain) => {
                self.protocol_chain(number, qualifiers.protocol, span)
            }
            Some(OperandKind::Gateway) => Err(Error::meaning("'gateway' requires a name", span)),
        }
    }

    fn host_number(
        &mut self,
        address: u32,
        mask: u32,
        qualifiers: Qualifiers,
        span: Span,
    ) -> Result<PredicateId> {
        if qualifiers.protocol == Some(Protocol::Link) {
            return Err(Error::meaning("illegal link layer address", span)
                .expected("six bytes such as 00:1b:21:0a:0b:0c"));
        }
        self.host(address, mask, qualifiers, span)
    }

    /// `1.2` to `1.2.3.4`: a host or network, shorter ones a prefix; or a DECnet address.
    fn dotted(&mut self, text: &str, qualifiers: Qualifiers, span: Span) -> Result<PredicateId> {
        refuse_address(qualifiers, span)?;
        if qualifiers.protocol == Some(Protocol::Decnet) {
            return self.host(decnet(text, span)?, 0, qualifiers, span);
        }
        let (address, mask) = ipv4(text, span)?;
        self.host_number(address, mask, qualifiers, span)
    }

    fn masked_network(
        &mut self,
        address: u32,
        mask: u32,
        qualifiers: Qualifiers,
        span: Span,
    ) -> Result<PredicateId> {
        refuse_address(qualifiers, span)?;
        if address & !mask != 0 {
            return Err(Error::meaning("bits are set that the mask does not cover", span)
                .expected("a network's address"));
        }
        require_net(qualifiers, span)?;
        self.host(address, mask, qualifiers, span)
    }

    fn ipv6(
        &mut self,
        address: Ipv6Addr,
        length: u32,
        qualifiers: Qualifiers,
        span: Span,
    ) -> Result<PredicateId> {
        refuse_address(qualifiers, span)?;
        if length > 128 {
            return Err(Error::meaning("an IPv6 prefix is at most 128 bits long", span));
        }
        let mask = u128::MAX.checked_shl(128 - length).unwrap_or(0);
        if address.to_bits() & !mask != 0 {
            return Err(Error::meaning("bits are set that the prefix does not cover", span)
                .expected("a network's address"));
        }
        if length != 128 {
            require_net(qualifiers, span)?;
        }
        self.host6(address.to_bits(), mask, qualifiers, span)
    }

    fn ethernet_operand(
        &mut self,
        address: [u8; 6],
        qualifiers: Qualifiers,
        span: Span,
    ) -> Result<PredicateId> {
        let is_host = matches!(qualifiers.kind, None | Some(OperandKind::Host));
        if qualifiers.protocol != Some(Protocol::Link) || !is_host {
            return Err(Error::meaning(
                "an Ethernet address needs `ether` before it",
                qualifiers.span,
            )
            .expected("`ether host`, `ether src` or `ether dst`"));
        }
        self.mac_host(address, qualifiers.direction, span)
    }

    fn name(&mut self, name: &str, qualifiers: Qualifiers, span: Span) -> Result<PredicateId> {
        match qualifiers.kind {
            None | Some(OperandKind::Host) => self.host_name(name, qualifiers, span),
            Some(OperandKind::Net) => {
                let network = self.options.resolver.network(name).filter(|network| *network != 0);
                let network = network.ok_or_else(|| unknown("network", name, span))?;
                let (address, mask) = left_justified(network);
                self.host(address, mask, qualifiers, span)
            }
            Some(OperandKind::Port) => {
                let ports = self.service(name, span)?;
                self.ports(ports, qualifiers, span)
            }
            Some(OperandKind::PortRange) => {
                let ports = self.range(name, span)?;
                self.ports(ports, qualifiers, span)
            }
            Some(OperandKind::Protocol) => {
                let number = self.protocol_by_name(name, qualifiers.protocol, span)?;
                self.protocol_number(number, qualifiers.protocol, span)
            }
            Some(OperandKind::ProtocolChain) => {
                let number = self.protocol_by_name(name, qualifiers.protocol, span)?;
                self.protocol_chain(number, qualifiers.protocol, span)
            }
            Some(OperandKind::Gateway) => Err(Error::unsupported(
                "'gateway' is not supported, nor is it by a libpcap that knows IPv6",
                qualifiers.span,
            )
            .expected("`ether host A and not host B`")),
        }
    }

    fn host_name(&mut self, name: &str, qualifiers: Qualifiers, span: Span) -> Result<PredicateId> {
        match qualifiers.protocol {
            Some(Protocol::Link) => {
                let address = self.options.resolver.ethernet(name);
                let address = address.ok_or_else(|| unknown("ether host", name, span))?;
                self.mac_host(address, qualifiers.direction, span)
            }
            Some(Protocol::Decnet) => Err(Error::at(
                ErrorKind::Name,
                format!("invalid DECnet address '{}'", Word(name)),
                span,
            )),
            _ => self.any_address(name, qualifiers, span),
        }
    }

    /// Any of a host's addresses that `ip` or `ip6` before it leaves.
    fn any_address(
        &mut self,
        name: &str,
        qualifiers: Qualifiers,
        span: Span,
    ) -> Result<PredicateId> {
        let addresses = match name.parse() {
            Ok(address) => vec![address],
            Err(_) => self.options.resolver.hosts(name),
        };
        let mut tests = Vec::new();
        for address in addresses {
            match address {
                IpAddr::V4(_) if qualifiers.protocol == Some(Protocol::Ip6) => {}
                IpAddr::V6(_) if qualifiers.protocol == Some(Protocol::Ip) => {}
                IpAddr::V4(ipv4) => {
                    tests.push(self.host(ipv4.to_bits(), u32::MAX, qualifiers, span)?);
                }
                IpAddr::V6(ipv6) => {
                    tests.push(self.host6(ipv6.to_bits(), u128::MAX, qualifiers, span)?);
                }
            }
        }
        if tests.is_empty() { Err(unknown("host", name, span)) } else { Ok(self.ir.any(tests)) }
    }

    /// A port by name: of TCP, of UDP, or of either if both have the same number for it.
    fn service(&self, name: &str, span: Span) -> Result<Ports> {
        let resolver = self.options.resolver;
        let decimal = name.bytes().all(|b| b.is_ascii_digit()).then(|| name.parse().ok()).flatten();
        let lookup = |transport| decimal.or_else(|| resolver.service(name, transport));
        let (port, transport) = match (lookup(Transport::Tcp), lookup(Transport::Udp)) {
            (Some(tcp), Some(udp)) if tcp == udp => (tcp, None),
            (Some(tcp), _) => (tcp, Some(Protocol::Tcp)),
            (None, Some(udp)) => (udp, Some(Protocol::Udp)),
            (None, None) => return Err(unknown("port", name, span)),
        };
        Ok(Ports { first: port.into(), last: port.into(), transport })
    }

    /// `A-B`, each a decimal number or a name.
    fn range(&self, text: &str, span: Span) -> Result<Ports> {
        if let Some((first, last)) = decimal_range(text) {
            return Ok(Ports { first, last, transport: None });
        }
        let ends = text.split_once('-').ok_or_else(|| {
            Error::meaning(format!("'{}' is not a range of ports", Word(text)), span)
                .expected("two ports with a hyphen between, such as 6000-6063")
        })?;
        let (first, last) = (self.service(ends.0, span)?, self.service(ends.1, span)?);
        let transport = first.transport.filter(|_| first.transport == last.transport);
        Ok(Ports { first: first.first, last: last.first, transport })
    }

    fn protocol_by_name(&self, name: &str, of: Option<Protocol>, span: Span) -> Result<u32> {
        match of {
            None | Some(Protocol::Ip | Protocol::Ip6) => {
                let number = self.options.resolver.protocol(name).map(u32::from);
                number.ok_or_else(|| unknown("ip proto", name, span))
            }
            Some(Protocol::Link) => {
                numbers::ether_protocol(name).ok_or_else(|| unknown("ether proto", name, span))
            }
            Some(Protocol::Iso) => {
                numbers::osi_protocol(name).ok_or_else(|| unknown("osi proto", name, span))
            }
            Some(_) => Err(unknown("protocol", name, span)),
        }
    }
}

fn unknown(what: &str, name: &str, span: Span) -> Error {
    Error::at(ErrorKind::Name, format!("unknown {what} '{}'", Word(name)), span)
}

/// Refuses an IP address where the qualifiers want a port or a protocol.
fn refuse_address(qualifiers: Qualifiers, span: Span) -> Result<()> {
    match qualifiers.kind {
        None | Some(OperandKind::Host | OperandKind::Net) => Ok(()),
        Some(OperandKind::Gateway) => Err(Error::meaning("'gateway' requires a name", span)),
        Some(kind) => {
            let message = format!("'{}' modifier applied to an IP address", kind.keyword());
            Err(Error::meaning(message, span).expected("`host` or `net` before it"))
        }
    }
}

fn require_net(qualifiers: Qualifiers, span: Span) -> Result<()> {
    match qualifiers.kind {
        Some(OperandKind::Net) => Ok(()),
        _ => Err(Error::meaning("mask syntax is for networks only", span)
            .expected("`net` before it, or no mask")),
    }
}

/// The address, shifted to the left, and the mask of the octets that are there.
fn ipv4(text: &str, span: Span) -> Result<(u32, u32)> {
    let (mut address, mut bits) = (0, 0);
    for part in text.split('.') {
        let octet = decimal_octet(part).ok_or_else(|| {
            Error::meaning(format!("invalid IPv4 address '{}'", Word(text)), span)
                .expected("decimal numbers up to 255")
        })?;
        address = address << 8 | octet;
        bits += 8;
    }
    Ok((address << (32 - bits), u32::MAX << (32 - bits)))
}

fn decimal_octet(text: &str) -> Option<u32> {
    let is_decimal = text.bytes().all(|byte| byte.is_ascii_digit());
    let significant = text.trim_start_matches('0');
    let value = if significant.is_empty() { 0 } else { significant.parse().ok()? };
    (is_decimal && value <= 255).then_some(value)
}

fn prefix_mask(length: u32, span: Span) -> Result<u32> {
    match length {
        0..=32 => Ok(u32::MAX.checked_shl(32 - length).unwrap_or(0)),
        _ => Err(Error::meaning("an IPv4 prefix is at most 32 bits long", span)),
    }
}

/// A network number with its leading zero octets taken for missing trailing ones.
fn left_justified(number: u32) -> (u32, u32) {
    let missing = if number == 0 { 0 } else { number.leading_zeros() / 8 * 8 };
    (number << missing, u32::MAX << missing)
}

/// `area.node` as one number: six bits and ten.
fn decnet(text: &str, span: Span) -> Result<u32> {
    let mut parts = text.split('.').map(|part| part.parse::<u32>().ok());
    match (parts.next().flatten(), parts.next().flatten()) {
        (Some(area), Some(node)) => Ok((area << 10 & 0xfc00) | (node & 0x3ff)),
        _ => Err(Error::meaning(format!("malformed DECnet address '{}'", Word(text)), span)
            .expected("area.node, both decimal")),
    }
}

/// `80-90`, as C's `sscanf` reads it: what follows the second number does not matter.
fn decimal_range(text: &str) -> Option<(u32, u32)> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let first = digits(text);
    let rest = text[first..].strip_prefix('-')?;
    Some((text[..first].parse().ok()?, rest[..digits(rest)].parse().ok()?))
}
