//! The packet socket that frames leave by.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use linerate_base::{Error, ErrorKind, Result};
use linerate_sys::interface;
use linerate_sys::packet_socket::{Level, PacketSocket};

/// How long a sink waits for a device that has no room.
pub(super) const PATIENCE: Duration = Duration::from_millis(50);

/// How long to wait at a time.
const PAUSE: Duration = Duration::from_micros(20);

/// How often it is looked whether the wire is still there: without carrier the kernel takes frames and forgets
/// them.
const LOOK: Duration = Duration::from_millis(100);

/// A packet socket bound to the interface that it sends on. It receives nothing.
#[derive(Debug)]
pub(super) struct Port {
    pub(super) socket: PacketSocket,
    interface: String,
    index: u32,
    looked: Instant,
}

/// Numbers of the system that have no name in `std` (errno(3)).
const EMSGSIZE: i32 = 90;
const ENETDOWN: i32 = 100;
const ENXIO: i32 = 6;
const ENODEV: i32 = 19;

impl Port {
    /// A socket on the interface called `name`, of the calling thread's namespace.
    pub(super) fn open(name: &str) -> Result<Self> {
        let asked = format!("send on {name}");
        let found = interface::by_name(name)?;
        if !found.is_up {
            return Err(Error::new(ErrorKind::Down, asked, "the interface is down")
                .advise(format!("`ip link set dev {name} up` brings it up")));
        }
        let socket = bound(found.index).map_err(|error| explain_open(&asked, error))?;
        let port =
            Self { socket, interface: name.to_owned(), index: found.index, looked: Instant::now() };
        port.check_carrier()?;
        Ok(port)
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

    fn check_carrier(&self) -> Result<()> {
        let found = interface::by_index(self.index).map_err(|error| match error.kind() {
            ErrorKind::NotFound => self.gone(),
            _ => error,
        })?;
        if found.is_running {
            return Ok(());
        }
        let answered =
            if found.is_up { "the wire has no carrier" } else { "the interface went down" };
        Err(Error::new(ErrorKind::Down, self.asked(), answered)
            .advise("frames sent meanwhile may be lost"))
    }

    fn asked(&self) -> String {
        format!("send on {}", self.interface)
    }

    fn gone(&self) -> Error {
        let answered = "the interface was deleted, or moved to another namespace";
        Error::new(ErrorKind::Gone, self.asked(), answered)
    }

    /// The device keeps frames for too long.
    pub(super) fn held(&self, frames: usize) -> Error {
        let answered = format!("the device has not finished with {frames} frames");
        Error::new(ErrorKind::Busy, self.asked(), answered)
    }

    /// What the system answered to frames, in words that help.
    pub(super) fn explain(&self, error: io::Error) -> Error {
        match error.raw_os_error() {
            Some(EMSGSIZE) => {
                let mtu = interface::by_index(self.index).map_or(0, |found| found.mtu);
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

fn bound(index: u32) -> io::Result<PacketSocket> {
    let socket = PacketSocket::open(Level::Link)?;
    socket.bind(index, 0)?;
    Ok(socket)
}

fn explain_open(asked: &str, error: io::Error) -> Error {
    let error = Error::system(asked, error);
    if error.kind() == ErrorKind::Permission {
        return error.advise(
            "run it as root, or give it CAP_NET_RAW: \
                             `setcap cap_net_raw,cap_net_admin=ep $(which linerate)`",
        );
    }
    error
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
    fn an_interface_that_is_not_there_is_named() {
        let error = Port::open("no-such-link").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
    }
}
