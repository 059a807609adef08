//! Replay: packets of a source, sent again.
//!
//! - a `Timing` says when: as they were recorded, or at a [pace](crate::pacing)
//! - `Frames` says what becomes of each: other addresses, padding, an Ethernet header, or nothing at all
//! - a `Replayer` brings source, frames, timing and sink together
//! - `Kept` is a source that can be played again from memory
//!
//! Whoever opens the source has filtered it already.

mod addresses;
mod checksum;
#[cfg(test)]
mod fakes;
mod frames;
mod kept;
mod prefix_map;
mod replayer;
mod rewrite;
mod speed;
mod timing;

pub use frames::{Frames, Skipped, carries};
pub use kept::Kept;
pub use prefix_map::PrefixMap;
pub use replayer::{Counts, Plan, Replayer, Report, Watch};
pub use rewrite::Rewrite;
pub use speed::Speed;
pub(crate) use timing::Timetable;
pub use timing::Timing;
