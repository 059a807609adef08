//! From decision graphs to programs.
//!
//! - [`cbpf`]: classic BPF, for sockets and for the interpreter
//! - [`ebpf`]: extended BPF, for the kernel's hooks
//! - [`plan`]: plans, for engines in user space
//! - [`set`]: rules, for many filters at once at the kernel's hooks
//! - [`unbound`]: which slots must be zeroed first

pub(crate) mod cbpf;
pub(crate) mod ebpf;
pub(crate) mod plan;
pub(crate) mod set;
mod unbound;
