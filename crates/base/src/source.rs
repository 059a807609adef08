//! The one way packets come in.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use crate::{Batch, Error, ErrorKind, Interface, Result, Stats};

/// Something that yields packets in batches: a savefile, a socket, a ring.
///
/// Dispatch is per batch, never per packet, so a `Box<dyn Source>` costs nothing that shows.
pub trait Source {
    /// The interfaces seen so far. The table only grows: an index stays valid, and keeps its
    /// link type, for the source's life.
    fn interfaces(&self) -> &[Interface];

    /// Lends the next packets out, waiting at most `wait` for the first of them.
    ///
    /// An empty batch means that none came in time, or that the wait was interrupted; `None` means
    /// that there will be no more: end of the savefile, or the source was stopped and is drained.
    /// The previous batch's space goes back to the source.
    ///
    /// # Errors
    /// When the input is malformed or the interface is gone. Packets before the fault have been
    /// delivered; a later call may go on where the error says so.
    fn next_batch(&mut self, wait: Duration) -> Result<Option<Batch<'_>>>;

    /// What became of every packet so far.
    ///
    /// # Errors
    /// When the system does not give its counters.
    fn stats(&mut self) -> Result<Stats>;

    /// The same by threads, where several read for this source; otherwise there is one share, all of it.
    ///
    /// # Errors
    /// As [`stats`](Self::stats).
    fn shares(&mut self) -> Result<Vec<Stats>> {
        Ok(vec![self.stats()?])
    }

    /// A descriptor for those who wait for several things at once (poll(2), epoll(7)): from now on it is readable
    /// while [`next_batch`](Self::next_batch) has something to tell, packets, a fault or the end; it may be
    /// readable at other times, too. A call while it is readable returns at once.
    ///
    /// It is the source's own, only to be waited on, and the same each time.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for sources that have none, such as savefiles.
    fn watch(&mut self) -> Result<BorrowedFd<'_>> {
        let asked = "wait for a source of packets from outside";
        Err(Error::new(ErrorKind::Unsupported, asked, "it has no descriptor"))
    }

    /// Admits no further packet. Those already captured can still be fetched; then
    /// [`next_batch`](Self::next_batch) returns `None` and [`stats`](Self::stats) is exact.
    ///
    /// # Errors
    /// When the system refuses to detach.
    fn stop(&mut self) -> Result<()>;
}

impl<S: Source + ?Sized> Source for Box<S> {
    fn interfaces(&self) -> &[Interface] {
        (**self).interfaces()
    }

    fn next_batch(&mut self, wait: Duration) -> Result<Option<Batch<'_>>> {
        (**self).next_batch(wait)
    }

    fn stats(&mut self) -> Result<Stats> {
        (**self).stats()
    }

    fn shares(&mut self) -> Result<Vec<Stats>> {
        (**self).shares()
    }

    fn watch(&mut self) -> Result<BorrowedFd<'_>> {
        (**self).watch()
    }

    fn stop(&mut self) -> Result<()> {
        (**self).stop()
    }
}
