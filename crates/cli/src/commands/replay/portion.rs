//! How much of all files was sent.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many bytes of which files were sent.
pub(super) struct Portion {
    /// Bytes of all files, as often as they are sent; `None` where that is not known.
    total: Option<u64>,
    /// Bytes of those that were sent to their end.
    before: u64,
    file: Option<Position>,
    /// Bytes that were sent in all.
    done: u64,
}

/// A place in the file at hand.
struct Position {
    size: u64,
    /// Where the batch at hand ends.
    read: Arc<AtomicU64>,
    /// Where it begins and ends, as last seen.
    from: u64,
    to: u64,
}

impl Portion {
    /// Of files that are sent `loops` times.
    pub(super) fn new<'a>(files: impl Iterator<Item = &'a Path>, loops: u64) -> Self {
        let once: Option<u64> = files.map(size).sum();
        let total = once.and_then(|once| once.checked_mul(loops)).filter(|total| *total > 0);
        Self { total, before: 0, file: None, done: 0 }
    }

    /// A file begins; `read` tells how far it was read, `is_kept` that all of it comes from memory.
    pub(super) fn begin(&mut self, path: &Path, read: Arc<AtomicU64>, is_kept: bool) {
        self.before += self.file.take().map_or(0, |file| file.size);
        let size = size(path).unwrap_or(0);
        self.file = Some(Position { size, read, from: 0, to: if is_kept { size } else { 0 } });
    }

    /// Of the batch at hand, of so many packets, so many were taken.
    pub(super) fn at(&mut self, batch: (usize, usize)) {
        self.done = self.before + self.file.as_mut().map_or(0, |file| file.bytes(batch));
    }

    /// How much that is in percent, where it is known.
    pub(super) fn percent(&self) -> Option<u64> {
        self.total.map(|total| (100 * u128::from(self.done) / u128::from(total)) as u64)
    }
}

impl Position {
    /// Bytes sent, where of a batch of so many packets so many are.
    fn bytes(&mut self, (packets, taken): (usize, usize)) -> u64 {
        let read = self.read.load(Ordering::Relaxed);
        if read > self.to {
            (self.from, self.to) = (self.to, read);
        }
        self.from + (self.to - self.from) * taken as u64 / packets.max(1) as u64
    }
}

/// What is no regular file has no size.
fn size(path: &Path) -> Option<u64> {
    fs::metadata(path).ok().filter(fs::Metadata::is_file).map(|file| file.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_counts_by_the_share_of_it_that_was_taken() {
        let read = Arc::new(AtomicU64::new(100));
        let mut file = Position { size: 300, read: read.clone(), from: 0, to: 0 };
        assert_eq!([file.bytes((10, 5)), file.bytes((10, 10))], [50, 100]);
        read.store(300, Ordering::Relaxed);
        assert_eq!([file.bytes((4, 0)), file.bytes((4, 1)), file.bytes((4, 4))], [100, 150, 300]);
        assert_eq!(file.bytes((0, 0)), 100);
    }
}
