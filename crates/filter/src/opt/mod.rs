//! Passes that make the program smaller and quicker and leave every verdict as it is.
//!
//! In the order in which they run:
//! - [`resolve`]: symbolic places to offsets into the packet (always, emitters want it)
//! - [`fold`]: what is known without a packet, and simpler forms of what is not
//! - [`crate::ir::lower`] then makes a decision graph
//! - [`redundant`]: decisions whose outcome is known on the way to them, by way of [`knowledge`] and
//!   [`points`]
//! - [`hopeless`]: decisions that cannot lead to acceptance
//! - [`share`]: equal decisions with equal outcomes
//!
//! A load may reject the packet, so a pass may drop or repeat one that has already succeeded on
//! every way here, and no other.

pub(crate) mod fold;
pub(crate) mod hopeless;
mod knowledge;
mod points;
pub(crate) mod redundant;
pub(crate) mod resolve;
pub(crate) mod share;
