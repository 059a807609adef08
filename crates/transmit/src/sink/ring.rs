//! Frames in memory shared with the kernel, one system call for all that wait there.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;

use linerate_base::{Error, Result, Sink, SinkStats, Slots, Timestamp};
use linerate_sys::packet_socket::PacketSocket;
use linerate_sys::packet_tx_ring::{HEAD, TxRing};
use linerate_sys::xsk::Outcome;

use super::wire::{Wire, drain, patiently};

/// A row of slots that process and kernel share. Frames leave in the order in which they were submitted.
pub(super) trait Ring {
    /// Bytes from one slot to the next.
    fn stride(&self) -> usize;

    /// How far behind the beginning of its slot a frame begins.
    fn head(&self) -> usize;

    /// At most `most` slots that follow one another and are the process's.
    fn acquire(&mut self, most: usize) -> &mut [u8];

    /// The first of the frames in the acquired slots that the kernel would take and never send, and what is wrong
    /// with it; `None` where the kernel says so itself.
    fn misfit(&mut self, lengths: &[u32], wire: &Wire) -> Option<(usize, Error)>;

    /// Hands over the first of the acquired slots, with frames of these lengths, due at these times of
    /// `CLOCK_MONOTONIC`.
    fn submit(&mut self, lengths: &[u32], dates: &[Timestamp]);

    /// Has the kernel send what was handed over; what finds no room waits.
    fn kick(&mut self) -> io::Result<()>;

    /// Tells what became of the frames, the oldest first, with which the kernel is done since the last call.
    fn complete(&mut self, tell: &mut dyn FnMut(Outcome));

    /// Takes back the frames, the newest first, that the kernel has not begun to send; returns how many.
    fn withdraw(&mut self) -> usize;
}

/// `PACKET_TX_RING`: a ring of packet sockets.
#[derive(Debug)]
pub(super) struct PacketRing {
    socket: PacketSocket,
    ring: TxRing,
}

impl PacketRing {
    pub(super) fn new(socket: PacketSocket, slots: usize, longest: usize) -> io::Result<Self> {
        let ring = TxRing::new(&socket, slots, longest)?;
        Ok(Self { socket, ring })
    }
}

impl Ring for PacketRing {
    fn stride(&self) -> usize {
        self.ring.stride()
    }

    fn head(&self) -> usize {
        HEAD
    }

    fn acquire(&mut self, most: usize) -> &mut [u8] {
        self.ring.acquire(most)
    }

    fn misfit(&mut self, _: &[u32], _: &Wire) -> Option<(usize, Error)> {
        None
    }

    fn submit(&mut self, lengths: &[u32], _: &[Timestamp]) {
        self.ring.submit(lengths);
    }

    fn kick(&mut self) -> io::Result<()> {
        self.ring.kick(&self.socket).map(drop)
    }

    fn complete(&mut self, tell: &mut dyn FnMut(Outcome)) {
        (0..self.ring.complete()).for_each(|_| tell(Outcome::Sent));
    }

    fn withdraw(&mut self) -> usize {
        self.ring.withdraw()
    }
}

/// Sends frames from a ring.
#[derive(Debug)]
pub(super) struct RingSink<R> {
    wire: Wire,
    ring: R,
    lengths: Vec<u32>,
    dates: Vec<Timestamp>,
    /// Lengths of the frames that are pending, the oldest first.
    pending: VecDeque<u32>,
    stats: SinkStats,
}

impl<R: Ring> RingSink<R> {
    pub(super) fn new(wire: Wire, ring: R) -> Self {
        let (lengths, dates, pending) = (Vec::new(), Vec::new(), VecDeque::new());
        Self { wire, ring, lengths, dates, pending, stats: SinkStats::default() }
    }

    /// Has the kernel send what waits in the ring; what finds no room goes on waiting.
    fn kick(&mut self) -> Result<()> {
        let kicked = self.ring.kick();
        self.complete();
        kicked.map_err(|error| {
            self.give_up();
            self.wire.explain(error)
        })
    }

    /// Takes note of what the driver is done with.
    fn complete(&mut self) {
        let Self { ring, pending, stats, .. } = self;
        ring.complete(&mut |outcome| {
            // What was let go has been counted.
            let Some(length) = pending.pop_front() else { return };
            match outcome {
                Outcome::Sent => {
                    stats.sent += 1;
                    stats.sent_bytes += u64::from(length);
                }
                Outcome::Lost => stats.refused += 1,
            }
        });
        stats.pending = pending.len() as u64;
    }

