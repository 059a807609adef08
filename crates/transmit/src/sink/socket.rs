//! Packet sockets: send(2), a system call for each frame, or sendmmsg(2), one for many.

use std::io::{self, IoSlice};

use linerate_base::{Error, ErrorKind, Result, Sink, SinkStats, Slots};
use linerate_sys::packet_send;
use linerate_sys::packet_socket::{Level, PacketSocket};

use super::buffer::Buffer;
use super::wire::{Wire, patiently};

/// Sends frames, so many at most with one system call.
#[derive(Debug)]
pub(super) struct SocketSink {
    wire: Wire,
    socket: PacketSocket,
    buffer: Buffer,
    most: usize,
    stats: SinkStats,
}

impl SocketSink {
    /// `slots` and `longest` are as in [`Config`](super::Config); `most` is how many frames go out with a system
    /// call, [`packet_send::BATCH`] at most.
    pub(super) fn new(wire: Wire, slots: usize, longest: usize, most: usize) -> Result<Self> {
        let socket = bound(&wire)?;
        let buffer = Buffer::new(slots, longest);
        Ok(Self { wire, socket, buffer, most, stats: SinkStats::default() })
    }

    fn send(&mut self) -> Result<()> {
        let frames: Vec<_> = self.buffer.frames().map(IoSlice::new).collect();
        let mut rest = frames.as_slice();
        while !rest.is_empty() {
            let next = &rest[..rest.len().min(self.most)];
            let mut taken = 0;
            let attempt = patiently(|| {
                taken = packet_send::send(&self.socket, next)?;
                Ok(taken > 0)
            });
            if !attempt.map_err(|error| self.wire.explain(error))? {
                break;
            }
            self.stats.sent += taken as u64;
            self.stats.sent_bytes += next[..taken].iter().map(|f| f.len() as u64).sum::<u64>();
            rest = &rest[taken..];
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
        let result = self.wire.watch().and_then(|()| self.send());
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

/// A packet socket on the interface that it sends on. It receives nothing.
///
/// # Errors
/// [`ErrorKind::Permission`] without CAP_NET_RAW.
pub(super) fn bound(wire: &Wire) -> Result<PacketSocket> {
    let open = || -> io::Result<_> {
        let socket = PacketSocket::open(Level::Link)?;
        socket.bind(wire.index(), 0)?;
        Ok(socket)
    };
    open().map_err(|error| explain_open(Error::system(wire.asked(), error)))
}

fn explain_open(error: Error) -> Error {
    match error.kind() {
        ErrorKind::Permission => error.advise(
            "run it as root, or give it CAP_NET_RAW: \
             `setcap cap_net_raw,cap_net_admin=ep $(which linerate)`",
        ),
        _ => error,
    }
}
