//! `ICMP6, neighbor solicitation, who has fe80::1, length 32`

use std::net::Ipv6Addr;

use super::Printer;
use crate::data::Data;
use crate::layer::{Icmpv6, numbers};
use crate::names::Transport;
use crate::paint::Kind;

const ECHO_REQUEST: u8 = 128;
const ECHO_REPLY: u8 = 129;
const LISTENER_QUERY: u8 = 130;
const LISTENER_REPORT: u8 = 131;
const LISTENER_DONE: u8 = 132;
const ROUTER_SOLICITATION: u8 = 133;
const ROUTER_ADVERTISEMENT: u8 = 134;
const NEIGHBOUR_SOLICITATION: u8 = 135;
const NEIGHBOUR_ADVERTISEMENT: u8 = 136;
const REDIRECT: u8 = 137;
const LISTENER_REPORT_V2: u8 = 143;

impl Printer<'_> {
    pub(super) fn icmpv6(&mut self, icmp: &Icmpv6<'_>) {
        if self.verbose() {
            self.icmpv6_checksum(icmp);
        }
        self.line.protocol("ICMP6");
        self.line.text(", ");
        match type_name(icmp.kind) {
            Some(name) => self.line.text(name),
            None => write!(self.line, "unknown icmp6 type ({})", icmp.kind),
        }
        let discovers = (ROUTER_SOLICITATION..=REDIRECT).contains(&icmp.kind);
        if self.verbose() && discovers {
            self.line.comma_length(icmp.length);
        }
        if self.icmpv6_message(icmp).is_none() {
            return self.truncated("icmp6");
        }
        if !self.verbose() || type_name(icmp.kind).is_none() {
            self.line.comma_length(icmp.length);
        } else if icmp.is_error() {
            self.quote(icmp.quoted());
        }
    }

    fn icmpv6_checksum(&mut self, icmp: &Icmpv6<'_>) {
        match (icmp.checksum.correct(), icmp.checksum.expected()) {
            (Some(true), _) => self.line.text("[icmp6 sum ok] "),
            (Some(false), Some(expected)) => {
                let value = icmp.checksum.value();
                self.line.styled(Kind::Error, |line| {
                    write!(line, "[bad icmp6 cksum 0x{value:04x} -> 0x{expected:04x}!]");
                });
                self.line.text(" ");
            }
            _ => {}
        }
    }

    /// `None` when the message was cut off.
    fn icmpv6_message(&mut self, icmp: &Icmpv6<'_>) -> Option<()> {
        match icmp.kind {
            ECHO_REQUEST | ECHO_REPLY => {
                write!(self.line, ", id {}, seq {}", icmp.identifier?, icmp.sequence?);
            }
            LISTENER_QUERY..=LISTENER_DONE | LISTENER_REPORT_V2 => self.listener(icmp)?,
            ROUTER_SOLICITATION..=REDIRECT => self.discovery(icmp)?,
            _ if icmp.is_error() => self.icmpv6_error(icmp)?,
            _ => {}
        }
        Some(())
    }

    /// RFC 2710 3 and RFC 3810 5.
    fn listener(&mut self, icmp: &Icmpv6<'_>) -> Option<()> {
        let group = address(icmp.data, 8);
        match icmp.kind {
            LISTENER_REPORT_V2 => {
                write!(self.line, ", {} group record(s)", icmp.data.u16(6)?);
            }
            LISTENER_QUERY if icmp.length >= 28 => {
                self.line.text(" v2 [gaddr ");
                self.host(group?.into());
                self.line.text("]");
            }
            _ => {
                write!(self.line, "max resp delay: {} addr: ", icmp.data.u16(4)?);
                self.host(group?.into());
            }
        }
        Some(())
    }

    /// RFC 4861 4.
    fn discovery(&mut self, icmp: &Icmpv6<'_>) -> Option<()> {
        let data = icmp.data;
        match icmp.kind {
            ROUTER_SOLICITATION => self.discovery_options(data.skip(8)),
            ROUTER_ADVERTISEMENT => self.router_advertisement(data)?,
            NEIGHBOUR_SOLICITATION => {
                self.line.text(", who has ");
                self.host(icmp.target?.into());
                self.discovery_options(data.skip(24));
            }
            NEIGHBOUR_ADVERTISEMENT => self.neighbour_advertisement(icmp)?,
            _ => {
                self.line.text(", ");
                self.host(address(data, 24)?.into());
                self.line.text(" to ");
                self.host(icmp.target?.into());
                self.discovery_options(data.skip(40));
            }
        }
        Some(())
    }

    fn icmpv6_error(&mut self, icmp: &Icmpv6<'_>) -> Option<()> {
        match icmp.kind {
            1 => self.unreachable_v6(icmp),
            2 => {
                write!(self.line, ", mtu {}", icmp.data.u32(4)?);
                Some(())
            }
            3 => self.time_exceeded_v6(icmp),
            4 => self.parameter_problem(icmp),
            _ => Some(()),
        }
    }

    fn unreachable_v6(&mut self, icmp: &Icmpv6<'_>) -> Option<()> {
        let quoted = icmp.quoted();
        let (source, destination) = (address(quoted, 8)?, address(quoted, 24)?);
        let reason = match icmp.code {
            0 => ", unreachable route ",
            1 => ", unreachable prohibited ",
            2 => ", beyond scope ",
            3 => ", unreachable address ",
            4 => ", unreachable port, ",
            code => {
                write!(self.line, ", unknown unreach code ({code})");
                return Some(());
            }
        };
        self.line.text(reason);
        self.host(destination.into());
        match (icmp.code, quoted.u8(6)?) {
            (2, _) => {
                self.line.text(", source address ");
                self.host(source.into());
            }
            (4, numbers::TCP) => {
                self.line.text(" tcp port ");
                self.port(Transport::Tcp, quoted.u16(42)?);
            }
            (4, numbers::UDP) => {
                self.line.text(" udp port ");
                self.port(Transport::Udp, quoted.u16(42)?);
            }
            _ => {}
        }
        Some(())
    }

    fn time_exceeded_v6(&mut self, icmp: &Icmpv6<'_>) -> Option<()> {
        match icmp.code {
            0 => {
                self.line.text(" for ");
                self.host(address(icmp.quoted(), 24)?.into());
            }
            1 => self.line.text(" (reassembly)"),
            code => write!(self.line, ", unknown code ({code})"),
        }
        Some(())
    }

    fn parameter_problem(&mut self, icmp: &Icmpv6<'_>) -> Option<()> {
        let octet = icmp.data.u32(4)?;
        match icmp.code {
            0 => write!(self.line, ", erroneous - octet {octet}"),
            1 => write!(self.line, ", next header - octet {octet}"),
            2 => write!(self.line, ", option - octet {octet}"),
            code => write!(self.line, ", code-#{code}"),
        }
        Some(())
    }

    fn router_advertisement(&mut self, data: Data<'_>) -> Option<()> {
        if !self.verbose() {
            return Some(());
        }
        let [hop_limit, flags] = data.array(4)?;
        write!(self.line, " hop limit {hop_limit}, Flags [");
        self.flag_names(
            flags,
            &[(0x80, "managed"), (0x40, "other stateful"), (0x20, "home agent")],
        );
        let preference = ["medium", "high", "", "low"][usize::from(flags >> 3 & 3)];
        write!(
            self.line,
            "], pref {preference}, router lifetime {}s, reachable time {}ms, retrans timer {}ms",
            data.u16(6)?,
            data.u32(8)?,
            data.u32(12)?,
        );
        self.discovery_options(data.skip(16));
        Some(())
    }

    fn neighbour_advertisement(&mut self, icmp: &Icmpv6<'_>) -> Option<()> {
        self.line.text(", tgt is ");
        self.host(icmp.target?.into());
        if self.verbose() {
            self.line.text(", Flags [");
            let flags = icmp.data.u8(4)?;
            self.flag_names(flags, &[(0x80, "router"), (0x40, "solicited"), (0x20, "override")]);
            self.line.text("]");
        }
        self.discovery_options(icmp.data.skip(24));
        Some(())
    }

    fn flag_names(&mut self, flags: u8, names: &[(u8, &str)]) {
        let mut separator = "";
        for (_, name) in names.iter().filter(|(bit, _)| flags & bit != 0) {
            self.line.text(separator);
            self.line.text(name);
            separator = ", ";
        }
        self.line.text(if separator.is_empty() { "none" } else { "" });
    }

    /// RFC 4861 4.6: each option begins with its number and its length in units of 8 bytes.
    fn discovery_options(&mut self, mut data: Data<'_>) {
        while let (true, Some([number, units])) = (self.verbose(), data.array(0)) {
            let length = usize::from(units) * 8;
            if length == 0 {
                return self.line.error(" [option of length 0]");
            }
            let name = option_name(number);
            write!(self.line, " {name} option ({number}), length {length} ({units}):");
            if self.discovery_option(number, data.clip(length)).is_none() {
                return self.truncated("icmp6");
            }
            data = data.skip(length);
        }
    }

    fn discovery_option(&mut self, number: u8, data: Data<'_>) -> Option<()> {
        match number {
            1 | 2 => {
                self.line.text(" ");
                self.line.styled(Kind::Address, |line| {
                    line.hex_pairs(data.skip(2).bytes());
                });
            }
            3 => {
                let [prefix_length, flags] = data.array(2)?;
                write!(self.line, " {}/{prefix_length}, Flags [", address(data, 16)?);
                self.flag_names(flags, &[(0x80, "onlink"), (0x40, "auto"), (0x20, "router")]);
                self.line.text("], valid time ");
                self.lifetime(data.u32(4)?);
                self.line.text(", pref. time ");
                self.lifetime(data.u32(8)?);
            }
            5 => write!(self.line, " {}", data.u32(4)?),
            _ => {}
        }
        Some(())
    }

    fn lifetime(&mut self, seconds: u32) {
        match seconds {
            u32::MAX => self.line.text("infinity"),
            _ => write!(self.line, "{seconds}s"),
        }
    }
}

