//! Where packets are being lost, why, and what to do about it.
//!
//! An [`Examination`] watches the host for some time: counters before and after, what the kernel throws away
//! meanwhile, and what those who capture are doing. [`diagnose`] makes findings of that, stage by stage from the
//! card to the file.

mod advice;
mod causes;
mod examination;
mod findings;

use serde::Serialize;

pub use advice::Advice;
pub use causes::{Activity, Cause};
pub use examination::{Examination, Observation};
pub use findings::diagnose;

/// A place on a packet's way where it can be lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// The network card.
    Card,
    /// The interface's queue, from which the driver takes packets.
    Queue,
    /// The backlog of a CPU.
    Backlog,
    /// The host's stack.
    Stack,
    /// The buffer or ring of a packet socket.
    Socket,
    /// The rings of a tap.
    Tap,
    /// The rings of an AF_XDP socket.
    Xdp,
}

impl Stage {
    /// What it is called in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Card => "card",
            Self::Queue => "interface queue",
            Self::Backlog => "backlog",
            Self::Stack => "host's stack",
            Self::Socket => "packet socket",
            Self::Tap => "tap ring",
            Self::Xdp => "AF_XDP socket",
        }
    }
}

/// Packets that are lost at one place for one reason.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// Where.
    pub stage: Stage,
    /// Whose: an interface, or a process.
    pub subject: String,
    /// How many packets, in the time of the examination.
    pub packets: u64,
    /// True when somebody who wanted the packets did not get them; false for what is only worth knowing.
    pub is_loss: bool,
    /// Why, in a word.
    pub cause: Cause,
    /// The same in a sentence.
    pub explanation: String,
    /// What to change, the likeliest first.
    pub advice: Vec<Advice>,
}
