//! The wire that a sink's frames leave by: how often it is looked at, how long it is waited for.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use linerate_base::{Error, ErrorKind, Result};

use crate::link::Link;

/// How long a sink waits for a device that has no room.
pub(super) const PATIENCE: Duration = Duration::from_millis(50);

/// How long to wait at a time.
const PAUSE: Duration = Duration::from_micros(20);

/// How often it is looked whether the wire is still there: without carrier the kernel takes frames and forgets
/// them.
pub(super) const LOOK: Duration = Duration::from_millis(100);

/// The interface that a sink sends on.
#[derive(Debug)]
pub(super) struct Wire {
    link: Link,
    /// When it was last looked at.
    mtu: u32,
    looked: Instant,
}

/// Numbers of the system that have no name in `std` (errno(3)).
const EMSGSIZE: i32 = 90;
const ENETDOWN: i32 = 100;
const ENXIO: i32 = 6;
const ENODEV: i32 = 19;

impl Wire {
    /// The interface called `name`, of the calling thread's namespace.
    ///
    /// # Errors
    /// As [`Link::find`].
    pub(super) fn find(name: &str) -> Result<Self> {
        let (link, found) = Link::find(name)?;
        Ok(Self { link, mtu: found.mtu, looked: Instant::now() })
    }

    /// The interface.
    pub(super) fn link(&self) -> &Link {
        &self.link
    }

    /// What was asked, in errors.
    pub(super) fn asked(&self) -> String {
        self.link.asked()
    }

    /// The first of the frames that the interface does not send, and why.
    pub(super) fn misfit<'a>(
        &self,
        frames: impl Iterator<Item = &'a [u8]>,
    ) -> Option<(usize, Error)> {
        self.link.misfit(frames, self.mtu)
    }

    /// Looks at times whether the wire is still there.
    ///
    /// # Errors
    /// When it is not.
    pub(super) fn watch(&mut self) -> Result<()> {
        if self.looked.elapsed() < LOOK { Ok(()) } else { self.look() }
    }

    /// Looks whether the wire is still there.
    ///
    /// # Errors
    /// When it is not.
    pub(super) fn look(&mut self) -> Result<()> {
        self.looked = Instant::now();
        self.mtu = self.link.check()?.mtu;
        Ok(())
    }

    /// The device keeps frames for too long.
    pub(super) fn held(&self, frames: usize) -> Error {
        let answered = format!("the device has not finished with {frames} frames");
        Error::new(ErrorKind::Busy, self.asked(), answered)
            .advise("it may send them yet; look at the interface's own counters")
    }

    /// What the system answered to frames, in words that help.
    pub(super) fn explain(&self, error: io::Error) -> Error {
        match error.raw_os_error() {
            Some(EMSGSIZE) => {
                self.link.too_long(self.link.look().map_or(self.mtu, |found| found.mtu))
            }
            Some(ENXIO | ENODEV) => self.link.gone(),
            // One that is deleted goes down first.
            Some(ENETDOWN) => {
                self.link.check().err().unwrap_or_else(|| Error::system(self.asked(), error))
            }
            _ => Error::system(self.asked(), error),
        }
    }
}

/// Makes an attempt again and again until it succeeds; false when it did not for too long.
///
/// # Errors
/// Those of the attempt.
pub(super) fn patiently<E>(
    mut attempt: impl FnMut() -> std::result::Result<bool, E>,
) -> std::result::Result<bool, E> {
    let start = Instant::now();
    while !attempt()? {
        if start.elapsed() > PATIENCE {
            return Ok(false);
        }
        thread::sleep(PAUSE);
    }
    Ok(true)
}

/// Makes an attempt, which says how many frames still wait, again and again: until none does, for too long none has left,
/// or `stop` says true; whether it did.
///
/// # Errors
/// Those of the attempt.
pub(super) fn drain(
    stop: &mut dyn FnMut() -> bool,
    mut attempt: impl FnMut() -> Result<usize>,
) -> Result<bool> {
    let (mut left, mut is_stopped) = (usize::MAX, false);
    loop {
        let before = left;
        let goes_on = patiently(|| {
            is_stopped = stop();
            left = attempt()?;
            Ok::<_, Error>(is_stopped || left < before)
        })?;
        if is_stopped || left == 0 || !goes_on {
            return Ok(is_stopped);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_ends() {
        let mut attempts = 0;
        let succeeded = patiently(|| {
            attempts += 1;
            Ok(attempts == 3)
        });
        assert_eq!(succeeded, Ok::<_, ()>(true));
        assert_eq!(patiently(|| Ok::<_, ()>(false)), Ok(false));
        assert_eq!(patiently(|| Err(7)), Err(7));
    }

    #[test]
    fn it_is_waited_for_as_long_as_frames_leave() {
        let waiting = |numbers: &'static [usize]| {
            let mut numbers = numbers.iter();
            move || Ok(*numbers.next().unwrap_or(&1))
        };
        assert!(!drain(&mut || false, waiting(&[3, 3, 2, 0])).unwrap());
        assert!(!drain(&mut || false, waiting(&[3, 1])).unwrap(), "it gives up");
        let mut calls = 0;
        let mut third = || {
            calls += 1;
            calls == 3
        };
        assert!(drain(&mut third, waiting(&[9, 8, 7, 6])).unwrap());
        assert_eq!(calls, 3);
    }
}
