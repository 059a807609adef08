//! What happened to an interface that a capture is bound to.

use linerate_base::{Error, ErrorKind, Result};
use linerate_sys::packet_socket::PacketSocket;
use linerate_sys::receive_losses::ReceiveLosses;

/// The interface as it was when the capture began. It stays the same one when it is renamed.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub(crate) name: String,
    /// The system's number for it; 0 stands for all interfaces.
    pub(crate) index: u32,
}

/// Packets that the interface lost before any capture could see them, since the capture began.
#[derive(Debug)]
pub(crate) struct Losses {
    counter: ReceiveLosses,
    before: u64,
}

impl Losses {
    /// Of `link`, in the calling thread's namespace; `None` where nobody counts them.
    pub(crate) fn of(link: &Link) -> Option<Self> {
        let mut counter = ReceiveLosses::of(link.index).ok()?;
        let before = counter.count().ok()??;
        Some(Self { counter, before })
    }

    /// How many there were; `None` once the interface is gone.
    pub(crate) fn count(&mut self) -> Option<u64> {
        self.counter.count().ok()?.map(|now| now.saturating_sub(self.before))
    }
}

/// How it is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinkState {
    Up,
    Down,
    Gone,
}

/// `ENODEV`, which has no name in `std`.
pub(crate) const NO_DEVICE: Option<i32> = Some(19);

impl Link {
    /// How the interface is now.
    ///
    /// # Errors
    /// When the system does not tell.
    pub(crate) fn state(&self, socket: &PacketSocket) -> Result<LinkState> {
        let device = socket.device_name(self.index).and_then(|name| socket.device(&name));
        match device {
            Ok(device) if device.is_up => Ok(LinkState::Up),
            Ok(_) => Ok(LinkState::Down),
            Err(e) if e.raw_os_error() == NO_DEVICE => Ok(LinkState::Gone),
            Err(e) => Err(Error::system(format!("ask about {}", self.name), e)),
        }
    }

    pub(crate) fn gone(&self) -> Error {
        let answered = "the interface was deleted, or moved to another namespace";
        Error::new(ErrorKind::Gone, self.asked(), answered)
            .advise("all packets seen before are delivered")
    }

    pub(crate) fn down(&self) -> Error {
        Error::new(ErrorKind::Down, self.asked(), "the interface went down")
            .advise("capture goes on when it is up again")
    }

    /// The error of opening an interface that is down.
    pub(crate) fn not_up(&self) -> Error {
        Error::new(ErrorKind::Down, self.asked(), "the interface is down")
            .advise(format!("`ip link set dev {} up` brings it up", self.name))
    }

    fn asked(&self) -> String {
        format!("capture on {}", self.name)
    }
}
