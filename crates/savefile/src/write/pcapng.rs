//! Encoding pcapng, version 1.0, in little-endian order, in one section.

use linerate_base::{Direction, Error, ErrorKind, Interface, Packet, Result, Stats, Timestamp};

use super::writer::{Counters, Options};
use crate::code::{block, option};
use crate::order::padded;

/// `if_tsresol` of a clock that counts units of 10^-9 seconds.
const NANOSECONDS: u8 = 9;

/// The most bytes that an option can hold.
const MAX_OPTION: usize = u16::MAX as usize;

/// Bytes of an Enhanced Packet Block without data and options.
const ENHANCED_PACKET: usize = 32;

/// Bytes of the option `epb_flags` and the end of options.
const FLAGS: usize = 8 + 4;

/// Bytes of an Interface Statistics Block with all five counters.
const STATISTICS: usize = 24 + 5 * 12 + 4;

/// An encoder of one pcapng file.
#[derive(Debug, Default)]
pub(super) struct Pcapng {
    /// Number of interfaces described so far.
    described: usize,
    /// Time of the latest packet.
    latest: Timestamp,
}

impl Pcapng {
    /// Appends the Section Header Block.
    pub(super) fn begin(out: &mut Vec<u8>, options: &Options) {
        put_block(out, block::SECTION, |out| {
            out.extend(block::ORDER_MAGIC.to_le_bytes());
            out.extend(1u16.to_le_bytes());
            out.extend(0u16.to_le_bytes());
            // The section's length is not known before its end.
            out.extend(u64::MAX.to_le_bytes());
            let texts = [
                (option::SHB_HARDWARE, &options.hardware),
                (option::SHB_OS, &options.os),
                (option::SHB_USERAPPL, &options.application),
            ];
            for (code, value) in texts {
                put_text(out, code, value);
            }
            end_of_options(out);
        });
    }

    /// Appends an Interface Description Block for each interface that has none yet.
    pub(super) fn declare(&mut self, out: &mut Vec<u8>, interfaces: &[Interface]) {
        self.describe_new(out, interfaces);
        self.described = self.described.max(interfaces.len());
    }

    fn describe_new(&self, out: &mut Vec<u8>, interfaces: &[Interface]) {
        for interface in interfaces.iter().skip(self.described) {
            put_block(out, block::INTERFACE, |out| describe(out, interface));
        }
    }

    /// Appends an Enhanced Packet Block for a packet of the described interface `interface`.
    pub(super) fn packet(
        &mut self,
        out: &mut Vec<u8>,
        packet: &Packet<'_>,
        interface: u32,
        captured: u32,
    ) -> Result<()> {
        let nanos = u64::try_from(packet.time.nanos()).map_err(|_| time_error(packet))?;
        let flags = match packet.direction {
            Direction::Unknown => None,
            Direction::In => Some(option::INBOUND),
            Direction::Out => Some(option::OUTBOUND),
        };
        self.latest = self.latest.max(packet.time);
        put_block(out, block::ENHANCED_PACKET, |out| {
            for word in [interface, (nanos >> 32) as u32, nanos as u32, captured] {
                out.extend(word.to_le_bytes());
            }
            out.extend(packet.length.to_le_bytes());
            out.extend(packet.data);
            pad(out, packet.data.len());
            if let Some(flags) = flags {
                put_option(out, option::EPB_FLAGS, &flags.to_le_bytes());
                end_of_options(out);
            }
        });
        Ok(())
    }

    /// Appends an Interface Statistics Block, as of the latest packet, for a described interface.
    pub(super) fn statistics(&self, out: &mut Vec<u8>, interface: u32, stats: &Stats) {
        let nanos = self.latest.nanos() as u64;
        put_block(out, block::STATISTICS, |out| {
            for word in [interface, (nanos >> 32) as u32, nanos as u32] {
                out.extend(word.to_le_bytes());
            }
            // Without its packets that a filter turned away uncounted, "received" would be wrong.
            let received = (!stats.filtered_uncounted).then_some(stats.seen);
            let counters = [
                (option::ISB_IFRECV, received),
                (option::ISB_IFDROP, stats.interface_dropped),
                (option::ISB_FILTERACCEPT, Some(stats.seen.saturating_sub(stats.filtered))),
                (option::ISB_OSDROP, Some(stats.dropped)),
                (option::ISB_USRDELIV, Some(stats.delivered)),
            ];
            for (code, counter) in counters {
                if let Some(counter) = counter {
                    put_option(out, code, &counter.to_le_bytes());
                }
            }
            end_of_options(out);
        });
    }

