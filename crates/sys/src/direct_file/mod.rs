//! A file that is written past the page cache, while its writer goes on.
//!
//! ```text
//! write -> [filling] [full] [full] [being written] -> O_DIRECT -> disk
//! ```
//! Four buffers of 4 MiB go round. One is filled while others wait for the disk; who finds none free
//! waits, and that is a *storage stall*, which is counted.
//!
//! - **In order.** One write is under way at a time, the next one begins when it has succeeded. So
//!   the file never has a hole, not even when the process is killed: it holds the beginning of what
//!   was written. (Several at once are no faster: file systems make writes that extend a file wait
//!   for one another. What counts is their size, and that the memory is in huge pages.)
//! - **Exact.** O_DIRECT writes whole blocks. What is left of the last one is written through the page
//!   cache, also when a slow writer [flushes](DirectFile); later it goes out again with its block.
//! - **Anywhere.** A file system that refuses O_DIRECT is written through the page cache.

mod queue;
mod stalls;

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::time::Instant;

use queue::Queue;

pub use stalls::{StallCounter, Stalls};

/// Bytes of a buffer: writes of this size reach what the disk can do.
const BUFFER: usize = 4 << 20;

/// Number of buffers.
const BUFFERS: usize = 4;

/// The largest block of a disk in use; memory, offset and length of a direct write are multiples.
const BLOCK: usize = 4096;

/// The buffers and the ring, for one file after another.
pub struct Buffers(Queue);

impl Buffers {
    /// Allocates them: 16 MiB.
    ///
    /// # Errors
    /// `EPERM` or `ENOSYS` where io_uring is forbidden or not built in; when memory is short.
    pub fn new() -> io::Result<Self> {
        Queue::new(BUFFERS * BUFFER).map(Self)
    }
}

/// The file. It must be [finished](Self::finish); dropped before that, what it still held is lost.
///
/// `flush` sends out what is there without waiting for the disk, unless that is busy: whole buffers are
/// cheaper. After an error nothing more can be written.
pub struct DirectFile {
    queue: Queue,
    plain: File,
    /// The same file with O_DIRECT, where that is possible.
    direct: Option<File>,
    /// Writes to come, in the file's order; the first of them may be under way.
    jobs: VecDeque<Job>,
    /// The buffer being filled, where it begins in the file, and the bytes in it.
    current: usize,
    base: u64,
    filled: usize,
    /// Bytes at the current buffer's beginning that a flush has sent out.
    flushed: usize,
    /// Buffers whose bytes wait for the disk.
    full: usize,
    /// Bytes at the file's beginning that have been written.
    kept: u64,
    stalls: StallCounter,
    /// The number of the error that ended it.
    failure: Option<i32>,
}

/// A write to come.
#[derive(Clone, Debug)]
struct Job {
    /// Where its bytes are.
    piece: Range<usize>,
    /// Where they go.
    offset: u64,
    /// Whole blocks.
    is_direct: bool,
    /// Its buffer is free afterwards.
    is_last: bool,
}

/// What is left of a [`DirectFile`].
pub struct Finished {
    /// The file, of exactly the length written. After an error it may be longer than `kept`.
    pub file: File,
    /// For the next file; `None` when they are of no more use.
    pub buffers: Option<Buffers>,
    /// Bytes at the file's beginning that have been written.
    pub kept: u64,
    /// The error that ended it early.
    pub result: io::Result<()>,
}

impl DirectFile {
    /// Takes over `file`: empty, opened for writing, and written by nobody else.
    pub fn new(file: File, buffers: Buffers, stalls: StallCounter) -> Self {
        Self {
            queue: buffers.0,
            direct: direct(&file).ok(),
            plain: file,
            jobs: VecDeque::with_capacity(2 * BUFFERS),
            current: 0,
            base: 0,
            filled: 0,
            flushed: 0,
            full: 0,
            kept: 0,
            stalls,
            failure: None,
        }
    }

    /// False where the file system refuses O_DIRECT.
    pub fn is_direct(&self) -> bool {
        self.direct.is_some()
    }

    /// Writes what is left, waits for the disk and gives everything back.
    pub fn finish(mut self) -> Finished {
        let result = self.complete();
        let is_idle = !self.queue.is_busy();
        Finished {
            file: self.plain,
            buffers: is_idle.then_some(Buffers(self.queue)),
            kept: self.kept,
            result,
        }
    }

    fn complete(&mut self) -> io::Result<()> {
        self.advance()?;
        while !self.send_out() {
            self.wait()?;
        }
        while !self.jobs.is_empty() {
            self.wait()?;
        }
        Ok(())
    }

