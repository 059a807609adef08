//! send(2): a system call for each frame.

use linerate_base::{Result, Sink, SinkStats, Slots};
use linerate_sys::packet_send;

use super::buffer::Buffer;
use super::port::{Port, patiently};

/// Sends frames one by one.
#[derive(Debug)]
pub(super) struct SocketSink {
    port: Port,
    buffer: Buffer,
    stats: SinkStats,
}

impl SocketSink {
    pub(super) fn new(port: Port, slots: usize, longest: usize) -> Self {
        Self { port, buffer: Buffer::new(slots, longest), stats: SinkStats::default() }
    }

    fn send(&mut self) -> Result<()> {
        for frame in self.buffer.frames() {
            let taken = patiently(|| packet_send::send_one(&self.port.socket, frame));
            if !taken.map_err(|error| self.port.explain(error))? {
                break;
            }
            self.stats.sent += 1;
            self.stats.sent_bytes += frame.len() as u64;
        }
        Ok(())
    }
}

impl Sink for SocketSink {
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
