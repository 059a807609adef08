//! Several threads that read one savefile.
//!
//! ```text
//! thread 0:  segments 0, 2, 4 ...  --.
//! thread 1:  segments 1, 3, 5 ...  --+--> in order, each begun where the one before ended
//! ```
//! A thread copies a segment out of the page cache, finds the packets in it and filters them, all in its
//! own cache. It guesses where the first record begins; when the segment before is there the guess
//! turns out right, or the segment is cut once more. The first segment that is not all packets ends
//! it: from there on one reader goes on in order.

use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use linerate_sys::cpu;

use super::segment::{Cutting, SIZE, Segment};

/// More threads would wait for memory, or for whoever takes the packets.
const MOST: usize = 8;

/// Segments between a thread and the source.
const AHEAD: usize = 2;

/// Bytes that are worth the threads.
const LEAST: u64 = 32 << 20;

/// The threads, and how far their work was taken.
pub(super) struct Lanes {
    lanes: Vec<Lane>,
    cutting: Cutting,
    /// Number of the segment that is taken next, of the first, and of the one after the last.
    next: u64,
    first: u64,
    end: u64,
    /// File offset of the next record.
    at: u64,
}

struct Lane {
    full: Receiver<Segment>,
    empty: Sender<Segment>,
}

/// What comes next.
pub(super) enum Next {
    Segment(Segment),
    /// Not yet something.
    Nothing,
    /// No further segment; a reader has to go on at this offset in the file.
    End(u64),
}

/// How many threads should read a file of `size` bytes; `None` where one is as good.
pub(super) fn worth(size: u64) -> Option<usize> {
    let cores = cpu::allowed().map_or(1, |cores| cores.len()).min(MOST);
    (cores > 1 && size >= LEAST).then_some(cores)
}

impl Lanes {
    /// Has `threads` threads read the whole segments of a file of `size` bytes from the record at offset
    /// `at` on.
    ///
    /// # Errors
    /// When the process may have no further thread.
    pub(super) fn start(cutting: Cutting, at: u64, size: u64, threads: usize) -> io::Result<Self> {
        let (first, end) = (at / SIZE, size / SIZE);
        let numbers = (0..threads as u64).map(|lane| (first + lane..end).step_by(threads));
        let lanes = numbers.map(|numbers| Lane::start(cutting.clone(), numbers));
        let lanes = lanes.collect::<io::Result<_>>()?;
        Ok(Self { lanes, cutting, next: first, first, end, at })
    }

    /// The next segment in which a record begins; `used` is done with.
    pub(super) fn next(&mut self, used: Option<Segment>, wait: Duration) -> Next {
        if let Some(used) = used {
            self.give_back(used);
        }
        while self.next < self.end {
            let mut segment = match self.lane(self.next).full.recv_timeout(wait) {
                Ok(segment) => segment,
                Err(RecvTimeoutError::Timeout) => return Next::Nothing,
                Err(RecvTimeoutError::Disconnected) => break,
            };
            self.next += 1;
            if self.at >= segment.begin + SIZE {
                // It lies within a long record.
                self.give_back(segment);
                continue;
            }
            if segment.from != Some(self.at) {
                self.cutting.cut(&mut segment, self.at);
            }
            if !segment.is_sound {
                break;
            }
            self.at = segment.to;
            return Next::Segment(segment);
        }
        self.next = self.end;
        Next::End(self.at)
    }

    fn lane(&self, number: u64) -> &Lane {
        &self.lanes[((number - self.first) % self.lanes.len() as u64) as usize]
    }

    fn give_back(&self, segment: Segment) {
        // The thread has gone when it has done its last segment.
        let _ = self.lane(segment.begin / SIZE).empty.send(segment);
    }
}

impl Lane {
    /// A thread that fills the segments of these `numbers`.
    fn start(
        cutting: Cutting,
        numbers: impl Iterator<Item = u64> + Send + 'static,
    ) -> io::Result<Self> {
        let (to_source, full) = mpsc::channel();
        let (empty, to_thread) = mpsc::channel();
        for _ in 0..AHEAD {
            empty.send(Segment::default()).expect("the receiver is here");
        }
        let work = move || fill(cutting, numbers, &to_thread, &to_source);
        thread::Builder::new().name("read".into()).spawn(work)?;
        Ok(Self { full, empty })
    }
}

/// Runs on the thread: fills segments until the last, until one cannot be read, or until nobody wants them.
fn fill(
    mut cutting: Cutting,
    numbers: impl Iterator<Item = u64>,
    empty: &Receiver<Segment>,
    full: &Sender<Segment>,
) {
    for (number, mut segment) in numbers.zip(empty) {
        if !cutting.fill(&mut segment, number * SIZE) || full.send(segment).is_err() {
            return;
        }
    }
}
