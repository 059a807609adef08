//! Memory shared with the kernel: one owner per mapping, unmapped when dropped.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::{self, NonNull};

/// Readable and writable memory that the kernel shares through a descriptor (mmap(2), `MAP_SHARED`).
///
/// It hands out a pointer, never a slice: what part of the memory is whose at a time is a protocol
/// between kernel and process that only the owner of the mapping knows.
#[derive(Debug)]
pub struct SharedMemory {
    start: NonNull<u8>,
    length: usize,
}

const READ_AND_WRITE: libc::c_int = libc::PROT_READ | libc::PROT_WRITE;

// SAFETY: the mapping is owned by this value alone and is valid on every thread of the process.
unsafe impl Send for SharedMemory {}

impl SharedMemory {
    /// Maps the first `length` bytes of what stands behind `fd`. The mapping outlives the descriptor.
    ///
    /// # Errors
    /// What mmap(2) answers: the descriptor cannot be mapped, or not in this length.
    pub fn map(fd: BorrowedFd<'_>, length: usize) -> io::Result<Self> {
        Self::map_at(fd, 0, length)
    }

    /// As [`map`](Self::map), from `offset` on, in whole pages.
    pub(crate) fn map_at(fd: BorrowedFd<'_>, offset: u64, length: usize) -> io::Result<Self> {
        Self::new(length, READ_AND_WRITE, libc::MAP_SHARED, fd.as_raw_fd(), offset)
    }

    /// As [`map`](Self::map), for reading: writing to it is a fault.
    pub(crate) fn map_read_only(fd: BorrowedFd<'_>, length: usize) -> io::Result<Self> {
        Self::new(length, libc::PROT_READ, libc::MAP_SHARED, fd.as_raw_fd(), 0)
    }

    /// As [`map`](Self::map), for reading and to be run: writing to it is a fault.
    pub(crate) fn map_executable(fd: BorrowedFd<'_>, length: usize) -> io::Result<Self> {
        let access = libc::PROT_READ | libc::PROT_EXEC;
        Self::new(length, access, libc::MAP_SHARED, fd.as_raw_fd(), 0)
    }

    /// Zeroed memory that nobody else has, for what the kernel is told to write to, and for tests of
    /// what is written against [`map`](Self::map).
    pub(crate) fn anonymous(length: usize) -> io::Result<Self> {
        Self::new(length, READ_AND_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0)
    }

    fn new(
        length: usize,
        access: libc::c_int,
        flags: libc::c_int,
        fd: libc::c_int,
        offset: u64,
    ) -> io::Result<Self> {
        let offset = libc::off_t::try_from(offset).map_err(|_| io::ErrorKind::InvalidInput)?;
        // SAFETY: with a null address the kernel picks a range that is free, so no memory in use
        // changes; a bad length or descriptor is answered with an error.
        let start = unsafe { libc::mmap(ptr::null_mut(), length, access, flags, fd, offset) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::InvalidInput)?;
        Ok(Self { start, length })
    }

    /// Asks for huge pages, which spare the processor most of its look-ups of addresses, and devices
    /// most of the pieces that they move. Without them the memory works as well.
    pub(crate) fn prefer_huge_pages(&self) {
        // SAFETY: the range is this mapping, whose contents the advice leaves alone.
        unsafe { libc::madvise(self.start.as_ptr().cast(), self.length, libc::MADV_HUGEPAGE) };
    }

    /// Gives a part of the memory its pages, which is otherwise done when they are first used (Linux 5.14).
    ///
    /// # Panics
    /// When the part is not all inside.
    pub(crate) fn populate(&self, start: usize, length: usize) -> io::Result<()> {
        assert!(start <= self.length && length <= self.length - start);
        // SAFETY: the range lies in this mapping, whose contents the advice leaves alone.
        let answer = unsafe {
            let start = self.start.as_ptr().add(start);
            libc::madvise(start.cast(), length, libc::MADV_POPULATE_WRITE)
        };
        if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// The first byte; aligned to a page, valid for reads and writes of [`len`](Self::len) bytes
    /// as long as `self` lives.
    pub fn as_ptr(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// Length in bytes, never 0.
    #[expect(clippy::len_without_is_empty, reason = "an empty mapping cannot be made")]
    pub fn len(&self) -> usize {
        self.length
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // SAFETY: this is the range that mmap gave, unmapped once; every borrow of it has ended,
        // as borrows cannot outlive `self`.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
    }
}

/// Bytes of a page of this machine.
pub(crate) fn page_size() -> usize {
    // SAFETY: sysconf(3) takes a number and touches no memory of ours.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).expect("every system has a page size")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn what_cannot_be_mapped_is_an_error() {
        let null = std::fs::File::open("/proc/self/status").unwrap();
        assert!(SharedMemory::map(null.as_fd(), 4096).is_err());
        assert!(SharedMemory::anonymous(0).is_err());
    }
}
