use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use linerate_base::{Error, Result};

use crate::bpf::{Map, MapSpec};
use crate::mmap::{SharedMemory, page_size};

/// What wakes a consumer: a BPF ring buffer, into which programs put a record, whatever it says, and on which
/// poll(2) then waits no longer.
///
/// Its first page holds the consumer's position, the second, which only the kernel may write, the
/// producer's (`kernel/bpf/ringbuf.c`, Linux 6.18).
#[derive(Debug)]
pub struct Doorbell {
    map: Map,
    consumed: SharedMemory,
    /// Both pages, for reading.
    produced: SharedMemory,
}

impl Doorbell {
    /// One that has not been rung. `name` is for those who list maps.
    ///
    /// # Errors
    /// Without CAP_BPF.
    pub fn new(name: &str) -> Result<Self> {
        let page = page_size();
        let map = Map::new(&MapSpec::ring_buffer(name, page as u32))?;
        let failed = |e| Error::system("map the ring buffer that wakes a capture", e);
        let consumed = SharedMemory::map(map.as_fd(), page).map_err(failed)?;
        let produced = SharedMemory::map_read_only(map.as_fd(), 2 * page).map_err(failed)?;
        Ok(Self { map, consumed, produced })
    }

    /// The map, for the programs that ring.
    pub fn map(&self) -> &Map {
        &self.map
    }

    /// Forgets that it was rung: a poll waits again.
    pub fn silence(&self) {
        // SAFETY: the word is the first of the second page, inside the mapping and aligned; the kernel
        // writes it, nobody here does.
        let produced =
            unsafe { AtomicU64::from_ptr(self.produced.as_ptr().add(page_size()).cast()) };
        // SAFETY: the word is the first of the mapping, aligned; the kernel only reads it.
        let consumed = unsafe { AtomicU64::from_ptr(self.consumed.as_ptr().cast()) };
        consumed.store(produced.load(Ordering::Acquire), Ordering::Release);
    }
}

impl AsFd for Doorbell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.map.as_fd()
    }
}
