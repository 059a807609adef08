//! Reading: bytes to batches.
//!
//! ```text
//! Read -> input (decompression) -> window (one reused buffer) -> pcap | pcapng -> table -> Batch
//! ```
//! A parser works through all whole records in the window at once and notes each packet's place in the
//! table; the batch lends window and table out. No packet is copied out of the window, and nothing is
//! allocated per packet. Pseudo-headers in the other byte order are turned where they lie.

mod cutter;
mod detached;
mod fault;
mod format;
mod input;
mod lz4;
mod pcap;
mod pcapng;
mod pseudo;
mod reader;
mod table;
mod warning;
mod window;

pub use cutter::{Cut, Cutter};
pub use detached::Detached;
pub use reader::Reader;
pub use table::Recorded;
pub use warning::Warning;
