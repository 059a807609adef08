//! From decision graphs to programs.
//!
//! - [`cbpf`]: classic BPF, for sockets and for the interpreter

pub(crate) mod cbpf;
