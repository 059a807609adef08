use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Many descriptors behind one, which is readable while any of them is readable or has failed (epoll(7)).
///
/// One that is closed everywhere leaves the set.
#[derive(Debug)]
pub struct PollSet(OwnedFd);

impl PollSet {
    /// Of these descriptors.
    ///
    /// # Errors
    /// When the process has no descriptor left, and as [`add`](Self::add).
    pub fn of(fds: &[BorrowedFd<'_>]) -> io::Result<Self> {
        // SAFETY: epoll_create1(2) takes an integer and touches no memory of ours.
        let fd = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just given us this descriptor, and nobody else knows it.
        let set = Self(unsafe { OwnedFd::from_raw_fd(fd) });
        fds.iter().try_for_each(|fd| set.add(*fd))?;
        Ok(set)
    }

    /// Adds one.
    ///
    /// # Errors
    /// When it is of a kind that cannot be waited for, such as a file, is there already, or there is no memory.
    pub fn add(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 0 };
        let (set, fd) = (self.0.as_raw_fd(), fd.as_raw_fd());
        // SAFETY: both descriptors are open, and the kernel reads one epoll_event, which is ours.
        match unsafe { libc::epoll_ctl(set, libc::EPOLL_CTL_ADD, fd, &raw mut event) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl AsFd for PollSet {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::{Event, poll};
    use super::*;

    fn is_readable(set: &PollSet) -> bool {
        poll([set.as_fd()], Duration::ZERO).unwrap()[0].readable
    }

    #[test]
    fn it_is_readable_while_any_member_is_also_one_that_is_a_set_itself() {
        let [one, other] = [Event::new().unwrap(), Event::new().unwrap()];
        let inner = PollSet::of(&[other.as_fd()]).unwrap();
        let set = PollSet::of(&[one.as_fd(), inner.as_fd()]).unwrap();
        assert!(!is_readable(&set));
        other.raise();
        assert!(is_readable(&set) && is_readable(&set));
        one.raise();
        other.clear();
        assert!(is_readable(&set));
        one.clear();
        assert!(!is_readable(&set));
    }

    #[test]
    fn who_is_closed_leaves_it() {
        let (set, event) = (PollSet::of(&[]).unwrap(), Event::new().unwrap());
        event.raise();
        set.add(event.as_fd()).unwrap();
        assert!(is_readable(&set));
        drop(event);
        assert!(!is_readable(&set));
    }

    #[test]
    fn a_file_cannot_be_waited_for() {
        let file = std::fs::File::open("/proc/self/exe").unwrap();
        assert!(PollSet::of(&[file.as_fd()]).is_err());
    }
}
