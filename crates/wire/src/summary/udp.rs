//! `10.0.0.1.43210 > 10.0.0.2.9999: UDP, length 12`

use super::{Before, Printer};
use crate::layer::{Addresses, Udp};
use crate::names::Transport;
use crate::paint::Kind;

impl Printer<'_> {
    pub(super) fn udp(&mut self, udp: &Udp<'_>) {
        self.endpoints(Transport::Udp, udp.source_port, udp.destination_port);
        if self.options.quick {
            return self.udp_length(udp.length);
        }
        // IPv6 has no other checksum than this one.
        let wanted = if matches!(udp.addresses, Addresses::V6(..)) { 1 } else { 2 };
        if self.options.verbosity >= wanted {
            self.udp_checksum(udp);
        }
        self.context.before = Before::Udp(udp.length);
    }

    pub(super) fn udp_length(&mut self, length: usize) {
        self.line.protocol("UDP");
        self.line.comma_length(length);
    }

    fn udp_checksum(&mut self, udp: &Udp<'_>) {
        match (udp.checksum.value(), udp.checksum.correct(), udp.checksum.expected()) {
            (0, ..) => self.line.text("[no cksum] "),
            (_, Some(true), _) => self.line.text("[udp sum ok] "),
            (value, Some(false), Some(expected)) => {
                self.line.styled(Kind::Error, |line| {
                    write!(line, "[bad udp cksum 0x{value:04x} -> 0x{expected:04x}!]");
                });
                self.line.text(" ");
            }
            _ => {}
        }
    }
}
