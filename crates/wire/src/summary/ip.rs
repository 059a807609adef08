//! IP of both versions, its extension headers, IPsec, and endpoints.

use std::net::IpAddr;

use super::{Before, Printer};
use crate::layer::{Addresses, Ah, Esp, Fragment, Ipv4, Ipv4Flags, Ipv6, Ipv6Extension, numbers};
use crate::names::Transport;
use crate::paint::Kind;

impl Printer<'_> {
    pub(super) fn ipv4(&mut self, ipv4: &Ipv4<'_>) {
        self.ip_name("IP");
        if ipv4.length != 0 && ipv4.length < ipv4.header_length.into() {
            return write!(self.line, "bad-len {}", ipv4.length);
        }
        self.missing("truncated-ip", ipv4.missing);
        if self.verbose() {
            self.ipv4_details(ipv4);
        }
        self.context.before = Before::Other;
        if ipv4.is_later_fragment() {
            self.pair(ipv4.addresses());
            write!(self.line, ": ip-proto-{}", ipv4.protocol);
            self.context.before = Before::Fragment;
        } else {
            self.addresses_before(ipv4.addresses(), ipv4.protocol);
        }
    }

    fn ip_name(&mut self, name: &str) {
        self.context.ethernet = None;
        if !self.options.link_header {
            self.line.protocol(name);
            self.line.text(" ");
        }
    }

    fn missing(&mut self, name: &str, missing: usize) {
        if missing > 0 {
            self.line.styled(Kind::Error, |line| {
                write!(line, "{name} - {missing} bytes missing!");
            });
            self.line.text(if name == "truncated-ip" { " " } else { "" });
        }
    }

    fn ipv4_details(&mut self, ipv4: &Ipv4<'_>) {
        write!(self.line, "(tos 0x{:x}{}", ipv4.tos, ecn(ipv4.tos));
        if ipv4.ttl > 0 {
            write!(self.line, ", ttl {}", ipv4.ttl);
        }
        write!(
            self.line,
            ", id {}, offset {}, flags [{}], proto {} ({}), length {}",
            ipv4.identification,
            ipv4.fragment_offset,
            flags(ipv4.flags),
            numbers::ip_protocol(ipv4.protocol).unwrap_or("unknown"),
            ipv4.protocol,
            ipv4.length,
        );
        self.ipv4_options(ipv4.options);
        if ipv4.checksum.correct() == Some(false) {
            let expected = ipv4.checksum.expected().unwrap_or_default();
            self.line.styled(Kind::Error, |line| {
                write!(line, ", bad cksum {:x} (->{expected:x})!", ipv4.checksum.value());
            });
        }
        self.line.text(") ");
    }

    /// RFC 791 3.1: each option is one byte, or begins with its number and its length.
    fn ipv4_options(&mut self, mut options: &[u8]) {
        let mut separator = ", options (";
        let any = !options.is_empty();
        while let Some(&number) = options.first() {
            self.line.text(separator);
            separator = ",";
            match ipv4_option(number) {
                Some(name) => self.line.text(name),
                None => write!(self.line, "unknown {number}"),
            }
            let length = match number {
                0 => options.len(),
                1 => 1,
                _ => options.get(1).map_or(0, |&length| length.into()),
            };
            if length == 0 || length > options.len() {
                self.line.error(" [bad length]");
                break;
            }
            options = &options[length..];
        }
        if any {
            self.line.text(")");
        }
    }

    pub(super) fn ipv6(&mut self, ipv6: &Ipv6) {
        self.ip_name("IP6");
        self.missing("truncated-ip6", ipv6.missing);
        if self.verbose() {
            self.ipv6_details(ipv6);
        }
        self.context.before = Before::Other;
        self.addresses_before(ipv6.addresses(), ipv6.next_header);
    }

    fn ipv6_details(&mut self, ipv6: &Ipv6) {
        self.line.text("(");
        if ipv6.traffic_class != 0 {
            write!(self.line, "class 0x{:02x}, ", ipv6.traffic_class);
        }
        if ipv6.flow_label != 0 {
            write!(self.line, "flowlabel 0x{:05x}, ", ipv6.flow_label);
        }
        write!(
            self.line,
            "hlim {}, next-header {} ({}) payload length: {}) ",
            ipv6.hop_limit,
            numbers::ip_protocol(ipv6.next_header).unwrap_or("unknown"),
            ipv6.next_header,
            ipv6.length,
        );
    }

    pub(super) fn ipv6_extension(&mut self, extension: &Ipv6Extension) {
        if let Some(fragment) = &extension.fragment {
            return self.fragment(fragment);
        }
        match &extension.routing {
            Some(routing) => write!(
                self.line,
                "RT6 (len={}, type={}, segleft={}) ",
                routing.length_field, routing.kind, routing.segments_left
            ),
            None if extension.protocol == numbers::HOP_BY_HOP => self.line.text("HBH "),
            None => self.line.text("DSTOPT "),
        }
    }

    fn fragment(&mut self, fragment: &Fragment) {
        self.line.text("frag (");
        if self.verbose() {
            write!(self.line, "0x{:08x}:", fragment.identification);
        }
        write!(self.line, "{}|{}) ", fragment.offset, fragment.length);
        self.context.before = Before::Fragment;
    }

    pub(super) fn ah(&mut self, ah: &Ah) {
        write!(self.line, "AH(spi=0x{:08x},seq=0x{:x}): ", ah.spi, ah.sequence);
    }

    pub(super) fn esp(&mut self, esp: &Esp) {
        write!(self.line, "ESP(spi=0x{:08x},seq=0x{:x})", esp.spi, esp.sequence);
        self.line.comma_length(esp.length);
    }

    /// Shows the addresses now, or leaves them to a transport that shows its ports with them.
    fn addresses_before(&mut self, addresses: Addresses, protocol: u8) {
        if matches!(protocol, numbers::TCP | numbers::UDP) {
            self.context.unshown = Some(addresses);
        } else {
            self.pair(addresses);
            self.line.text(": ");
        }
    }

    /// `10.0.0.1 > 10.0.0.2`
    pub(super) fn pair(&mut self, addresses: Addresses) {
        self.host(addresses.source());
        self.line.text(" > ");
        self.host(addresses.destination());
    }

    /// `10.0.0.1.43210 > 10.0.0.2.80: `, or the ports alone when the addresses have been shown.
    pub(super) fn endpoints(&mut self, transport: Transport, source: u16, destination: u16) {
        let addresses = self.context.unshown.take();
        self.endpoint(addresses.map(Addresses::source), transport, source);
        self.line.text(" > ");
        self.endpoint(addresses.map(Addresses::destination), transport, destination);
        self.line.text(": ");
    }

    fn endpoint(&mut self, address: Option<IpAddr>, transport: Transport, port: u16) {
        if let Some(address) = address {
            self.host(address);
            self.line.text(".");
        }
        self.port(transport, port);
    }

    pub(super) fn host(&mut self, address: IpAddr) {
        match self.names.host(address) {
            Some(name) => self.line.styled(Kind::Address, |line| line.escaped(name.as_bytes())),
            None => self.line.ip(address),
        }
    }

    pub(super) fn port(&mut self, transport: Transport, port: u16) {
        let name = self.names.port(transport, port);
        self.line.styled(Kind::Port, |line| match name {
            Some(name) => line.escaped(name.as_bytes()),
            None => line.number(port),
        });
    }
}

/// RFC 3168 5: the two lowest bits of the type of service.
fn ecn(tos: u8) -> &'static str {
    ["", ",ECT(1)", ",ECT(0)", ",CE"][usize::from(tos & 3)]
}

fn flags(flags: Ipv4Flags) -> &'static str {
    match (flags.more_fragments, flags.dont_fragment, flags.reserved) {
        (false, false, false) => "none",
        (true, false, false) => "+",
        (false, true, false) => "DF",
        (true, true, false) => "+, DF",
        (false, false, true) => "rsvd",
        (true, false, true) => "+, rsvd",
        (false, true, true) => "DF, rsvd",
        (true, true, true) => "+, DF, rsvd",
    }
}

fn ipv4_option(number: u8) -> Option<&'static str> {
    Some(match number {
        0 => "EOL",
        1 => "NOP",
        7 => "RR",
        68 => "timestamp",
        82 => "traceroute",
        130 => "security",
        131 => "LSRR",
        137 => "SSRR",
        148 => "RA",
        _ => return None,
    })
}
