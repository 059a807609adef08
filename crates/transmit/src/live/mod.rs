//! Templates filled in by an eBPF program, in the kernel: no frame crosses from user space.
//!
//! - [`stamp`]: the program's part that makes the frame of a number, as [`Template::fill`](crate::Template::fill)
//!   does, byte for byte
//! - [`index`]: which value each field has in it
//! - [`code`]: what both are written with

mod code;
mod index;
pub mod stamp;

pub use stamp::Stamp;
