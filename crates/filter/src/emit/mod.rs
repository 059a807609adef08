//! From decision graphs to programs.
//!
//! - [`cbpf`]: classic BPF, for sockets and for the interpreter
//! - [`ebpf`]: extended BPF, for the kernel's hooks
//! - [`unbound`]: which slots must be zeroed first

pub(crate) mod cbpf;
pub(crate) mod ebpf;
mod unbound;
