//! Packet sockets: send(2), a system call for each frame, or sendmmsg(2), one for many.

use std::io::{self, IoSlice};

use linerate_base::{Error, Result, Sink, SinkStats, Slots};
use linerate_sys::capability::{self, Capability};
use linerate_sys::packet_send;
use linerate_sys::packet_socket::{Level, PacketSocket};

use super::buffer::Buffer;
use super::wire::{Wire, drain};

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
    /// `slots`, `longest` and `mark` are as in [`Config`](super::Config); `most` is how many frames go out with a system
    /// call, [`packet_send::BATCH`] at most.
    pub(super) fn new(
        wire: Wire,
        slots: usize,
        longest: usize,
        most: usize,
        mark: Option<u32>,
    ) -> Result<Self> {
        let socket = bound(&wire, mark)?;
        let buffer = Buffer::new(slots, longest);
        Ok(Self { wire, socket, buffer, most, stats: SinkStats::default() })
    }

    /// Sends what finds room; the rest waits.
    fn send(&mut self) -> Result<()> {
        let sent = self.send_frames();
        self.stats.pending = self.buffer.frames().len() as u64;
        sent.map_err(|error| {
            self.give_up();
            self.wire.explain(error)
        })
    }

    fn send_frames(&mut self) -> io::Result<()> {
        let mut rest = self.buffer.frames();
        let (mut gone, mut bytes) = (0, 0);
        let ended = loop {
            if rest.len() == 0 {
                break Ok(());
            }
            match self.send_some(rest.clone()) {
                Ok(0) => break Ok(()),
                Ok(taken) => {
                    bytes += rest.by_ref().take(taken).map(|frame| frame.len() as u64).sum::<u64>();
                    gone += taken;
                }
                Err(error) => break Err(error),
            }
        };
        drop(rest);
        self.buffer.leave(gone);
        self.stats.sent += gone as u64;
        self.stats.sent_bytes += bytes;
        ended
    }

    /// Sends the first of `frames` with one system call; says how many.
    fn send_some<'a>(&self, frames: impl Iterator<Item = &'a [u8]>) -> io::Result<usize> {
        let mut frames = frames.map(IoSlice::new).take(self.most);
        if self.most == 1 {
            // Who sends them one by one is not to wait for memory.
            return frames.next().map_or(Ok(0), |frame| packet_send::send(&self.socket, &[frame]));
        }
        let frames: Vec<_> = frames.collect();
        packet_send::send(&self.socket, &frames)
    }

    fn give_up(&mut self) {
        self.stats.refused += self.buffer.frames().len() as u64;
        self.stats.pending = 0;
        self.buffer.clear();
    }
}

impl Sink for SocketSink {
    fn acquire(&mut self, most: usize) -> Result<Slots<'_>> {
        if self.stats.pending > 0 {
            self.submit()?;
        }
        Ok(if self.stats.pending > 0 { self.buffer.none() } else { self.buffer.acquire(most) })
    }

    fn submit(&mut self) -> Result<()> {
        // Frames were lent room only where none waited.
        self.stats.submitted += self.buffer.frames().len() as u64 - self.stats.pending;
        if let Err(error) = self.wire.watch() {
            self.give_up();
            return Err(error);
        }
        self.send()
    }

    fn flush(&mut self, stop: &mut dyn FnMut() -> bool) -> Result<()> {
        let flushed = drain(stop, || {
            self.send()?;
            Ok(self.buffer.frames().len())
        });
        self.give_up();
        flushed.map(drop)
    }

    fn stats(&self) -> SinkStats {
        self.stats
    }
}

/// A packet socket on the interface that it sends on. It receives nothing.
///
/// # Errors
/// [`Permission`](linerate_base::ErrorKind::Permission) without CAP_NET_RAW.
pub(super) fn bound(wire: &Wire, mark: Option<u32>) -> Result<PacketSocket> {
    let open = || -> io::Result<_> {
        let socket = PacketSocket::open(Level::Link)?;
        if let Some(mark) = mark {
            // Who may not mark frames may send them all the same.
            let _ = socket.set_mark(mark);
        }
        socket.bind(wire.link().index(), 0)?;
        Ok(socket)
    };
    open().map_err(|error| {
        capability::explain(Error::system(wire.asked(), error), &[Capability::NetRaw])
    })
}
