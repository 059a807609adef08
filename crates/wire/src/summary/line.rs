//! A line in the making.
//!
//! Plain text and numbers are pushed by functions of their own rather than through `write!`,
//! which costs several times as much; `write!` serves where a packet of the kind is rare.

use std::fmt;
use std::net::IpAddr;

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
            IpAddr::V6(address) => write!(line, "{address}"),
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

#[cfg(test)]
mod tests {
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

    #[test]
    fn styles_surround_their_words() {
        let paint = Paint { address: "<".into(), reset: ">".into(), ..Paint::default() };
        let mut out = String::new();
        Line::new(&mut out, &paint).ip([10, 0, 0, 1].into());
        assert_eq!(out, "<10.0.0.1>");
    }
}
