//! What was found and how far it is, written by a thread of its own.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::Result;
use linerate::scan::visit::Visit;

use super::fields;
use crate::args::VisitFieldArg;
use crate::commands::survey::{Cell, Hits, Journal, Rows};

/// How often what was done is kept.
const KEEP: Duration = Duration::from_millis(500);

/// What happened in a moment.
pub(super) struct Moment {
    /// Those to be written.
    pub(super) visits: Vec<Visit>,
    pub(super) state: State,
}

/// How far it is. All visits before the position were handed over.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct State {
    pub(super) pass: u64,
    pub(super) position: u64,
    pub(super) sent: u64,
    pub(super) opened: u64,
}

/// Who writes.
pub(super) struct Keeper<'a> {
    pub(super) rows: Rows<VisitFieldArg>,
    pub(super) journal: Journal,
    pub(super) state: State,
    pub(super) hits: Hits,
    /// Told when too few answer.
    pub(super) is_in_vain: &'a AtomicBool,
}

impl Keeper<'_> {
    /// Writes what comes, until nothing will any more.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn run(&mut self, moments: &Receiver<Moment>) -> Result<()> {
        let mut kept = Instant::now();
        loop {
            match moments.recv_timeout(KEEP) {
                Ok(moment) => self.take(&moment)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return self.keep(),
            }
            if kept.elapsed() >= KEEP {
                kept = Instant::now();
                self.keep()?;
            }
        }
    }

    fn take(&mut self, moment: &Moment) -> Result<()> {
        for visit in &moment.visits {
            let put = |field, cell: Cell<'_>| fields::put(visit, field, cell);
            if self.rows.keeps(put) {
                self.rows.add(put)?;
            }
        }
        self.state = moment.state;
        Ok(())
    }

    /// What was found first: a position that is written is one before which nothing is missing.
    fn keep(&mut self) -> Result<()> {
        self.rows.flush()?;
        self.note();
        if self.hits.judge(&mut self.journal) {
            self.is_in_vain.store(true, Ordering::Relaxed);
        }
        self.journal.write()
    }

    fn note(&mut self) {
        let State { pass, position, sent, opened } = self.state;
        (self.journal.pass, self.journal.position) = (pass, position);
        (self.journal.sent, self.journal.answered) = (sent, opened);
    }

    /// Writes the rest, and notes whether all was done.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub(super) fn end(&mut self, is_complete: bool) -> Result<()> {
        self.note();
        self.rows.end(&mut self.journal, is_complete)
    }
}
