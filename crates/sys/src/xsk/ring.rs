//! The rings of a socket: entries, a counter of each side, a word of flags.
//!
//! A counter runs on and on; its lower bits are the place in the ring. The side that writes entries
//! publishes its counter with a release store, the other reads it with an acquire load before it
//! reads the entries: net/xdp/xsk_queue.h describes the kernel's side of the protocol.

use std::marker::PhantomData;
use std::mem::{align_of, size_of};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::mmap::SharedMemory;

/// Where the parts of a ring lie in its mapping, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub(super) producer: usize,
    pub(super) consumer: usize,
    pub(super) flags: usize,
    pub(super) entries: usize,
}

/// Plain numbers, for which any bits make a value.
pub(super) trait Entry: Copy {}
/// The start of an empty frame, or of one that was sent.
impl Entry for u64 {}
/// A frame with a packet in it.
impl Entry for libc::xdp_desc {}

#[derive(Debug)]
struct Ring<E> {
    memory: SharedMemory,
    layout: Layout,
    mask: u32,
    entry: PhantomData<E>,
}

impl<E: Entry> Ring<E> {
    /// # Panics
    /// When a part does not lie in the memory, or not as its type must; when the number of entries
    /// is no power of two.
    fn over(memory: SharedMemory, layout: Layout, entries: u32) -> Self {
        assert!(entries.is_power_of_two(), "{entries} entries");
        let end = layout.entries + entries as usize * size_of::<E>();
        assert!(end <= memory.len() && layout.entries.is_multiple_of(align_of::<E>()));
        for word in [layout.producer, layout.consumer, layout.flags] {
            assert!(word + size_of::<u32>() <= memory.len() && word.is_multiple_of(4));
        }
        Self { memory, layout, mask: entries - 1, entry: PhantomData }
    }

    fn word(&self, offset: usize) -> &AtomicU32 {
        // SAFETY: `over` checked that the three words lie in the mapping and are aligned; both sides
        // access them atomically only.
        unsafe { AtomicU32::from_ptr(self.memory.as_ptr().add(offset).cast()) }
    }

    fn producer(&self) -> &AtomicU32 {
        self.word(self.layout.producer)
    }

    fn consumer(&self) -> &AtomicU32 {
        self.word(self.layout.consumer)
    }

    fn entry(&self, counter: u32) -> *mut E {
        let place = (counter & self.mask) as usize;
        // SAFETY: the masked place is below the number of entries, all of which lie in the mapping
        // (`over`).
        unsafe { self.memory.as_ptr().add(self.layout.entries).cast::<E>().add(place) }
    }
}

/// Our end of a ring that the kernel fills: the receive ring, the completion ring.
#[derive(Debug)]
pub(super) struct Consumer<E> {
    ring: Ring<E>,
    /// Entries that were released.
    released: u32,
    /// Entries that the kernel had published when it was last looked at.
    published: u32,
}

impl<E: Entry> Consumer<E> {
    pub(super) fn over(memory: SharedMemory, layout: Layout, entries: u32) -> Self {
        Self { ring: Ring::over(memory, layout, entries), released: 0, published: 0 }
    }

    /// Entries that can be read, after a look at what the kernel has published.
    pub(super) fn available(&mut self) -> u32 {
        self.published = self.ring.producer().load(Ordering::Acquire);
        self.published.wrapping_sub(self.released)
    }

    /// The entry `index` places after the last one released.
    ///
    /// # Panics
    /// When the kernel had not published it at the last look.
    #[inline]
    pub(super) fn get(&self, index: u32) -> E {
        assert!(index < self.published.wrapping_sub(self.released), "entry {index} is not there");
        // SAFETY: the entry lies in the mapping. The kernel published it before the acquire load
        // that was checked against, and does not write to it before it is released.
        unsafe { self.ring.entry(self.released.wrapping_add(index)).read() }
    }

    /// Gives the first `count` entries back to the kernel, which were read.
    pub(super) fn release(&mut self, count: u32) {
        self.released = self.released.wrapping_add(count);
        self.ring.consumer().store(self.released, Ordering::Release);
    }
}

/// Our end of a ring that the kernel empties: the fill ring, which has room for all frames that there
/// are, and the transmit ring.
#[derive(Debug)]
pub(super) struct Producer<E> {
    ring: Ring<E>,
    written: u32,
}

impl<E: Entry> Producer<E> {
    pub(super) fn over(memory: SharedMemory, layout: Layout, entries: u32) -> Self {
        Self { ring: Ring::over(memory, layout, entries), written: 0 }
    }

    /// Entries that can be written.
    pub(super) fn room(&self) -> u32 {
        self.ring.mask + 1 - self.written.wrapping_sub(self.taken())
    }

    /// The counter of entries that the kernel says it has read.
    pub(super) fn taken(&self) -> u32 {
        self.ring.consumer().load(Ordering::Acquire)
    }

