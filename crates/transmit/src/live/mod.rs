//! Live frames: an eBPF program gives frames to the driver, without a system call or a socket buffer for each.
//!
//! - [`Live`]: a plan that the kernel carries out: the program makes the frames, and none crosses from user space
//! - [`Stamp`]: the program's part that makes the frame of a number, as [`Template::fill`](crate::Template::fill)
//!   does, byte for byte
//! - `frames`: the sink whose program pulls frames of user space out of a ring
//!
//! The kernel keeps a live frame in one page, with the structures that belong to it: none is longer than 3072 bytes.

mod code;
mod device;
pub(crate) mod frames;
mod index;
mod program;
mod sender;
mod share;
mod stamp;
mod watch;

pub use sender::{Live, suits};
pub use stamp::Stamp;
