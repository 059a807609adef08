//! The pcap format: a 24-byte file header, then records of a 16-byte header and a packet.
//!
//! Variants understood: both byte orders; microseconds and nanoseconds; Kuznetsov's modified format,
//! whose record header has 8 more bytes; versions before 2.3, DG/UX's 543.0 and some files of 2.3, in
//! which a record's two lengths are exchanged. Seconds are unsigned, as the draft has it: until 2106.

use linerate_base::{Descriptor, Direction, Interface, LinkType, Timestamp};

use super::cutter::{GUESS, ROW};
use super::fault::Fault;
use super::table::{Step, Stop, Table, effective};
use super::warning::Warning;
use crate::code::pcap::{FILE_HEADER, MICROSECONDS, NANOSECONDS, RECORD_HEADER};
use crate::link;
use crate::order::Order;

const MODIFIED_RECORD_HEADER: usize = 24;

/// Alexey Kuznetsov's format: microseconds, and interface, protocol and packet type in each record.
const MODIFIED: u32 = 0xa1b2_cd34;

/// The programs that write the modified format put an Ethernet header of their own before packets of
/// cooked sockets and do not count it in the snapshot length.
const FAKED_HEADER: u32 = 14;

/// Bits of the link-type field that are the link type.
const LINK_TYPE_BITS: u32 = 0xffff;
/// Bits of the link-type field without a meaning; those above hold the length of the frame check
/// sequence, which nothing here needs.
const RESERVED_BITS: u32 = 0x03ff_0000;

/// In nanoseconds.
const YEAR: u64 = 366 * 24 * 3600 * 1_000_000_000;

/// Which of a record's two lengths comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lengths {
    CapturedFirst,
    CapturedSecond,
    /// Version 2.3 was written both ways: captured is the lesser.
    LesserCaptured,
}

/// A parser of the records after a file header.
#[derive(Clone, Debug)]
pub(super) struct Pcap {
    order: Order,
    record_header: usize,
    /// Nanoseconds that the second word of a time stamp counts.
    unit: u64,
    lengths: Lengths,
    /// More than this in a record is a fault.
    limit: u32,
    /// More than this of a packet is not delivered.
    snaplen: u32,
}

/// The byte order that makes `magic` one of the format's.
pub(super) fn order_of(magic: [u8; 4]) -> Option<Order> {
    let known = |word| matches!(word, MICROSECONDS | NANOSECONDS | MODIFIED);
    if known(u32::from_le_bytes(magic)) {
        Some(Order::Little)
    } else {
        known(u32::from_be_bytes(magic)).then_some(Order::Big)
    }
}

impl Pcap {
    /// The parser for a file with `header`; the file's one interface goes to `table`.
    pub(super) fn new(
        order: Order,
        header: &[u8; FILE_HEADER],
        table: &mut Table,
    ) -> Result<Self, Fault> {
        let magic = order.u32(header, 0);
        let lengths = lengths(order.u16(header, 4), order.u16(header, 6))?;
        let link_word = order.u32(header, 20);
        if link_word & RESERVED_BITS != 0 {
            table.warn(Warning::ReservedBits(link_word));
        }
        let link_type = link::link_type((link_word & LINK_TYPE_BITS) as u16);
        let limit = link::max_captured(link_type);
        // As libpcap: 0 and what it would take for negative mean "no limit".
        let snaplen = match order.u32(header, 16) {
            0 | 0x8000_0000.. => 0,
            snaplen if magic == MODIFIED && link_type == LinkType::ETHERNET => {
                snaplen + FAKED_HEADER
            }
            snaplen => snaplen,
        };
        let interface = Interface { link_type, snaplen, ..Interface::default() };
        table.add_interface(interface, order)?;
        Ok(Self {
            order,
            record_header: if magic == MODIFIED { MODIFIED_RECORD_HEADER } else { RECORD_HEADER },
            unit: if magic == NANOSECONDS { 1 } else { 1000 },
            lengths,
            limit,
            snaplen: effective(snaplen),
        })
    }

    /// Takes every whole record of `region` from `at` on.
    pub(super) fn parse(&self, region: &[u8], mut at: usize, table: &mut Table) -> Step {
        loop {
            let Some(header) = region[at..].first_chunk() else {
                return Step { at, stop: Stop::Need(self.record_header) };
            };
            let packet = self.packet(header, at + self.record_header);
            if packet.captured > self.limit {
                let fault = Fault::Captured { captured: packet.captured, limit: self.limit };
                return Step { at, stop: Stop::Fault(fault) };
            }
            let end = packet.offset as usize + packet.captured as usize;
            if end > region.len() {
                return Step { at, stop: Stop::Need(end - at) };
            }
            table.push(packet, self.snaplen);
            at = end;
        }
    }

    /// Where a few records in a row begin in `region`, of packets around `time`.
    pub(super) fn guess(&self, region: &[u8], time: Timestamp) -> Option<usize> {
        (0..region.len().min(GUESS)).find(|&at| self.begins_row(&region[at..], time))
    }

    fn begins_row(&self, mut bytes: &[u8], time: Timestamp) -> bool {
        for number in 0..ROW {
            let Some(header) = bytes.first_chunk() else { return number > 0 };
            let packet = self.packet(header, 0);
            if !self.is_plausible(header, &packet, time) {
                return false;
            }
            match bytes.get(self.record_header + packet.captured as usize..) {
                Some(rest) => bytes = rest,
                None => return number > 0,
            }
        }
        true
    }

    fn is_plausible(
        &self,
        header: &[u8; RECORD_HEADER],
        packet: &Descriptor,
        time: Timestamp,
    ) -> bool {
        let in_second = u64::from(self.order.u32(header, 4)) * self.unit < 1_000_000_000;
        let is_near = packet.time.nanos().abs_diff(time.nanos()) < YEAR;
        let lengths = 1..=self.limit.min(self.snaplen);
        in_second
            && is_near
            && packet.length >= packet.captured
            && lengths.contains(&packet.captured)
    }

    /// What `header` says about the packet at region offset `offset`.
    #[inline]
    fn packet(&self, header: &[u8; RECORD_HEADER], offset: usize) -> Descriptor {
        let word = |at| self.order.u32(header, at);
        let nanos = u64::from(word(0)) * 1_000_000_000 + u64::from(word(4)) * self.unit;
        let (captured, length) = self.lengths.sort(word(8), word(12));
        Descriptor {
            // At most 2^32 s + 2^32 us, far below the limit of 2^63 ns.
            time: Timestamp::from_nanos(nanos as i64),
            offset: offset as u32,
            captured,
            length,
            interface: 0,
            direction: Direction::Unknown,
        }
    }
}

impl Lengths {
    /// The captured and the original length, of a record's first and second length.
    #[inline]
    fn sort(self, first: u32, second: u32) -> (u32, u32) {
        match self {
            Self::CapturedFirst => (first, second),
            Self::CapturedSecond => (second, first),
            Self::LesserCaptured => (first.min(second), first.max(second)),
        }
    }
}

/// Which way round files of this version have the lengths.
fn lengths(major: u16, minor: u16) -> Result<Lengths, Fault> {
    match (major, minor) {
        (2, 0..3) | (543, 0) => Ok(Lengths::CapturedSecond),
        (2, 3) => Ok(Lengths::LesserCaptured),
        (2, 4) => Ok(Lengths::CapturedFirst),
        _ => Err(Fault::Version { major, minor, expected: "2.0 to 2.4, or 543.0" }),
    }
}
