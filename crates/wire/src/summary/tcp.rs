//! `10.0.0.1.43210 > 10.0.0.2.80: Flags [P.], seq 1:11, ack 1, win 502, options [...], length 10`

use super::flows::Numbers;
use super::{Before, Printer};
use crate::layer::{SackBlocks, Tcp, TcpFlag, TcpFlags, TcpOption};
use crate::names::Transport;
use crate::paint::Kind;

impl Printer<'_> {
    pub(super) fn tcp(&mut self, tcp: &Tcp<'_>) {
        self.endpoints(Transport::Tcp, tcp.source_port, tcp.destination_port);
        self.context.before = Before::Tcp;
        if self.options.quick {
            self.line.text("tcp ");
            return self.line.length(tcp.length);
        }
        self.tcp_flags(tcp.flags);
        let numbers = match self.options.absolute_sequence {
            true => Numbers::absolute(tcp),
            false => self.flows.relative(tcp),
        };
        self.tcp_checksum(tcp);
        self.tcp_numbers(tcp, &numbers);
        self.tcp_options(tcp, &numbers);
        self.line.comma_length(tcp.length);
    }

    fn tcp_flags(&mut self, flags: TcpFlags) {
        const LETTERS: [(TcpFlag, &str); 9] = [
            (TcpFlag::Fin, "F"),
            (TcpFlag::Syn, "S"),
            (TcpFlag::Rst, "R"),
            (TcpFlag::Psh, "P"),
            (TcpFlag::Ack, "."),
            (TcpFlag::Urg, "U"),
            (TcpFlag::Ece, "E"),
            (TcpFlag::Cwr, "W"),
            (TcpFlag::Ae, "e"),
        ];
        self.line.text("Flags [");
        self.line.styled(Kind::Flags, |line| {
            let mut any = false;
            for (_, letter) in LETTERS.iter().filter(|(flag, _)| flags.has(*flag)) {
                line.text(letter);
                any = true;
            }
            line.text(if any { "" } else { "none" });
        });
        self.line.text("]");
    }

    fn tcp_checksum(&mut self, tcp: &Tcp<'_>) {
        let Some(expected) = tcp.checksum.expected().filter(|_| self.verbose()) else {
            return;
        };
        write!(self.line, ", cksum 0x{:04x} ", tcp.checksum.value());
        if tcp.checksum.correct() == Some(true) {
            self.line.text("(correct)");
        } else {
            self.line.styled(Kind::Error, |line| write!(line, "(incorrect -> 0x{expected:04x})"));
        }
    }

    fn tcp_numbers(&mut self, tcp: &Tcp<'_>, numbers: &Numbers) {
        let opens_or_ends = tcp.flags.any(&[TcpFlag::Syn, TcpFlag::Fin, TcpFlag::Rst]);
        if tcp.length > 0 || opens_or_ends {
            self.line.text(", seq ");
            self.line.number(numbers.sequence);
            if tcp.length > 0 {
                self.line.text(":");
                self.line.number(numbers.sequence.wrapping_add(tcp.length as u32));
            }
        }
        if tcp.flags.has(TcpFlag::Ack) {
            self.line.text(", ack ");
            self.line.number(numbers.acknowledgment);
        }
        self.line.text(", win ");
        self.line.number(tcp.window);
        if tcp.flags.has(TcpFlag::Urg) {
            self.line.text(", urg ");
            self.line.number(tcp.urgent);
        }
    }

    fn tcp_options(&mut self, tcp: &Tcp<'_>, numbers: &Numbers) {
        if tcp.options.is_empty() {
            return;
        }
        let mut separator = ", options [";
        for option in tcp.options.iter() {
            self.line.text(separator);
            separator = ",";
            self.tcp_option(&option, numbers);
        }
        self.line.text("]");
    }

    fn tcp_option(&mut self, option: &TcpOption<'_>, numbers: &Numbers) {
        match *option {
            TcpOption::End => self.line.text("eol"),
            TcpOption::Nop => self.line.text("nop"),
            TcpOption::Mss { value } => {
                self.line.text("mss ");
                self.line.number(value);
            }
            TcpOption::WindowScale { shift } => {
                self.line.text("wscale ");
                self.line.number(shift);
            }
            TcpOption::SackPermitted => self.line.text("sackOK"),
            TcpOption::Sack { blocks } => self.sack(blocks, numbers.sack_base),
            TcpOption::Timestamps { value, echo } => {
                self.line.text("TS val ");
                self.line.number(value);
                self.line.text(" ecr ");
                self.line.number(echo);
            }
            TcpOption::Other { number, data } => self.other_option(number, data.0),
            TcpOption::Truncated => self.line.error("[|tcp]"),
            TcpOption::Bad { number } => self.bad_option(number),
        }
    }

    fn sack(&mut self, blocks: SackBlocks<'_>, base: u32) {
        let blocks = blocks.iter();
        self.line.text("sack ");
        self.line.length(blocks.len());
        self.line.text(" ");
        for (left, right) in blocks {
            self.line.text("{");
            self.line.number(left.wrapping_sub(base));
            self.line.text(":");
            self.line.number(right.wrapping_sub(base));
            self.line.text("}");
        }
    }

    fn other_option(&mut self, number: u8, data: &[u8]) {
        match option_name(number) {
            Some(name) => self.line.text(name),
            None => write!(self.line, "unknown-{number}"),
        }
        if !data.is_empty() {
            self.line.text(if option_name(number).is_some() { " " } else { " 0x" });
        }
        for byte in data {
            write!(self.line, "{byte:02x}");
        }
    }

    fn bad_option(&mut self, number: u8) {
        match option_name(number) {
            Some(name) => self.line.text(name),
            None => write!(self.line, "unknown-{number}"),
        }
        self.line.error("[bad opt]");
    }
}

/// IANA's TCP option kinds.
fn option_name(number: u8) -> Option<&'static str> {
    Some(match number {
        2 => "mss",
        3 => "wscale",
        4 => "sackOK",
        5 => "sack",
        6 => "echo",
        7 => "echoreply",
        8 => "TS",
        11 => "cc",
        12 => "ccnew",
        13 => "ccecho",
        19 => "md5",
        20 => "scps",
        28 => "uto",
        29 => "tcp-ao",
        30 => "mptcp",
        34 => "tfo",
        _ => return None,
    })
}
