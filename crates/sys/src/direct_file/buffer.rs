//! Memory that the disk can take bytes from by itself.

use std::io;
use std::slice;

use crate::mmap::SharedMemory;

/// Zeroed memory of its owner alone, aligned to a page, in huge pages where there are some.
pub(super) struct Buffer(SharedMemory);

impl Buffer {
    /// # Errors
    /// When memory is short.
    pub(super) fn new(length: usize) -> io::Result<Self> {
        let memory = SharedMemory::anonymous(length)?;
        memory.prefer_huge_pages();
        Ok(Self(memory))
    }

    pub(super) fn bytes(&self) -> &[u8] {
        // SAFETY: the mapping is private, of this length, lives as long as `self`, and nobody else has its
        // address; the kernel reads from it only during calls that borrow these bytes.
        unsafe { slice::from_raw_parts(self.0.as_ptr(), self.0.len()) }
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `self` is borrowed by the caller alone.
        unsafe { slice::from_raw_parts_mut(self.0.as_ptr(), self.0.len()) }
    }
}
