//! A mirror between a way in and a way out.

use std::time::Duration;

use linerate::base::{Result, Sink, SinkStats, Slots, Source};
use linerate::tcp::mirror::Mirror;
use linerate::transmit::BATCH;

/// Bytes of the longest frame that is sent.
pub(super) const LONGEST: usize = 1_514;

/// Answers what comes.
pub(crate) struct Reflector {
    mirror: Mirror,
    source: Box<dyn Source + Send>,
    sink: Box<dyn Sink + Send>,
    /// Where the answers to one frame are written that do not find room together.
    slots: Vec<u8>,
    lengths: Vec<u32>,
}

impl Reflector {
    pub(crate) fn new(
        mirror: Mirror,
        source: Box<dyn Source + Send>,
        sink: Box<dyn Sink + Send>,
    ) -> Self {
        let slots = vec![0; mirror.most() * LONGEST];
        Self { mirror, source, sink, slots, lengths: Vec::new() }
    }

    /// Answers what came, waiting at most `wait` for it; false when nothing will come any more. What finds no room is not
    /// answered: who asked asks again.
    ///
    /// # Errors
    /// When the interface is gone or down.
    pub(crate) fn turn(&mut self, wait: Duration) -> Result<bool> {
        let Self { mirror, source, sink, slots: apart, lengths } = self;
        let Some(batch) = source.next_batch(wait)? else { return Ok(false) };
        let mut frames = batch.iter().peekable();
        while frames.peek().is_some() {
            let mut slots = sink.acquire(BATCH)?;
            if slots.room() == 0 {
                break;
            }
            while slots.room() >= mirror.most()
                && let Some(frame) = frames.next()
            {
                mirror.answer(frame.data, &mut slots);
            }
            // At the end of a ring there is less room than there is at its beginning.
            if slots.room() > 0
                && let Some(frame) = frames.next()
            {
                mirror.answer(frame.data, &mut Slots::new(apart, LONGEST, 0, lengths));
                let mut written = apart.chunks(LONGEST).zip(&*lengths);
                push(&mut slots, &mut written);
                sink.submit()?;
                push(&mut sink.acquire(mirror.most())?, &mut written);
            }
            sink.submit()?;
        }
        Ok(true)
    }

    /// Waits until all answers have left.
    ///
    /// # Errors
    /// As [`turn`](Self::turn).
    pub(crate) fn finish(mut self) -> Result<SinkStats> {
        self.sink.flush(&mut || false)?;
        Ok(self.sink.stats())
    }
}

/// Copies frames, as many as there is room for.
fn push<'a>(slots: &mut Slots<'_>, frames: &mut impl Iterator<Item = (&'a [u8], &'a u32)>) {
    while slots.room() > 0
        && let Some((frame, length)) = frames.next()
    {
        slots.push(|slot| {
            slot[..*length as usize].copy_from_slice(&frame[..*length as usize]);
            *length as usize
        });
    }
}
