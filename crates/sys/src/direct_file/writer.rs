//! The thread that writes buffers to the file, one after another.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use super::BLOCK;
use super::buffer::Buffer;
use super::room::Room;
use crate::thread::run_soon;

/// The other end of the thread. Dropped, it waits until all pieces are written and the file has what it
/// needs of the disk, and no more.
pub(super) struct Writer {
    /// Some, but for the end.
    pieces: Option<Sender<Piece>>,
    written: Receiver<Written>,
    thread: Option<JoinHandle<()>>,
    is_direct: bool,
}

/// The beginning of a buffer, and where in the file it goes.
pub(super) struct Piece {
    pub(super) buffer: Buffer,
    pub(super) length: usize,
    pub(super) offset: u64,
}

/// What became of a piece.
pub(super) struct Written {
    pub(super) buffer: Buffer,
    /// Bytes at the file's beginning that have been written.
    pub(super) kept: u64,
    /// The error's number. Nothing is written after one.
    pub(super) result: Result<(), i32>,
}

impl Writer {
    /// A thread that writes to `file`.
    ///
    /// # Errors
    /// When the process may have no further descriptor or thread.
    pub(super) fn new(file: &File) -> io::Result<Self> {
        let target = Target {
            direct: direct(file).ok(),
            plain: file.try_clone()?,
            room: Room::new(file),
            kept: 0,
            result: Ok(()),
        };
        Self::served(target.direct.is_some(), |orders, answers| serve(target, &orders, &answers))
    }

    /// A thread that does `work`, which answers for every piece.
    pub(super) fn served(
        is_direct: bool,
        work: impl FnOnce(Receiver<Piece>, Sender<Written>) + Send + 'static,
    ) -> io::Result<Self> {
        let (pieces, orders) = channel();
        let (answers, written) = channel();
        let thread = thread::Builder::new().name("disk".into());
        let thread = Some(thread.spawn(move || work(orders, answers))?);
        Ok(Self { pieces: Some(pieces), written, thread, is_direct })
    }

    /// False where the file system refuses O_DIRECT.
    pub(super) fn is_direct(&self) -> bool {
        self.is_direct
    }

    /// Has a piece written after all that were handed over before.
    pub(super) fn write(&self, piece: Piece) {
        let pieces = self.pieces.as_ref().expect("there until the end");
        pieces.send(piece).expect("the thread lives as long as this");
    }

    /// The next piece that is done with, if there is one.
    pub(super) fn poll(&self) -> Option<Written> {
        self.written.try_recv().ok()
    }

    /// Waits for the next piece.
    ///
    /// # Panics
    /// When none was handed over whose answer is to come: it would wait for ever.
    pub(super) fn wait(&self) -> Written {
        self.written.recv().expect("the thread answers for every piece")
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.pieces = None;
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has told so itself.
            let _ = thread.join();
        }
    }
}

fn serve(mut target: Target, orders: &Receiver<Piece>, answers: &Sender<Written>) {
    run_soon();
    for Piece { buffer, length, offset } in orders {
        target.write(&buffer.bytes()[..length], offset);
        let Target { kept, result, .. } = target;
        // Who has dropped the other end wants no answer.
        let _ = answers.send(Written { buffer, kept, result });
    }
    // What is not given back goes with the file: no reason to call the capture failed.
    let _ = target.room.give_back(&target.plain);
}

/// The same file, opened once more with O_DIRECT: by its descriptor, as its name may be another's by now.
fn direct(file: &File) -> io::Result<File> {
    let name = format!("/proc/self/fd/{}", file.as_raw_fd());
    OpenOptions::new().write(true).custom_flags(libc::O_DIRECT).open(name)
}

/// The file, and how far it is.
struct Target {
    plain: File,
    /// The same file with O_DIRECT, where that is possible.
    direct: Option<File>,
    room: Room,
    kept: u64,
    result: Result<(), i32>,
}

impl Target {
    fn write(&mut self, mut bytes: &[u8], mut offset: u64) {
        if self.direct.is_some() {
            self.room.reach(&self.plain, offset, offset + bytes.len() as u64);
        }
        while !bytes.is_empty() && self.result.is_ok() {
            match self.write_some(bytes, offset) {
                Ok(0) => self.result = Err(libc::EIO),
                Ok(count) => {
                    (bytes, offset) = (&bytes[count..], offset + count as u64);
                    self.kept = self.kept.max(offset);
                }
                Err(error) => self.note(&error),
            }
        }
    }

    /// Whole blocks past the page cache; what is left, also of a block that was cut short, through it.
    fn write_some(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let whole = bytes.len() - bytes.len() % BLOCK;
        match &self.direct {
            Some(file) if whole > 0 && offset.is_multiple_of(BLOCK as u64) => {
                file.write_at(&bytes[..whole], offset)
            }
            _ => self.plain.write_at(bytes, offset),
        }
    }

    fn note(&mut self, error: &io::Error) {
        match error.raw_os_error() {
            Some(libc::EINTR | libc::EAGAIN) => {}
            Some(libc::EINVAL) if self.direct.is_some() => self.direct = None,
            code => self.result = Err(code.unwrap_or(libc::EIO)),
        }
    }
}
