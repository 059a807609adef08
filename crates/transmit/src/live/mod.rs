//! Templates filled in by an eBPF program, in the kernel: no frame crosses from user space.
//!
//! - [`Live`]: a plan that the kernel carries out
//! - [`Stamp`]: the program's part that makes the frame of a number, as [`Template::fill`](crate::Template::fill)
//!   does, byte for byte

mod code;
mod device;
mod index;
mod program;
mod sender;
mod stamp;

pub use sender::Live;
pub use stamp::Stamp;
