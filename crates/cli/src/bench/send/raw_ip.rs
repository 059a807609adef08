//! Sending as an application does: by a raw IP socket, through the host's routes.

use std::io::IoSlice;

use linerate::base::{Error, Result, Sink, SinkStats, Slots};
use linerate::sys::raw_ip::RawIp;

/// Bytes of the header that the host makes itself.
const ETHERNET: usize = 14;

/// Bytes between two slots: a frame of the bench, and more.
const STRIDE: usize = 128;

/// Sends the IP packets in frames, with a system call for each or for up to 64.
pub(super) struct RawIpSink {
    socket: RawIp,
    together: bool,
    region: Vec<u8>,
    lengths: Vec<u32>,
    stats: SinkStats,
}

impl RawIpSink {
    /// A socket in the calling thread's namespace.
    pub(super) fn open(slots: usize, together: bool) -> Result<Self> {
        let socket = RawIp::open().map_err(|e| Error::system("open a raw IP socket", e))?;
        let (region, lengths) = (vec![0; slots * STRIDE], Vec::with_capacity(slots));
        Ok(Self { socket, together, region, lengths, stats: SinkStats::default() })
    }

    /// Sends until all is sent or there is no room; gives how many were.
    fn send(&self) -> std::io::Result<usize> {
        let slots = self.region.chunks(STRIDE).zip(&self.lengths);
        let packets = slots.map(|(slot, length)| &slot[ETHERNET..*length as usize]);
        let mut sent = 0;
        if self.together {
            let packets: Vec<_> = packets.map(IoSlice::new).collect();
            while sent < packets.len() {
                match self.socket.send_many(&packets[sent..])? {
                    0 => break,
                    more => sent += more,
                }
            }
        } else {
            for packet in packets {
                if !self.socket.send(packet)? {
                    break;
                }
                sent += 1;
            }
        }
        Ok(sent)
    }
}

impl Sink for RawIpSink {
    fn acquire(&mut self, most: usize) -> Result<Slots<'_>> {
        let end = self.region.len().min(most.saturating_mul(STRIDE));
        Ok(Slots::new(&mut self.region[..end], STRIDE, 0, &mut self.lengths))
    }

    fn submit(&mut self) -> Result<()> {
        let sent = self.send().map_err(|e| Error::system("send raw IP packets", e))?;
        let frames = self.lengths.drain(..);
        self.stats.submitted += frames.len() as u64;
        self.stats.sent_bytes += frames.take(sent).map(u64::from).sum::<u64>();
        self.stats.sent += sent as u64;
        self.stats.refused = self.stats.submitted - self.stats.sent;
        Ok(())
    }

    fn flush(&mut self, _: &mut dyn FnMut() -> bool) -> Result<()> {
        Ok(())
    }

    fn stats(&self) -> SinkStats {
        self.stats
    }
}
