//! The reused buffer through which a file passes.

use std::io::{self, Read};
use std::mem;

/// Bytes read at a time: large enough to make the system call cheap (some 20 ns for each of a few
/// thousand packets), small enough to stay in the second-level cache until the packets were used.
const SIZE: usize = 256 << 10;

/// A window on `R`: the bytes read but not yet consumed, and before them those on loan.
#[derive(Debug)]
pub(super) struct Window<R> {
    input: R,
    buffer: Vec<u8>,
    /// The bytes in use are `buffer[start..end]`.
    start: usize,
    end: usize,
    /// Offset of `buffer[0]` in the input.
    base: u64,
}

impl<R: Read> Window<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input, buffer: vec![0; SIZE], start: 0, end: 0, base: 0 }
    }

    pub(super) fn input(&self) -> &R {
        &self.input
    }

    /// Everything in the buffer, consumed bytes included; offsets into it hold until [`fill`](Self::fill).
    pub(super) fn region(&self) -> &[u8] {
        &self.buffer[..self.end]
    }

    /// The same, to be changed.
    pub(super) fn region_mut(&mut self) -> &mut [u8] {
        &mut self.buffer[..self.end]
    }

    /// Where the bytes that are not yet consumed begin in the region.
    pub(super) fn start(&self) -> usize {
        self.start
    }

    /// Number of bytes not yet consumed.
    pub(super) fn len(&self) -> usize {
        self.end - self.start
    }

    /// Consumes everything before region offset `at`.
    pub(super) fn consume_to(&mut self, at: usize) {
        self.start = at;
    }

    /// Offset in the input of the first byte not yet consumed.
    pub(super) fn offset(&self) -> u64 {
        self.base + self.start as u64
    }

    /// Forgets everything read; what is read next stands at `offset` in the input.
    pub(super) fn restart(&mut self, offset: u64) {
        (self.start, self.end, self.base) = (0, 0, offset);
    }

    /// Drops the consumed bytes and reads once, for a record of `need` bytes, which is more than there
    /// are. Returns the number of bytes read; 0 is the end of the input.
    ///
    /// The buffer at most doubles, so that a damaged length costs no more memory than the file has bytes.
    pub(super) fn fill(&mut self, need: usize) -> io::Result<usize> {
        self.drop_consumed();
        let room = need.min(2 * self.end).max(SIZE);
        if self.buffer.len() < room {
            self.buffer.resize(room, 0);
        }
        let count = self.input.read(&mut self.buffer[self.end..room])?;
        self.end += count;
        Ok(count)
    }

    /// Goes on with `spare` as the buffer, to which the bytes not yet consumed move, and leaves the buffer
    /// so far in its place; gives the length of the region that it holds.
    pub(super) fn exchange(&mut self, spare: &mut Vec<u8>) -> usize {
        let (end, rest) = (self.end, &self.buffer[self.start..self.end]);
        if spare.len() < rest.len().max(SIZE) {
            spare.resize(rest.len().max(SIZE), 0);
        }
        spare[..rest.len()].copy_from_slice(rest);
        self.base += self.start as u64;
        (self.start, self.end) = (0, rest.len());
        mem::swap(&mut self.buffer, spare);
        end
    }

    fn drop_consumed(&mut self) {
        // While a large record comes in by small reads, nothing may be moved.
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.base += self.start as u64;
            self.end -= self.start;
            self.start = 0;
        }
    }
}
