//! The one loop: batches from a source to whoever wants them, until the end.

use std::time::{Duration, Instant};

use anyhow::Result;
use linerate::base::{Batch, Error, ErrorKind, Source, Stats};
use linerate::capture::Interrupt;

use crate::live::LiveLine;
use crate::signals::Requests;
use crate::{output, summary};

/// Somebody who wants the packets: printer, saver.
pub(crate) trait Consumer {
    /// Takes the packets of one batch.
    ///
    /// # Errors
    /// When they cannot be written.
    fn batch(&mut self, batch: &Batch<'_>) -> Result<()>;

    /// Called when nothing came for a while: what is buffered should become visible.
    ///
    /// # Errors
    /// When it cannot be written.
    fn idle(&mut self) -> Result<()>;

    /// Told from time to time how the source fares.
    fn stats(&mut self, _: &Stats) {}

    /// True when this consumer wants no more packets.
    fn full(&self) -> bool {
        false
    }
}

/// When to end, and whom to tell meanwhile.
pub(crate) struct Pump {
    pub(crate) requests: Requests,
    pub(crate) interrupt: Interrupt,
    /// Packets to take at the most.
    pub(crate) limit: Option<u64>,
    pub(crate) deadline: Option<Instant>,
    pub(crate) live: LiveLine,
}

/// The longest wait for packets: as long as buffered output may stay unseen.
const TICK: Duration = Duration::from_millis(100);

impl Pump {
    /// Runs until the source ends, a limit is reached or the user wants an end, then stops the source.
    /// Gives the number of packets that the consumers took, and the source's or a consumer's error.
    pub(crate) fn run(
        &mut self,
        source: &mut dyn Source,
        consumers: &mut [&mut dyn Consumer],
    ) -> (u64, Result<()>) {
        let mut taken = 0;
        let result = self.until_end(source, consumers, &mut taken);
        self.live.clear();
        let stopped = source.stop().map_err(Into::into);
        (taken, result.and(stopped))
    }

    fn until_end(
        &mut self,
        source: &mut dyn Source,
        consumers: &mut [&mut dyn Consumer],
        taken: &mut u64,
    ) -> Result<()> {
        let mut stopping = false;
        while !self.requests.stop_now() && self.limit != Some(*taken) {
            if !stopping && self.wants_end(consumers) {
                source.stop()?;
                stopping = true;
            }
            match source.next_batch(self.wait()) {
                Ok(None) => break,
                Ok(Some(batch)) => *taken += self.hand_over(batch, *taken, consumers)?,
                Err(error) if error.kind() == ErrorKind::Down => self.say_down(&error),
                Err(error) => return Err(error.into()),
            }
            self.tell(source, consumers)?;
        }
        Ok(())
    }

    fn hand_over(
        &self,
        batch: Batch<'_>,
        taken: u64,
        consumers: &mut [&mut dyn Consumer],
    ) -> Result<u64> {
        let room = self.limit.map_or(u64::MAX, |limit| limit - taken);
        let batch = batch.truncate(usize::try_from(room).unwrap_or(usize::MAX));
        for consumer in consumers {
            if batch.is_empty() { consumer.idle()? } else { consumer.batch(&batch)? }
        }
        Ok(batch.len() as u64)
    }

    /// The interface may come back, and a long capture should then still be there.
    fn say_down(&mut self, error: &Error) {
        self.live.clear();
        output::tell(format_args!("{error}; waiting for it to come back"));
    }

    fn wants_end(&self, consumers: &[&mut dyn Consumer]) -> bool {
        self.requests.stop()
            || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
            || consumers.iter().any(|consumer| consumer.full())
    }

    fn wait(&self) -> Duration {
        let left = self.deadline.map(|d| d.saturating_duration_since(Instant::now()));
        left.map_or(TICK, |left| left.min(TICK))
    }

    fn tell(&mut self, source: &mut dyn Source, consumers: &mut [&mut dyn Consumer]) -> Result<()> {
        if self.requests.take_report() {
            self.interrupt.clear();
            summary::report(&source.stats()?, &mut self.live);
        }
        if self.live.due() {
            let stats = source.stats()?;
            self.live.draw(&stats);
            consumers.iter_mut().for_each(|consumer| consumer.stats(&stats));
        }
        Ok(())
    }
}
