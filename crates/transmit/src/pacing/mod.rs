//! When frames leave: arithmetic on nanoseconds, no clock.
//!
//! A [`Pace`] says how fast and in what rhythm; a [`Schedule`] made of it tells when each frame is due. Times are whole
//! nanoseconds since the beginning, with the remainders carried on: nothing drifts, and 64 bits last for
//! centuries.

mod rate;
mod rhythm;
mod schedule;

pub use rate::{Rate, wire_bits};
pub use rhythm::{Gaps, Ramp};
pub use schedule::{Pace, Schedule};
