//! `PACKET_TX_RING`: frames in memory shared with the kernel, one system call for all that wait there.

use std::collections::VecDeque;
use std::io;

use linerate_base::{Result, Sink, SinkStats, Slots};
use linerate_sys::packet_tx_ring::{HEAD, TxRing};

use super::port::{Port, patiently};

/// Sends frames from a ring.
#[derive(Debug)]
pub(super) struct RingSink {
    port: Port,
    ring: TxRing,
    lengths: Vec<u32>,
    /// Lengths of the frames that are pending, the oldest first.
    pending: VecDeque<u32>,
    stats: SinkStats,
}

impl RingSink {
    pub(super) fn new(port: Port, slots: usize, longest: usize) -> io::Result<Self> {
        let ring = TxRing::new(&port.socket, slots, longest)?;
        let stats = SinkStats::default();
        Ok(Self { port, ring, lengths: Vec::new(), pending: VecDeque::new(), stats })
    }

    /// Has the kernel send what waits in the ring; what finds no room goes on waiting. True when nothing does.
    fn kick(&mut self) -> Result<bool> {
        let kicked = self.ring.kick(&self.port.socket);
        self.complete();
        kicked.map_err(|error| {
            self.give_up();
            self.port.explain(error)
        })?;
        Ok(self.pending.is_empty())
    }

    /// Takes note of what the driver is done with.
    fn complete(&mut self) {
        let sent = self.ring.complete();
        self.stats.sent += sent as u64;
        self.stats.sent_bytes += self.pending.drain(..sent).map(u64::from).sum::<u64>();
        self.stats.pending = self.pending.len() as u64;
    }

    /// Takes back what has not been sent.
    fn give_up(&mut self) {
        let refused = self.ring.withdraw();
        self.pending.truncate(self.pending.len() - refused);
        self.stats.refused += refused as u64;
        self.stats.pending = self.pending.len() as u64;
    }
}

impl Sink for RingSink {
    fn acquire(&mut self, most: usize) -> Result<Slots<'_>> {
        if !self.pending.is_empty() {
            self.kick()?;
        }
        let stride = self.ring.stride();
        Ok(Slots::new(self.ring.acquire(most), stride, HEAD, &mut self.lengths))
    }

    fn submit(&mut self) -> Result<()> {
        self.stats.submitted += self.lengths.len() as u64;
        if let Err(error) = self.port.watch() {
            self.stats.refused += self.lengths.drain(..).len() as u64;
            self.give_up();
            return Err(error);
        }
        self.ring.submit(&self.lengths);
        self.pending.extend(self.lengths.drain(..));
        self.kick().map(drop)
    }

    /// As long as frames leave it goes on; when for a moment none does, the rest is taken back.
    fn flush(&mut self) -> Result<()> {
        let mut left = usize::MAX;
        while self.pending.len() < left && !self.kick()? {
            left = self.pending.len();
            patiently(|| self.kick().map(|_| self.pending.len() < left))?;
        }
        self.give_up();
        match self.pending.len() {
            0 => Ok(()),
            held => Err(self.port.held(held)),
        }
    }

    fn stats(&self) -> SinkStats {
        self.stats
    }
}
