//! The live line: how far it has come.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use linerate::transmit::replay::Counts;

use crate::live::{LiveLine, packets};

/// How many bytes of which files were sent.
pub(super) struct Progress {
    live: LiveLine,
    /// Bytes of all files, as often as they are sent; `None` where that is not known.
    total: Option<u64>,
    /// Bytes of those that were sent to their end.
    before: u64,
    file: Option<Position>,
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

impl Progress {
    /// Of files that are sent `loops` times.
    pub(super) fn new<'a>(files: impl Iterator<Item = &'a Path>, loops: u64) -> Self {
        let once: Option<u64> = files.map(size).sum();
        let total = once.and_then(|once| once.checked_mul(loops)).filter(|total| *total > 0);
        Self { live: LiveLine::new(true), total, before: 0, file: None }
    }

    /// A file begins; `read` tells how far it was read, `is_kept` that all of it comes from memory.
    pub(super) fn begin(&mut self, path: &Path, read: Arc<AtomicU64>, is_kept: bool) {
        self.before += self.file.take().map_or(0, |file| file.size);
        let size = size(path).unwrap_or(0);
        self.file = Some(Position { size, read, from: 0, to: if is_kept { size } else { 0 } });
    }

    /// So far it has come.
    pub(super) fn at(&mut self, counts: &Counts) {
        let done = self.file.as_mut().map_or(0, |file| file.bytes(counts.batch));
        if self.live.is_due() {
            let percent =
                self.total.map(|total| 100 * u128::from(self.before + done) / u128::from(total));
            self.live.show(counts.submitted, |rate, elapsed| line(counts, percent, rate, elapsed));
        }
    }

    /// Makes way for other output.
    pub(super) fn clear(&mut self) {
        self.live.clear();
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

fn line(counts: &Counts, percent: Option<u128>, rate: u64, elapsed: Duration) -> String {
    let mut text = packets(counts.submitted, rate, elapsed);
    if let Some(percent) = percent {
        text += &format!("  {percent} %");
    }
    if counts.early.as_secs() > 0 {
        text += &format!("  the next in {} s", counts.early.as_secs());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_tells_how_much_is_sent_and_what_is_waited_for() {
        let early = Duration::from_secs(3599);
        let counts = Counts { submitted: 1200, early, ..Counts::default() };
        let elapsed = Duration::from_secs(65);
        assert_eq!(
            line(&counts, Some(42), 10, elapsed),
            "1:05  1,200 packets  10/s  42 %  the next in 3599 s"
        );
        assert_eq!(line(&Counts::default(), None, 0, elapsed), "1:05  0 packets  0/s");
    }

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
