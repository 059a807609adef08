//! Hosts and networks by address.

use super::Compiler;
use super::numbers::ethertype;
use super::wlan::wlan_names;
use crate::error::{Error, Result};
use crate::ir::place::PlaceId;
use crate::ir::predicate::PredicateId;
use crate::ir::value::Width;
use crate::syntax::Span;
use crate::syntax::ast::{Direction, OperandKind, Qualifiers};
use crate::syntax::token::Protocol;

/// Offsets of the source's and the destination's address in a header.
#[derive(Clone, Copy)]
pub(super) struct Offsets {
    pub(super) source: u32,
    pub(super) destination: u32,
}

/// RFC 791 3.1
const IPV4: Offsets = Offsets { source: 12, destination: 16 };
/// RFC 826, for Ethernet and IPv4; RFC 903 has the same format
const ARP: Offsets = Offsets { source: 14, destination: 24 };
/// RFC 8200 3
const IPV6: Offsets = Offsets { source: 8, destination: 24 };

impl Compiler<'_> {
    /// An IPv4 address, or those of a network; a DECnet address after `decnet`.
    pub(super) fn host(
        &mut self,
        address: u32,
        mask: u32,
        qualifiers: Qualifiers,
        span: Span,
    ) -> Result<PredicateId> {
        refuse_wlan(qualifiers, "for addresses other than 802.11 MAC addresses")?;
        let (direction, behind_mpls) = (qualifiers.direction, self.layout.mpls_labels > 0);
        let mut within = |ethertype, offsets| {
            self.address_within(ethertype, offsets, (address, mask), direction, span)
        };
        match qualifiers.protocol {
            Some(Protocol::Ip) => within(ethertype::IP, IPV4),
            Some(Protocol::Arp) => within(ethertype::ARP, ARP),
            Some(Protocol::Rarp) => within(ethertype::RARP, ARP),
            Some(Protocol::Decnet) => self.decnet_host(address, direction, span),
            Some(other) => Err(misapplied(other, qualifiers)),
            // Behind MPLS nothing says that it is ARP.
            None if behind_mpls => within(ethertype::IP, IPV4),
            None => {
                let ip = within(ethertype::IP, IPV4)?;
                let arp = within(ethertype::ARP, ARP)?;
                let rarp = within(ethertype::RARP, ARP)?;
                Ok(self.ir.any([ip, arp, rarp]))
            }
        }
    }

    fn address_within(
        &mut self,
        ethertype: u32,
        offsets: Offsets,
        (address, mask): (u32, u32),
        direction: Option<Direction>,
        span: Span,
    ) -> Result<PredicateId> {
        let carried = self.carries(ethertype, span)?;
        let network = self.network();
        Ok(self.directed(direction, offsets, |compiler, offset| {
            let matches = compiler.masked((network, offset, Width::Word), mask, address);
            compiler.ir.and(carried, matches)
        }))
    }

    /// An IPv6 address, or those of a prefix.
    pub(super) fn host6(
        &mut self,
        address: u128,
        mask: u128,
        qualifiers: Qualifiers,
        span: Span,
    ) -> Result<PredicateId> {
        refuse_wlan(qualifiers, "for addresses other than 802.11 MAC addresses")?;
        if let Some(other) = qualifiers.protocol.filter(|p| *p != Protocol::Ip6) {
            return Err(misapplied(other, qualifiers).expected("`ip6`, or nothing"));
        }
        let carried = self.carries(ethertype::IP6, span)?;
        let network = self.network();
        Ok(self.directed(qualifiers.direction, IPV6, |compiler, offset| {
            let words = [0, 1, 2, 3].map(|word| {
                let part = |bits: u128| (bits >> (96 - 32 * word)) as u32;
                let field = (network, offset + 4 * word, Width::Word);
                compiler.masked(field, part(mask), part(address))
            });
            let matches = compiler.ir.all(words);
            compiler.ir.and(carried, matches)
        }))
    }

    /// `at` for the source, the destination, or both in the way that `direction` says.
    pub(super) fn directed(
        &mut self,
        direction: Option<Direction>,
        offsets: Offsets,
        mut at: impl FnMut(&mut Self, u32) -> PredicateId,
    ) -> PredicateId {
        match direction {
            Some(Direction::Source) => at(self, offsets.source),
            Some(Direction::Destination) => at(self, offsets.destination),
            Some(Direction::Both) => {
                let both = [at(self, offsets.source), at(self, offsets.destination)];
                self.ir.all(both)
            }
            // An address of 802.11 is refused before.
            None | Some(Direction::Either | Direction::Wlan(_)) => {
                let either = [at(self, offsets.source), at(self, offsets.destination)];
                self.ir.any(either)
            }
        }
    }

    /// DECnet Phase IV data packets, in their long and short formats, with one byte of padding before
    /// them or none. Offsets are from the flags.
    fn decnet_host(
        &mut self,
        address: u32,
        direction: Option<Direction>,
        span: Span,
    ) -> Result<PredicateId> {
        const SHORT: Offsets = Offsets { source: 3, destination: 1 };
        const LONG: Offsets = Offsets { source: 15, destination: 7 };
        let carried = self.carries(ethertype::DECNET, span)?;
        let address = u32::from((address as u16).swap_bytes());
        let network = self.network();
        let both_ends = Offsets { source: 0, destination: 1 };
        Ok(self.directed(direction, both_ends, |compiler, end| {
            let of = |offsets: Offsets| if end == 0 { offsets.source } else { offsets.destination };
            let formats = [
                compiler.decnet_format(network, false, 0x02, of(SHORT), address),
                compiler.decnet_format(network, true, 0x02, of(SHORT), address),
                compiler.decnet_format(network, false, 0x06, of(LONG), address),
                compiler.decnet_format(network, true, 0x06, of(LONG), address),
            ];
            let any = compiler.ir.any(formats);
            compiler.ir.and(carried, any)
        }))
    }

    fn decnet_format(
        &mut self,
        network: PlaceId,
        padded: bool,
        flags: u32,
        offset: u32,
        address: u32,
    ) -> PredicateId {
        // Two bytes of length come first.
        let (format, start) = if padded {
            (self.masked((network, 2, Width::Half), 0xff07, 0x8100 | flags), 3)
        } else {
            (self.masked((network, 2, Width::Byte), 0x07, flags), 2)
        };
        let matches = self.equals((network, start + offset, Width::Half), address);
        self.ir.and(format, matches)
    }
}

/// Refuses an address of 802.11 as a direction.
pub(super) fn refuse_wlan(qualifiers: Qualifiers, what_for: &str) -> Result<()> {
    let Some(Direction::Wlan(address)) = qualifiers.direction else {
        return Ok(());
    };
    let names = wlan_names(address);
    let verb =
        if names.contains(' ') { "are not valid qualifiers" } else { "is not a valid qualifier" };
    Err(Error::meaning(format!("{names} {verb} {what_for}"), qualifiers.span)
        .expected("`src`, `dst` or nothing, or `wlan` before it and a MAC address behind"))
}

fn misapplied(protocol: Protocol, qualifiers: Qualifiers) -> Error {
    let kind = qualifiers.kind.unwrap_or(OperandKind::Host).keyword();
    let message = format!("'{protocol}' modifier applied to {kind}");
    Error::meaning(message, qualifiers.span).expected("`ip`, `arp`, `rarp` or nothing")
}
