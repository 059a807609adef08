//! The wire that frames leave by: whether it is there, and what went wrong with it.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use linerate_base::{Error, ErrorKind, Result};
use linerate_sys::interface;

/// How long a sink waits for a device that has no room.
pub(super) const PATIENCE: Duration = Duration::from_millis(50);

/// How long to wait at a time.
const PAUSE: Duration = Duration::from_micros(20);

/// How often it is looked whether the wire is still there: without carrier the kernel takes frames and forgets
/// them.
const LOOK: Duration = Duration::from_millis(100);

/// The interface that a sink sends on.
#[derive(Debug)]
pub(super) struct Wire {
    interface: String,
    index: u32,
    mtu: u32,
    looked: Instant,
}

/// Numbers of the system that have no name in `std` (errno(3)).
pub(super) const EMSGSIZE: i32 = 90;
const ENETDOWN: i32 = 100;
const ENXIO: i32 = 6;
const ENODEV: i32 = 19;

impl Wire {
    /// The interface called `name`, of the calling thread's namespace.
    pub(super) fn find(name: &str) -> Result<Self> {
        let found = interface::by_name(name)?;
        let (index, mtu, looked) = (found.index, found.mtu, Instant::now());
        let mut wire = Self { interface: name.to_owned(), index, mtu, looked };
        if !found.is_up {
            return Err(Error::new(ErrorKind::Down, wire.asked(), "the interface is down")
                .advise(format!("`ip link set dev {name} up` brings it up")));
        }
        wire.check_carrier()?;
        Ok(wire)
    }

    /// The name that it was found by.
    pub(super) fn name(&self) -> &str {
        &self.interface
    }

    /// The index of the interface.
    pub(super) fn index(&self) -> u32 {
        self.index
    }

    /// The MTU when it was last looked at.
    pub(super) fn mtu(&self) -> u32 {
        self.mtu
    }

    /// Looks at times whether the wire is still there.
    ///
    /// # Errors
    /// When it is not.
    pub(super) fn watch(&mut self) -> Result<()> {
        if self.looked.elapsed() < LOOK {
            return Ok(());
        }
        self.looked = Instant::now();
        self.check_carrier()
    }

    fn check_carrier(&mut self) -> Result<()> {
        let found = interface::by_index(self.index).map_err(|error| match error.kind() {
            ErrorKind::NotFound => self.gone(),
            _ => error,
        })?;
        self.mtu = found.mtu;
        if found.is_running {
            return Ok(());
        }
        let answered =
            if found.is_up { "the wire has no carrier" } else { "the interface went down" };
        Err(Error::new(ErrorKind::Down, self.asked(), answered)
            .advise("frames sent meanwhile may be lost"))
    }

    /// What was asked, in errors.
    pub(super) fn asked(&self) -> String {
        format!("send on {}", self.interface)
    }

    fn gone(&self) -> Error {
        gone(self.asked())
    }

    /// The device keeps frames for too long.
    pub(super) fn held(&self, frames: usize) -> Error {
        let answered = format!("the device has not finished with {frames} frames");
        Error::new(ErrorKind::Busy, self.asked(), answered)
    }

    /// What the system answered to frames, in words that help.
    pub(super) fn explain(&mut self, error: io::Error) -> Error {
        match error.raw_os_error() {
            Some(EMSGSIZE) => {
                let mtu = interface::by_index(self.index).map_or(self.mtu, |found| found.mtu);
                let answered = format!("a frame is longer than the MTU of {mtu} bytes allows");
                let advice = "send smaller packets, or raise the MTU with `ip link set mtu`";
                Error::new(ErrorKind::Invalid, self.asked(), answered).advise(advice)
            }
            Some(ENXIO | ENODEV) => self.gone(),
            // One that is deleted goes down first.
            Some(ENETDOWN) => {
                self.check_carrier().err().unwrap_or_else(|| Error::system(self.asked(), error))
            }
            _ => Error::system(self.asked(), error),
        }
    }
}

/// The interface that was `asked` to send is not there any more.
pub(crate) fn gone(asked: String) -> Error {
    let answered = "the interface was deleted, or moved to another namespace";
    Error::new(ErrorKind::Gone, asked, answered)
        .advise("make it anew and send again; an end of a veth pair goes when the other end or its namespace does")
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

    #[test]
    fn an_interface_that_is_not_there_is_named() {
        let error = Wire::find("no-such-link").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
    }
}
