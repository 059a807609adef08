//! A ring that the process fills with frames and an eBPF program empties, in memory that both share.
//!
//! It is the one element of an array map. The first page holds counts, each side's on cache lines of its own
//! ([`layout`]); slots of one size follow, each with a frame's length before its bytes, so that a short frame is one
//! cache line. (Or with what differs from frame to frame, where all are alike: several to a line.) One producer, one
//! consumer, no lock: the producer publishes frames by adding to the count at
//! [`layout::HEAD`], the consumer gives slots back by adding to the one at [`layout::TAIL`]. Both only grow, but for
//! what is [withdrawn](FrameRing::withdraw).

use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use linerate_base::{Error, Result};

use crate::bpf::{Map, MapSpec};
use crate::mmap::SharedMemory;
use crate::prefetch;

/// Where things are in the map's value. All integers are in the machine's byte order.
pub mod layout {
    /// Frames published since the beginning, u64. Alone on the producer's cache line.
    pub const HEAD: usize = 0;

    /// Frames whose slots are free again, u64. With the next three, the consumer's cache line.
    pub const TAIL: usize = 128;
    /// The head, as the consumer saw it last, u64.
    pub const KNOWN: usize = 136;
    /// How often the consumer found nothing, u64.
    pub const EMPTY: usize = 144;
    /// Frames that the consumer took and could not send, u64.
    pub const REFUSED: usize = 152;

    /// Where slots begin: at the second page.
    pub const SLOTS: usize = 4096;

    /// In a slot: the frame's length, u32.
    pub const LENGTH: usize = 0;
    /// In a slot: where the frame begins.
    pub const FRAME: usize = 4;
    /// Slots are a multiple of this, or, where they are packed, of a word.
    pub const LINE: usize = 64;
    /// So many bytes.
    pub const WORD: usize = 8;
}

/// Sizes of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    slots: usize,
    stride: usize,
    /// Bytes of the longest frame.
    longest: usize,
}

impl Geometry {
    /// A ring of at least `slots` frames with up to `longest` bytes.
    pub fn new(slots: usize, longest: usize) -> Self {
        // An odd number of cache lines: of an even one, the first lines of all slots would share few sets.
        let lines = (layout::FRAME + longest).div_ceil(layout::LINE) | 1;
        let stride = lines * layout::LINE;
        Self { slots: slots.next_power_of_two(), stride, longest: stride - layout::FRAME }
    }

    /// A ring of at least `slots` frames with up to `longest` bytes, of which it holds `packed` bytes each: close together,
    /// several to a line.
    pub fn packed(slots: usize, longest: usize, packed: usize) -> Self {
        let stride = (layout::FRAME + packed).next_multiple_of(layout::WORD);
        Self { slots: slots.next_power_of_two(), stride, longest }
    }

    /// Number of slots, a power of two.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// Bytes from a slot to the next.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// Bytes that a slot holds of a frame.
    pub fn room(&self) -> usize {
        self.stride - layout::FRAME
    }

    /// Bytes of the map's value.
    pub fn bytes(&self) -> usize {
        layout::SLOTS + self.slots * self.stride
    }
}

/// What both sides have counted.
#[derive(Debug)]
pub struct Counts {
    page: SharedMemory,
}

// SAFETY: the mapping is read and written by atomic operations only.
unsafe impl Sync for Counts {}

impl Counts {
    /// Frames that the consumer has not taken.
    pub fn pending(&self) -> u64 {
        let tail = self.taken();
        self.word(layout::HEAD).load(Ordering::Acquire).wrapping_sub(tail)
    }

    /// Frames that the consumer has taken.
    pub fn taken(&self) -> u64 {
        self.word(layout::TAIL).load(Ordering::Acquire)
    }

    /// How often the consumer found nothing.
    pub fn empty(&self) -> u64 {
        self.word(layout::EMPTY).load(Ordering::Acquire)
    }

    /// Frames that the consumer took and could not send.
    pub fn refused(&self) -> u64 {
        self.word(layout::REFUSED).load(Ordering::Acquire)
    }

