//! Ending a wait from outside.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use linerate_base::{Error, Result};
use linerate_sys::event::Event;

/// A handle that makes every source that was opened with it return from its wait at once.
///
/// Clones are one and the same handle. It stays triggered until [`clear`](Self::clear), so that an
/// interrupt between two waits is not missed; sources that have packets deliver them all the same.
/// A source that was stopped no longer heeds it: it is about to end anyway.
#[derive(Clone, Debug)]
pub struct Interrupt(Arc<Event>);

impl Interrupt {
    /// A handle that is not triggered.
    ///
    /// # Errors
    /// When the process has no descriptor left.
    pub fn new() -> Result<Self> {
        let event = Event::new().map_err(|e| Error::system("make an event descriptor", e))?;
        Ok(Self(Arc::new(event)))
    }

    /// Ends all waits. May be called from any thread and from a signal handler.
    pub fn trigger(&self) {
        self.0.raise();
    }

    pub(crate) fn is_triggered(&self) -> bool {
        // An eventfd does not fail to be looked at.
        self.0.is_raised().unwrap_or(false)
    }

    /// Lets sources wait again.
    pub fn clear(&self) {
        self.0.clear();
    }
}

impl AsFd for Interrupt {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
