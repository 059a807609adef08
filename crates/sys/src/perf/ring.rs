//! The ring that the kernel writes samples into.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::mmap::{SharedMemory, page_size};

/// Offsets in `struct perf_event_mmap_page`.
const HEAD: usize = 1024;
const TAIL: usize = 1032;

/// A page that tells how far both have come, and then the data, a power of two of pages.
#[derive(Debug)]
pub(super) struct Ring {
    memory: SharedMemory,
    /// Bytes read so far.
    tail: u64,
}

impl Ring {
    /// Maps the ring of the event `fd`, with `pages` for data.
    pub(super) fn map(fd: BorrowedFd<'_>, pages: usize) -> io::Result<Self> {
        let memory = SharedMemory::map(fd, (1 + pages) * page_size())?;
        Ok(Self { memory, tail: 0 })
    }

    /// Appends what the kernel has written since the last time to `bytes`, and gives the room back.
    pub(super) fn take(&mut self, bytes: &mut Vec<u8>) {
        // Everything before the head was written before the head was (Acquire).
        let head = self.word(HEAD).load(Ordering::Acquire);
        let size = self.memory.len() - page_size();
        let mut left = usize::try_from(head.wrapping_sub(self.tail)).unwrap_or(0).min(size);
        while left > 0 {
            let at = (self.tail % size as u64) as usize;
            let length = left.min(size - at);
            // SAFETY: the range lies in the mapping's data, `at` + `length` <= `size`; the kernel does not write
            // between the tail and the head, and the slice ends before the tail moves on.
            let part = unsafe {
                std::slice::from_raw_parts(self.memory.as_ptr().add(page_size() + at), length)
            };
            bytes.extend_from_slice(part);
            self.tail += length as u64;
            left -= length;
        }
        // All of it has been read before the kernel may write there again (Release).
        self.word(TAIL).store(self.tail, Ordering::Release);
    }

    fn word(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: the word lies in the mapping's first page, aligned, and lives as long as `self`; on our side
        // it is only ever used atomically.
        unsafe { AtomicU64::from_ptr(self.memory.as_ptr().add(offset).cast()) }
    }
}
