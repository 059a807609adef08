//! A packet's bytes in hexadecimal or as text, byte for byte as tcpdump prints them.

use linerate_base::Packet;

use crate::layer::{Layer, Layers};

/// How to dump a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hexdump {
    /// What is shown.
    pub format: Format,
    /// Show the link layer's header too (`-xx`, `-XX`, `-AA`).
    pub link_header: bool,
}

/// What a dump shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Hexadecimal (`-x`).
    Hex,
    /// Hexadecimal and, beside it, ASCII (`-X`).
    HexAscii,
    /// ASCII (`-A`).
    Ascii,
}

const HEX: &[u8; 16] = b"0123456789abcdef";
const BYTES_PER_LINE: usize = 16;

impl Hexdump {
    /// Appends the dump of `packet` to `out`. Each of its lines begins with a line feed, to go
    /// after the packet's summary.
    pub fn write(&self, packet: &Packet<'_>, out: &mut String) {
        let skip = if self.link_header { 0 } else { link_header_length(packet) };
        let bytes = &packet.data[skip..];
        match self.format {
            Format::Ascii => ascii(bytes, out),
            Format::Hex => hex(bytes, false, out),
            Format::HexAscii => hex(bytes, true, out),
        }
    }
}

fn ascii(bytes: &[u8], out: &mut String) {
    out.push('\n');
    let mut rest = bytes.iter().peekable();
    while let Some(&byte) = rest.next() {
        match byte {
            // A carriage return is shown only where it does not end a line.
            b'\r' if rest.peek() != Some(&&b'\n') => out.push('.'),
            b'\r' => {}
            b'\n' | b'\t' | b' '..=b'~' => out.push(byte.into()),
            _ => out.push('.'),
        }
    }
}

fn hex(bytes: &[u8], with_ascii: bool, out: &mut String) {
    for (i, line) in bytes.chunks(BYTES_PER_LINE).enumerate() {
        hex_line(i * BYTES_PER_LINE, line, with_ascii, out);
    }
}

/// `0x0010:  4500 003c ...` behind a tab.
fn hex_line(offset: usize, line: &[u8], with_ascii: bool, out: &mut String) {
    out.push_str("\n\t0x");
    let digits = (usize::BITS - offset.leading_zeros()).div_ceil(4).max(4);
    for digit in (0..digits).rev() {
        out.push(HEX[offset >> (digit * 4) & 15].into());
    }
    out.push_str(": ");
    for pair in line.chunks(2) {
        out.push(' ');
        for &byte in pair {
            out.push(HEX[usize::from(byte >> 4)].into());
            out.push(HEX[usize::from(byte & 15)].into());
        }
    }
    if with_ascii {
        let width = line.len() * 2 + line.len().div_ceil(2);
        let full = BYTES_PER_LINE * 2 + BYTES_PER_LINE / 2;
        out.extend(std::iter::repeat_n(' ', full - width + 2));
        out.extend(line.iter().map(|&b| if b.is_ascii_graphic() { b.into() } else { '.' }));
    }
}

/// Bytes before the network layer, at most all that were captured.
fn link_header_length(packet: &Packet<'_>) -> usize {
    let mut layers = Layers::new(packet);
    let mut length = 0;
    while layers.next().as_ref().is_some_and(Layer::is_link) {
        length = layers.consumed(packet.data);
    }
    length
}
