//! The client between a way in and a way out.

use std::net::SocketAddr;
use std::time::Duration;

use linerate::base::{Result, Sink, Source, Timestamp};
use linerate::tcp::{Application, Client};
use linerate::transmit::Hops;

use crate::commands::survey::Clock;

/// SYNs that are handed over together.
const BATCH: usize = 256;

/// A client, the packets that it gets and those that it sends, and by whom.
pub(crate) struct Wire {
    pub(crate) client: Client,
    hops: Hops,
    source: Box<dyn Source + Send>,
    sink: Box<dyn Sink + Send>,
    clock: Clock,
}

/// From where a connection begins, to whom, and by whom: the number of the local address, its port; the other end; the hardware
/// address of the next hop.
pub(crate) type Ends = ((usize, u16), SocketAddr, [u8; 6]);

impl Wire {
    pub(crate) fn new(
        client: Client,
        hops: Hops,
        source: Box<dyn Source + Send>,
        sink: Box<dyn Sink + Send>,
    ) -> Self {
        Self { client, hops, source, sink, clock: Clock::new() }
    }

    /// Takes what came, waiting at most `wait` for it, does what time asks for, and sends what is to be sent.
    ///
    /// # Errors
    /// When the interface is gone or down.
    pub(crate) fn turn(&mut self, wait: Duration, app: &mut impl Application) -> Result<()> {
        let batch = self.source.next_batch(wait)?;
        let now = self.clock.now();
        if let Some(batch) = batch {
            self.client.receive(&batch, now, app);
        }
        self.client.advance(now, app);
        let hops = &self.hops;
        self.client.transmit(&mut self.sink, &|to| hops.known(to), app)?;
        Ok(())
    }

    /// Asks for connections, as long as `next` names ends and there is room. Returns how many.
    ///
    /// # Errors
    /// As [`turn`](Self::turn), and those of `next`.
    pub(crate) fn ask(
        &mut self,
        mut next: impl FnMut(Timestamp, &mut Hops) -> Result<Option<Ends>>,
    ) -> Result<u64> {
        let now = self.clock.now();
        let mut count = 0;
        loop {
            let mut slots = self.sink.acquire(BATCH)?;
            let before = slots.room();
            while slots.room() > 0
                && let Some(((local, port), remote, hop)) = next(now, &mut self.hops)?
            {
                slots.push(|slot| self.client.syn(slot, local, port, remote, hop, now));
            }
            let (asked, is_full) = (before - slots.room(), slots.room() == 0);
            if asked > 0 {
                self.sink.submit()?;
            }
            count += asked as u64;
            if asked == 0 || !is_full {
                return Ok(count);
            }
        }
    }

    /// Waits until nothing is left to be sent.
    ///
    /// # Errors
    /// As [`turn`](Self::turn).
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.sink.flush(&mut || false)
    }

    /// How many packets were lost, as they came more quickly than they were looked at.
    ///
    /// # Errors
    /// As [`Source::stats`].
    pub(crate) fn lost(&mut self) -> Result<u64> {
        Ok(self.source.stats()?.dropped)
    }

    /// What time it is.
    pub(crate) fn now(&mut self) -> Timestamp {
        self.clock.now()
    }
}
