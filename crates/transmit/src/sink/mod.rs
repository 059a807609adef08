//! Sinks: what takes frames, behind [`linerate_base::Sink`].
//!
//! - `live`: a program in the kernel that gives frames to the driver ([`live`](crate::live))
//! - `ring`: a memory-mapped ring of the kernel (`PACKET_TX_RING`), one system call for all frames in it
//! - `xdp`: a ring of an AF_XDP socket, from which the driver takes frames where it has zero-copy; only when asked for
//! - `mmsg`: sendmmsg(2), up to 64 frames with one system call
//! - `socket`: send(2), a system call for each frame
//! - `file`: a savefile
//!
//! [`FrameSender`] is for who has single frames, and is no sink.
//!
//! All promise that `submitted = sent + refused + pending` at any time. Where a device has no room they keep frames, and
//! lend no slots meanwhile, so that the caller waits, and can end it; once flushed they wait for as long as frames
//! leave, and count them as refused when none has for 50 ms. `live` learns afterwards, from the device's count of lost frames. A device that takes a frame may
//! still lose it; its own counters tell.

mod buffer;
mod file;
mod open;
mod ring;
mod single;
mod socket;
mod wire;
mod xdp;

pub use crate::live::frames::Alike;
pub use file::FileSink;
pub use linerate_sys::xsk::Offloads;
pub(crate) use open::{ASKED_FOR, FAST, is_about_live, open_without_live, with_remedy};
pub use open::{Backend, Config, Opened, open, open_fast};
pub use single::FrameSender;
