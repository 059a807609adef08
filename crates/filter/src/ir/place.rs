//! The symbolic bases that loads are relative to.

use super::value::ValueId;

/// Index of a [`Place`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PlaceId(pub(super) u32);

/// A header's beginning: `constant + variable` bytes into the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    pub(crate) header: Header,
    pub(crate) constant: u32,
    /// The part known only at run time: a slot, an IPv4 header's length, or their sum.
    pub(crate) variable: Option<ValueId>,
}

impl Place {
    /// The packet's first byte.
    pub(crate) const PACKET: Self = Self { header: Header::Packet, constant: 0, variable: None };
}

/// What begins at a [`Place`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Header {
    /// The captured bytes.
    Packet,
    /// The link-layer header in force: the packet's own, or that inside a tunnel.
    Link,
    /// The field that says which protocol the link layer carries.
    Type,
    /// The link layer's payload, an 802.2 header if there is one.
    Payload,
    /// The network-layer header.
    Network,
    /// The network-layer header where an 802.2 header without SNAP stands before it.
    NetworkLlc,
    /// The transport-layer header after IPv4.
    Transport,
    /// The transport-layer header after IPv6 without extension headers.
    Transport6,
}

impl Header {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Packet => "packet",
            Self::Link => "link",
            Self::Type => "type",
            Self::Payload => "payload",
            Self::Network => "network",
            Self::NetworkLlc => "network/llc",
            Self::Transport => "transport",
            Self::Transport6 => "transport6",
        }
    }
}
