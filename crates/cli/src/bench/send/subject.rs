//! Who sends: ourselves, an application's socket, the peers.

use linerate::transmit::Backend;

use super::ground::Device;
use super::packets::Packets;
use super::peer::Peer;

/// One who sends.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    pub(super) name: String,
    pub(super) way: Way,
}

/// How it sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// A raw IP socket, with a system call for each packet or for 64.
    RawIp { together: bool },
    /// Frames that user space makes, by a back end of ours.
    Sink(Backend),
    /// Frames that a program of ours makes in the kernel.
    Template,
    /// A program that others wrote.
    Peer(Peer),
}

/// Names of those that others are compared with.
pub(in crate::bench) const RAW_IP: &str = "raw IP sendto";
pub(in crate::bench) const RING: &str = "PACKET_TX_RING (ring)";
pub(super) const TRAFGEN: &str = "trafgen";

/// Names of our best.
pub(in crate::bench) const FRAMES: &str = "live frames, 2 cores";
pub(in crate::bench) const TEMPLATE: &str = "live template";

const OURS: [(&str, Way); 6] = [
    ("AF_PACKET sendto (socket)", Way::Sink(Backend::Socket)),
    ("AF_PACKET sendmmsg (mmsg)", Way::Sink(Backend::Mmsg)),
    (RING, Way::Sink(Backend::Ring)),
    ("AF_XDP (xdp)", Way::Sink(Backend::Xdp)),
    (FRAMES, Way::Sink(Backend::Live)),
    (TEMPLATE, Way::Template),
];

/// All there are, in the order of the table; peers where they are installed.
pub(super) fn all() -> Vec<Subject> {
    let peers = Peer::ALL
        .into_iter()
        .filter_map(|peer| Some(Subject { name: peer.full_name()?, way: Way::Peer(peer) }));
    applications().chain(ours()).chain(peers).collect()
}

/// Sockets as applications have them.
pub(super) fn applications() -> impl Iterator<Item = Subject> {
    let ways = [(RAW_IP, false), ("raw IP sendmmsg", true)];
    ways.into_iter()
        .map(|(name, together)| Subject { name: name.into(), way: Way::RawIp { together } })
}

/// Our back ends.
pub(super) fn ours() -> impl Iterator<Item = Subject> {
    OURS.iter().map(|(name, way)| Subject { name: (*name).into(), way: *way })
}

impl Subject {
    /// True for packets that it can send.
    pub(super) fn can_send(&self, packets: Packets, device: Device) -> bool {
        match self.way {
            // An ifb takes no redirected frames.
            Way::Template | Way::Sink(Backend::Live) => device == Device::Veth,
            Way::Peer(peer) => peer.can_send(packets, device),
            Way::Sink(_) | Way::RawIp { .. } => true,
        }
    }
}
