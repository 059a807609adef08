//! Two hosts on one wire, for tests, demos and benches.
//!
//! - [`need`]: what a test needs of the machine, and skipping aloud without it

pub mod need;
