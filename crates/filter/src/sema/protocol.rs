//! Protocols by name and by number.

use super::Compiler;
use super::links::Link;
use super::numbers::{ethertype, ip, isis, osi, sap};
use crate::error::{Error, Result};
use crate::ir::predicate::{Chain, IpVersion, Predicate, PredicateId, Test};
use crate::ir::value::Width;
use crate::syntax::Span;
use crate::syntax::token::Protocol;

impl Compiler<'_> {
    /// A protocol's keyword alone.
    pub(super) fn protocol(&mut self, protocol: Protocol, span: Span) -> Result<PredicateId> {
        use Protocol as P;
        match protocol {
            P::Link => Err(Error::meaning("link layer applied in wrong context", span)
                .expected("something about the link layer, such as `ether host`")),
            P::Radio => Err(Error::meaning("'radio' is not a valid protocol type", span)
                .expected("bytes of the radio's header such as `radio[0]`")),
            P::Ip => self.carries(ethertype::IP, span),
            P::Ip6 => self.carries(ethertype::IP6, span),
            P::Arp => self.carries(ethertype::ARP, span),
            P::Rarp => self.carries(ethertype::RARP, span),
            P::Atalk => self.carries(ethertype::ATALK, span),
            P::Aarp => self.carries(ethertype::AARP, span),
            P::Decnet => self.carries(ethertype::DECNET, span),
            P::Lat => self.carries(ethertype::LAT, span),
            P::Sca => self.carries(ethertype::SCA, span),
            P::Moprc => self.carries(ethertype::MOPRC, span),
            P::Mopdl => self.carries(ethertype::MOPDL, span),
            P::Stp => self.carries(sap::BRIDGE, span),
            P::Ipx => self.carries(sap::IPX, span),
            P::Netbeui => self.carries(sap::NETBEUI, span),
            P::Iso => self.carries(sap::OSI, span),
            P::Tcp => self.over_ip(ip::TCP, span),
            P::Udp => self.over_ip(ip::UDP, span),
            P::Sctp => self.over_ip(ip::SCTP, span),
            P::Pim => self.over_ip(ip::PIM, span),
            P::Ah => self.over_ip(ip::AH, span),
            P::Esp => self.over_ip(ip::ESP, span),
            P::Icmp => self.over_ipv4(ip::ICMP, span),
            P::Igmp => self.over_ipv4(ip::IGMP, span),
            P::Igrp => self.over_ipv4(ip::IGRP, span),
            P::Vrrp | P::Carp => self.over_ipv4(ip::VRRP, span),
            P::Icmp6 => self.over_ipv6(ip::ICMP6, span),
            P::Esis => self.over_osi(osi::ESIS, span),
            P::Isis => self.over_osi(osi::ISIS, span),
            P::Clnp => self.over_osi(osi::CLNP, span),
            _ => self.isis_types(protocol, span),
        }
    }

    /// The IS-IS packets that a keyword such as `l1` or `lsp` stands for.
    fn isis_types(&mut self, protocol: Protocol, span: Span) -> Result<PredicateId> {
        use isis::{
            L1_COMPLETE, L1_HELLO, L1_LINK_STATE, L1_PARTIAL, L2_COMPLETE, L2_HELLO, L2_LINK_STATE,
            L2_PARTIAL, POINT_TO_POINT_HELLO,
        };
        let types: &[u32] = match protocol {
            Protocol::IsisL1 => {
                &[L1_PARTIAL, L1_COMPLETE, L1_LINK_STATE, L1_HELLO, POINT_TO_POINT_HELLO]
            }
            Protocol::IsisL2 => {
                &[L2_PARTIAL, L2_COMPLETE, L2_LINK_STATE, L2_HELLO, POINT_TO_POINT_HELLO]
            }
            Protocol::IsisIih => &[POINT_TO_POINT_HELLO, L1_HELLO, L2_HELLO],
            Protocol::IsisLsp => &[L1_LINK_STATE, L2_LINK_STATE],
            Protocol::IsisSnp => &[L2_PARTIAL, L1_PARTIAL, L1_COMPLETE, L2_COMPLETE],
            Protocol::IsisCsnp => &[L1_COMPLETE, L2_COMPLETE],
            _ => &[L1_PARTIAL, L2_PARTIAL],
        };
        let tests = types.iter().map(|number| self.isis_type(*number, span));
        let tests = tests.collect::<Result<Vec<_>>>()?;
        Ok(self.ir.any(tests))
    }

    fn isis_type(&mut self, number: u32, span: Span) -> Result<PredicateId> {
        let isis = self.over_osi(osi::ISIS, span)?;
        let network = self.network_llc();
        let matches = self.equals((network, 4, Width::Byte), number);
        Ok(self.ir.and(isis, matches))
    }

    /// `proto N` of `of`.
    pub(super) fn protocol_number(
        &mut self,
        number: u32,
        of: Option<Protocol>,
        span: Span,
    ) -> Result<PredicateId> {
        match of {
            None => self.over_ip(number, span),
            Some(Protocol::Link) => self.carries(number, span),
            Some(Protocol::Ip) => self.over_ipv4(number, span),
            Some(Protocol::Ip6) => self.over_ipv6(number, span),
            Some(Protocol::Iso) => self.over_osi(number, span),
            Some(Protocol::Isis) => self.isis_type(number, span),
            Some(other) => Err(Error::meaning(format!("'{other} proto' is bogus"), span)
                .expected("`ip`, `ip6`, `ether`, `iso`, `isis` or nothing before `proto`")),
        }
    }

    fn over_ip(&mut self, number: u32, span: Span) -> Result<PredicateId> {
        let over_ipv4 = self.over_ipv4(number, span)?;
        let over_ipv6 = self.over_ipv6(number, span)?;
        Ok(self.ir.or(over_ipv4, over_ipv6))
    }

    fn over_ipv4(&mut self, number: u32, span: Span) -> Result<PredicateId> {
        let carried = self.carries(ethertype::IP, span)?;
        let network = self.network();
        let matches = self.equals((network, 9, Width::Byte), number);
        Ok(self.ir.and(carried, matches))
    }

    /// Directly behind the IPv6 header, or behind a fragment header directly behind it.
    fn over_ipv6(&mut self, number: u32, span: Span) -> Result<PredicateId> {
        let carried = self.carries(ethertype::IP6, span)?;
        if self.options.ipv6 && !is_followed(number) {
            let found = self.behind_extensions();
            let matches = self.value_is(found.protocol, number);
            return Ok(self.ir.all([carried, found.find, matches]));
        }
        let network = self.network();
        let direct = self.equals((network, 6, Width::Byte), number);
        let fragment = self.equals((network, 6, Width::Byte), ip::FRAGMENT);
        let behind = self.equals((network, 40, Width::Byte), number);
        let fragmented = self.ir.and(fragment, behind);
        let matches = self.ir.or(direct, fragmented);
        Ok(self.ir.and(carried, matches))
    }

    /// Frame Relay names OSI's protocols itself, and Cisco HDLC has a byte of padding before them.
    fn over_osi(&mut self, number: u32, span: Span) -> Result<PredicateId> {
        if self.layout.mpls_labels == 0 && self.layout.link_type == Link::FrameRelay {
            return Ok(self.frame_relay_identifier(number));
        }
        let padding = u32::from(self.layout.link_type == Link::CiscoHdlc);
        let carried = self.carries(sap::OSI, span)?;
        let network = self.network_llc();
        let matches = self.equals((network, padding, Width::Byte), number);
        Ok(self.ir.and(carried, matches))
    }

    /// `protochain N`
    pub(super) fn protocol_chain(
        &mut self,
        number: u32,
        of: Option<Protocol>,
        span: Span,
    ) -> Result<PredicateId> {
        if self.layout.payload.slot.is_some() {
            let message = "'protochain' is not supported behind headers of variable length";
            return Err(Error::unsupported(message, span));
        }
        match of {
            None => {
                let over_ipv4 = self.chain_over(IpVersion::V4, number, span)?;
                let over_ipv6 = self.chain_over(IpVersion::V6, number, span)?;
                Ok(self.ir.or(over_ipv4, over_ipv6))
            }
            Some(Protocol::Ip) => self.chain_over(IpVersion::V4, number, span),
            Some(Protocol::Ip6) => self.chain_over(IpVersion::V6, number, span),
            Some(_) => Err(Error::meaning("bad protocol applied for 'protochain'", span)
                .expected("`ip`, `ip6` or nothing before it")),
        }
    }

    fn chain_over(&mut self, version: IpVersion, protocol: u32, span: Span) -> Result<PredicateId> {
        let ethertype = match version {
            IpVersion::V4 => ethertype::IP,
            IpVersion::V6 => ethertype::IP6,
        };
        let carried = self.carries(ethertype, span)?;
        let chain = Chain { network: self.network(), version, protocol };
        let found = self.ir.predicate(Predicate::Test(Test::Chain(chain)));
        Ok(self.ir.and(carried, found))
    }
}

/// Extension headers are followed, so that none is ever the last.
fn is_followed(number: u32) -> bool {
    matches!(number, 0 | 43 | ip::FRAGMENT | ip::AH | 60)
}
