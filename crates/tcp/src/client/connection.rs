//! What is kept of a connection.

use std::collections::TryReserveError;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use crate::disorder;
use crate::wheel::{Node, Nodes};
use crate::{Flow, Seq};

/// What is so of a connection, bit by bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Flags(u16);

impl Flags {
    /// Segments carry timestamps.
    pub(super) const TIMESTAMPS: Self = Self(1);
    /// The peer takes selective acknowledgements.
    pub(super) const SACK: Self = Self(1 << 1);
    /// Windows are scaled.
    pub(super) const SCALED: Self = Self(1 << 2);
    /// It is in the list of those with something to send.
    pub(super) const QUEUED: Self = Self(1 << 3);
    /// After the data comes FIN.
    pub(super) const CLOSING: Self = Self(1 << 4);
    /// FIN was sent: states FIN-WAIT, CLOSING, LAST-ACK.
    pub(super) const FIN_SENT: Self = Self(1 << 5);
    /// FIN was acknowledged: state FIN-WAIT-2 or TIME-WAIT.
    pub(super) const FIN_ACKED: Self = Self(1 << 6);
    /// The peer's FIN came: states CLOSE-WAIT, CLOSING, LAST-ACK, TIME-WAIT.
    pub(super) const PEER_FIN: Self = Self(1 << 7);
    /// The retransmission timer runs.
    pub(super) const ARMED: Self = Self(1 << 8);
    /// A round-trip time is being measured.
    pub(super) const TIMING: Self = Self(1 << 9);
    /// The first segment that is not acknowledged is to be sent again.
    pub(super) const AGAIN: Self = Self(1 << 10);
    /// A timeout happened, and what was sent before it is not acknowledged yet.
    pub(super) const RECOVERING: Self = Self(1 << 11);
    /// The peer's window is closed, and is to be tried.
    pub(super) const PROBE: Self = Self(1 << 12);
    /// RST is to be sent.
    pub(super) const ABORTING: Self = Self(1 << 13);
    /// The application was told of the end. Only late segments are answered.
    pub(super) const ENDED: Self = Self(1 << 14);
    /// It ended by RST; else by FIN, both ways.
    pub(super) const RESET: Self = Self(1 << 15);

    pub(super) fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Those of either.
    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) fn set(&mut self, other: Self) {
        self.0 |= other.0;
    }

    pub(super) fn clear(&mut self, other: Self) {
        self.0 &= !other.0;
    }

    /// Clears them, and tells whether they were set.
    pub(super) fn take(&mut self, other: Self) -> bool {
        let had = self.has(other);
        self.clear(other);
        had
    }
}

/// What every segment needs: one cache line. Names are those of RFC 9293 3.3.1.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Hot {
    /// The peer's address, that of IPv4 mapped.
    remote: [u8; 16],
    remote_port: u16,
    local_port: u16,
    /// Which of the local addresses.
    pub(super) local: u16,
    pub(super) flags: Flags,
    pub(super) snd_una: Seq,
    pub(super) snd_nxt: Seq,
    pub(super) snd_wnd: u32,
    pub(super) rcv_nxt: Seq,
    /// TS.Recent of RFC 7323 4.3.
    pub(super) ts_recent: u32,
    /// When the retransmission timer ends, a tick.
    pub(super) rto_at: u32,
    node: Node,
    /// Bits by which the peer's windows are shifted.
    pub(super) shift: u8,
    /// Times that the retransmission timer ended in a row.
    pub(super) timeouts: u8,
    /// Segments that may be under way.
    pub(super) flight: u8,
    /// Acknowledgements that the peer is to get.
    pub(super) owed: u8,
}

/// What only some segments need.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cold {
    /// The number behind the application's last byte.
    pub(super) data_end: Seq,
    /// When the connection, or what is left of it, ends at the latest, a tick.
    pub(super) deadline: u32,
    /// The record of data that came early.
    pub(super) disorder: u32,
    /// SRTT and RTTVAR of RFC 6298 2, in eighths and quarters of a millisecond; 0 before the first measurement.
    pub(super) srtt: u16,
    pub(super) rttvar: u16,
    /// Bytes of data in a segment.
    pub(super) mss: u16,
    /// When the segment whose time is taken was sent: the lower half of a tick, as no trip takes a minute.
    pub(super) timed: u16,
}

/// Segments that may be under way at first, and here at most (RFC 6928 2).
pub(super) const INITIAL_WINDOW: u8 = 10;

