//! `ICMP echo request, id 1, seq 2, length 64`

use std::net::IpAddr;

use super::Printer;
use crate::data::Data;
use crate::layer::{Icmp, Layers, Next, numbers};
use crate::names::Transport;
use crate::paint::Kind;

impl Printer<'_> {
    pub(super) fn icmp(&mut self, icmp: &Icmp<'_>) {
        self.line.protocol("ICMP");
        self.line.text(" ");
        if self.icmp_message(icmp).is_none() {
            return self.truncated("icmp");
        }
        self.line.comma_length(icmp.length);
        if self.verbose() {
            self.icmp_checksum(icmp);
            if icmp.is_error() {
                self.quote(icmp.quoted());
            }
        }
    }

    fn icmp_checksum(&mut self, icmp: &Icmp<'_>) {
        if icmp.checksum.correct() == Some(false) {
            let (value, expected) =
                (icmp.checksum.value(), icmp.checksum.expected().unwrap_or_default());
            self.line.styled(Kind::Error, |line| {
                write!(line, " (wrong icmp cksum {value:x} (->{expected:x})!)");
            });
        }
    }

    /// The packet that an error is about.
    pub(super) fn quote(&mut self, quoted: Data<'_>) {
        if !quoted.bytes().is_empty() {
            self.line.text(" ");
            self.layers(Layers::from(Next::Ip(quoted)));
        }
    }

    /// `None` when the message was cut off.
    fn icmp_message(&mut self, icmp: &Icmp<'_>) -> Option<()> {
        match icmp.kind {
            0 | 8 => {
                let what = if icmp.kind == 8 { "request" } else { "reply" };
                write!(self.line, "echo {what}, id {}, seq {}", icmp.identifier?, icmp.sequence?);
            }
            3 => self.unreachable(icmp, &Quote::read(icmp.quoted())?)?,
            5 => self.redirect(icmp, &Quote::read(icmp.quoted())?)?,
            9 => write!(self.line, "router advertisement lifetime {}", icmp.data.u16(6)?),
            11 => self.time_exceeded(icmp.code),
            12 if icmp.code != 0 => {
                write!(self.line, "parameter problem - code {}", icmp.code);
            }
            12 => write!(self.line, "parameter problem - octet {}", icmp.data.u8(4)?),
            13 => {
                write!(
                    self.line,
                    "time stamp query id {} seq {}",
                    icmp.identifier?, icmp.sequence?
                );
            }
            14 => self.timestamp_reply(icmp)?,
            18 => write!(self.line, "address mask is 0x{:08x}", icmp.data.u32(8)?),
            kind => match type_name(kind) {
                Some(name) => self.line.text(name),
                None => write!(self.line, "type-#{kind}"),
            },
        }
        Some(())
    }

    fn timestamp_reply(&mut self, icmp: &Icmp<'_>) -> Option<()> {
        write!(self.line, "time stamp reply id {} seq {}", icmp.identifier?, icmp.sequence?);
        for (name, at) in [("org", 8), ("recv", 12), ("xmit", 16)] {
            let time = icmp.data.u32(at)? / 1000;
            let (hours, minutes, seconds) = (time / 3600, time / 60 % 60, time % 60);
            let milliseconds = icmp.data.u32(at)? % 1000;
            let separator = if name == "org" { ": " } else { ", " };
            write!(
                self.line,
                "{separator}{name} {hours:02}:{minutes:02}:{seconds:02}.{milliseconds:03}"
            );
        }
        Some(())
    }

    fn time_exceeded(&mut self, code: u8) {
        match code {
            0 => self.line.text("time exceeded in-transit"),
            1 => self.line.text("ip reassembly time exceeded"),
            _ => write!(self.line, "time exceeded-#{code}"),
        }
    }

    fn unreachable(&mut self, icmp: &Icmp<'_>, quote: &Quote) -> Option<()> {
        let (before, after) = match icmp.code {
            2 => return self.protocol_unreachable(quote),
            3 => return self.port_unreachable(quote),
            4 => return self.needs_fragmenting(icmp, quote),
            0 => ("net ", ""),
            1 => ("host ", ""),
            5 => ("", " - source route failed"),
            6 => ("net ", " - unknown"),
            7 => ("host ", " - unknown"),
            8 => ("", " - source host isolated"),
            9 => ("net ", " - admin prohibited"),
            10 => ("host ", " - admin prohibited"),
            11 => ("net ", " - tos prohibited"),
            12 => ("host ", " - tos prohibited"),
            13 => ("host ", " - admin prohibited filter"),
            14 => ("host ", " - host precedence violation"),
            15 => ("host ", " - precedence cutoff"),
            code => {
                write!(self.line, "#{code} ");
                ("", "")
            }
        };
        self.line.text(before);
        self.host(quote.destination);
        self.line.text(" unreachable");
        self.line.text(after);
        Some(())
    }

    fn protocol_unreachable(&mut self, quote: &Quote) -> Option<()> {
        self.host(quote.destination);
        write!(self.line, " protocol {} unreachable", quote.protocol);
        Some(())
    }

    fn port_unreachable(&mut self, quote: &Quote) -> Option<()> {
        self.host(quote.destination);
        let port = quote.port?;
        match quote.protocol {
            numbers::TCP => {
                self.line.text(" tcp port ");
                self.port(Transport::Tcp, port);
            }
            numbers::UDP => {
                self.line.text(" udp port ");
                self.port(Transport::Udp, port);
            }
            protocol => write!(self.line, " protocol {protocol} port {port}"),
        }
        self.line.text(" unreachable");
        Some(())
    }

    /// RFC 1191 4: the next hop's MTU, 0 from a router that does not tell.
    fn needs_fragmenting(&mut self, icmp: &Icmp<'_>, quote: &Quote) -> Option<()> {
        self.host(quote.destination);
        self.line.text(" unreachable - need to frag");
        match icmp.data.u16(6)? {
            0 => {}
            mtu => write!(self.line, " (mtu {mtu})"),
        }
        Some(())
    }

    fn redirect(&mut self, icmp: &Icmp<'_>, quote: &Quote) -> Option<()> {
        let gateway = icmp.data.array::<4>(4)?;
        match icmp.code {
            0 | 1 => self.line.text("redirect "),
            2 | 3 => self.line.text("redirect-tos "),
            code => write!(self.line, "redirect-#{code} "),
        }
        self.host(quote.destination);
        self.line.text(if matches!(icmp.code, 1 | 3) { " to host " } else { " to net " });
        self.host(gateway.into());
        Some(())
    }
}

/// The head of the packet that an error is about.
struct Quote {
    destination: IpAddr,
    protocol: u8,
    /// The destination port, where enough is quoted.
    port: Option<u16>,
}

impl Quote {
    fn read(data: Data<'_>) -> Option<Self> {
        let header = usize::from(data.u8(0)? & 0xf) * 4;
        Some(Self {
            destination: data.array::<4>(16)?.into(),
            protocol: data.u8(9)?,
            port: data.u16(header + 2),
        })
    }
}

fn type_name(kind: u8) -> Option<&'static str> {
    Some(match kind {
        4 => "source quench",
        10 => "router solicitation",
        15 => "information request",
        16 => "information reply",
        17 => "address mask request",
        _ => return None,
    })
}
