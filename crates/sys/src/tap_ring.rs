//! Rings that an eBPF program fills with packets and the process empties, in memory that both share.
//!
//! All rings are elements of one array map ([`Map`]), so that they lie one after the
//! other in one mapping. Each has one producer at a time and one consumer, and no lock: the producer
//! owns the block of words at the ring's beginning, the consumer the next one ([`layout`]), on cache
//! lines of their own. Records lie in the rest, at multiples of 8 bytes. A record may begin anywhere
//! before the end of the ring's data and reach past it, into room for one more record; the next one
//! then begins at 0. So no record is split and no mark is needed where the ring wraps.
//!
//! The producer publishes a record by adding its size to the count of bytes at [`layout::HEAD`]. The
//! consumer gives room back by its own count at [`layout::TAIL`]. Both only grow.
//!
//! A consumer that sleeps writes into [`layout::WAKE_AT`] at which head it wants to be woken. The
//! producer that comes there rings the [`Doorbell`], once for each value.

mod doorbell;
mod watched;

use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use linerate_base::{Error, Result};

use crate::bpf::{Map, MapSpec};
use crate::mmap::SharedMemory;

pub use doorbell::Doorbell;
pub use watched::WatchedRings;

/// Where things are in a ring. All integers are in the machine's byte order.
pub mod layout {
    /// Bytes published since the beginning, u64. With the next seven, the producer's cache line.
    pub const HEAD: usize = 0;
    /// Where in the data the next record begins, u64.
    pub const OFFSET: usize = 8;
    /// Records published, u64.
    pub const CAPTURED: usize = 16;
    /// Packets that the filter turned away, u64.
    pub const FILTERED: usize = 24;
    /// Packets for which there was no room, u64.
    pub const DROPPED: usize = 32;
    /// The value of [`WAKE_AT`] for which the doorbell was rung last, u64.
    pub const RUNG: usize = 40;
    /// A clock, as last read, u64: for producers that do not read it for each packet.
    pub const STAMP: usize = 48;
    /// The kernel's ticks when it was read, u64.
    pub const TICK: usize = 56;

    /// In the first ring: packets for which there is no ring, u64, counted by any CPU.
    pub const STRAY_DROPPED: usize = 64;
    /// In the first ring: packets for which there is no ring and that the filter turned away, u64.
    pub const STRAY_FILTERED: usize = 72;

    /// Bytes given back since the beginning, u64. With the next one, the consumer's cache line.
    pub const TAIL: usize = 128;
    /// The head at which the doorbell is to be rung, u64; [`AWAKE`] for none.
    pub const WAKE_AT: usize = 136;
    /// A head that is never reached.
    pub const AWAKE: u64 = u64::MAX;

    /// Where records begin.
    pub const DATA: usize = 256;

    /// In a record: when the packet came, nanoseconds of the producer's clock, u64.
    pub const TIME: usize = 0;
    /// In a record: bytes of the packet that follow the header, u32.
    pub const CAPTURED_BYTES: usize = 8;
    /// In a record: bytes that the packet had, u32.
    pub const LENGTH: usize = 12;
    /// In a record: control information of the VLAN tag beside the bytes, u16.
    pub const VLAN_TCI: usize = 16;
    /// In a record: protocol of that tag in network byte order, u16; 0 without a tag.
    pub const VLAN_PROTOCOL: usize = 18;
    /// In a record: what else is to be said, u32. Its bytes may be overwritten to make the packet longer
    /// at its beginning.
    pub const FLAGS: usize = 20;
    /// In a record: where the packet's bytes begin.
    pub const PACKET: usize = 24;
    /// Records begin at multiples of this.
    pub const ALIGNMENT: usize = 8;
}

/// Sizes of a set of rings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Number of rings.
    pub rings: u32,
    /// Bytes of a ring in which records begin, a multiple of 8: what can wait in it.
    pub data: u32,
    /// Bytes of the largest record, header included.
    pub record: u32,
}

