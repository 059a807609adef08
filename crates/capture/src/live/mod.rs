//! Live sources: a packet socket behind a gate, and two ways to take packets from it.
//!
//! The way of a packet through the files here: [`gate`] turns it away or lets it into the socket's
//! buffer; [`ring`] or [`socket`] takes it out, many at a time; [`block`] finds the packets of a ring's
//! block; [`framer`] puts back what the kernel took off. [`port`] waits, watches the interface by
//! [`watch`] and keeps the [`ledger`]. What both ways share is [`Live`]; [`setup`] puts it together for a
//! [`place`].

pub(crate) mod block;
pub(crate) mod framer;
pub(crate) mod gate;
pub(crate) mod ledger;
pub(crate) mod place;
pub(crate) mod port;
pub(crate) mod ring;
pub(crate) mod setup;
pub(crate) mod socket;
pub(crate) mod watch;

use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use linerate_base::{Batch, Descriptor, Interface, Result, Source, Stats, TimestampSource};

use framer::Framer;
use port::{Idle, Port};

/// A way to take packets out of a socket's buffer.
pub(crate) trait Intake {
    /// Gives the last packets' space back and takes the next packets, if there are any, without
    /// waiting; returns how many they are.
    ///
    /// # Errors
    /// When what the kernel wrote makes no sense.
    fn fetch(&mut self, port: &mut Port) -> Result<usize>;

    /// The memory that the packets are in.
    fn region(&self) -> &[u8];

    /// Where in it they are.
    fn descriptors(&self) -> &[Descriptor];

    /// What they belong to.
    fn framer(&self) -> &Framer;

    /// Packets so far whose time is not the network card's.
    fn unstamped(&self) -> u64;
}

/// A source of packets that come by now.
#[derive(Debug)]
pub(crate) struct Live<I> {
    port: Port,
    intake: I,
}

impl<I: Intake> Live<I> {
    pub(crate) fn new(port: Port, intake: I) -> Self {
        Self { port, intake }
    }

    /// Takes the next packets; returns how many came in time, `None` at the end.
    fn find(&mut self, wait: Duration) -> Result<Option<usize>> {
        let mut deadline = None;
        loop {
            let packets = self.intake.fetch(&mut self.port)?;
            if packets > 0 {
                self.port.deliver(packets)?;
                return Ok(Some(packets));
            }
            match self.port.idle(*deadline.get_or_insert_with(|| after(wait)))? {
                Idle::Again => {}
                Idle::Nothing => return Ok(Some(0)),
                Idle::End => return Ok(None),
            }
        }
    }
}

impl<I: Intake> Source for Live<I> {
    fn interfaces(&self) -> &[Interface] {
        self.intake.framer().interfaces()
    }

    fn next_batch(&mut self, wait: Duration) -> Result<Option<Batch<'_>>> {
        let wait = self.port.await_news(wait)?;
        let found = self.find(wait);
        self.port.watch_on();
        Ok(found?.map(|packets| match packets {
            0 => Batch::empty(self.interfaces()),
            _ => Batch::new(self.intake.region(), self.intake.descriptors(), self.interfaces()),
        }))
    }

    fn stats(&mut self) -> Result<Stats> {
        let by_card = self.interfaces()[0].timestamps == Some(TimestampSource::Hardware);
        let unstamped = if by_card { self.intake.unstamped() } else { 0 };
        Ok(Stats { unstamped, ..self.port.stats()? })
    }

    fn watch(&mut self) -> Result<BorrowedFd<'_>> {
        self.port.watch()
    }

    fn stop(&mut self) -> Result<()> {
        self.port.stop()
    }
}

/// A point in time `wait` from now, or in a hundred years.
pub(crate) fn after(wait: Duration) -> Instant {
    const CENTURY: Duration = Duration::from_secs(100 * 365 * 86_400);
    Instant::now() + wait.min(CENTURY)
}

/// How long it is until `deadline`.
pub(crate) fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}
