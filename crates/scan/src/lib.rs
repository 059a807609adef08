//! Many targets: stateless probes of each and what their answers say, or a connection to each.
//!
//! Nothing is kept of a probe, nor of a connection before it is open. All that an answer has to give back is a keyed MAC of its target, so answers nobody asked for
//! are told from others, and any host can send any part of a scan.
//!
//! - [`targets`]: [`Targets`], addresses and ports in a random order with random access
//! - [`probe`]: [`Prober`], which writes probes and recognises answers
//! - `form`: probes that are made beforehand, but for what varies
//! - [`payload`]: [`Payload`], what datagrams say
//! - [`answer`]: [`Answer`], what was heard
//! - `walk`: [`Walk`], who is next; `caps`: [`Caps`], how many of a host and of a network at once; `trail`: from where a run that
//!   is ended now has to go on; `roll`: who was named
//! - [`visit`]: connections to many targets, a request to each, and what they answer
//! - [`reserved`]: addresses that are nobody's
//!
//! It has no socket and no clock.

pub mod answer;
mod caps;
mod form;
pub mod payload;
pub mod probe;
pub mod reserved;
mod roll;
pub mod targets;
mod trail;
pub mod visit;
mod walk;

pub use answer::{Answer, Class};
pub use caps::Caps;
pub use payload::Payload;
pub use probe::{Kind, Origin, Prober};
pub use targets::{Addresses, Shard, Target, Targets};
pub use walk::Walk;
