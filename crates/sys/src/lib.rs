//! Every system call of linerate, and all of its unsafe code.
//!
//! - [`process`]: the calling process, its user, its children's lives

pub mod process;