impl Hot {
    /// An established connection.
    pub(super) fn new(flow: &Flow, local: u16, snd: Seq, rcv_nxt: Seq) -> Self {
        Self {
            remote: crate::frame::ipv6(flow.remote.ip()),
            remote_port: flow.remote.port(),
            local_port: flow.local.port(),
            local,
            flags: Flags::default(),
            snd_una: snd,
            snd_nxt: snd,
            snd_wnd: 0,
            rcv_nxt,
            ts_recent: 0,
            rto_at: 0,
            node: Node::IDLE,
            shift: 0,
            timeouts: 0,
            flight: INITIAL_WINDOW,
            owed: 0,
        }
    }

    /// True for the connection of this flow, from this one of the local addresses.
    pub(super) fn is(&self, flow: &Flow, local: u16) -> bool {
        self.remote_port == flow.remote.port()
            && self.local_port == flow.local.port()
            && self.local == local
            && self.remote == crate::frame::ipv6(flow.remote.ip())
    }

    /// Its flow, from the local `address`.
    pub(super) fn flow(&self, address: IpAddr) -> Flow {
        let remote = Ipv6Addr::from(self.remote);
        let remote = match address {
            // Mapped when it was made: `to_canonical` gives it back.
            IpAddr::V4(_) => IpAddr::V6(remote).to_canonical(),
            IpAddr::V6(_) => IpAddr::V6(remote),
        };
        Flow {
            local: SocketAddr::new(address, self.local_port),
            remote: SocketAddr::new(remote, self.remote_port),
        }
    }

    /// Sequence numbers that are under way.
    pub(super) fn in_flight(&self) -> u32 {
        self.snd_nxt.since(self.snd_una)
    }

    /// The tick at which the wheel wakes it.
    pub(super) fn filed(&self) -> Option<u32> {
        self.node.at()
    }

    /// When its timer is to fire, which the wheel may know too early a time of.
    pub(super) fn next_tick(&self, deadline: u32) -> u32 {
        let is_sooner = !crate::wheel::is_reached(self.rto_at, deadline);
        if self.flags.has(Flags::ARMED) && is_sooner { self.rto_at } else { deadline }
    }
}

/// All connections. A number is given again once its connection is forgotten.
#[derive(Debug)]
pub(super) struct Slab {
    hot: Vec<Hot>,
    cold: Vec<Cold>,
    free: Vec<u32>,
}

impl Slab {
    /// Room for so many. It is set aside at once and taken up as it is used: what grows by doubling is there twice each time.
    pub(super) fn new(most: usize) -> Result<Self, TryReserveError> {
        let mut slab = Self { hot: Vec::new(), cold: Vec::new(), free: Vec::new() };
        slab.hot.try_reserve_exact(most)?;
        slab.cold.try_reserve_exact(most)?;
        Ok(slab)
    }

    pub(super) fn len(&self) -> usize {
        self.hot.len() - self.free.len()
    }

    pub(super) fn add(&mut self, hot: Hot, cold: Cold) -> u32 {
        if let Some(number) = self.free.pop() {
            (self.hot[number as usize], self.cold[number as usize]) = (hot, cold);
            return number;
        }
        self.hot.push(hot);
        self.cold.push(cold);
        self.hot.len() as u32 - 1
    }

    pub(super) fn remove(&mut self, number: u32) {
        self.free.push(number);
    }

    pub(super) fn hot(&mut self, number: u32) -> &mut Hot {
        &mut self.hot[number as usize]
    }

    pub(super) fn cold(&mut self, number: u32) -> &mut Cold {
        &mut self.cold[number as usize]
    }

    pub(super) fn is(&self, number: u32, flow: &Flow, local: u16) -> bool {
        self.hot[number as usize].is(flow, local)
    }

    /// The port of a connection's peer: reading it fetches the line that its next segment needs.
    pub(super) fn touch(&self, number: u32) -> u16 {
        self.hot[number as usize].remote_port
    }
}

impl Nodes for Slab {
    fn node(&mut self, number: u32) -> &mut Node {
        &mut self.hot[number as usize].node
    }
}

impl Cold {
    pub(super) fn new(data_end: Seq, deadline: u32, mss: u16) -> Self {
        Self { data_end, deadline, disorder: disorder::NONE, srtt: 0, rttvar: 0, mss, timed: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_takes_one_cache_line_and_little_beside() {
        assert_eq!((size_of::<Hot>(), align_of::<Hot>()), (64, 64));
        assert_eq!(size_of::<Cold>(), 20);
    }

    #[test]
    fn flows_are_kept_whole() {
        for (local, remote) in [("10.0.0.1:5", "10.0.0.2:6"), ("[fd00::1]:5", "[fd00::2]:6")] {
            let flow = Flow { local: local.parse().unwrap(), remote: remote.parse().unwrap() };
            let hot = Hot::new(&flow, 3, Seq(0), Seq(0));
            assert_eq!(hot.flow(flow.local.ip()), flow);
            assert!(hot.is(&flow, 3) && !hot.is(&flow, 2));
        }
    }
}
