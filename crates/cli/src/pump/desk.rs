//! Where the threads of a pump meet: consumers, limit and counters.

use std::sync::{Mutex, MutexGuard};

use anyhow::Result;
use linerate::base::{Batch, Stats};
use linerate::capture::disk::Stalls;

use super::Consumer;
use crate::live::LiveLine;
use crate::summary::{self, Form, Summary};

/// What all threads hand their packets over to, one at a time.
pub(super) struct Desk<'a>(Mutex<Inside<'a>>);

struct Inside<'a> {
    consumers: Vec<&'a mut dyn Consumer>,
    /// Packets that may still be taken.
    room: u64,
    clerks: Vec<Clerk>,
    live: &'a mut LiveLine,
    form: &'a Form,
}

/// What is known of one thread's source.
#[derive(Clone, Default)]
struct Clerk {
    taken: u64,
    /// Its counters, as last told.
    stats: Stats,
    /// The last report that they went into.
    report: u32,
}

/// What the consumers want after a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    More,
    /// An end, when what is captured was taken.
    Full,
    LimitReached,
}

impl<'a> Desk<'a> {
    /// For so many threads, which hand over `limit` packets at the most.
    pub(super) fn new<'c: 'a>(
        consumers: Vec<&'c mut dyn Consumer>,
        limit: Option<u64>,
        threads: usize,
        live: &'a mut LiveLine,
        form: &'a Form,
    ) -> Self {
        let clerks = vec![Clerk::default(); threads];
        let consumers = consumers.into_iter().map(|consumer| consumer as _).collect();
        Self(Mutex::new(Inside { consumers, room: limit.unwrap_or(u64::MAX), clerks, live, form }))
    }

    fn lock(&self) -> MutexGuard<'_, Inside<'a>> {
        self.0.lock().expect("a thread that panicked ends all of them")
    }

    /// Hands a batch of thread `number` to the consumers, or as much of it as the limit allows.
    ///
    /// # Errors
    /// When a consumer fails.
    pub(super) fn take(&self, number: usize, batch: Batch<'_>) -> Result<Wish> {
        let mut inside = self.lock();
        let batch = batch.truncate(usize::try_from(inside.room).unwrap_or(usize::MAX));
        for consumer in &mut inside.consumers {
            if batch.is_empty() { consumer.idle()? } else { consumer.batch(&batch)? }
        }
        inside.clerks[number].taken += batch.len() as u64;
        inside.room -= batch.len() as u64;
        Ok(inside.wish())
    }

    /// Takes the counters of thread `number`. The first thread's turn is also that of the live line, and
    /// of the consumers to be told.
    pub(super) fn note(&self, number: usize, stats: Stats) {
        let mut inside = self.lock();
        inside.clerks[number].stats = stats;
        if number == 0 {
            let Summary { sum, stalls, .. } = inside.summary();
            inside.live.draw(&sum, stalls);
            inside.consumers.iter_mut().for_each(|consumer| consumer.stats(&sum));
        }
    }

    /// Takes the counters of thread `number` for the report of this number, and prints it when they are
    /// the last that it needs.
    pub(super) fn report(&self, number: usize, stats: Stats, report: u32) {
        let mut inside = self.lock();
        inside.clerks[number] = Clerk { stats, report, ..inside.clerks[number] };
        if inside.clerks.iter().all(|clerk| clerk.report == report) {
            let summary = inside.summary();
            summary::report(&summary, inside.form, inside.live);
        }
    }

    /// Clears the live line for other output.
    pub(super) fn clear_line(&self) {
        self.lock().live.clear();
    }

    /// How many packets of each thread were taken.
    pub(super) fn into_taken(self) -> Vec<u64> {
        let inside = self.0.into_inner().expect("a thread that panicked ends all of them");
        inside.clerks.iter().map(|clerk| clerk.taken).collect()
    }
}

impl Inside<'_> {
    fn wish(&self) -> Wish {
        match self.room {
            0 => Wish::LimitReached,
            _ if self.consumers.iter().any(|consumer| consumer.full()) => Wish::Full,
            _ => Wish::More,
        }
    }

    fn stalls(&self) -> Stalls {
        self.consumers.iter().map(|consumer| consumer.stalls()).sum()
    }

    fn summary(&self) -> Summary {
        let threads: Vec<_> = self.clerks.iter().map(|clerk| clerk.stats).collect();
        let (sum, stalls) = (summary::sum(&threads), self.stalls());
        Summary { sum, threads, stalls, overwritten: 0 }
    }
}
