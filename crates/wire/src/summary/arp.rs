//! `ARP, Request who-has 10.0.0.1 tell 10.0.0.2, length 28`

use std::net::Ipv4Addr;

use super::Printer;
use crate::layer::{Arp, Octets, numbers};
use crate::paint::Kind;

impl Printer<'_> {
    pub(super) fn arp(&mut self, arp: &Arp<'_>) {
        if !self.options.link_header {
            self.line.protocol("ARP");
            self.line.text(", ");
        }
        let is_ipv4 = arp.protocol_type == numbers::IPV4 && arp.protocol_length == 4;
        let addresses_known = is_ipv4 && !arp.sender_hardware.0.is_empty();
        if !addresses_known || self.verbose() {
            self.arp_types(arp);
        }
        if addresses_known {
            self.line.text(if self.verbose() { ", " } else { "" });
            self.arp_operation(arp);
        }
        self.line.comma_length(arp.length);
    }

    fn arp_types(&mut self, arp: &Arp<'_>) {
        match numbers::arp_hardware(arp.hardware_type) {
            Some(name) => self.line.text(name),
            None => write!(self.line, "Unknown Hardware ({})", arp.hardware_type),
        }
        write!(self.line, " (len {}), ", arp.sender_hardware.0.len());
        match numbers::ethertype(arp.protocol_type) {
            Some(name) => self.line.text(name),
            None => write!(self.line, "Unknown Protocol (0x{:04x})", arp.protocol_type),
        }
        write!(self.line, " (len {})", arp.protocol_length);
    }

    fn arp_operation(&mut self, arp: &Arp<'_>) {
        match numbers::arp_operation(arp.operation) {
            Some(name) => self.line.text(name),
            None => return write!(self.line, "Unknown ({})", arp.operation),
        }
        self.line.text(" ");
        match arp.operation {
            1 => self.who_has(arp),
            2 => self.is_at(arp),
            4 => self.at(arp.target_hardware, arp.target),
            9 => self.at(arp.sender_hardware, arp.sender),
            10 => self.arp_address("for ", arp.sender),
            _ => self.who_is(arp),
        }
    }

    fn who_has(&mut self, arp: &Arp<'_>) {
        self.arp_address("who-has ", arp.target);
        if arp.target_hardware.0.iter().any(|&byte| byte != 0) {
            self.line.text(" (");
            self.hardware(arp.target_hardware);
            self.line.text(")");
        }
        self.arp_address(" tell ", arp.sender);
    }

    fn who_is(&mut self, arp: &Arp<'_>) {
        self.line.text("who-is ");
        self.hardware(arp.target_hardware);
        self.line.text(" tell ");
        self.hardware(arp.sender_hardware);
    }

    fn is_at(&mut self, arp: &Arp<'_>) {
        self.arp_address("", arp.sender);
        self.line.text(" is-at ");
        self.hardware(arp.sender_hardware);
    }

    fn at(&mut self, hardware: Octets<'_>, address: Option<Ipv4Addr>) {
        self.hardware(hardware);
        self.arp_address(" at ", address);
    }

    fn arp_address(&mut self, before: &str, address: Option<Ipv4Addr>) {
        self.line.text(before);
        if let Some(address) = address {
            self.host(address.into());
        }
    }

    fn hardware(&mut self, address: Octets<'_>) {
        self.line.styled(Kind::Address, |line| line.hex_pairs(address.0));
    }
}
