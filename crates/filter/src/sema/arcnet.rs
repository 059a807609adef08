//! ARCnet (RFC 1201, RFC 1051).

use super::Compiler;
use super::numbers::ethertype;
use crate::ir::predicate::PredicateId;
use crate::ir::value::Width;

/// Protocol codes: IP and ARP have those of RFC 1201 and the older ones of RFC 1051.
const IP: [u32; 2] = [0xd4, 0xf0];
const ARP: [u32; 2] = [0xd5, 0xf1];
const RARP: u32 = 0xd6;
const IP6: u32 = 0xc4;
const ATALK: u32 = 0xdd;

impl Compiler<'_> {
    pub(super) fn arcnet_carries(&mut self, number: u32) -> PredicateId {
        let codes: &[u32] = match number {
            ethertype::IP => &IP,
            ethertype::ARP => &ARP,
            ethertype::RARP => &[RARP],
            ethertype::IP6 => &[IP6],
            ethertype::ATALK => &[ATALK],
            _ => &[],
        };
        let field = self.protocol_field();
        let tests: Vec<_> =
            codes.iter().map(|code| self.equals((field, 0, Width::Byte), *code)).collect();
        self.ir.any(tests)
    }
}
