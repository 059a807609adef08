//! Extended BPF: what the kernel verifies, compiles and runs at its hooks.
//!
//! Eleven 64-bit registers, a stack of 512 bytes, calls into the kernel, maps shared with user
//! space. Here are the instructions and what writes them; loading them is the `sys` crate's.
//!
//! - [`Instruction`]: one constructor for each kind, and the encoding
//! - [`Assembler`]: labels, forward and backward, over a growing program
//! - [`disassemble`]: text in the style of the kernel's verifier
//! - [`Predicate`]: a filter as a fragment of a larger program, at any [`Hook`]
//! - [`set`]: many filters at once, as maps
//! - [`from_classic`]: a classic program as an extended socket filter that counts what it sees
//!
//! Sources: RFC 9669 (the instruction set); the kernel's `Documentation/bpf/classic_vs_extended.rst`
//! and `linux/bpf.h` (Linux 6.18).

mod assembler;
mod far;
mod functions;
mod instruction;
mod predicate;
pub mod set;
mod text;
mod translate;

pub use assembler::{AssembleError, Assembler, Label};
pub use functions::helper;
pub use instruction::{Alu, Instruction, Operand, Register, Size, Test};
pub use predicate::{Hook, Metadata, Predicate};
pub use text::disassemble;
pub use translate::{TranslateError, from_classic};
