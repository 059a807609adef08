//! The records in one ring, in the order in which they were published.
//!
//! Their numbers are checked before they are used: a ring that contradicts itself is an error and
//! never a read outside of it.

use linerate_base::{Error, ErrorKind, Result};
use linerate_sys::prefetch;
use linerate_sys::tap_ring::{Geometry, layout};

/// A packet in a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// Nanoseconds of the producer's clock.
    pub(crate) time: u64,
    /// Where in the region its bytes begin.
    pub(crate) start: u32,
    pub(crate) captured: u32,
    pub(crate) length: u32,
    pub(crate) vlan_tci: u16,
    /// 0 without a tag beside the bytes.
    pub(crate) vlan_protocol: u16,
    pub(crate) flags: u32,
}

/// A place in a ring.
#[derive(Clone, Debug)]
pub(crate) struct Walk {
    /// Where in the region the ring's data begin.
    data: usize,
    /// Where in the data the next record begins.
    offset: usize,
    /// Bytes of all records before it.
    position: u64,
    geometry: Geometry,
}

type Header = [u8; layout::PACKET];

/// How many bytes ahead to have the memory ready. Another core wrote it, so that a read takes long.
const AHEAD: usize = 1024;

impl Walk {
    /// Before the first record of a ring whose data begin at `data`.
    pub(crate) fn new(data: usize, geometry: Geometry) -> Self {
        Self { data, offset: 0, position: 0, geometry }
    }

    /// Bytes of all records before this place.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// The record here, of a ring published up to `head`, and `None` at its end.
    ///
    /// # Errors
    /// When the record reaches beyond what was published.
    #[inline]
    pub(crate) fn peek(&self, region: &[u8], head: u64) -> Result<Option<Record>> {
        if self.position == head {
            return Ok(None);
        }
        let at = self.data + self.offset;
        let header: &Header = region
            .get(at..)
            .and_then(<[u8]>::first_chunk)
            .ok_or_else(|| malformed("a header reaches outside"))?;
        let record = record(header, at);
        let bytes = size(record.captured);
        if bytes > self.geometry.record as usize || bytes as u64 > head.wrapping_sub(self.position)
        {
            return Err(malformed("a packet reaches outside"));
        }
        Ok(Some(record))
    }

    /// Goes past `record`, the one here.
    #[inline]
    pub(crate) fn pass(&mut self, region: &[u8], record: &Record) {
        let bytes = size(record.captured);
        prefetch::read(region, self.data + self.offset + bytes + AHEAD);
        self.position = self.position.wrapping_add(bytes as u64);
        self.offset += bytes;
        if self.offset >= self.geometry.data as usize {
            self.offset = 0;
        }
    }
}

/// Bytes of the record of a packet of which `captured` bytes are kept.
#[inline]
pub(crate) fn size(captured: u32) -> usize {
    (layout::PACKET + captured as usize).next_multiple_of(layout::ALIGNMENT)
}

#[inline]
fn record(header: &Header, at: usize) -> Record {
    Record {
        time: u64::from_ne_bytes(field(header, layout::TIME)),
        start: (at + layout::PACKET) as u32,
        captured: u32::from_ne_bytes(field(header, layout::CAPTURED_BYTES)),
        length: u32::from_ne_bytes(field(header, layout::LENGTH)),
        vlan_tci: u16::from_ne_bytes(field(header, layout::VLAN_TCI)),
        vlan_protocol: u16::from_be_bytes(field(header, layout::VLAN_PROTOCOL)),
        flags: u32::from_ne_bytes(field(header, layout::FLAGS)),
    }
}

#[inline]
fn field<const N: usize>(header: &Header, at: usize) -> [u8; N] {
    *header[at..].first_chunk().expect("fields are inside the header")
}

#[cold]
fn malformed(what: &str) -> Error {
    Error::new(ErrorKind::Malformed, "read the capture ring", what)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const GEOMETRY: Geometry = Geometry { rings: 1, data: 512, record: 256 };
    const START: usize = 64;

    /// A ring as its program would fill it, which also tells where each packet is.
    struct Producer {
        region: Vec<u8>,
        offset: usize,
        head: u64,
    }

    impl Producer {
        fn new() -> Self {
            let region = vec![0; START + (GEOMETRY.data + GEOMETRY.record) as usize];
            Self { region, offset: 0, head: 0 }
        }

        fn put(&mut self, time: u64, captured: u32) -> u32 {
            let at = START + self.offset;
            let mut put = |field: usize, bytes: &[u8]| {
                self.region[at + field..at + field + bytes.len()].copy_from_slice(bytes);
            };
            put(layout::TIME, &time.to_ne_bytes());
            put(layout::CAPTURED_BYTES, &captured.to_ne_bytes());
            put(layout::LENGTH, &captured.wrapping_add(1).to_ne_bytes());
            self.head += size(captured) as u64;
            self.offset += size(captured);
            if self.offset >= GEOMETRY.data as usize {
                self.offset = 0;
            }
            (at + layout::PACKET) as u32
        }
    }

    fn next(walk: &mut Walk, producer: &Producer) -> Result<Option<Record>> {
        let found = walk.peek(&producer.region, producer.head)?;
        if let Some(record) = &found {
            walk.pass(&producer.region, record);
        }
        Ok(found)
    }

    #[test]
    fn records_are_found_where_they_were_put_round_after_round() {
        let (mut walk, mut producer) = (Walk::new(START, GEOMETRY), Producer::new());
        for round in 0..200 {
            let captured = 1 + round * 7 % 232;
            let start = producer.put(round.into(), captured);
            let record = next(&mut walk, &producer).unwrap().unwrap();
            assert_eq!((record.time, record.start), (round.into(), start));
            assert_eq!((record.captured, record.length), (captured, captured + 1));
            assert!(next(&mut walk, &producer).unwrap().is_none());
            assert_eq!(walk.position(), producer.head);
        }
    }

    #[test]
    fn a_record_that_begins_before_the_end_may_reach_past_it() {
        let (mut walk, mut producer) = (Walk::new(START, GEOMETRY), Producer::new());
        for (captured, offset) in [(232, 0), (224, 256), (232, 504), (10, 0)] {
            let start = producer.put(0, captured);
            assert_eq!(start as usize, START + offset + layout::PACKET);
            assert_eq!(next(&mut walk, &producer).unwrap().unwrap().start, start);
        }
    }

    #[test]
    fn a_record_larger_than_any_or_than_what_was_published_is_an_error() {
        for (captured, missing) in [(233, 0), (u32::MAX, 0), (100, 1)] {
            let mut producer = Producer::new();
            producer.put(0, 8);
            let at = START + layout::CAPTURED_BYTES;
            producer.region[at..at + 4].copy_from_slice(&captured.to_ne_bytes());
            producer.head = 4096 * u64::from(missing == 0) + 32;
            assert!(next(&mut Walk::new(START, GEOMETRY), &producer).is_err(), "{captured}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic_or_read_outside(
            bytes in prop::collection::vec(any::<u8>(), START..1000),
            small in prop::collection::vec(0..232u8, 0..40),
            head: u16,
        ) {
            let mut bytes = bytes;
            // Random lengths are nearly all too large: put small ones where headers may be.
            for (word, value) in bytes[START..].chunks_exact_mut(8).zip(small) {
                word.copy_from_slice(&[value, 0, 0, 0, value, 0, 0, 0]);
            }
            let mut walk = Walk::new(START, GEOMETRY);
            while let Ok(Some(record)) = walk.peek(&bytes, head.into()) {
                prop_assert!(record.captured <= GEOMETRY.record);
                walk.pass(&bytes, &record);
            }
        }
    }
}
