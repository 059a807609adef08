//! "The link layer carries protocol N", for each link layer.
//!
//! N is an EtherType, or an 802.2 service access point if it is no larger than a length can be.

use super::Compiler;
use super::links::Link;
use super::numbers::{LARGEST_LENGTH, ethertype, ppp, sap};
use crate::error::{Error, Result};
use crate::ir::predicate::{Comparison, PredicateId};
use crate::ir::value::{Metadata, Width};
use crate::syntax::Span;

/// `sll_protocol` of 802.3 frames without an 802.2 header, and of those with one
/// (`ETH_P_802_3`, `ETH_P_802_2` in `linux/if_ether.h`).
const COOKED_802_3: u32 = 1;
const COOKED_802_2: u32 = 4;

/// Address families of IPv6: Linux; NetBSD and OpenBSD; FreeBSD; Darwin.
const INET6_LINUX: u32 = 10;
const INET6_ELSEWHERE: [u32; 3] = [30, 24, 28];
const INET: u32 = 2;
const INET6_SOLARIS: u32 = 26;

/// What Juniper's headers begin with, in three bytes.
const JUNIPER_MAGIC: u32 = 0x4d47_4300;
/// ANSI/ASHRAE 135 9.3: the preamble of a frame, in two bytes.
const BACNET_PREAMBLE: u32 = 0x55ff_0000;

