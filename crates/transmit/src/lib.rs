//! Where packets go: templates of varying packets, the pace at which they leave, sinks that take them.
//!
//! - [`template`]: packets that vary, written as Scapy's users write them
//! - [`pacing`]: when each of them leaves
//! - [`live`]: a program in the kernel that fills in templates, or sends what user space made
//! - [`sink`]: what takes them
//! - [`replay`]: packets of a savefile, sent again
//! - [`run`](run()), [`run_supply`]: the loop that brings these together
//! - [`Sender`]: which of the ways is taken
//! - [`host`]: the interface that sends, and what lies behind it
//! - [`hops`]: by whom each of many destinations is reached
//! - [`permutation`]: every number below a limit once, in an order that looks random
//! - [`space`]: sets of numbers with random access
//! - [`blocklist`]: addresses that nothing is sent to

pub mod blocklist;
mod crew;
mod handover;
pub mod hops;
pub mod host;
mod link;
pub mod live;
pub mod pacing;
pub mod permutation;
pub mod replay;
mod run;
mod sender;
pub mod sink;
pub mod space;
mod supply;
pub mod template;

pub use blocklist::Blocklist;
pub use handover::{BATCH, End, Report};
pub use hops::Hops;
pub use host::Outlet;
pub use permutation::Permutation;
pub use run::{Plan, Watch, run};
pub use sender::Sender;
pub use sink::Backend;
pub use supply::{Supply, run_supply};
pub use template::Template;
