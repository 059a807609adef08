//! Several threads that read one savefile.
//!
//! ```text
//! threads:     begin with the segment that nobody has begun with --.
//! the source:  does so, too, rather than wait ---------------------+--> in order, each begun where the one before ended
//! ```
//! A thread copies a segment out of the page cache, finds the packets in it and filters them, all in its
//! own cache. It guesses where the first record begins; when the segment before is there the guess
//! turns out right, or the segment is cut once more. The first segment that is not all packets ends
//! it: from there on one reader goes on in order.
//!
//! There is a thread less than cores: the source's own reads when whoever takes the packets is quicker than
//! they come, and leaves it to the others when he is not.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use linerate_sys::cpu;

use super::segment::{Cutting, SIZE, Segment};

/// More threads would wait for memory, or for whoever takes the packets.
const MOST: usize = 8;

/// Segments for each thread and for the source.
const AHEAD: usize = 2;

/// Bytes that are worth the threads.
const LEAST: u64 = 32 << 20;

/// The threads, and how far their work was taken.
pub(super) struct Lanes {
    board: Arc<Board>,
    cutting: Cutting,
    /// Number of the segment that is taken next, and of the one after the last.
    next: u64,
    end: u64,
    /// File offset of the next record.
    at: u64,
}

/// What the threads and the source know of each other's work.
struct Board {
    work: Mutex<Work>,
    /// There is memory for a segment, or nothing more to do.
    room: Condvar,
    /// A segment was filled.
    filled: Condvar,
}

struct Work {
    /// Number of the segment that is begun with next, and of the one after the last.
    next: u64,
    end: u64,
    empty: Vec<Segment>,
    /// By number; `None` for one that could not be read.
    filled: BTreeMap<u64, Option<Segment>>,
}

/// What comes next.
pub(super) enum Next {
    Segment(Segment),
    /// Not yet something.
    Nothing,
    /// No further segment; a reader has to go on at this offset in the file.
    End(u64),
}

/// How many threads, beside the one that takes the packets, should read a file of `size` bytes; `None` where one in order
/// is as good.
pub(super) fn worth(size: u64) -> Option<usize> {
    let cores = cpu::allowed().map_or(1, |cores| cores.len()).min(MOST);
    (cores > 1 && size >= LEAST).then_some(cores - 1)
}

impl Lanes {
    /// Has `threads` threads read the whole segments of a file of `size` bytes from the record at offset
    /// `at` on.
    ///
    /// # Errors
    /// When the process may have no further thread.
    pub(super) fn start(cutting: Cutting, at: u64, size: u64, threads: usize) -> io::Result<Self> {
        let (next, end) = (at / SIZE, size / SIZE);
        let empty = (0..(threads + 1) * AHEAD).map(|_| Segment::default()).collect();
        let work = Mutex::new(Work { next, end, empty, filled: BTreeMap::new() });
        let board = Arc::new(Board { work, room: Condvar::new(), filled: Condvar::new() });
        let lanes = Self { board, cutting, next, end, at };
        for _ in 0..threads {
            let (board, mut cutting) = (lanes.board.clone(), lanes.cutting.clone());
            let work = move || while board.wait_for_work(&mut cutting) {};
            thread::Builder::new().name("read".into()).spawn(work)?;
        }
        Ok(lanes)
    }

    /// The next segment in which a record begins; `used` is done with.
    pub(super) fn next(&mut self, used: Option<Segment>, wait: Duration) -> Next {
        if let Some(used) = used {
            self.board.give_back(used);
        }
        while self.next < self.end {
            let mut segment = match self.take(wait) {
                Some(Some(segment)) => segment,
                Some(None) => break,
                None => return Next::Nothing,
            };
            self.next += 1;
            if self.at >= segment.begin + SIZE {
                // It lies within a long record.
                self.board.give_back(segment);
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

    /// The next segment in order; `None` when it does not come in time. As long as it is not there and there is memory,
    /// this thread fills others.
    fn take(&mut self, wait: Duration) -> Option<Option<Segment>> {
        let mut work = self.board.lock();
        while !work.filled.contains_key(&self.next) {
            let Some((number, segment)) = work.begin() else { break };
            drop(work);
            self.board.fill(&mut self.cutting, number, segment);
            work = self.board.lock();
        }
        let is_missing = |work: &mut Work| !work.filled.contains_key(&self.next);
        let waited = self.board.filled.wait_timeout_while(work, wait, is_missing);
        let (mut work, _) = waited.unwrap_or_else(PoisonError::into_inner);
        work.filled.remove(&self.next)
    }
}

impl Drop for Lanes {
    fn drop(&mut self) {
        self.board.lock().give_up();
        self.board.room.notify_all();
    }
}

impl Work {
    /// A segment to fill; `None` when there is no memory, or all were begun with.
    fn begin(&mut self) -> Option<(u64, Segment)> {
        let number = self.next;
        let segment = if number < self.end { self.empty.pop() } else { None }?;
        self.next += 1;
        Some((number, segment))
    }

    /// Has no further segment begun with.
    fn give_up(&mut self) {
        self.next = self.end;
    }
}

impl Board {
    fn lock(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fills a segment as soon as there is memory; false when there is nothing more to do.
    fn wait_for_work(&self, cutting: &mut Cutting) -> bool {
        let is_full = |work: &mut Work| work.next < work.end && work.empty.is_empty();
        let waited = self.room.wait_while(self.lock(), is_full);
        let task = waited.unwrap_or_else(PoisonError::into_inner).begin();
        task.is_some_and(|(number, segment)| self.fill(cutting, number, segment))
    }

    /// Fills a segment; false when it cannot be read.
    fn fill(&self, cutting: &mut Cutting, number: u64, mut segment: Segment) -> bool {
        let mut post = Post { board: self, number, segment: None };
        let is_read = cutting.fill(&mut segment, number * SIZE);
        post.segment = is_read.then_some(segment);
        is_read
    }

    fn give_back(&self, segment: Segment) {
        self.lock().empty.push(segment);
        self.room.notify_one();
    }
}

/// Tells what became of a segment, even where that is a panic: nobody waits for it in vain.
struct Post<'a> {
    board: &'a Board,
    number: u64,
    segment: Option<Segment>,
}

impl Drop for Post<'_> {
    fn drop(&mut self) {
        self.board.lock().filled.insert(self.number, self.segment.take());
        self.board.filled.notify_one();
    }
}
