//! Waiting: an event counter that any thread or signal handler can raise, a timer, sets of descriptors, and a poll over
//! some of them.
//!
//! All are level triggered: once an [`Event`] is raised, every poll on it returns at once until it is cleared.

mod set;
mod timer;

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::Duration;

pub use set::PollSet;
pub use timer::Timer;

/// A flag that a poll can wait for (eventfd(2)).
#[derive(Debug)]
pub struct Event(OwnedFd);

impl Event {
    /// A lowered flag.
    ///
    /// # Errors
    /// When the process has no descriptor left.
    pub fn new() -> io::Result<Self> {
        // SAFETY: eventfd(2) takes two integers and touches no memory of ours.
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just given us this descriptor, and nobody else knows it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Raises the flag. Safe to call from a signal handler: it is one write(2).
    pub fn raise(&self) {
        let one = 1u64.to_ne_bytes();
        // SAFETY: the buffer is ours and 8 bytes long. The only failure is a full counter (EAGAIN),
        // and then the flag is up already.
        unsafe { libc::write(self.0.as_raw_fd(), one.as_ptr().cast(), one.len()) };
    }

    /// Lowers the flag.
    pub fn clear(&self) {
        let mut count = [0u8; 8];
        // SAFETY: the buffer is ours and 8 bytes long. The only failure is an empty counter
        // (EAGAIN), and then the flag is down already.
        unsafe { libc::read(self.0.as_raw_fd(), count.as_mut_ptr().cast(), count.len()) };
    }

    /// True while the flag is up.
    ///
    /// # Errors
    /// As [`poll`].
    pub fn is_raised(&self) -> io::Result<bool> {
        Ok(poll([self.0.as_fd()], Duration::ZERO)?[0].readable)
    }
}

impl AsFd for Event {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// What poll(2) says of one descriptor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Readiness {
    /// A read would not wait.
    pub readable: bool,
    /// An error is pending, or the other end is gone.
    pub failed: bool,
}

/// Waits at most `timeout` until one of `fds` is readable or has failed.
///
/// A signal ends the wait early, with nothing ready: whoever handles the signal decides what follows.
///
/// # Errors
/// When the kernel has no memory left for the poll.
pub fn poll<const N: usize>(
    fds: [BorrowedFd<'_>; N],
    timeout: Duration,
) -> io::Result<[Readiness; N]> {
    let mut ready = [Readiness::default(); N];
    poll_into(&fds, timeout, &mut ready)?;
    Ok(ready)
}

/// As [`poll`], for any number of descriptors.
///
/// # Errors
/// As [`poll`].
pub fn poll_all(fds: &[BorrowedFd<'_>], timeout: Duration) -> io::Result<Vec<Readiness>> {
    let mut ready = vec![Readiness::default(); fds.len()];
    poll_into(fds, timeout, &mut ready)?;
    Ok(ready)
}

fn poll_into(fds: &[BorrowedFd<'_>], timeout: Duration, ready: &mut [Readiness]) -> io::Result<()> {
    let entry =
        |fd: &BorrowedFd<'_>| libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let mut table: Vec<_> = fds.iter().map(entry).collect();
    let count = table.len() as libc::nfds_t;
    let limit = timespec(timeout);
    // SAFETY: the table holds `count` entries and lives through the call, as does the time limit; a
    // null signal mask leaves signals alone.
    let answer =
        unsafe { libc::ppoll(table.as_mut_ptr(), count, &raw const limit, std::ptr::null()) };
    if answer < 0 {
        let error = io::Error::last_os_error();
        let interrupted = error.kind() == io::ErrorKind::Interrupted;
        return if interrupted { Ok(()) } else { Err(error) };
    }
    for (ready, entry) in ready.iter_mut().zip(&table) {
        ready.readable = entry.revents & libc::POLLIN != 0;
        ready.failed = entry.revents & (libc::POLLERR | libc::POLLHUP | libc::POLLNVAL) != 0;
    }
    Ok(())
}

fn timespec(span: Duration) -> libc::timespec {
    libc::timespec {
        tv_sec: span.as_secs().try_into().unwrap_or(libc::time_t::MAX),
        tv_nsec: span.subsec_nanos().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_raised_event_stays_up_until_cleared() {
        let event = Event::new().unwrap();
        assert!(!event.is_raised().unwrap());
        event.raise();
        event.raise();
        assert!(event.is_raised().unwrap() && event.is_raised().unwrap());
        event.clear();
        assert!(!event.is_raised().unwrap());
        event.clear();
    }

    #[test]
    fn raising_from_another_thread_ends_a_wait() {
        let event = Event::new().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| event.raise());
            let [ready] = poll([event.as_fd()], Duration::MAX).unwrap();
            assert!(ready.readable && !ready.failed);
        });
    }

    #[test]
    fn a_wait_without_events_ends_in_time() {
        let event = Event::new().unwrap();
        let [ready] = poll([event.as_fd()], Duration::from_millis(1)).unwrap();
        assert_eq!(ready, Readiness::default());
    }
}
