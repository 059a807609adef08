//! Where each packet's time goes, and where packets are lost: of any capture on this machine, not only ours.
//!
//! Nothing here changes anything: it opens no packet socket, resets no counter and stops nobody. What may not be
//! looked at is left out, with an error that says what would allow it.
//!
//! - [`cost`]: what a packet costs, by component
//! - [`counters`]: what the kernel counts anyway, free of cost, as snapshots with differences
//! - [`drops`]: the packets that the kernel throws away, with its reasons and places
//! - [`path`]: the components of a packet's way, and which symbol of the kernel belongs to which
//! - [`symbols`]: names of functions, the kernel's and those of processes
//! - [`sampling`]: what the machine was doing, some hundred times a second, by component
//! - [`flame`]: the same as one tree of who called whom
//! - [`next`]: what would make packets cheaper
//! - [`doctor`]: where packets are being lost, why, and what to do about it

pub mod cost;
pub mod counters;
pub mod doctor;
pub mod drops;
pub mod flame;
pub mod next;
pub mod path;
pub mod sampling;
pub mod symbols;
