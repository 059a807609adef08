//! Passes that make the program smaller and quicker and leave every verdict as it is.
//!
//! In the order in which they run:
//! - [`resolve`]: symbolic places to offsets into the packet (always, emitters want it)
//! - [`fold`]: what is known without a packet, and simpler forms of what is not
//! - [`crate::ir::lower`] then makes a decision graph
//! - [`redundant`]: decisions whose outcome is known on the way to them, by way of [`knowledge`]: what tests
//!   on every way here ([`points`]) say of a number's range and bits ([`fact`]), and what is known of it
//!   beforehand ([`values`])
//! - [`hopeless`]: decisions that cannot lead to acceptance
//! - [`share`]: equal decisions with equal outcomes
//!
//! A load may reject the packet, so a pass may drop or repeat one that has already succeeded on
//! every way here, and no other. [`validation`] holds each of them to that.
//!
//! Equal values have one number from the beginning, whichever way they were come by ([`crate::ir`]). What depends
//! on who runs the filter is done behind these passes, with cases of its own:
//! - chains of comparisons: sets and ranges in plans (`emit/plan/runs.rs`, `tests/cases/plans.txt`), searches by halves
//!   in fragments (`emit/ebpf/set.rs`, `tests/cases/fragments.txt`). Both look at fields in another order only once all
//!   of them have been loaded, and nothing can reject any more
//! - one check of the packet's length for all loads behind it: fragments (`emit/ebpf/widen.rs`); engines of `exec` look at
//!   the shortest packet of a block
//! - constants in network order: fragments, and the fused code of `exec`
//! - fields side by side loaded together: `exec`, by windows of four bytes and quads of sixteen

mod fact;
pub(crate) mod fold;
pub(crate) mod hopeless;
mod knowledge;
mod points;
pub(crate) mod redundant;
pub(crate) mod resolve;
pub(crate) mod share;
#[cfg(test)]
mod validation;
mod values;
