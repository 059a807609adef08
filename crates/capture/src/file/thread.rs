//! One thread that reads a savefile, or a pipe, in order.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use linerate_base::{Error, ErrorKind, Result, Source};
use linerate_savefile::{Detached, Reader, Warning};

/// Batches between the thread and the source: enough to even out their speeds, few enough to stay in
/// the cache.
const BATCHES: usize = 4;

/// A reader, and what is said of it.
pub(super) struct FileReader {
    pub(super) reader: Reader<Counted>,
    pub(super) bytes: Arc<AtomicU64>,
    pub(super) name: String,
}

/// An input of which the bytes are counted that are read.
pub(super) struct Counted {
    input: Box<dyn Read + Send>,
    bytes: Arc<AtomicU64>,
}

/// The thread.
pub(super) struct Reading {
    full: Receiver<Message>,
    /// `None` once it is stopped.
    empty: Option<Sender<Detached>>,
}

pub(super) enum Message {
    /// A batch, and how many bytes of the input were read for it and those before it.
    Packets(Detached, u64),
    End(Result<()>, Vec<Warning>),
}

impl FileReader {
    /// Reads the beginning of `input`.
    ///
    /// # Errors
    /// When it does not begin as a savefile does; the error names it.
    pub(super) fn new(input: Box<dyn Read + Send>, name: String) -> Result<Self> {
        let bytes = Arc::new(AtomicU64::new(0));
        let input = Counted { input, bytes: bytes.clone() };
        let reader = Reader::new(input).map_err(|error| error.within(&name))?;
        Ok(Self { reader, bytes, name })
    }

    /// Goes on at `offset`, up to which somebody else has read the file; its input is there.
    pub(super) fn go_on_at(&mut self, offset: u64) {
        self.bytes.store(offset, Ordering::Relaxed);
        self.reader.go_on_at(offset);
    }
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.bytes.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

impl Reading {
    /// Has a thread read on.
    ///
    /// # Errors
    /// When the process may have no further thread.
    pub(super) fn start(reader: FileReader) -> Result<Self> {
        let (to_source, full) = mpsc::channel();
        let (empty, to_thread) = mpsc::channel();
        for _ in 0..BATCHES {
            empty.send(Detached::default()).expect("the receiver is here");
        }
        thread::Builder::new()
            .name("read".into())
            .spawn(move || read(reader, &to_thread, &to_source))
            .map_err(|e| Error::system("start a thread that reads the savefile", e))?;
        Ok(Self { full, empty: Some(empty) })
    }

    /// The next message; `None` when it does not come in time.
    pub(super) fn receive(&self, wait: Duration) -> Option<Message> {
        // What a stopped source has not got by now, it does not wait for.
        let wait = if self.is_stopped() { Duration::ZERO } else { wait };
        match self.full.recv_timeout(wait) {
            Ok(message) => Some(message),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Message::End(Err(panicked()), Vec::new())),
        }
    }

    /// Lets the thread use the memory of a batch again.
    pub(super) fn give_back(&self, used: Detached) {
        if let Some(empty) = &self.empty {
            // The thread has gone when it has sent the last batch.
            let _ = empty.send(used);
        }
    }

    /// Has it read no further.
    pub(super) fn stop(&mut self) {
        self.empty = None;
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.empty.is_none()
    }
}

/// Runs on the thread: fills batches until the end, or until nobody wants them.
fn read(file: FileReader, empty: &Receiver<Detached>, full: &Sender<Message>) {
    let FileReader { mut reader, bytes, name } = file;
    let mut known = reader.interfaces().len();
    let mut end = Ok(());
    for mut packets in empty {
        match reader.detach(&mut packets, known) {
            Ok(true) => known += packets.new_interfaces().len(),
            Ok(false) => break,
            Err(error) => {
                end = Err(error.within(&name));
                break;
            }
        }
        let bytes = bytes.load(Ordering::Relaxed);
        if full.send(Message::Packets(packets, bytes)).is_err() {
            return;
        }
    }
    // Whoever dropped the source does not want to know.
    let _ = full.send(Message::End(end, reader.warnings().to_vec()));
}

fn panicked() -> Error {
    Error::new(ErrorKind::Io, "read the savefile", "the thread that reads has panicked")
}
