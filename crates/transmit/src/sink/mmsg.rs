//! sendmmsg(2): many frames with one system call.

use std::io::IoSlice;

use linerate_base::{Result, Sink, SinkStats, Slots};
use linerate_sys::packet_send;

use super::buffer::Buffer;
use super::port::{Port, patiently};

/// Sends frames in batches.
#[derive(Debug)]
pub(super) struct MmsgSink {
    port: Port,
    buffer: Buffer,
    stats: SinkStats,
}

impl MmsgSink {
    pub(super) fn new(port: Port, slots: usize, longest: usize) -> Self {
        Self { port, buffer: Buffer::new(slots, longest), stats: SinkStats::default() }
    }

    fn send(&mut self) -> Result<()> {
        let frames: Vec<_> = self.buffer.frames().map(IoSlice::new).collect();
        let mut rest = frames.as_slice();
        while !rest.is_empty() {
            let mut taken = 0;
            let attempt = patiently(|| {
                taken = packet_send::send(&self.port.socket, rest)?;
                Ok(taken > 0)
            });
            if !attempt.map_err(|error| self.port.explain(error))? {
                break;
            }
            self.stats.sent += taken as u64;
            self.stats.sent_bytes += rest[..taken].iter().map(|f| f.len() as u64).sum::<u64>();
            rest = &rest[taken..];
        }
        Ok(())
    }
}

impl Sink for MmsgSink {
    fn acquire(&mut self, most: usize) -> Result<Slots<'_>> {
        Ok(self.buffer.acquire(most))
    }

    fn submit(&mut self) -> Result<()> {
        self.stats.submitted += self.buffer.frames().len() as u64;
        let result = self.port.watch().and_then(|()| self.send());
        self.buffer.clear();
        self.stats.refused = self.stats.submitted - self.stats.sent;
        result
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }

    fn stats(&self) -> SinkStats {
        self.stats
    }
}