    /// The count at `at`.
    fn word(&self, at: usize) -> &AtomicU64 {
        assert!(at < layout::SLOTS && at.is_multiple_of(8));
        // SAFETY: an aligned word in the page, which lives as long as `self` and is accessed atomically by all sides.
        unsafe { AtomicU64::from_ptr(self.page.as_ptr().add(at).cast()) }
    }
}

/// The producer's end.
#[derive(Debug)]
pub struct FrameRing {
    counts: Arc<Counts>,
    slots: SharedMemory,
    geometry: Geometry,
    head: u64,
    /// The tail, as it was when it was looked at last.
    tail: u64,
}

impl FrameRing {
    /// Makes the map for a ring, which is empty. `name` is for those who list maps.
    ///
    /// # Errors
    /// Without CAP_BPF, and when there is no memory.
    pub fn make(geometry: &Geometry, name: &str) -> Result<Map> {
        let size = u32::try_from(geometry.bytes()).unwrap_or(u32::MAX);
        Map::new(&MapSpec::array(name, size, 1).mappable())
    }

    /// Maps the ring in a map that [`make`](Self::make) gave. It is to have one producer.
    ///
    /// # Errors
    /// When the process has no room in its addresses.
    pub fn map(map: BorrowedFd<'_>, geometry: &Geometry) -> Result<Self> {
        let asked = || format!("map a ring of frames of {} KiB", geometry.bytes() >> 10);
        let failed = |error| Error::system(asked(), error);
        let page = SharedMemory::map(map, layout::SLOTS).map_err(failed)?;
        let bytes = geometry.bytes() - layout::SLOTS;
        let slots = SharedMemory::map_at(map, layout::SLOTS as u64, bytes).map_err(failed)?;
        Ok(Self::over(page, slots, *geometry))
    }

    fn over(page: SharedMemory, slots: SharedMemory, geometry: Geometry) -> Self {
        Self { counts: Arc::new(Counts { page }), slots, geometry, head: 0, tail: 0 }
    }

    /// Its sizes.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// What both sides have counted.
    pub fn counts(&self) -> &Arc<Counts> {
        &self.counts
    }

    /// How many slots are free, as far as is known, if these are at least `wanted`; else how many really are.
    pub fn free(&mut self, wanted: usize) -> usize {
        if self.known_free() < wanted {
            self.tail = self.counts.taken();
        }
        self.known_free()
    }

    fn known_free(&self) -> usize {
        self.geometry.slots - (self.head - self.tail) as usize
    }

    /// The next slots, `most` of them at most: those that are free and lie one after the other.
    pub fn acquire(&mut self, most: usize) -> &mut [u8] {
        let next = self.index(self.head);
        let count = self.free(most).min(most).min(self.geometry.slots - next);
        let (start, length) = (next * self.geometry.stride, count * self.geometry.stride);
        // SAFETY: the slots lie inside the mapping. The consumer reads those between tail and head only, and these are
        // others; nobody else has them, as `self` is borrowed.
        let slots =
            unsafe { std::slice::from_raw_parts_mut(self.slots.as_ptr().add(start), length) };
        // The consumer's core has their first lines. To get them one by one would stop the producer at each.
        let line = self.geometry.stride.max(layout::LINE);
        slots.chunks(line).for_each(|slot| prefetch::write(slot, 0));
        slots
    }

    /// Publishes the frames in the next slots, of these lengths.
    ///
    /// # Panics
    /// When a frame is longer than any is to be, or there are more than free slots.
    pub fn publish(&mut self, lengths: &[u32]) {
        assert!(lengths.len() <= self.known_free(), "more frames than slots");
        for length in lengths {
            assert!(*length as usize <= self.geometry.longest, "a frame is longer than its slot");
            let start = self.index(self.head) * self.geometry.stride;
            // SAFETY: a slot inside the mapping, 4-byte aligned as slots are whole words; it is free, so the
            // consumer does not read it until the head is stored.
            unsafe { self.slots.as_ptr().add(start + layout::LENGTH).cast::<u32>().write(*length) };
            self.head += 1;
        }
        self.store_head();
    }

    /// Bytes of the frames that the consumer has not taken.
    pub fn pending_bytes(&self) -> u64 {
        (self.counts.taken()..self.head).map(|frame| u64::from(self.length(frame))).sum()
    }

