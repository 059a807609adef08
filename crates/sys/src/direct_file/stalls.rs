//! How often and how long the disk was waited for.

use std::iter::Sum;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Waits for the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stalls {
    /// How often.
    pub count: u64,
    /// How long, in all.
    pub time: Duration,
}

impl Sum for Stalls {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            count: sum.count + one.count,
            time: sum.time + one.time,
        })
    }
}

/// Counts waits for the disk; clones are one and the same counter.
#[derive(Clone, Debug, Default)]
pub struct StallCounter(Arc<Counter>);

#[derive(Debug, Default)]
struct Counter {
    count: AtomicU64,
    nanos: AtomicU64,
}

impl StallCounter {
    /// Counts one wait.
    pub fn add(&self, time: Duration) {
        self.0.count.fetch_add(1, Ordering::Relaxed);
        self.0.nanos.fetch_add(time.as_nanos() as u64, Ordering::Relaxed);
    }

    /// What was counted so far.
    pub fn read(&self) -> Stalls {
        Stalls {
            count: self.0.count.load(Ordering::Relaxed),
            time: Duration::from_nanos(self.0.nanos.load(Ordering::Relaxed)),
        }
    }
}