    /// Takes back what has not been sent.
    fn give_up(&mut self) {
        let refused = self.ring.withdraw();
        self.pending.truncate(self.pending.len() - refused);
        self.stats.refused += refused as u64;
        self.stats.pending = self.pending.len() as u64;
    }

    /// Waits for a moment for what the device has begun to send; the rest leaves when nobody waits any more.
    fn let_go(&mut self) {
        let Ok(_) = patiently(|| {
            self.complete();
            Ok::<_, Infallible>(self.pending.is_empty())
        });
        self.stats.sent += self.pending.len() as u64;
        self.stats.sent_bytes += self.pending.drain(..).map(u64::from).sum::<u64>();
        self.stats.pending = 0;
    }

    /// Hands over the filled frames, up to the first that does not fit; what is wrong with that one.
    fn hand_over(&mut self) -> Option<Error> {
        let misfit = self.ring.misfit(&self.lengths, &self.wire);
        let fitting = misfit.as_ref().map_or(self.lengths.len(), |(index, _)| *index);
        self.ring.submit(&self.lengths[..fitting], &self.dates[..fitting]);
        self.pending.extend(self.lengths.drain(..fitting));
        self.stats.refused += self.lengths.drain(..).len() as u64;
        misfit.map(|(_, error)| error)
    }
}

impl<R: Ring> Sink for RingSink<R> {
    fn acquire(&mut self, most: usize) -> Result<Slots<'_>> {
        if !self.pending.is_empty() {
            self.kick()?;
        }
        let (stride, head) = (self.ring.stride(), self.ring.head());
        let slots = Slots::new(self.ring.acquire(most), stride, head, &mut self.lengths);
        Ok(slots.dated(&mut self.dates))
    }

    fn submit(&mut self) -> Result<()> {
        self.stats.submitted += self.lengths.len() as u64;
        if let Err(error) = self.wire.watch() {
            self.stats.refused += self.lengths.drain(..).len() as u64;
            self.give_up();
            return Err(error);
        }
        let misfit = self.hand_over();
        self.kick()?;
        misfit.map_or(Ok(()), Err)
    }

    /// As long as frames leave it goes on; when for a moment none does, the rest is taken back.
    fn flush(&mut self, stop: &mut dyn FnMut() -> bool) -> Result<()> {
        let is_stopped = drain(stop, || {
            self.kick()?;
            Ok(self.pending.len())
        })?;
        self.give_up();
        if is_stopped {
            self.let_go();
        }
        match self.pending.len() {
            0 => Ok(()),
            held => Err(self.wire.held(held)),
        }
    }

    fn stats(&self) -> SinkStats {
        self.stats
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ring of four slots that refuses frames of less than 14 bytes and remembers the others.
    #[derive(Default)]
    struct Taken {
        region: Vec<u8>,
        frames: Vec<(u32, i64)>,
        done: usize,
    }

    impl Ring for Taken {
        fn stride(&self) -> usize {
            100
        }

        fn head(&self) -> usize {
            24
        }

        fn acquire(&mut self, most: usize) -> &mut [u8] {
            self.region.resize(100 * most.min(4), 0);
            &mut self.region
        }

        fn misfit(&mut self, lengths: &[u32], wire: &Wire) -> Option<(usize, Error)> {
            lengths.iter().position(|length| *length < 14).map(|at| (at, wire.held(1)))
        }

        fn submit(&mut self, lengths: &[u32], dates: &[Timestamp]) {
            self.frames.extend(lengths.iter().copied().zip(dates.iter().map(|date| date.nanos())));
        }

        fn kick(&mut self) -> io::Result<()> {
            Ok(())
        }

        fn complete(&mut self, tell: &mut dyn FnMut(Outcome)) {
            (self.done..self.frames.len()).for_each(|_| tell(Outcome::Sent));
            self.done = self.frames.len();
        }

        fn withdraw(&mut self) -> usize {
            0
        }
    }

    #[test]
    fn the_ring_is_told_when_each_frame_is_due_that_it_gets() {
        let mut sink = RingSink::new(Wire::find("lo").unwrap(), Taken::default());
        for (lengths, is_taken) in [([60, 61, 62], true), ([63, 5, 64], false)] {
            let mut slots = sink.acquire(9).unwrap();
            for length in lengths {
                slots.date(Timestamp::from_nanos(1_000 + length as i64));
                slots.push(|_| length);
            }
            assert_eq!(sink.submit().is_ok(), is_taken);
        }
        assert_eq!(
            sink.ring.frames,
            [60, 61, 62, 63].map(|length| (length, 1_000 + i64::from(length)))
        );
        assert_eq!((sink.stats().sent, sink.stats().refused), (4, 2));
        assert!(sink.stats().balances());
    }
}
