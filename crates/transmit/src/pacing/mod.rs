//! When frames leave.
//!
//! A [`Pace`] says how fast and in what rhythm; a [`Schedule`] made of it tells when each frame is due: arithmetic on
//! whole nanoseconds since the beginning, with the remainders carried on, so that nothing drifts and 64 bits last for
//! centuries. A `Clock` tells what time it is.

mod clock;
mod rate;
mod rhythm;
mod schedule;

pub(crate) use clock::{Clock, NAP};
pub use rate::{Rate, wire_bits};
pub use rhythm::{Gaps, Ramp};
pub use schedule::{Nonsense, Pace, Schedule};

/// A sender that was held up sends what it missed at once, but not more than this time's worth, in nanoseconds: what came
/// before is given up, and counted. It is longer than a busy machine's scheduler keeps a sender waiting, so that the
/// mean rate holds there; and short, as the rest of the burst is what a receiver has to take.
pub(crate) const CATCH_UP: u64 = 10_000_000;