    /// The counter of entries that were written.
    pub(super) fn written(&self) -> u32 {
        self.written
    }

    /// Writes an entry, for which there is [room](Self::room). The kernel sees it after
    /// [`publish`](Self::publish).
    #[inline]
    pub(super) fn push(&mut self, entry: E) {
        // SAFETY: the entry lies in the mapping. There is room, so the kernel has read what stood here.
        unsafe { self.ring.entry(self.written).write(entry) };
        self.written = self.written.wrapping_add(1);
    }

    /// The entry with this counter, as it was written last.
    pub(super) fn get(&self, counter: u32) -> E {
        // SAFETY: the entry lies in the mapping, and nobody but us writes to it.
        unsafe { self.ring.entry(counter).read() }
    }

    /// Gives the kernel what was written.
    pub(super) fn publish(&self) {
        self.ring.producer().store(self.written, Ordering::Release);
    }

    /// Writes another entry in the place of the one with this counter.
    ///
    /// # Safety
    /// The kernel does not read the ring at this moment.
    pub(super) unsafe fn replace(&mut self, counter: u32, entry: E) {
        // SAFETY: the entry lies in the mapping; the caller sees to it that nobody reads it.
        unsafe { self.ring.entry(counter).write(entry) };
    }

    /// True when the driver sleeps and must be woken to look at the ring.
    pub(super) fn needs_wakeup(&self) -> bool {
        let flags = self.ring.word(self.ring.layout.flags).load(Ordering::Relaxed);
        flags & libc::XDP_RING_NEED_WAKEUP != 0
    }
}

/// The kernel's part, played by tests.
#[cfg(test)]
impl<E: Entry> Producer<E> {
    pub(super) fn play_taken(&self, counter: u32) {
        self.ring.consumer().store(counter, Ordering::Release);
    }
}

#[cfg(test)]
impl<E: Entry> Consumer<E> {
    pub(super) fn play_published(&self, counter: u32, entry: E) {
        // SAFETY: an entry of the ring, and nobody else uses this memory.
        unsafe { self.ring.entry(counter).write(entry) };
        self.ring.producer().store(counter.wrapping_add(1), Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYOUT: Layout = Layout { producer: 0, consumer: 64, flags: 128, entries: 192 };

    fn memory() -> SharedMemory {
        SharedMemory::anonymous(4096).unwrap()
    }

    /// Plays the kernel, which publishes one more packet.
    fn receive(ring: &Consumer<libc::xdp_desc>, addr: u64, len: u32) {
        let counter = ring.ring.producer().load(Ordering::Relaxed);
        ring.play_published(counter, libc::xdp_desc { addr, len, options: 0 });
    }

    #[test]
    fn packets_come_in_order_round_after_round() {
        let mut ring = Consumer::over(memory(), LAYOUT, 4);
        // Counters wrap around in the middle of the test.
        let start = u32::MAX - 5;
        ring.released = start;
        ring.ring.producer().store(start, Ordering::Relaxed);
        assert_eq!(ring.available(), 0);
        for round in 0..4 {
            for n in 0..3 {
                receive(&ring, round * 10 + n, 60);
            }
            assert_eq!(ring.available(), 3);
            let addresses: Vec<_> = (0..3).map(|n| ring.get(n).addr).collect();
            assert_eq!(addresses, [round * 10, round * 10 + 1, round * 10 + 2]);
            ring.release(3);
            assert_eq!(ring.ring.consumer().load(Ordering::Relaxed), ring.released);
        }
    }

    #[test]
    #[should_panic(expected = "entry 1 is not there")]
    fn nothing_is_read_that_the_kernel_has_not_published() {
        let mut ring = Consumer::over(memory(), LAYOUT, 4);
        receive(&ring, 0, 60);
        assert_eq!(ring.available(), 1);
        ring.get(1);
    }

    #[test]
    fn frames_are_seen_when_published() {
        let mut ring = Producer::<u64>::over(memory(), LAYOUT, 4);
        ring.push(4096);
        ring.push(8192);
        assert_eq!((ring.room(), ring.written(), ring.taken()), (2, 2, 0));
        assert_eq!(ring.ring.producer().load(Ordering::Relaxed), 0);
        ring.publish();
        assert_eq!(ring.ring.producer().load(Ordering::Relaxed), 2);
        assert_eq!(ring.get(1), 8192);
        assert!(!ring.needs_wakeup());
        ring.ring.word(LAYOUT.flags).store(1, Ordering::Relaxed);
        assert!(ring.needs_wakeup());
    }

    #[test]
    #[should_panic(expected = "3 entries")]
    fn a_ring_has_a_power_of_two_of_entries() {
        Producer::<u64>::over(memory(), LAYOUT, 3);
    }
}
