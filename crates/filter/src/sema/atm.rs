//! Raw ATM as SunATM's driver hands it up: cells' payloads behind a header of 4 bytes, which are what
//! it is, the virtual path's number, and the virtual channel's, of two bytes.

use super::Compiler;
use super::layout::Position;
use super::links::Link;
use crate::error::{Error, Result};
use crate::ir::predicate::PredicateId;
use crate::ir::value::Width;
use crate::syntax::Span;
use crate::syntax::token::{Atm, Keyword, word};
use linerate_base::LinkType;

/// What it is: LAN emulation, or LLC as of RFC 1483.
const KIND: u32 = 0x0f;
const LANE: u32 = 1;
const LLC: u32 = 2;

pub(super) const VPI: u32 = 1;
pub(super) const VCI: u32 = 2;

/// Virtual channels of path 0 (ITU-T I.361, I.610; ATM Forum af-ilmi-0065).
const META_SIGNALLING: u32 = 1;
const BROADCAST: u32 = 2;
const OAM_SEGMENT: u32 = 3;
const OAM_END_TO_END: u32 = 4;
const SIGNALLING: u32 = 5;
const ILMI: u32 = 16;

/// Where a signalling message's type is, and the types that make and release connections: setup, call
/// proceeding, connect, connect acknowledge, release, release complete (ITU-T Q.2931 4.4).
const MESSAGE_TYPE: u32 = 9;
const SETUP: u32 = 0x05;
const CALL_PROCEEDING: u32 = 0x02;
const CONNECT: u32 = 0x07;
const CONNECT_ACKNOWLEDGE: u32 = 0x0f;
const RELEASE: u32 = 0x4d;
const RELEASE_COMPLETE: u32 = 0x5a;

/// An emulated LAN's frame begins behind the header of 4 bytes and LAN emulation's of 2.
const EMULATED: u32 = 6;

impl Compiler<'_> {
    pub(super) fn atm_carries(&mut self, number: u32) -> PredicateId {
        let llc = self.atm_llc();
        let carried = self.llc_carries(number);
        self.ir.and(llc, carried)
    }

    pub(super) fn atm_llc(&mut self) -> PredicateId {
        let link = self.link();
        self.masked((link, 0, Width::Byte), KIND, LLC)
    }

    pub(super) fn atm(&mut self, kind: Atm, span: Span) -> Result<PredicateId> {
        self.require_atm(Keyword::Atm(kind), span)?;
        Ok(match kind {
            Atm::Lane => self.lane(),
            Atm::MetaSignalling => self.channel(&[META_SIGNALLING]),
            Atm::Broadcast => self.channel(&[BROADCAST]),
            Atm::Oam => self.channel(&[OAM_SEGMENT, OAM_END_TO_END]),
            Atm::OamEndToEnd => self.channel(&[OAM_END_TO_END]),
            Atm::OamSegment => self.channel(&[OAM_SEGMENT]),
            Atm::Signalling => self.channel(&[SIGNALLING]),
            Atm::Ilmi => self.channel(&[ILMI]),
            Atm::Connect => self.message(
                SIGNALLING,
                &[RELEASE_COMPLETE, RELEASE, CONNECT_ACKNOWLEDGE, CONNECT, SETUP, CALL_PROCEEDING],
            ),
            Atm::MetaConnect => self.message(
                META_SIGNALLING,
                &[RELEASE_COMPLETE, RELEASE, CONNECT, SETUP, CALL_PROCEEDING],
            ),
        })
    }

    pub(super) fn require_atm(&self, keyword: Keyword, span: Span) -> Result<()> {
        if self.layout.is_atm {
            return Ok(());
        }
        let (word, link) = (word(keyword), self.layout.description());
        let message = format!("'{word}' supported only on raw ATM, not on {link}");
        Err(Error::unsupported(message, span))
    }

    /// On path 0.
    fn channel(&mut self, numbers: &[u32]) -> PredicateId {
        let link = self.link();
        let path = self.equals((link, VPI, Width::Byte), 0);
        let channels: Vec<_> =
            numbers.iter().map(|number| self.equals((link, VCI, Width::Half), *number)).collect();
        let channel = self.ir.any(channels);
        self.ir.and(path, channel)
    }

    fn message(&mut self, channel: u32, types: &[u32]) -> PredicateId {
        let channel = self.channel(&[channel]);
        let link = self.link();
        let types: Vec<_> = types
            .iter()
            .map(|number| self.equals((link, MESSAGE_TYPE, Width::Byte), *number))
            .collect();
        let message = self.ir.any(types);
        self.ir.and(channel, message)
    }

    /// LAN emulation; what follows looks into its frame, which is taken for Ethernet's.
    fn lane(&mut self) -> PredicateId {
        let link = self.link();
        let lane = self.masked((link, 0, Width::Byte), KIND, LANE);
        self.layout.emulated = self.layout.link_type == Link::SunAtm;
        self.layout.link_type = Link::Ethernet;
        self.layout.name = LinkType::ETHERNET;
        self.layout.link = Position::fixed(EMULATED);
        self.layout.protocol = Position::fixed(EMULATED + 12);
        self.layout.payload = Position::fixed(EMULATED + 14);
        self.layout.network = 0;
        self.layout.network_llc = 3;
        self.layout.tunnelled = false;
        lane
    }
}
