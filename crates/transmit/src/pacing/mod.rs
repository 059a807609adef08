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
pub use schedule::{Pace, Schedule};
