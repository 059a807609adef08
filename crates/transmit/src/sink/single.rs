//! Frames one by one, each with a system call of its own.

use std::io;

use linerate_base::{Error, ErrorKind, Result};
use linerate_sys::clock;
use linerate_sys::packet_send;
use linerate_sys::packet_socket::PacketSocket;

use super::socket::bound;
use super::wire::{LOOK, Wire, patiently};

/// Sends single frames on an interface: what a program calls that has one frame and wants it gone.
#[derive(Debug)]
pub struct FrameSender {
    wire: Wire,
    socket: PacketSocket,
    /// When the wire was last looked at, by the coarse clock.
    looked: i64,
    /// Frames to send before that clock is asked again.
    unwatched: u32,
}

/// Frames that are sent without asking the clock, which takes 10 ns. Who sends fewer than ten a second has the wire looked
/// at for each.
const UNWATCHED: u32 = 32;

impl FrameSender {
    /// On the interface called `name`, of the calling thread's namespace. Frames get the mark (`SO_MARK`, socket(7)), where
    /// the system permits it.
    ///
    /// # Errors
    /// As [`open`](super::open()) by the back end `socket`.
    pub fn open(name: &str, mark: Option<u32>) -> Result<Self> {
        let open = || {
            let wire = Wire::find(name)?;
            let socket = bound(&wire, mark)?;
            Ok(Self { wire, socket, looked: clock::monotonic_coarse(), unwatched: 0 })
        };
        open().map_err(|error| super::with_remedy(error, super::Backend::Socket))
    }

    /// Sends a frame if that goes at once; false where it has to be [sent](Self::send) with patience, or for the reason why
    /// it cannot. Makes one system call, which is no point at which a thread is cancelled (pthreads(7)).
    #[inline]
    pub fn try_send(&mut self, frame: &[u8]) -> bool {
        self.is_watched() && matches!(packet_send::send_one(&self.socket, frame), Ok(1))
    }

    /// Whether the wire was looked at a short while ago.
    #[inline]
    fn is_watched(&mut self) -> bool {
        if self.unwatched == 0 {
            if clock::monotonic_coarse() - self.looked >= LOOK.as_nanos() as i64 {
                return false;
            }
            self.unwatched = UNWATCHED;
        }
        self.unwatched -= 1;
        true
    }

    /// Sends a frame; waits for room for as long as sinks do.
    ///
    /// # Errors
    /// [`ErrorKind::Busy`] when there is no room; as sinks do when the interface is gone, down or without carrier, or does not
    /// take such frames.
    pub fn send(&mut self, frame: &[u8]) -> Result<()> {
        self.wire.look()?;
        self.looked = clock::monotonic_coarse();
        let attempt = || Ok::<_, io::Error>(packet_send::send_one(&self.socket, frame)? == 1);
        match patiently(attempt) {
            Ok(true) => Ok(()),
            Ok(false) => {
                Err(Error::new(ErrorKind::Busy, self.wire.asked(), "the device has no room")
                    .advise("send again later, or more slowly"))
            }
            Err(error) => Err(self.wire.explain(error)),
        }
    }
}