fn address(data: Data<'_>, at: usize) -> Option<Ipv6Addr> {
    data.array(at).map(Ipv6Addr::from_octets)
}

fn option_name(number: u8) -> &'static str {
    match number {
        1 => "source link-address",
        2 => "destination link-address",
        3 => "prefix info",
        4 => "redirected header",
        5 => "mtu",
        7 => "advertisement interval",
        8 => "homeagent information",
        14 => "nonce",
        24 => "route info",
        25 => "rdnss",
        31 => "dnssl",
        38 => "pref64",
        _ => "unknown",
    }
}

fn type_name(kind: u8) -> Option<&'static str> {
    Some(match kind {
        1 => "destination unreachable",
        2 => "packet too big",
        3 => "time exceeded in-transit",
        4 => "parameter problem",
        ECHO_REQUEST => "echo request",
        ECHO_REPLY => "echo reply",
        LISTENER_QUERY => "multicast listener query",
        LISTENER_REPORT => "multicast listener report",
        LISTENER_DONE => "multicast listener done",
        ROUTER_SOLICITATION => "router solicitation",
        ROUTER_ADVERTISEMENT => "router advertisement",
        NEIGHBOUR_SOLICITATION => "neighbor solicitation",
        NEIGHBOUR_ADVERTISEMENT => "neighbor advertisement",
        REDIRECT => "redirect",
        138 => "router renumbering",
        139 => "node information query",
        140 => "node information reply",
        141 => "inverse neighbor solicitation",
        142 => "inverse neighbor advertisement",
        LISTENER_REPORT_V2 => "multicast listener report v2",
        144 => "home agent discovery request",
        145 => "home agent discovery reply",
        146 => "mobile router solicitation",
        147 => "mobile router advertisement",
        155 => "RPL",
        _ => return None,
    })
}