    /// Bytes of the block of a packet.
    #[inline]
    pub(super) fn packet_size(packet: &Packet<'_>) -> u64 {
        let options = if packet.direction == Direction::Unknown { 0 } else { FLAGS };
        (ENHANCED_PACKET + padded(packet.data.len()) + options) as u64
    }

    /// Bytes that declaring `interfaces` adds to the file, their statistics included.
    pub(super) fn declaration_size(&self, interfaces: &[Interface]) -> u64 {
        let mut out = Vec::new();
        self.describe_new(&mut out, interfaces);
        let new = interfaces.len().saturating_sub(self.described);
        (out.len() + new * STATISTICS) as u64
    }

    /// The most bytes that statistics of all described interfaces take.
    #[inline]
    pub(super) fn statistics_size(&self) -> u64 {
        (self.described * STATISTICS) as u64
    }

    /// The whole blocks in `bytes`, which begin with a block.
    pub(super) fn whole(bytes: &[u8]) -> Counters {
        let mut whole = Counters::default();
        while let Some(&[a, b, c, d, e, f, g, h]) = bytes[whole.bytes as usize..].first_chunk() {
            let length = u64::from(u32::from_le_bytes([e, f, g, h]));
            let end = whole.bytes + length;
            if length == 0 || end > bytes.len() as u64 {
                break;
            }
            whole.bytes = end;
            whole.packets += u64::from(u32::from_le_bytes([a, b, c, d]) == block::ENHANCED_PACKET);
        }
        whole
    }
}

/// The body of an Interface Description Block.
fn describe(out: &mut Vec<u8>, interface: &Interface) {
    out.extend(interface.link_type.0.to_le_bytes());
    out.extend([0; 2]);
    out.extend(interface.snaplen.to_le_bytes());
    put_text(out, option::IF_NAME, &interface.name);
    put_text(out, option::IF_DESCRIPTION, &interface.description);
    put_option(out, option::IF_TSRESOL, &[NANOSECONDS]);
    if !interface.filter.is_empty() {
        let text = cut(&interface.filter, MAX_OPTION - 1);
        put_option(out, option::IF_FILTER, &[&[option::FILTER_TEXT], text].concat());
    }
    if let Some(source) = interface.timestamps {
        put_text(out, option::COMMENT, &format!("{}{source}", option::TIMESTAMPS));
    }
    end_of_options(out);
}

/// Appends a block: `body` between its type and lengths.
#[inline]
fn put_block(out: &mut Vec<u8>, kind: u32, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend(kind.to_le_bytes());
    out.extend([0; 4]);
    body(out);
    let length = (out.len() - start + 4) as u32;
    out.extend(length.to_le_bytes());
    out[start + 4..start + 8].copy_from_slice(&length.to_le_bytes());
}

/// Appends an option of text, unless that is empty.
fn put_text(out: &mut Vec<u8>, code: u16, value: &str) {
    if !value.is_empty() {
        put_option(out, code, cut(value, MAX_OPTION));
    }
}

/// The beginning of `text` that an option of `most` bytes can hold.
fn cut(text: &str, most: usize) -> &[u8] {
    &text.as_bytes()[..text.floor_char_boundary(most)]
}

/// Appends an option of at most [`MAX_OPTION`] bytes.
fn put_option(out: &mut Vec<u8>, code: u16, value: &[u8]) {
    out.extend(code.to_le_bytes());
    out.extend((value.len() as u16).to_le_bytes());
    out.extend(value);
    pad(out, value.len());
}

fn end_of_options(out: &mut Vec<u8>) {
    out.extend([0; 4]);
}

/// Appends zeros after `length` bytes up to the next 32-bit boundary.
#[inline]
fn pad(out: &mut Vec<u8>, length: usize) {
    out.extend(&[0; 3][..padded(length) - length]);
}

fn time_error(packet: &Packet<'_>) -> Error {
    let asked = format!("write a packet of {} s after the epoch", packet.time.seconds());
    Error::new(ErrorKind::Unsupported, asked, "a clock that counts from 1970 has no earlier times")
}
