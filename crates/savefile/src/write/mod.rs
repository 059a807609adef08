//! Writing: packets to bytes.
//!
//! ```text
//! Batch -> encoder (pcap | pcapng) -> one buffer -> Output (compression) -> Write
//! ```
//! The encoder appends to a buffer that is handed on whenever it is full, so that the `Write` below
//! needs none of its own.

mod merged;
mod name;
mod output;
mod pcap;
mod pcapng;
mod records;
mod writer;

pub(crate) use merged::Merged;
pub use output::{Compression, Output};
pub use records::Records;
pub use writer::{Counters, Format, Options, Precision, Writer};
