//! The packets in one block of a `TPACKET_V3` ring.
//!
//! The kernel's numbers are checked before they are used: a block that contradicts itself is an error
//! and never a read outside of it.

use linerate_base::{Error, ErrorKind, Result, Timestamp};
use linerate_sys::packet_ring::layout;
use linerate_sys::packet_socket::LinkAddress;
use linerate_sys::prefetch;

use super::framer::Found;

/// A walk through the packets of a block, in the order of their arrival.
#[derive(Debug)]
pub(crate) struct Walk {
    next: usize,
    left: u32,
}

type Header = [u8; layout::PACKET_HEADER];

impl Walk {
    /// Before the first packet of `block`.
    ///
    /// # Errors
    /// When the block is shorter than its own header.
    pub(crate) fn new(block: &[u8]) -> Result<Self> {
        let header: &[u8; layout::BLOCK_HEADER] =
            block.first_chunk().ok_or_else(|| malformed("it is shorter than its header"))?;
        let next = u32_at(header, layout::BLOCK_FIRST) as usize;
        Ok(Self { next, left: u32_at(header, layout::BLOCK_PACKETS) })
    }

    /// The most packets that may follow, for reserving memory: what the block says, but no more
    /// than fit.
    pub(crate) fn most(&self, block: &[u8]) -> usize {
        (self.left as usize).min(block.len() / layout::PACKET_HEADER)
    }

    /// The next packet, or `None` after the last.
    ///
    /// # Errors
    /// When the packet or its header reaches outside the block.
    #[inline]
    pub(crate) fn next(&mut self, block: &[u8]) -> Result<Option<Found>> {
        if self.left == 0 {
            return Ok(None);
        }
        let at = self.next;
        let header = header(block, at).ok_or_else(|| malformed("a header reaches outside"))?;
        let found = found(header, at);
        let end = found.start.checked_add(found.captured as usize);
        if end.is_none_or(|end| end > block.len()) {
            return Err(malformed("a packet reaches outside"));
        }
        self.left -= 1;
        let step = u32_at(header, layout::NEXT) as usize;
        if self.left > 0 && step < layout::PACKET_HEADER {
            return Err(malformed("a packet overlaps the next"));
        }
        self.next = at.saturating_add(step);
        expect(block, at.saturating_add(step.saturating_mul(AHEAD)));
        Ok(Some(found))
    }
}

/// How many packets ahead to have the memory ready.
const AHEAD: usize = 4;

/// Each header tells where the next one is, so that the processor cannot read ahead by itself, and
/// every packet would cost a wait for memory that another core wrote. But packets are often as long as
/// the one before: begin to load the lines where a later header then is, and its packet's first bytes.
#[inline]
fn expect(block: &[u8], header: usize) {
    const LINE: usize = 64;
    prefetch::read(block, header);
    prefetch::read(block, header.saturating_add(LINE));
}

#[inline]
fn header(block: &[u8], at: usize) -> Option<&Header> {
    block.get(at..)?.first_chunk()
}

#[inline]
fn found(header: &Header, at: usize) -> Found {
    let data = usize::from(u16_at(header, layout::DATA));
    let seconds = u32_at(header, layout::SECONDS);
    Found {
        time: Timestamp::from_parts(seconds.into(), u32_at(header, layout::NANOSECONDS)),
        by_card: u32_at(header, layout::STATUS) & layout::BY_CARD != 0,
        start: at + data,
        headroom: data.saturating_sub(layout::PACKET_HEADER),
        captured: u32_at(header, layout::CAPTURED),
        length: u32_at(header, layout::LENGTH),
        address: LinkAddress::from_bytes(
            header[layout::ADDRESS..].first_chunk().expect("a header ends with an address"),
        ),
        vlan: vlan(header),
    }
}

#[inline]
fn vlan(header: &Header) -> Option<(u16, Option<u16>)> {
    let status = u32_at(header, layout::STATUS);
    if status & layout::VLAN_VALID == 0 {
        return None;
    }
    let protocol = status & layout::VLAN_PROTOCOL_VALID != 0;
    let protocol = protocol.then(|| u16_at(header, layout::VLAN_PROTOCOL));
    Some((u32_at(header, layout::VLAN_TCI) as u16, protocol))
}

#[inline]
fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_ne_bytes([bytes[at], bytes[at + 1]])
}