    /// Has everything written that was filled in, if there is a buffer to go on with.
    fn send_out(&mut self) -> bool {
        let tail = self.filled % BLOCK;
        if self.filled > tail {
            if tail > 0 && self.full + 1 == BUFFERS {
                return false;
            }
            self.turn(tail);
        }
        if self.filled > self.flushed {
            let start = self.current * BUFFER;
            let piece = start..start + self.filled;
            self.jobs.push_back(Job { piece, offset: self.base, is_direct: false, is_last: false });
            self.flushed = self.filled;
        }
        true
    }

    /// Gives the current buffer to the disk but for its last `tail` bytes, which the next one begins with.
    fn turn(&mut self, tail: usize) {
        let start = self.current * BUFFER;
        let length = self.filled - tail;
        let (piece, offset) = (start..start + length, self.base);
        self.jobs.push_back(Job { piece, offset, is_direct: true, is_last: true });
        self.full += 1;
        self.current = (self.current + 1) % BUFFERS;
        if tail > 0 {
            self.queue.copy(start + length..start + length + tail, self.current * BUFFER);
        }
        self.base += length as u64;
        (self.filled, self.flushed) = (tail, 0);
    }

    /// Takes note of what is complete, without waiting, and keeps the disk busy.
    fn advance(&mut self) -> io::Result<()> {
        self.check()?;
        while self.queue.is_busy() {
            let Some(result) = self.queue.poll() else { return Ok(()) };
            self.note(result)?;
        }
        self.start_next()
    }

    /// Waits for one write.
    fn wait(&mut self) -> io::Result<()> {
        self.start_next()?;
        let result = self.queue.wait().or_else(|error| self.fail(&error))?;
        self.note(result)?;
        self.start_next()
    }

    fn start_next(&mut self) -> io::Result<()> {
        if self.queue.is_busy() {
            return Ok(());
        }
        let Some(job) = self.jobs.front() else { return Ok(()) };
        let direct = self.direct.as_ref().filter(|_| job.is_direct);
        let file = direct.unwrap_or(&self.plain).as_fd();
        let started = self.queue.start(file, job.piece.clone(), job.offset);
        started.or_else(|error| self.fail(&error))
    }

    /// Takes note of what the write under way, the first of the jobs, has answered.
    fn note(&mut self, result: i32) -> io::Result<()> {
        let Some(job) = self.jobs.front_mut() else { return Ok(()) };
        match usize::try_from(result) {
            Ok(0) => return self.fail_with(libc::EIO),
            Ok(written) => {
                job.piece.start += written;
                job.offset += written as u64;
                // The rest of a block that was cut short is no whole block.
                job.is_direct &= written.is_multiple_of(BLOCK);
                self.kept = self.kept.max(job.offset);
            }
            Err(_) => match -result {
                libc::EINTR | libc::EAGAIN => {}
                libc::EINVAL if job.is_direct && self.direct.is_some() => self.direct = None,
                code => return self.fail_with(code),
            },
        }
        if job.piece.is_empty() {
            self.full -= usize::from(job.is_last);
            self.jobs.pop_front();
        }
        Ok(())
    }

    fn check(&self) -> io::Result<()> {
        self.failure.map_or(Ok(()), |code| Err(io::Error::from_raw_os_error(code)))
    }

    fn fail<T>(&mut self, error: &io::Error) -> io::Result<T> {
        self.fail_with(error.raw_os_error().unwrap_or(libc::EIO))
    }

    fn fail_with<T>(&mut self, code: i32) -> io::Result<T> {
        self.failure = Some(code);
        self.jobs.clear();
        Err(io::Error::from_raw_os_error(code))
    }

    /// Waits until a buffer is free to be filled.
    fn make_room(&mut self) -> io::Result<()> {
        self.advance()?;
        if self.full < BUFFERS {
            return Ok(());
        }
        let began = Instant::now();
        let mut result = Ok(());
        while self.full == BUFFERS && result.is_ok() {
            result = self.wait();
        }
        self.stalls.add(began.elapsed());
        result
    }
}

impl Write for DirectFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.make_room()?;
        let count = bytes.len().min(BUFFER - self.filled);
        self.queue.fill(self.current * BUFFER + self.filled, &bytes[..count]);
        self.filled += count;
        if self.filled == BUFFER {
            self.turn(0);
            self.start_next()?;
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.advance()?;
        if self.jobs.is_empty() {
            self.send_out();
        }
        self.start_next()
    }
}

/// The same file, opened once more with O_DIRECT: by its descriptor, as its name may be another's by now.
fn direct(file: &File) -> io::Result<File> {
    let name = format!("/proc/self/fd/{}", file.as_raw_fd());
    OpenOptions::new().write(true).custom_flags(libc::O_DIRECT).open(name)
}

#[cfg(test)]
mod tests;
