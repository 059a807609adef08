//! Savefiles, read and written through `FILE *` as libpcap does: the caller may have read or written before, and
//! may do so afterwards.

pub mod dump;
pub mod header;
pub(crate) mod large;
pub mod open;
mod rules;
pub(crate) mod stream;
