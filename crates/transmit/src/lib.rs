//! Where packets go: templates of varying packets, the pace at which they leave, sinks that take them.
//!
//! - [`template`]: packets that vary, written as Scapy's users write them
//! - [`pacing`]: when each of them leaves
//! - [`permutation`]: every number below a limit once, in an order that looks random
//! - [`space`]: sets of numbers with random access
//! - [`blocklist`]: addresses that nothing is sent to

pub mod blocklist;
pub mod pacing;
pub mod permutation;
pub mod space;
pub mod template;

pub use blocklist::Blocklist;
pub use permutation::Permutation;
pub use template::Template;