impl Geometry {
    /// Bytes from a ring's beginning to the next one's; whole pages.
    pub fn ring_bytes(&self) -> usize {
        (layout::DATA + self.data as usize + self.record as usize).next_multiple_of(PAGE)
    }

    /// Bytes of all rings.
    pub fn bytes(&self) -> usize {
        self.ring_bytes() * self.rings as usize
    }
}

/// The smallest page of any machine: so far apart, rings share no cache line.
const PAGE: usize = 4096;

/// What a ring's producer has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets that are, or were, in the ring.
    pub captured: u64,
    /// Packets that the filter turned away.
    pub filtered: u64,
    /// Packets for which there was no room.
    pub dropped: u64,
}

/// The consumer's end of a set of rings.
#[derive(Debug)]
pub struct TapRings {
    memory: SharedMemory,
    geometry: Geometry,
}

impl TapRings {
    /// Makes the map for a set of rings, all empty. `name` is for those who list maps.
    ///
    /// # Errors
    /// Without CAP_BPF, and when there is no memory.
    pub fn make(geometry: &Geometry, name: &str) -> Result<Map> {
        let size = geometry.ring_bytes() as u32;
        Map::new(&MapSpec::array(name, size, geometry.rings).mappable())
    }

    /// Maps the rings in a map that [`make`](Self::make) gave. Several may do so: each ring is to have one
    /// consumer.
    ///
    /// # Errors
    /// When the process has no room in its addresses.
    pub fn map(map: BorrowedFd<'_>, geometry: &Geometry) -> Result<Self> {
        let asked = || format!("map capture rings of {} MiB", geometry.bytes() >> 20);
        let memory =
            SharedMemory::map(map, geometry.bytes()).map_err(|e| Error::system(asked(), e))?;
        Ok(Self { memory, geometry: *geometry })
    }

    /// Its sizes.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Bytes published in `ring`; all of the records that they tell of can be read.
    #[inline]
    pub fn head(&self, ring: usize) -> u64 {
        self.word(ring, layout::HEAD).load(Ordering::Acquire)
    }

    /// Gives the producer of `ring` the room of all records before `tail`, which nobody may read
    /// any more.
    #[inline]
    pub fn give_back(&mut self, ring: usize, tail: u64) {
        self.word(ring, layout::TAIL).store(tail, Ordering::Release);
    }

    /// Asks the producer of `ring` to ring the doorbell when its head comes to `head`, or with
    /// [`layout::AWAKE`] not to.
    ///
    /// A producer that just published may not see it: [`head`](Self::head), asked after
    /// [`settle`](Self::settle), or else a millisecond later, then tells what it published.
    pub fn wake_at(&self, ring: usize, head: u64) {
        self.word(ring, layout::WAKE_AT).store(head, Ordering::Relaxed);
    }

    /// What was written before is seen by others before anything that is read after.
    pub fn settle(&self) {
        fence(Ordering::SeqCst);
    }

    /// What the producer of `ring` has counted.
    pub fn counters(&self, ring: usize) -> Counters {
        self.read_counters(ring, layout::CAPTURED, layout::FILTERED, layout::DROPPED)
    }

    /// Packets for which there is no ring; none of them is captured.
    pub fn strays(&self) -> Counters {
        let counters =
            self.read_counters(0, layout::HEAD, layout::STRAY_FILTERED, layout::STRAY_DROPPED);
        Counters { captured: 0, ..counters }
    }

    fn read_counters(
        &self,
        ring: usize,
        captured: usize,
        filtered: usize,
        dropped: usize,
    ) -> Counters {
        let read = |at| self.word(ring, at).load(Ordering::Relaxed);
        Counters { captured: read(captured), filtered: read(filtered), dropped: read(dropped) }
    }

    /// Where in [`region`](Self::region) the data of `ring` begin.
    pub fn data_of(&self, ring: usize) -> usize {
        ring * self.geometry.ring_bytes() + layout::DATA
    }

