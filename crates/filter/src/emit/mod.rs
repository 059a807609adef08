//! From decision graphs to programs.
//!
//! - [`cbpf`]: classic BPF, for sockets and for the interpreter
//! - [`ebpf`]: extended BPF, for the kernel's hooks
//! - [`plan`]: plans, for engines in user space
//! - [`unbound`]: which slots must be zeroed first

pub(crate) mod cbpf;
pub(crate) mod ebpf;
pub(crate) mod plan;
mod unbound;
