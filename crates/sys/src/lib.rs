//! Every system call of linerate, and all of its unsafe code.
//!
//! - [`process`]: the calling process, its user, its children's lives
//! - [`socket_filter`]: filters on sockets, and the kernel's verdict on single packets
//! - [`usage`]: what a finished child process used

pub mod process;
pub mod socket_filter;
pub mod usage;
