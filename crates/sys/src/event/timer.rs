use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;
use std::time::Duration;

use super::timespec;

/// A flag that goes up after some time (timerfd_create(2)).
#[derive(Debug)]
pub struct Timer(OwnedFd);

impl Timer {
    /// A flag that stays down until it is [set](Self::set).
    ///
    /// # Errors
    /// When the process has no descriptor left.
    pub fn new() -> io::Result<Self> {
        let flags = libc::TFD_CLOEXEC | libc::TFD_NONBLOCK;
        // SAFETY: timerfd_create(2) takes two integers and touches no memory of ours.
        let fd = unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, flags) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just given us this descriptor, and nobody else knows it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Takes the flag down, and has it go up after `span`.
    pub fn set(&self, span: Duration) {
        // Of no time at all the kernel would make "never".
        let it_value = timespec(span.max(Duration::from_nanos(1)));
        let it_interval = timespec(Duration::ZERO);
        let setting = libc::itimerspec { it_interval, it_value };
        let fd = self.0.as_raw_fd();
        // SAFETY: the kernel reads one itimerspec, which is ours, and is not asked for the old one. It refuses
        // negative times and more nanoseconds than a second has, and a Duration has neither.
        unsafe { libc::timerfd_settime(fd, 0, &raw const setting, ptr::null_mut()) };
    }
}

impl AsFd for Timer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::super::poll;
    use super::*;

    #[test]
    fn it_goes_up_in_time_and_stays_up_until_it_is_set_again() {
        let timer = Timer::new().unwrap();
        let is_up = |wait| poll([timer.as_fd()], wait).unwrap()[0].readable;
        assert!(!is_up(Duration::ZERO));
        timer.set(Duration::ZERO);
        assert!(is_up(Duration::MAX) && is_up(Duration::ZERO));
        timer.set(Duration::MAX);
        assert!(!is_up(Duration::ZERO));
        timer.set(Duration::from_millis(1));
        assert!(is_up(Duration::MAX));
    }
}