impl Compiler<'_> {
    /// The link layer in force carries `number`.
    pub(super) fn carries(&mut self, number: u32, span: Span) -> Result<PredicateId> {
        if self.layout.mpls_labels > 0 {
            return self.mpls_carries(number, span);
        }
        Ok(match self.layout.link_type {
            Link::Ethernet | Link::NetAnalyzer => {
                let carried = self.ethernet_carries(number);
                self.unless_lane_control(carried)
            }
            Link::Cooked => self.cooked_carries(number),
            Link::Cooked2 | Link::EtherType => self.type_is(number),
            Link::Ppp | Link::PppFramed | Link::PppDirected => {
                self.type_is(ppp::from_ethertype(number))
            }
            Link::PppBsdOs => self.ppp_bsd_os_carries(number),
            Link::CiscoHdlc => self.cisco_hdlc_carries(number),
            Link::FrameRelay => self.frame_relay_carries(number),
            Link::Raw | Link::Slip => self.raw_carries(number),
            Link::Ipv4 => self.ir.truth(number == ethertype::IP),
            Link::Ipv6 => self.ir.truth(number == ethertype::IP6),
            Link::Null | Link::Loop => self.loopback_carries(number),
            Link::TokenRing | Link::Fddi | Link::FibreChannel | Link::Llc | Link::Clip => {
                self.llc_carries(number)
            }
            Link::SunAtm => self.atm_carries(number),
            Link::Wlan(_) => self.wlan_carries(number),
            Link::Arcnet => self.arcnet_carries(number),
            Link::LocalTalk => self.ir.truth(number == ethertype::ATALK),
            Link::PfLog => self.family_carries(number, INET6_LINUX),
            Link::IpNet => self.family_carries(number, INET6_SOLARIS),
            Link::Juniper => self.begins_with(0xffff_ff00, JUNIPER_MAGIC),
            Link::BacnetMsTp => self.begins_with(0xffff_0000, BACNET_PREAMBLE),
            Link::Mtp2 | Link::Opaque => {
                let link = self.layout.description();
                let message = format!("{link} link-layer type filtering not implemented");
                return Err(Error::unsupported(message, span)
                    .expected("`link[N]`, `len` or what is only of this link type"));
            }
        })
    }

    pub(super) fn type_is(&mut self, number: u32) -> PredicateId {
        if self.layout.hides_header() {
            return self.metadata_is(Metadata::Protocol, number);
        }
        let field = self.protocol_field();
        self.equals((field, 0, Width::Half), number)
    }

    /// The type field is a length: an 802.3 frame.
    pub(super) fn is_length(&mut self) -> PredicateId {
        let field = self.protocol_field();
        let is_type = self.compare(Comparison::Greater, (field, 0, Width::Half), LARGEST_LENGTH);
        self.ir.not(is_type)
    }

    fn ethernet_carries(&mut self, number: u32) -> PredicateId {
        match number {
            sap::OSI | sap::IP | sap::NETBEUI => {
                let tests = [self.is_length(), self.both_saps(number)];
                self.ir.all(tests)
            }
            sap::IPX => self.ethernet_carries_ipx(),
            ethertype::ATALK | ethertype::AARP => {
                let framed = [self.is_length(), self.snap(number)];
                let framed = self.ir.all(framed);
                let plain = self.type_is(number);
                self.ir.or(plain, framed)
            }
            number if number <= LARGEST_LENGTH => {
                let field = self.protocol_field();
                let tests = [self.is_length(), self.equals((field, 2, Width::Byte), number)];
                self.ir.all(tests)
            }
            _ => self.type_is(number),
        }
    }

    /// Novell used four framings: by EtherType, SNAP, 802.2, and 802.3 without any header.
    fn ethernet_carries_ipx(&mut self) -> PredicateId {
        let payload = self.payload();
        let framings = [
            self.snap(ethertype::IPX),
            self.equals((payload, 0, Width::Byte), sap::IPX),
            self.equals((payload, 0, Width::Half), 0xffff),
        ];
        let framed = self.ir.any(framings);
        let framed = [self.is_length(), framed];
        let framed = self.ir.all(framed);
        let plain = self.type_is(ethertype::IPX);
        self.ir.or(plain, framed)
    }

    fn cooked_carries(&mut self, number: u32) -> PredicateId {
        match number {
            sap::OSI | sap::IP | sap::NETBEUI => {
                let tests = [self.type_is(COOKED_802_2), self.both_saps(number)];
                self.ir.all(tests)
            }
            sap::IPX => self.cooked_carries_ipx(),
            ethertype::ATALK | ethertype::AARP => {
                let framed = [self.type_is(COOKED_802_2), self.snap(number)];
                let framed = self.ir.all(framed);
                let plain = self.type_is(number);
                self.ir.or(plain, framed)
            }
            number if number <= LARGEST_LENGTH => {
                let payload = self.payload();
                let sap = self.equals((payload, 0, Width::Byte), number);
                let framed = self.type_is(COOKED_802_2);
                self.ir.and(framed, sap)
            }
            _ => self.type_is(number),
        }
    }

    fn cooked_carries_ipx(&mut self) -> PredicateId {
        let payload = self.payload();
        let by_header =
            [self.equals((payload, 0, Width::Byte), sap::IPX), self.snap(ethertype::IPX)];
        let by_header = self.ir.any(by_header);
        let framed = self.type_is(COOKED_802_2);
        let framed = self.ir.and(framed, by_header);
        let alternatives = [self.type_is(ethertype::IPX), self.type_is(COOKED_802_3), framed];
        self.ir.any(alternatives)
    }

    pub(super) fn both_saps(&mut self, sap: u32) -> PredicateId {
        let payload = self.payload();
        self.equals((payload, 0, Width::Half), sap << 8 | sap)
    }

    /// An 802.2 header with SNAP for this EtherType (RFC 1042; AppleTalk has Apple's own code).
    pub(super) fn snap(&mut self, number: u32) -> PredicateId {
        let organisation: [u8; 3] = match number {
            ethertype::ATALK => [0x08, 0x00, 0x07],
            _ => [0; 3],
        };
        let [.., high, low] = number.to_be_bytes();
        let header = [&[sap::SNAP, sap::SNAP, 0x03], &organisation[..], &[high, low]].concat();
        let payload = self.payload();
        self.bytes(payload, 0, &header)
    }

    fn raw_carries(&mut self, number: u32) -> PredicateId {
        let version = match number {
            ethertype::IP => 0x40,
            ethertype::IP6 => 0x60,
            _ => return self.ir.truth(false),
        };
        let link = self.link();
        self.masked((link, 0, Width::Byte), 0xf0, version)
    }

    fn loopback_carries(&mut self, number: u32) -> PredicateId {
        let families: &[u32] = match number {
            ethertype::IP => &[INET],
            // A live capture has this kernel's number, a savefile that of whoever wrote it.
            ethertype::IP6 if self.options.target.is_kernel() => &[INET6_LINUX],
            ethertype::IP6 => &INET6_ELSEWHERE,
            _ => return self.ir.truth(false),
        };
        let link = self.link();
        let host_order = self.layout.link_type == Link::Null;
        let tests = families.iter().map(|family| if host_order { family.to_be() } else { *family });
        let tests: Vec<_> =
            tests.map(|family| self.equals((link, 0, Width::Word), family)).collect();
        self.ir.any(tests)
    }

    /// The byte that is an address family, as PF's log and Solaris's `ipnet` have it.
    fn family_carries(&mut self, number: u32, inet6: u32) -> PredicateId {
        let family = match number {
            ethertype::IP => INET,
            ethertype::IP6 => inet6,
            _ => return self.ir.truth(false),
        };
        let link = self.link();
        self.equals((link, 1, Width::Byte), family)
    }

    /// The header is of its kind; what it carries it does not say.
    fn begins_with(&mut self, mask: u32, magic: u32) -> PredicateId {
        let link = self.link();
        self.masked((link, 0, Width::Word), mask, magic)
    }

    /// Behind the last MPLS label nothing says what follows but the IP version.
    fn mpls_carries(&mut self, number: u32, span: Span) -> Result<PredicateId> {
        let version = match number {
            ethertype::IP => 0x40,
            ethertype::IP6 => 0x60,
            _ => {
                let message = format!("unsupported protocol 0x{number:04x} over mpls");
                return Err(Error::meaning(message, span).expected("`ip` or `ip6`"));
            }
        };
        let network = self.network();
        let bottom_of_stack = 2_u32.wrapping_neg();
        let tests = [
            self.masked((network, bottom_of_stack, Width::Byte), 0x01, 0x01),
            self.masked((network, 0, Width::Byte), 0xf0, version),
        ];
        Ok(self.ir.all(tests))
    }
}
