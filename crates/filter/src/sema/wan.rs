//! PPP of BSD/OS, Cisco HDLC, Frame Relay.

use super::Compiler;
use super::numbers::{ethertype, osi, ppp, sap};
use crate::ir::predicate::PredicateId;
use crate::ir::value::Width;

/// What Cisco HDLC says of OSI packets.
const CISCO_OSI: u32 = 0xfefe;
/// What Frame Relay's network-layer protocol identifiers follow: unnumbered information (RFC 2427).
const INFORMATION: u32 = 0x0300;
const NLPID_IP: u32 = 0xcc;
const NLPID_IP6: u32 = 0x8e;

impl Compiler<'_> {
    /// IP also with its header compressed by Van Jacobson's method (RFC 1332 4).
    pub(super) fn ppp_bsd_os_carries(&mut self, number: u32) -> PredicateId {
        if number != ethertype::IP {
            return self.type_is(ppp::from_ethertype(number));
        }
        let forms = ppp::IP_FORMS.map(|number| self.type_is(number));
        self.ir.any(forms)
    }

    pub(super) fn cisco_hdlc_carries(&mut self, number: u32) -> PredicateId {
        self.type_is(if number == sap::OSI { CISCO_OSI } else { number })
    }

    /// OSI's protocols are told apart there already.
    pub(super) fn frame_relay_carries(&mut self, number: u32) -> PredicateId {
        let identifiers: &[u32] = match number {
            ethertype::IP => &[NLPID_IP],
            ethertype::IP6 => &[NLPID_IP6],
            sap::OSI => &[osi::CLNP, osi::ESIS, osi::ISIS],
            _ => &[],
        };
        let tests: Vec<_> = identifiers.iter().map(|id| self.frame_relay_identifier(*id)).collect();
        self.ir.any(tests)
    }

    pub(super) fn frame_relay_identifier(&mut self, identifier: u32) -> PredicateId {
        let link = self.link();
        self.equals((link, 2, Width::Half), INFORMATION | identifier)
    }
}
