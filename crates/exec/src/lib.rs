//! Compiled filters over batches of packets.
//!
//! An [`Engine`] is made of a [`Filter`](linerate_filter::Filter) and says of each packet of a leased batch
//! whether the filter keeps it. Its verdicts are those of the filter's program in the reference interpreter,
//! to the bit; it never panics and never reads outside the batch.
//!
//! Packets are taken in blocks of 256. An operation is done for all of a block before the
//! next, by vector instructions where the processor has them: a field is gathered from all packets into a
//! column, a test makes a mask of a column. Each node of the filter's [`Plan`](linerate_filter::plan::Plan)
//! has a mask of the packets that come to it, and is done once, in order. A packet that a node rejects is in
//! no mask any more.
//!
//! - `engine`: from batches to blocks, and who evaluates them
//! - `program`: plans made into columns and steps
//! - `join`: steps in a row made one
//! - `merge`: steps that ask the same of fields at different places made one
//! - `quads`: fields side by side that are loaded together
//! - `vector`: the evaluation of a block
//! - `columns`: fields and numbers of a block, made when they are first needed
//! - `fused`: all of a filter for sixteen packets, by vector code made for it
//! - `native`: one packet after the other, by machine code made for the filter
//! - `scalar`: the same everywhere else, step by step
//! - `pair`: both ports looked at in one of its steps
//! - `set`: many filters at once
//! - `sheet`: where it is noted which of them keep packets
//! - `lookup`: ways to see whether a number is in a set
//! - `bounds`: what a number's place among bounds stands for
//! - `lanes`: columns and masks
//! - `condition`: how numbers compare
//! - `portable`: what is done to them, in plain Rust
//! - `kernels`: the same by AVX2 and AVX-512, and the only unsafe code here
//! - `neon`: the same by NEON

#[cfg(target_arch = "x86_64")]
mod assembler;
mod bits;
#[cfg_attr(
    not(target_arch = "x86_64"),
    expect(dead_code, reason = "the first halvings are for the registers of AVX-512")
)]
mod bounds;
mod columns;
mod condition;
mod engine;
mod fused;
mod join;
mod kernels;
mod lanes;
mod lookup;
mod merge;
mod native;
#[cfg(target_arch = "aarch64")]
mod neon;
mod pair;
mod portable;
mod program;
mod quads;
mod scalar;
mod set;
mod sheet;
mod vector;

pub use engine::Engine;
pub use kernels::Level;
pub use set::{FilterSet, SetMatches};