    /// The memory of all rings. Only records between a ring's tail and its head hold still: the
    /// producers write to the rest.
    #[inline]
    pub fn region(&self) -> &[u8] {
        // SAFETY: the mapping has this length and lives as long as `self`. Producers write to it all
        // the time, but not to records that were published and not given back, which needs `&mut
        // self`; from all else nothing but bytes without meaning can be read.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr(), self.memory.len()) }
    }

    /// A part of [`region`](Self::region), to be changed.
    ///
    /// # Panics
    /// If the part reaches outside the region.
    #[inline]
    pub fn part_mut(&mut self, start: usize, length: usize) -> &mut [u8] {
        assert!(start <= self.memory.len() && length <= self.memory.len() - start);
        // SAFETY: checked to be inside the mapping, which lives as long as `self` and is borrowed
        // by nobody else here; otherwise as for `region`.
        unsafe { std::slice::from_raw_parts_mut(self.memory.as_ptr().add(start), length) }
    }

    /// The word at `at` of a ring's first bytes.
    #[inline]
    fn word(&self, ring: usize, at: usize) -> &AtomicU64 {
        assert!(ring < self.geometry.rings as usize && at < layout::DATA);
        let start = ring * self.geometry.ring_bytes() + at;
        // SAFETY: `start` is a multiple of 8 inside the mapping, which begins at a page and has room for
        // the first `DATA` bytes of every ring. Both sides access these words atomically, and the slices
        // lent here are used for records only.
        unsafe { AtomicU64::from_ptr(self.memory.as_ptr().add(start).cast()) }
    }

    /// Rings in memory that no program fills.
    #[cfg(test)]
    fn anonymous(geometry: Geometry) -> Self {
        Self { memory: SharedMemory::anonymous(geometry.bytes()).unwrap(), geometry }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GEOMETRY: Geometry = Geometry { rings: 3, data: 8192, record: 1024 };

    #[test]
    fn rings_lie_on_pages_one_after_the_other() {
        assert_eq!((GEOMETRY.ring_bytes(), GEOMETRY.bytes()), (12288, 36864));
        let rings = TapRings::anonymous(GEOMETRY);
        assert_eq!((rings.data_of(2), rings.region().len()), (2 * 12288 + 256, 36864));
    }

    #[test]
    fn words_of_producer_and_consumer_share_no_cache_line() {
        const { assert!(layout::TICK + 8 <= 64 && layout::STRAY_FILTERED + 8 <= layout::TAIL) };
        const { assert!(layout::WAKE_AT + 8 <= layout::DATA && layout::DATA.is_multiple_of(64)) };
        const { assert!(layout::FLAGS + 4 == layout::PACKET) };
    }

    #[test]
    fn each_ring_has_words_of_its_own() {
        let mut rings = TapRings::anonymous(GEOMETRY);
        rings.give_back(1, 88);
        rings.wake_at(1, 99);
        let word = |ring, at| rings.word(ring, at).load(Ordering::Relaxed);
        assert_eq!([0, 1, 2].map(|ring| word(ring, layout::TAIL)), [0, 88, 0]);
        assert_eq!([0, 1, 2].map(|ring| word(ring, layout::WAKE_AT)), [0, 99, 0]);
        rings.word(2, layout::DROPPED).store(5, Ordering::Relaxed);
        rings.word(0, layout::STRAY_DROPPED).store(7, Ordering::Relaxed);
        rings.word(0, layout::HEAD).store(9, Ordering::Relaxed);
        assert_eq!(rings.counters(2), Counters { dropped: 5, ..Counters::default() });
        assert_eq!(rings.strays(), Counters { dropped: 7, ..Counters::default() });
        assert_eq!(rings.head(0), 9);
    }

    #[test]
    fn a_part_that_is_changed_is_changed_in_the_region() {
        let mut rings = TapRings::anonymous(GEOMETRY);
        rings.part_mut(300, 2).copy_from_slice(&[1, 2]);
        assert_eq!(rings.region()[299..303], [0, 1, 2, 0]);
    }

    #[test]
    #[should_panic(expected = "assertion")]
    fn a_part_outside_is_refused() {
        TapRings::anonymous(GEOMETRY).part_mut(36860, 5);
    }
}
