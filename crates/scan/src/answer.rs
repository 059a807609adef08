//! What was heard.

use std::net::IpAddr;
use std::time::Duration;

use linerate_base::Timestamp;
use linerate_tcp::quote::Trouble;

use crate::Target;

/// What an answer says of its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// SYN-ACK: somebody listens.
    Open,
    /// RST to a SYN: nobody listens.
    Closed,
    /// RST to an ACK: nothing on the way keeps it back.
    Unfiltered,
    /// A datagram.
    Reply,
    /// An echo.
    Echo,
    /// An ICMP error.
    Unreachable(Trouble),
}

impl Class {
    /// All names.
    pub const NAMES: &[&str] = &["open", "closed", "unfiltered", "reply", "echo", "unreachable"];

    /// Its name, one word, of [`NAMES`](Self::NAMES).
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Closed => "closed",
            Self::Unfiltered => "unfiltered",
            Self::Reply => "reply",
            Self::Echo => "echo",
            Self::Unreachable(_) => "unreachable",
        }
    }

    /// True for what the probe was to find.
    pub fn is_success(self) -> bool {
        !matches!(self, Self::Closed | Self::Unreachable(_))
    }
}

/// An answer to a probe of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Who was probed.
    pub target: Target,
    /// What it says.
    pub class: Class,
    /// Whom it is from: the target, or somebody on the way.
    pub from: IpAddr,
    /// Hops that it might have gone on for (TTL of IPv4).
    pub hop_limit: u8,
    /// Bytes of its payload.
    pub size: usize,
    /// When it came.
    pub time: Timestamp,
    /// How long the answer took, where it tells when the probe was sent.
    pub rtt: Option<Duration>,
}
