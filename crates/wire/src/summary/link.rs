//! Link headers, shown under `-e` or when nothing else is known of a packet.

use super::{Before, Printer};
use crate::layer::numbers::{self, MAX_802_3_LENGTH};
use crate::layer::{
    Ethernet, LinuxCooked, Llc, Loopback, OUI_CISCO, OUI_ETHERTYPE, Ppp, Snap, Vlan,
};
use crate::paint::Kind;

impl Printer<'_> {
    pub(super) fn ethernet(&mut self, ethernet: &Ethernet) {
        if self.options.link_header {
            self.ethernet_header(ethernet);
            self.line.text(": ");
        }
        self.context.ethernet = Some(*ethernet);
    }

    /// `00:.. > 00:.., ethertype IPv4 (0x0800), length 98`
    pub(super) fn ethernet_header(&mut self, ethernet: &Ethernet) {
        self.line.mac(ethernet.source);
        self.line.text(" > ");
        self.line.mac(ethernet.destination);
        self.line.text(", ");
        if ethernet.ethertype <= MAX_802_3_LENGTH {
            self.line.text("802.3");
            self.line.comma_length(ethernet.ethertype.into());
        } else {
            self.ethertype(ethernet.ethertype);
            self.line.comma_length(ethernet.length);
        }
    }

    fn ethertype(&mut self, ethertype: u16) {
        match numbers::ethertype(ethertype) {
            Some(name) if self.options.quick => self.line.protocol(name),
            None if self.options.quick => {
                write!(self.line, "Unknown Ethertype (0x{ethertype:04x})");
            }
            name => {
                self.line.text("ethertype ");
                self.line.protocol(name.unwrap_or("Unknown"));
                write!(self.line, " (0x{ethertype:04x})");
            }
        }
    }

    pub(super) fn vlan(&mut self, vlan: &Vlan) {
        if !self.options.link_header {
            return;
        }
        write!(self.line, "vlan {}, p {}, ", vlan.id, vlan.priority);
        if vlan.drop_eligible {
            self.line.text("DEI, ");
        }
        if vlan.ethertype > MAX_802_3_LENGTH {
            self.ethertype(vlan.ethertype);
            self.line.text(", ");
        }
    }

    /// Version 2 always shows the interface and the direction, in columns.
    pub(super) fn cooked(&mut self, cooked: &LinuxCooked<'_>) {
        if let Some(index) = cooked.interface_index {
            self.interface(index);
            write!(self.line, " {:<3} ", packet_type(cooked.packet_type));
        }
        if self.options.link_header {
            self.cooked_header(cooked);
        }
    }

    fn interface(&mut self, index: u32) {
        const COLUMNS: usize = 5;
        let name = self.names.interface(index).unwrap_or_else(|| format!("if{index}").into());
        self.line.escaped(name.as_bytes());
        for _ in name.len()..COLUMNS {
            self.line.text(" ");
        }
    }

    fn cooked_header(&mut self, cooked: &LinuxCooked<'_>) {
        match cooked.interface_index {
            Some(index) => write!(self.line, "ifindex {index} "),
            None => write!(self.line, "{:>3} ", packet_type(cooked.packet_type)),
        }
        if !cooked.source.0.is_empty() {
            self.line.styled(Kind::Address, |line| line.hex_pairs(cooked.source.0));
            self.line.text(" ");
        }
        self.ethertype(cooked.ethertype);
        self.line.comma_length(cooked.length);
        self.line.text(": ");
    }

    pub(super) fn loopback(&mut self, loopback: &Loopback) {
        let name = match loopback.family {
            2 => "IPv4",
            10 | 24 | 28 | 30 => "IPv6",
            7 => "ISO",
            16 => "Appletalk",
            23 => "IPX",
            _ => "Unknown",
        };
        if self.options.link_header || name == "Unknown" {
            write!(self.line, "AF {name} ({}), length {}: ", loopback.family, loopback.length);
        }
    }

    pub(super) fn ppp(&mut self, ppp: &Ppp) {
        if self.options.link_header {
            self.line.protocol(ppp.name.unwrap_or("unknown"));
            write!(self.line, " (0x{:04x}), length {}: ", ppp.protocol, ppp.length);
        }
    }

    pub(super) fn llc(&mut self, llc: &Llc) {
        if self.options.link_header {
            self.llc_header(llc);
            self.line.text(": ");
        }
        self.context.llc = Some(*llc);
    }

    /// `LLC, dsap STP (0x42) Individual, ssap STP (0x42) Command, ctrl 0x03`
    pub(super) fn llc_header(&mut self, llc: &Llc) {
        let name = |sap: u8| numbers::sap(sap & !1).unwrap_or("Unknown");
        let group = if llc.dsap & 1 == 0 { "Individual" } else { "Group" };
        let response = if llc.ssap & 1 == 0 { "Command" } else { "Response" };
        let width = if llc.is_unnumbered() { 2 } else { 4 };
        write!(
            self.line,
            "LLC, dsap {} (0x{:02x}) {group}, ssap {} (0x{:02x}) {response}, ctrl 0x{:0width$x}",
            name(llc.dsap),
            llc.dsap & !1,
            name(llc.ssap),
            llc.ssap & !1,
            llc.control,
        );
    }

    pub(super) fn snap(&mut self, snap: &Snap) {
        if self.options.link_header {
            let (oui, kind, name) = match snap.oui {
                OUI_ETHERTYPE => ("Ethernet", "ethertype", numbers::ethertype(snap.protocol)),
                OUI_CISCO => ("Cisco", "pid", numbers::cisco(snap.protocol)),
                _ => ("Unknown", "pid", None),
            };
            write!(self.line, "oui {oui} (0x{:06x}), {kind} ", snap.oui);
            let name = name.unwrap_or("unknown");
            write!(self.line, "{name} (0x{:04x}), length {}: ", snap.protocol, snap.length);
        }
        self.context.before = Before::Other;
    }
}

fn packet_type(name: Option<&str>) -> &'static str {
    match name {
        Some("in") => "In",
        Some("broadcast") => "B",
        Some("multicast") => "M",
        Some("other_host") => "P",
        Some("out") => "Out",
        _ => "?",
    }
}
