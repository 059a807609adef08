//! Memory that writes come from, and one write at a time out of it (io_uring(7)).

use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd};

use io_uring::{IoUring, opcode, types};

use crate::mmap::SharedMemory;

/// A ring with at most one write in it, and the memory that it writes from.
pub(super) struct Queue {
    ring: IoUring,
    memory: SharedMemory,
    /// The kernel holds the memory's pages, and need not look them up for each write.
    is_registered: bool,
    /// A write is under way.
    is_busy: bool,
}

impl Queue {
    /// A ring with `length` bytes of memory, in huge pages where there are some.
    ///
    /// # Errors
    /// `EPERM` or `ENOSYS` where io_uring is forbidden or not built in; when memory is short.
    pub(super) fn new(length: usize) -> io::Result<Self> {
        let ring = IoUring::new(1)?;
        let memory = SharedMemory::anonymous(length)?;
        memory.prefer_huge_pages();
        let whole = libc::iovec { iov_base: memory.as_ptr().cast(), iov_len: length };
        // SAFETY: the range is this mapping, which lives as long as the ring: both are fields here.
        let registered = unsafe { ring.submitter().register_buffers(&[whole]) };
        // It counts against the limit of locked memory (RLIMIT_MEMLOCK), and only saves time.
        Ok(Self { ring, memory, is_registered: registered.is_ok(), is_busy: false })
    }

    /// Copies `bytes` into the memory from `at` on.
    ///
    /// # Panics
    /// When they do not fit.
    pub(super) fn fill(&mut self, at: usize, bytes: &[u8]) {
        self.check(&(at..at + bytes.len()));
        // SAFETY: the target was just checked to lie in the mapping, which no Rust reference points
        // into, so it cannot overlap `bytes`; a write under way at most sees some of the new bytes.
        unsafe {
            self.memory.as_ptr().add(at).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        }
    }

    /// Copies the bytes at `from` to `to`, within the memory.
    ///
    /// # Panics
    /// When either place lies outside.
    pub(super) fn copy(&mut self, from: Range<usize>, to: usize) {
        self.check(&from);
        self.check(&(to..to + from.len()));
        let start = self.memory.as_ptr();
        // SAFETY: both ranges were just checked to lie in the mapping; `copy_from` allows overlap.
        unsafe { start.add(to).copy_from(start.add(from.start), from.len()) };
    }

    /// Begins to write the bytes at `piece` to `file` from `offset` on.
    ///
    /// # Errors
    /// When the kernel does not take the request, for want of memory. The ring is then of no more use.
    ///
    /// # Panics
    /// When a write is under way, or `piece` lies outside the memory.
    pub(super) fn start(
        &mut self,
        file: BorrowedFd<'_>,
        piece: Range<usize>,
        offset: u64,
    ) -> io::Result<()> {
        assert!(!self.is_busy, "one write at a time");
        self.check(&piece);
        let fd = types::Fd(file.as_raw_fd());
        let length = piece.len() as u32;
        // SAFETY: `piece` was just checked to lie in the mapping.
        let from = unsafe { self.memory.as_ptr().add(piece.start) };
        let request = match self.is_registered {
            true => opcode::WriteFixed::new(fd, from, length, 0).offset(offset).build(),
            false => opcode::Write::new(fd, from, length).offset(offset).build(),
        };
        // SAFETY: the memory stays mapped until the write is complete, as dropping the queue waits for
        // it; the kernel takes its own hold of the file when the request is submitted, below.
        unsafe { self.ring.submission().push(&request) }.expect("the only entry is free");
        self.is_busy = true;
        self.ring.submit().map(drop)
    }

    /// What the write answered (write(2), errors as negative numbers), if it is complete.
    pub(super) fn poll(&mut self) -> Option<i32> {
        let completion = self.ring.completion().next()?;
        self.is_busy = false;
        Some(completion.result())
    }

    /// Waits for the write to be complete.
    ///
    /// # Errors
    /// When the kernel cannot wait; an interruption by a signal is none.
    pub(super) fn wait(&mut self) -> io::Result<i32> {
        loop {
            if let Some(result) = self.poll() {
                return Ok(result);
            }
            match self.ring.submit_and_wait(1) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                _ => {}
            }
        }
    }

    /// True while a write is under way.
    pub(super) fn is_busy(&self) -> bool {
        self.is_busy
    }

    fn check(&self, piece: &Range<usize>) {
        assert!(piece.start <= piece.end && piece.end <= self.memory.len(), "outside the memory");
    }
}

impl Drop for Queue {
    /// The kernel may read the memory until the write is complete.
    fn drop(&mut self) {
        if self.is_busy {
            // Without an answer there is nothing more to do.
            let _ = self.wait();
        }
    }
}
