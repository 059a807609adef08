//! AF_XDP: frames of one queue, straight from the driver and to it.
//!
//! [`Umem`] is the memory that frames are received in, a part of it for each queue. [`Queue`] is a
//! socket on one queue of an interface with two rings shared with the kernel: by the fill ring it
//! gives the kernel empty frames, by the receive ring it gets them back with packets in them. An XDP
//! program decides which packets those are, by redirecting them into a map that holds the socket.
//!
//! Packets are leased: [`Queue::lease`] takes those that are there, [`Queue::frame`] says where each
//! lies, [`Queue::release`] gives their frames back to the kernel.
//!
//! [`TransmitQueue`] is the way out: a socket with a transmit ring, by which the kernel gets frames,
//! and a completion ring, by which it gives them back. [`Offloads`] is what the driver is asked to do with them.
//!
//! Of other processes' sockets, [`of_process`] tells the counters.
//!
//! Source: `linux/if_xdp.h` and Documentation/networking/af_xdp.rst, Linux 6.18.

mod bind;
mod foreign;
mod metadata;
mod queue;
mod ring;
mod slots;
mod socket;
mod transmit;
mod umem;

pub use foreign::{are_in_use, of_process};
pub use metadata::{Offloads, PartialChecksum};
pub use queue::{Frame, Queue};
pub use slots::Outcome;
pub use socket::Statistics;
pub use transmit::TransmitQueue;
pub use umem::{FRAME_HEADROOM, FrameSize, Umem};

/// Whether this process may open AF_XDP sockets.
///
/// # Errors
/// `EAFNOSUPPORT` when the kernel has none; `EPERM` without CAP_NET_RAW.
pub fn check() -> std::io::Result<()> {
    socket::Socket::open().map(drop)
}
