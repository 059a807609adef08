//! Classic and extended BPF: instructions, checker, text forms, reference interpreter.
//!
//! - [`classic`]: the machine of `SO_ATTACH_FILTER` and of libpcap: [`classic::Program`]
//! - [`extended`]: the machine that the kernel verifies and compiles: [`extended::Assembler`]
//!
//! This crate knows no filter language and touches no kernel: it is the common tongue of the
//! filter compiler, which writes programs, and of the capture sources, which attach or run them.

pub mod classic;
pub mod extended;