#[inline]
fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cold]
fn malformed(what: &str) -> Error {
    Error::new(ErrorKind::Malformed, "read a block of the capture ring", what)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn put(block: &mut [u8], at: usize, bytes: &[u8]) {
        block[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// A block as the kernel would leave it, with one packet of `length` bytes per entry.
    fn block(lengths: &[u32]) -> Vec<u8> {
        let mut block = vec![0; 4096];
        put(&mut block, layout::BLOCK_PACKETS, &(lengths.len() as u32).to_ne_bytes());
        put(&mut block, layout::BLOCK_FIRST, &48u32.to_ne_bytes());
        let mut at = 48;
        for (i, length) in lengths.iter().enumerate() {
            put(&mut block, at + layout::NEXT, &256u32.to_ne_bytes());
            put(&mut block, at + layout::SECONDS, &(i as u32).to_ne_bytes());
            put(&mut block, at + layout::NANOSECONDS, &5u32.to_ne_bytes());
            put(&mut block, at + layout::CAPTURED, &length.to_ne_bytes());
            put(&mut block, at + layout::LENGTH, &length.wrapping_add(1).to_ne_bytes());
            put(&mut block, at + layout::DATA, &96u16.to_ne_bytes());
            put(&mut block, at + layout::ADDRESS + 10, &[4]);
            at += 256;
        }
        block
    }

    fn all(block: &[u8]) -> Result<Vec<Found>> {
        let mut walk = Walk::new(block)?;
        let mut packets = Vec::with_capacity(walk.most(block));
        while let Some(found) = walk.next(block)? {
            packets.push(found);
        }
        Ok(packets)
    }

    #[test]
    fn packets_come_in_order_with_all_that_is_known() {
        let packets = all(&block(&[60, 0, 100])).unwrap();
        let summary: Vec<_> = packets.iter().map(|p| (p.start, p.captured, p.length)).collect();
        assert_eq!(summary, [(144, 60, 61), (400, 0, 1), (656, 100, 101)]);
        assert_eq!(packets[2].time, Timestamp::from_parts(2, 5));
        assert!(packets.iter().all(|p| p.headroom == 28 && p.address.packet_type == 4));
        assert!(packets.iter().all(|p| p.vlan.is_none()));
    }

    #[test]
    fn an_empty_block_has_no_packets() {
        assert!(all(&block(&[])).unwrap().is_empty());
    }

    #[test]
    fn a_stripped_tag_is_told_with_its_protocol_where_known() {
        let mut bytes = block(&[60]);
        put(&mut bytes, 48 + layout::VLAN_TCI, &7u32.to_ne_bytes());
        put(&mut bytes, 48 + layout::VLAN_PROTOCOL, &0x88a8u16.to_ne_bytes());
        assert_eq!(all(&bytes).unwrap()[0].vlan, None);
        put(&mut bytes, 48 + layout::STATUS, &0x10u32.to_ne_bytes());
        assert_eq!(all(&bytes).unwrap()[0].vlan, Some((7, None)));
        put(&mut bytes, 48 + layout::STATUS, &0x50u32.to_ne_bytes());
        assert_eq!(all(&bytes).unwrap()[0].vlan, Some((7, Some(0x88a8))));
    }

    #[test]
    fn a_time_of_the_cards_is_told_from_the_kernels() {
        let mut bytes = block(&[60, 60]);
        put(&mut bytes, 48 + layout::STATUS, &(1u32 << 31 | 1).to_ne_bytes());
        put(&mut bytes, 48 + 256 + layout::STATUS, &(1u32 << 29 | 1).to_ne_bytes());
        let by_card: Vec<_> = all(&bytes).unwrap().iter().map(|found| found.by_card).collect();
        assert_eq!(by_card, [true, false]);
    }

    #[test]
    fn a_packet_outside_the_block_is_an_error() {
        assert!(all(&block(&[60, 5000])).is_err());
        assert!(all(&block(&[60, u32::MAX])).is_err());
        assert!(all(&block(&[400; 15])).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic_or_read_outside(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
            if let Ok(packets) = all(&bytes) {
                let inside = |p: &Found| p.start + p.captured as usize <= bytes.len();
                prop_assert!(packets.iter().all(inside));
            }
        }

        #[test]
        fn damage_anywhere_is_an_error_or_another_packet(at in 0usize..700, byte: u8) {
            let mut bytes = block(&[60, 60]);
            bytes[at] = byte;
            if let Ok(packets) = all(&bytes) {
                let inside = |p: &Found| p.start + p.captured as usize <= bytes.len();
                prop_assert!(packets.iter().all(inside));
            }
        }
    }
}
