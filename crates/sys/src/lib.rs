//! Every system call of linerate, and all of its unsafe code.
//!
//! - [`process`]: the calling process, its user, its children's lives
//! - [`usage`]: what a finished child process used

pub mod process;
pub mod usage;
