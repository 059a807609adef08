//! What rides on the transports, and what no header describes.

use super::{Before, Printer};
use crate::layer::{Dhcp, Payload, Protocol, Register, Text};
use crate::paint::Kind;

impl Printer<'_> {
    /// `BOOTP/DHCP, Request from 00:..., length 300: Discover`
    pub(super) fn dhcp(&mut self, dhcp: &Dhcp<'_>) {
        self.line.protocol("BOOTP/DHCP");
        match dhcp.operation {
            1 => self.line.text(", Request"),
            2 => self.line.text(", Reply"),
            other => write!(self.line, ", unknown (0x{other:02x})"),
        }
        if dhcp.operation == 1 && dhcp.hardware.0.len() == 6 {
            self.line.text(" from ");
            self.line.styled(Kind::Address, |line| line.hex_pairs(dhcp.hardware.0));
        }
        self.line.comma_length(dhcp.length);
        if self.verbose() {
            self.dhcp_details(dhcp);
        }
        if let Some(message) = dhcp.message {
            self.line.text(": ");
            self.line.text(message);
        }
    }

    fn dhcp_details(&mut self, dhcp: &Dhcp<'_>) {
        if dhcp.hops != 0 {
            write!(self.line, ", hops {}", dhcp.hops);
        }
        if dhcp.transaction != 0 {
            write!(self.line, ", xid 0x{:x}", dhcp.transaction);
        }
        if dhcp.seconds != 0 {
            write!(self.line, ", secs {}", dhcp.seconds);
        }
        let flags = if dhcp.flags & 0x8000 == 0 { "none" } else { "Broadcast" };
        write!(self.line, ", Flags [{flags}]");
        let addresses = [
            (" Client-IP ", dhcp.client),
            (" Your-IP ", dhcp.yours),
            (" Server-IP ", dhcp.server),
            (" Gateway-IP ", dhcp.relay),
        ];
        for (name, address) in addresses.into_iter().filter(|(_, a)| !a.is_unspecified()) {
            self.line.text(name);
            self.host(address.into());
        }
    }

    /// `: HTTP: GET / HTTP/1.1`
    pub(super) fn text_protocol(&mut self, text: &Text<'_>) {
        self.line.text(": ");
        self.line.protocol(text.protocol);
        if let Some(line) = text.line {
            self.line.text(": ");
            self.line.escaped(line);
        }
    }

    pub(super) fn payload(&mut self, payload: &Payload<'_>) {
        match std::mem::take(&mut self.context.before) {
            Before::Udp(length) => self.udp_length(length),
            Before::Tcp | Before::Fragment => {}
            Before::Other => {
                self.line.text("length ");
                self.line.length(payload.length);
            }
        }
    }

    pub(super) fn protocol(&mut self, protocol: &Protocol) {
        if let (Before::Tcp, Some(name)) = (self.context.before, protocol.name) {
            // Over TCP the segment has shown the length.
            self.line.text(": ");
            return self.line.protocol(name);
        }
        match (protocol.register, protocol.name, protocol.number) {
            (Some(Register::Ethertype | Register::Snap | Register::Llc), None, _) => {
                return self.unknown_frame(protocol);
            }
            (Some(Register::Gre), None, Some(number)) => {
                return write!(self.line, "gre-proto-0x{number:04x}");
            }
            (Some(Register::Ip), None, Some(number)) => {
                return write!(self.line, " ip-proto-{number} {}", protocol.length);
            }
            (Some(Register::Ppp), None, Some(number)) => {
                write!(self.line, "unknown PPP protocol (0x{number:04x})");
            }
            (_, Some(name), _) => self.line.protocol(name),
            (Some(Register::LinkType), None, Some(number)) => {
                write!(self.line, "link-type {number}");
            }
            (_, None, Some(number)) => write!(self.line, "linux protocol 0x{number:04x}"),
            _ => self.line.text("unknown"),
        }
        self.line.comma_length(protocol.length);
    }

    /// Nothing is known of the frame but its link header: shows that, unless it has been shown.
    fn unknown_frame(&mut self, protocol: &Protocol) {
        if self.options.link_header {
            self.line.text("unknown");
            return self.line.comma_length(protocol.length);
        }
        match (self.context.ethernet, self.context.llc, protocol.register) {
            (_, Some(llc), Some(Register::Snap | Register::Llc)) => self.llc_header(&llc),
            (Some(ethernet), _, _) => return self.ethernet_header(&ethernet),
            _ => write!(self.line, "ethertype 0x{:04x}", protocol.number.unwrap_or_default()),
        }
        self.line.comma_length(protocol.length);
    }

    /// `[|tcp]`
    pub(super) fn truncated(&mut self, protocol: &str) {
        self.unshown_addresses();
        self.line.styled(Kind::Error, |line| write!(line, " [|{protocol}]"));
    }

    pub(super) fn malformed(&mut self, protocol: &str, reason: &str) {
        self.unshown_addresses();
        self.line.styled(Kind::Error, |line| write!(line, " [{protocol}: {reason}]"));
    }

    /// No transport came that would have shown them.
    fn unshown_addresses(&mut self) {
        if let Some(addresses) = self.context.unshown.take() {
            self.pair(addresses);
            self.line.text(": ");
        }
    }
}
