//! The client side of TCP in user space, over any source and sink of frames.
//!
//! [`Client`] opens connections from addresses that are its own: it makes SYNs, is shown batches of frames and the time,
//! talks with an [`Application`], and fills batches of frames to be sent. It has no socket and no clock, never listens, and
//! of a SYN under way it keeps nothing.
//!
//! - [`client`]: [`Client`] itself
//! - [`key`]: [`Key`], by which answers are recognised, and [`Flow`], the two ends of a connection
//! - [`seq`]: [`Seq`], sequence numbers
//! - [`segment`]: TCP segments read and written
//! - [`quote`]: ICMP errors and what they quote
//! - [`frame`]: IP packets in Ethernet frames
//! - [`faults`]: [`FaultBox`](faults::FaultBox), a wire that treats frames badly, to test clients with
//! - [`mirror`]: [`Mirror`](mirror::Mirror), a stateless responder for whole prefixes
//! - `table`, `wheel`, `disorder`: how a connection is found, its timers, and its data that came early
//!
//! It panics when the sink's slots are shorter than [`Client::longest`], and for nothing that comes from the wire.

pub mod client;
mod disorder;
pub mod faults;
pub mod frame;
pub mod key;
pub mod mirror;
pub mod quote;
pub mod segment;
pub mod seq;
mod table;
mod wheel;

pub use client::{Application, Client, Config, Counters, End, Local, Next, NextHops, Refusal};
pub use key::{Flow, Key, Mac};
pub use seq::Seq;
