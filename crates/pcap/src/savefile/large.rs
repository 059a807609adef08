//! Large savefiles: several threads read and filter them ahead, from a descriptor of their own.
//!
//! The filter has to stay the same meanwhile. Where a program sets another one in the middle of a file, the stream, of
//! which only the header was read, goes on from there by itself.

use std::fs::metadata;
use std::path::Path;
use std::time::Duration;

use linerate::base::{Batch, Matches, Result, Source};
use linerate::capture::{FileSource, UserFilter, open_file};
use linerate::savefile::Warning;

/// Bytes from which on a file is large.
const LARGE: u64 = 32 << 20;

/// The longest wait for the threads at a time.
const WAIT: Duration = Duration::from_secs(1);

/// What reads a large savefile.
pub(crate) struct Large {
    source: FileSource,
    filter: Option<UserFilter>,
    has_begun: bool,
    /// Packets of all batches so far.
    lent: u64,
}

impl Large {
    /// Of the file at `path`; `None` where it is not large, or cannot be opened once more.
    pub(super) fn open(path: &str) -> Option<Self> {
        let path = Path::new(path);
        let is_large = metadata(path).is_ok_and(|found| found.is_file() && found.len() >= LARGE);
        let source = is_large.then(|| open_file(path).ok()).flatten()?;
        Some(Self { source, filter: None, has_begun: false, lent: 0 })
    }

    /// Whether packets were asked for.
    pub(crate) fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Packets are asked for now, those that a filter keeps.
    pub(crate) fn begin(&mut self, filter: Option<&UserFilter>) {
        self.has_begun = true;
        if let Some(filter) = filter.cloned() {
            self.filter = Some(filter.clone());
            self.source.filter(Box::new(move |_| Ok(Some(filter.clone()))));
        }
    }

    /// The next packets that the filter keeps.
    pub(crate) fn next_batch(&mut self) -> Result<Option<Batch<'_>>> {
        let batch = self.source.next_batch(WAIT)?;
        self.lent += batch.as_ref().map_or(0, |batch| batch.len() as u64);
        Ok(batch)
    }

    /// What is wrong with the file, once its end was reached.
    pub(super) fn warnings(&self) -> &[Warning] {
        self.source.warnings()
    }

    /// Packets that were given out, where `left` of the last batch were not.
    pub(crate) fn given(&self, left: usize) -> u64 {
        self.lent - left as u64
    }

    /// Which packets of a batch this filter keeps.
    pub(crate) fn kept(&self, batch: &Batch<'_>) -> Vec<usize> {
        let Some(filter) = &self.filter else { return (0..batch.len()).collect() };
        let mut matches = Matches::new();
        filter.select(batch, None, &mut matches);
        matches.iter().collect()
    }
}
