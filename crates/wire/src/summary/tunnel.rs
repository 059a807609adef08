//! Headers that carry another packet, before that packet's own line.

use super::{Before, Printer};
use crate::layer::{Geneve, Gre, Mpls, Pppoe, Vxlan, numbers};

impl Printer<'_> {
    pub(super) fn gre(&mut self, gre: &Gre) {
        self.line.protocol("GRE");
        write!(self.line, "v{}", gre.version);
        if let Some(key) = gre.key {
            match gre.version {
                1 => write!(self.line, ", call {}", key & 0xffff),
                _ => write!(self.line, ", key=0x{key:x}"),
            }
        }
        if let Some(sequence) = gre.sequence {
            write!(self.line, ", seq {sequence}");
        }
        if self.options.link_header {
            let name = numbers::ethertype(gre.protocol).unwrap_or("unknown");
            write!(self.line, ", proto {name} (0x{:04x})", gre.protocol);
        }
        self.line.comma_length(gre.length);
        self.line.text(": ");
        self.context.before = Before::Other;
        self.context.ethernet = None;
    }

    pub(super) fn vxlan(&mut self, vxlan: &Vxlan) {
        self.line.protocol("VXLAN");
        let valid = if vxlan.flags & 0x08 == 0 { "." } else { "I" };
        write!(self.line, ", flags [{valid}] (0x{:02x}), vni {} ", vxlan.flags, vxlan.vni);
        self.context.before = Before::Other;
    }

    pub(super) fn geneve(&mut self, geneve: &Geneve) {
        self.line.protocol("Geneve");
        let flags = match (geneve.control, geneve.critical) {
            (false, false) => "none",
            (true, false) => "O",
            (false, true) => "C",
            (true, true) => "O, C",
        };
        write!(self.line, ", Flags [{flags}], vni 0x{:x}", geneve.vni);
        if self.options.link_header {
            let name = numbers::ethertype(geneve.protocol).unwrap_or("unknown");
            write!(self.line, ", proto {name} (0x{:04x})", geneve.protocol);
        }
        if geneve.options_length > 0 {
            write!(self.line, ", options [{} bytes]", geneve.options_length);
        }
        self.line.text(": ");
        self.context.before = Before::Other;
        self.context.ethernet = None;
    }

    /// The name stands before the first label of a stack only.
    pub(super) fn mpls(&mut self, mpls: &Mpls) {
        if !std::mem::replace(&mut self.context.in_label_stack, !mpls.bottom) {
            self.line.protocol("MPLS");
        }
        self.line.text(" (");
        write!(self.line, "label {}, tc {}, ", mpls.label, mpls.traffic_class);
        self.line.text(if mpls.bottom { "[S], " } else { "" });
        write!(self.line, "ttl {})", mpls.ttl);
        self.line.text(if mpls.bottom { " " } else { "" });
        self.context.before = Before::Other;
        self.context.ethernet = None;
    }

    pub(super) fn pppoe(&mut self, pppoe: &Pppoe) {
        self.line.protocol("PPPoE");
        self.line.text(" ");
        match pppoe.name {
            Some("session") => {}
            Some(name) => self.line.text(&name.to_ascii_uppercase()),
            None => write!(self.line, "code 0x{:02x}", pppoe.code),
        }
        if pppoe.session != 0 {
            write!(self.line, " [ses 0x{:x}]", pppoe.session);
        }
        self.line.text(" ");
    }
}
