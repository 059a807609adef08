//! A file that is written past the page cache, while its writer goes on.
//!
//! ```text
//! write -> [filling] [full] [full] [being written] -> O_DIRECT -> disk
//! ```
//! Four buffers of 4 MiB go round. One is filled while others wait for the disk; who finds none free
//! waits, and that is a *storage stall*, which is counted.
//!
//! - **In order.** A thread writes one buffer after another. So the file never has a hole, not even
//!   when the process is killed: it holds the beginning of what was written. (Several writes at once
//!   are no faster: file systems make writes that extend a file wait for one another. What counts is
//!   their size, and that the memory is in huge pages.)
//! - **At once.** The thread asks for short turns of the processor, and so gets it as soon as a write is
//!   complete, in the middle of its owner's turn. Writes that io_uring is given wait for that turn's
//!   end where a file grows, as the kernel leaves them to a thread without such a wish.
//! - **With room ahead.** A file of more than a few buffers has as much again of the disk set aside, a
//!   gigabyte at most, and gives it back at the end; a killed process leaves it to the file.
//! - **Exact.** O_DIRECT writes whole blocks. What is left of the last one is written through the page
//!   cache, also when a slow writer [flushes](DirectFile); later it goes out again with its block.
//! - **Anywhere.** A file system that refuses O_DIRECT is written through the page cache.

mod buffer;
mod room;
mod stalls;
mod writer;

use std::fs::File;
use std::io::{self, Write};
use std::time::Instant;

use buffer::Buffer;
use writer::{Piece, Writer, Written};

pub use stalls::{StallCounter, Stalls};

/// Bytes of a buffer: writes of this size reach what the disk can do.
const BUFFER: usize = 4 << 20;

/// Number of buffers.
const BUFFERS: usize = 4;

/// The largest block of a disk in use; memory, offset and length of a direct write are multiples.
const BLOCK: usize = 4096;

/// The buffers, for one file after another.
pub struct Buffers(Vec<Buffer>);

impl Buffers {
    /// Allocates them: 16 MiB.
    ///
    /// # Errors
    /// When memory is short.
    pub fn new() -> io::Result<Self> {
        (0..BUFFERS).map(|_| Buffer::new(BUFFER)).collect::<io::Result<_>>().map(Self)
    }
}

/// The file. It must be [finished](Self::finish); dropped before that, what was filled in last is lost.
///
/// `flush` sends out what is there without waiting for the disk, unless that is busy: whole buffers are
/// cheaper. After an error nothing more can be written.
pub struct DirectFile {
    writer: Writer,
    free: Vec<Buffer>,
    /// The buffer being filled, where it begins in the file, and the bytes in it.
    current: Option<Buffer>,
    base: u64,
    filled: usize,
    /// Bytes at the current buffer's beginning that a flush has sent out.
    flushed: usize,
    /// Bytes at the file's beginning that have been written.
    kept: u64,
    stalls: StallCounter,
    /// The number of the error that ended it.
    failure: Option<i32>,
}

/// What is left of a [`DirectFile`].
pub struct Finished {
    /// For the next file.
    pub buffers: Buffers,
    /// Bytes at the file's beginning that have been written. After an error the file may be longer.
    pub kept: u64,
    /// The error that ended it early.
    pub result: io::Result<()>,
}

impl DirectFile {
    /// Writes to `file`: empty, opened for writing, and written by nobody else until this is finished.
    ///
    /// # Errors
    /// When the process may have no further descriptor or thread.
    pub fn new(file: &File, buffers: Buffers, stalls: StallCounter) -> io::Result<Self> {
        Ok(Self::by(Writer::new(file)?, buffers, stalls))
    }

    fn by(writer: Writer, buffers: Buffers, stalls: StallCounter) -> Self {
        Self {
            writer,
            free: buffers.0,
            current: None,
            base: 0,
            filled: 0,
            flushed: 0,
            kept: 0,
            stalls,
            failure: None,
        }
    }

    /// False where the file system refuses O_DIRECT.
    pub fn is_direct(&self) -> bool {
        self.writer.is_direct()
    }

    /// Writes what is left, waits for the disk and gives the buffers back.
    pub fn finish(mut self) -> Finished {
        if let Some(buffer) = self.current.take_if(|_| self.filled > self.flushed) {
            self.hand_over(buffer);
        }
        self.free.extend(self.current.take());
        while self.free.len() < BUFFERS {
            let written = self.writer.wait();
            self.take_back(written);
        }
        let result = self.check();
        drop(self.writer);
        Finished { result, buffers: Buffers(self.free), kept: self.kept }
    }

    /// Has everything written that was filled in, if there is a buffer to go on with.
    fn send_out(&mut self) {
        if self.filled == self.flushed || self.free.is_empty() {
            return;
        }
        let (Some(mut next), Some(buffer)) = (self.free.pop(), self.current.take()) else { return };
        let (end, tail) = (self.filled, self.filled % BLOCK);
        next.bytes_mut()[..tail].copy_from_slice(&buffer.bytes()[end - tail..end]);
        self.hand_over(buffer);
        self.current = Some(next);
        self.base -= tail as u64;
        (self.filled, self.flushed) = (tail, tail);
    }

    fn hand_over(&mut self, buffer: Buffer) {
        self.writer.write(Piece { buffer, length: self.filled, offset: self.base });
        self.base += self.filled as u64;
        (self.filled, self.flushed) = (0, 0);
    }

    fn take_back(&mut self, written: Written) {
        self.free.push(written.buffer);
        self.kept = written.kept;
        self.failure = self.failure.or(written.result.err());
    }

    /// Takes note of what is complete, without waiting.
    fn advance(&mut self) -> io::Result<()> {
        while let Some(written) = self.writer.poll() {
            self.take_back(written);
        }
        self.check()
    }

    fn check(&self) -> io::Result<()> {
        self.failure.map_or(Ok(()), |code| Err(io::Error::from_raw_os_error(code)))
    }

    /// The buffer to be filled; waits until there is one.
    fn room(&mut self) -> io::Result<Buffer> {
        self.advance()?;
        loop {
            if let Some(buffer) = self.current.take().or_else(|| self.free.pop()) {
                return Ok(buffer);
            }
            let began = Instant::now();
            let written = self.writer.wait();
            self.stalls.add(began.elapsed());
            self.take_back(written);
            self.check()?;
        }
    }
}

impl Write for DirectFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut buffer = self.room()?;
        let count = bytes.len().min(BUFFER - self.filled);
        buffer.bytes_mut()[self.filled..self.filled + count].copy_from_slice(&bytes[..count]);
        self.filled += count;
        match self.filled == BUFFER {
            true => self.hand_over(buffer),
            false => self.current = Some(buffer),
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.advance()?;
        if self.free.len() + 1 == BUFFERS {
            self.send_out();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
