//! The vocabulary that every other crate of linerate speaks.
//!
//! - [`time`]: [`Timestamp`], nanoseconds since the epoch
//! - [`clock`]: [`TimestampSource`], who stamps packets
//! - [`link`]: [`LinkType`], what the first byte of a packet means
//! - [`packet`]: [`Packet`] and [`Batch`], bytes on loan from a source
//! - [`histogram`]: [`Histogram`], how often times of each length came
//! - [`hop`]: [`Hop`], by whom a destination is reached
//! - [`select`]: the [`Select`] trait, which says what packets of a batch to keep
//! - [`sink`]: the [`Sink`] trait, the one way packets go out
//! - [`source`]: the [`Source`] trait, the one way packets come in
//! - [`stats`]: [`Stats`], the counters whose sum must balance
//! - [`error`]: [`Error`], what was asked, what the system answered, what to do
//! - [`excerpt`]: [`Excerpt`], where in an expression a mistake is
//!
//! This crate imports no other crate of the workspace and makes no system call.

pub mod clock;
pub mod error;
pub mod excerpt;
pub mod histogram;
pub mod hop;
pub mod link;
pub mod packet;
pub mod select;
pub mod sink;
pub mod source;
pub mod stats;
pub mod time;

pub use clock::TimestampSource;
pub use error::{Error, ErrorKind, Result};
pub use excerpt::{Excerpt, Word};
pub use histogram::Histogram;
pub use hop::{Hop, Ways};
pub use link::LinkType;
pub use packet::{Batch, Descriptor, Direction, Interface, Packet};
pub use select::{Matches, Select};
pub use sink::{Sink, SinkStats, Slots};
pub use source::Source;
pub use stats::Stats;
pub use time::Timestamp;
