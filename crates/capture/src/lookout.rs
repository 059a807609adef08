//! Waiting for a source from outside.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use linerate_base::{Error, Result};
use linerate_sys::event::{self, PollSet, Timer};

/// One descriptor for all that a source waits for, and for the time after which it is to be asked anew.
///
/// A source that is watched waits for nothing else: it is asked when the descriptor is readable, looks once, and says
/// when to ask again.
#[derive(Debug)]
pub(crate) struct Lookout {
    all: PollSet,
    timer: Timer,
}

impl Lookout {
    /// Over these descriptors. It is readable at first.
    pub(crate) fn over(fds: &[BorrowedFd<'_>]) -> Result<Self> {
        let open = || {
            let timer = Timer::new()?;
            timer.set(Duration::ZERO);
            let all = PollSet::of(fds)?;
            all.add(timer.as_fd())?;
            Ok(Self { all, timer })
        };
        open().map_err(|e| Error::system("make a descriptor to wait for packets on", e))
    }

    /// It becomes readable after this time, if it is not before.
    pub(crate) fn ask_after(&self, span: Duration) {
        self.timer.set(span);
    }

    fn wait(&self, wait: Duration) -> Result<()> {
        event::poll([self.as_fd()], wait)
            .map(drop)
            .map_err(|e| Error::system("wait for packets", e))
    }
}

/// Waits for a source that is watched; returns how long it may wait itself.
pub(crate) fn wait(lookout: Option<&Lookout>, wait: Duration) -> Result<Duration> {
    match lookout {
        Some(lookout) => lookout.wait(wait).map(|()| Duration::ZERO),
        None => Ok(wait),
    }
}

impl AsFd for Lookout {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.all.as_fd()
    }
}