    fn length(&self, frame: u64) -> u32 {
        let start = self.index(frame) * self.geometry.stride;
        // SAFETY: as for `publish`; consumers only read, and the producer writes only through `&mut self`.
        unsafe { self.slots.as_ptr().add(start + layout::LENGTH).cast::<u32>().read() }
    }

    /// Takes back what the consumer, which must not run meanwhile, has not taken; returns how many frames.
    pub fn withdraw(&mut self) -> u64 {
        let taken = self.counts.taken();
        let frames = self.head - taken;
        (self.head, self.tail) = (taken, taken);
        self.store_head();
        // What the consumer has seen of the head must not lie before it.
        self.counts.word(layout::KNOWN).store(taken, Ordering::Release);
        frames
    }

    fn store_head(&self) {
        self.counts.word(layout::HEAD).store(self.head, Ordering::Release);
    }

    /// What was published before is seen by others before anything that is read after.
    pub fn settle(&self) {
        fence(Ordering::SeqCst);
    }

    fn index(&self, frame: u64) -> usize {
        frame as usize & (self.geometry.slots - 1)
    }
}

const _: () = assert!(layout::REFUSED + 8 <= layout::TAIL + layout::LINE);

#[cfg(test)]
mod tests {
    use super::*;

    /// A ring in memory that no program empties.
    fn ring(slots: usize, longest: usize) -> FrameRing {
        let geometry = Geometry::new(slots, longest);
        let memory = |bytes| SharedMemory::anonymous(bytes).unwrap();
        let bytes = geometry.bytes() - layout::SLOTS;
        FrameRing::over(memory(layout::SLOTS), memory(bytes), geometry)
    }

    /// Plays the consumer: takes so many frames.
    fn take(ring: &FrameRing, frames: u64) {
        ring.counts.word(layout::TAIL).fetch_add(frames, Ordering::Release);
    }

    #[test]
    fn slots_are_an_odd_number_of_lines() {
        for (longest, stride) in [(1, 64), (60, 64), (61, 192), (188, 192), (1514, 1600)] {
            let geometry = Geometry::new(5, longest);
            assert_eq!((geometry.slots(), geometry.stride()), (8, stride), "{longest}");
            assert!(geometry.room() >= longest);
        }
    }

    #[test]
    fn packed_slots_are_whole_words() {
        for (packed, stride) in [(1, 8), (4, 8), (5, 16), (20, 24)] {
            let geometry = Geometry::packed(5, 74, packed);
            assert_eq!((geometry.slots(), geometry.stride()), (8, stride), "{packed}");
        }
    }

    #[test]
    fn slots_go_round() {
        let mut ring = ring(4, 60);
        assert_eq!(ring.acquire(9).len(), 4 * 64);
        ring.publish(&[60, 14, 60]);
        assert_eq!(ring.acquire(9).len(), 64, "up to the end of the memory");
        assert_eq!((ring.counts().pending(), ring.pending_bytes()), (3, 134));
        take(&ring, 2);
        assert_eq!(ring.acquire(9).len(), 64, "still");
        ring.publish(&[60]);
        assert_eq!(ring.acquire(9).len(), 2 * 64, "from the beginning again");
        assert_eq!(ring.pending_bytes(), 120);
    }

    #[test]
    fn a_full_ring_lends_nothing_and_looks_only_when_short() {
        let mut ring = ring(2, 60);
        ring.publish(&[60]);
        take(&ring, 1);
        assert_eq!(ring.free(1), 1, "nobody needs to know of the other");
        assert_eq!(ring.free(2), 2);
        ring.publish(&[60, 60]);
        assert_eq!(ring.acquire(1).len(), 0);
    }

    #[test]
    fn what_was_not_taken_can_be_withdrawn() {
        let mut ring = ring(4, 60);
        ring.publish(&[60; 4]);
        take(&ring, 1);
        assert_eq!((ring.withdraw(), ring.counts().pending(), ring.counts().taken()), (3, 0, 1));
        ring.publish(&[60; 4]);
        assert_eq!((ring.counts().pending(), ring.free(1)), (4, 0));
    }

    #[test]
    #[should_panic(expected = "longer than its slot")]
    fn a_frame_longer_than_its_slot_is_refused() {
        ring(4, 60).publish(&[61]);
    }
}
