//! What WinPcap and Npcap have and libpcap has not, for programs and bindings that know of it.
//!
//! [`queue`](crate::send::queue) has their send queues.

pub mod dump;
pub mod sampling;
pub mod settings;
pub mod statistics;
