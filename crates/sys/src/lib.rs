//! Every system call of linerate, and all of its unsafe code.
//!
//! - [`cpu`]: which cores a thread runs on
//! - [`netlink`]: links, addresses and neighbours, by routing netlink
//! - [`netns`]: network namespaces, held by nothing but a file descriptor
//! - [`process`]: the calling process, and what its children begin with
//! - [`socket_filter`]: filters on sockets, and the kernel's verdict on single packets
//! - [`usage`]: what a finished child process used
//! - [`userns`]: root over what one makes, without being root

pub mod cpu;
pub mod netlink;
pub mod netns;
pub mod process;
pub mod socket_filter;
pub mod usage;
pub mod userns;
