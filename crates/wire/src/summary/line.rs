//! A line in the making.
//!
//! Plain text and numbers are pushed by functions of their own rather than through `write!`,
//! which costs several times as much; `write!` serves where a packet of the kind is rare.

use std::fmt;
use std::net::IpAddr;
use std::ops::Range;

use crate::layer::Mac;
use crate::paint::{Kind, Paint};

/// The output, and how to colour it.
pub(super) struct Line<'a> {
    out: &'a mut String,
    paint: &'a Paint,
}

const HEX: &[u8; 16] = b"0123456789abcdef";

impl<'a> Line<'a> {
    pub(super) fn new(out: &'a mut String, paint: &'a Paint) -> Self {
        Self { out, paint }
    }

    /// Text of our own making: it holds no control characters.
    pub(super) fn text(&mut self, text: &str) {
        self.out.push_str(text);
    }

    /// Lets `write!(line, ...)` be an expression without a result: a `String` takes everything.
    pub(super) fn write_fmt(&mut self, arguments: fmt::Arguments<'_>) {
        let _ = fmt::Write::write_fmt(self.out, arguments);
    }

    /// What `write` writes, in the style of `kind`.
    pub(super) fn styled(&mut self, kind: Kind, write: impl FnOnce(&mut Self)) {
        self.out.push_str(self.paint.style(kind));
        write(self);
        self.out.push_str(&self.paint.reset);
    }

    pub(super) fn protocol(&mut self, name: &str) {
        self.styled(Kind::Protocol, |line| line.text(name));
    }

    pub(super) fn error(&mut self, text: &str) {
        self.styled(Kind::Error, |line| line.text(text));
    }

    /// A number in decimal.
    pub(super) fn number(&mut self, number: impl Into<u64>) {
        let mut number = number.into();
        let mut digits = [0; 20];
        let mut at = digits.len();
        loop {
            at -= 1;
            digits[at] = b'0' + (number % 10) as u8;
            number /= 10;
            if number == 0 {
                break;
            }
        }
        self.ascii(&digits[at..]);
    }

    /// A length in decimal.
    pub(super) fn length(&mut self, length: usize) {
        self.number(length as u64);
    }

    /// `, length 60`
    pub(super) fn comma_length(&mut self, length: usize) {
        self.text(", length ");
        self.length(length);
    }

    pub(super) fn mac(&mut self, mac: Mac) {
        self.styled(Kind::Address, |line| line.hex_pairs(&mac.0));
    }

    /// Hexadecimal pairs joined by colons.
    pub(super) fn hex_pairs(&mut self, bytes: &[u8]) {
        for (i, &byte) in bytes.iter().enumerate() {
            if i > 0 {
                self.out.push(':');
            }
            self.ascii(&[HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
        }
    }

    pub(super) fn ip(&mut self, address: IpAddr) {
        self.styled(Kind::Address, |line| match address {
            IpAddr::V4(address) => line.dotted(address.octets()),
            IpAddr::V6(address) if address.to_ipv4_mapped().is_some() => {
                write!(line, "{address}");
            }
            IpAddr::V6(address) => line.groups(address.segments()),
        });
    }

    fn dotted(&mut self, octets: [u8; 4]) {
        for (i, octet) in octets.into_iter().enumerate() {
            if i > 0 {
                self.out.push('.');
            }
            self.number(octet);
        }
    }

    /// RFC 5952 4: the first of the longest runs of two or more zero groups becomes `::`.
    fn groups(&mut self, groups: [u16; 8]) {
        let zeros = longest_zeros(&groups);
        for (i, &group) in groups.iter().enumerate() {
            if zeros.contains(&i) {
                self.text(if i == zeros.start { "::" } else { "" });
                continue;
            }
            if i > 0 && i != zeros.end {
                self.out.push(':');
            }
            self.hex(group);
        }
    }

    /// A number in hexadecimal without leading zeros.
    fn hex(&mut self, number: u16) {
        let digits = [12, 8, 4, 0].map(|shift| HEX[usize::from(number >> shift & 15)]);
        let zeros = (number.leading_zeros() as usize / 4).min(3);
        self.ascii(&digits[zeros..]);
    }

    /// Bytes from a packet, or names from elsewhere: printable ASCII as it is, anything else and
    /// the backslash as `\xNN`, so that nothing in a packet can steer the terminal.
    pub(super) fn escaped(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            match byte {
                b' '..=b'~' if byte != b'\\' => self.out.push(byte.into()),
                _ => write!(self, "\\x{byte:02x}"),
            }
        }
    }

    fn ascii(&mut self, bytes: &[u8]) {
        self.out.push_str(std::str::from_utf8(bytes).unwrap_or_default());
    }
}

/// The first of the longest runs of two or more zeros; empty past the end where there is none.
fn longest_zeros(groups: &[u16; 8]) -> Range<usize> {
    let (mut longest, mut run) = (9..9, 0..0);
    for (i, &group) in groups.iter().enumerate() {
        run = if group == 0 { run.start..i + 1 } else { i + 1..i + 1 };
        if run.len() > longest.len().max(1) {
            longest = run.clone();
        }
    }
    longest
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn line(write: impl FnOnce(&mut Line<'_>)) -> String {
        let mut out = String::new();
        write(&mut Line::new(&mut out, &Paint::default()));
        out
    }

    #[test]
    fn numbers_are_decimal() {
        assert_eq!(line(|l| l.number(0u8)), "0");
        assert_eq!(line(|l| l.number(u64::MAX)), "18446744073709551615");
    }

    #[test]
    fn what_a_terminal_could_act_on_is_escaped() {
        assert_eq!(line(|l| l.escaped(b"a b\x1b[2J\n\\\xff")), r"a b\x1b[2J\x0a\x5c\xff");
    }

    proptest! {
        #[test]
        fn addresses_show_as_the_standard_library_shows_them(
            groups: [u16; 8],
            zeros: [bool; 8],
            mapped: bool,
        ) {
            let mut groups = groups;
            for (group, _) in groups.iter_mut().zip(zeros).filter(|(_, zero)| *zero) {
                *group = 0;
            }
            if mapped {
                groups[..6].copy_from_slice(&[0, 0, 0, 0, 0, 0xffff]);
            }
            let address = IpAddr::from(groups);
            prop_assert_eq!(line(|l| l.ip(address)), address.to_string());
        }
    }

    #[test]
    fn styles_surround_their_words() {
        let paint = Paint { address: "<".into(), reset: ">".into(), ..Paint::default() };
        let mut out = String::new();
        Line::new(&mut out, &paint).ip([10, 0, 0, 1].into());
        assert_eq!(out, "<10.0.0.1>");
    }
}
