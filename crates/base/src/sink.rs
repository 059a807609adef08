//! The one way packets go out.

use std::convert::Infallible;

use crate::{Result, Timestamp};

/// Something that takes frames in batches: an interface, a savefile.
///
/// A batch is acquired, filled and submitted; what was filled and not submitted is forgotten with the next one.
/// Dispatch is per batch, never per frame, so a `Box<dyn Sink>` costs nothing that shows.
pub trait Sink {
    /// Lends room for at most `most` frames: less where the sink has less, none where it has none at the moment.
    ///
    /// # Errors
    /// When the sink can take no more.
    fn acquire(&mut self, most: usize) -> Result<Slots<'_>>;

    /// True for what is no interface, such as a savefile: it takes frames before they are due.
    fn is_offline(&self) -> bool {
        false
    }

    /// Hands over the frames that were filled. What finds no room is kept, or counts as refused.
    ///
    /// # Errors
    /// When the interface is gone or down, a frame is too long, the disk is full. The frames that were not
    /// taken then count as refused.
    fn submit(&mut self) -> Result<()>;

    /// Waits until nothing is pending, or `stop`, which is asked every 50 ms or more often, says true: frames that
    /// the device has not begun to take then count as refused, the others as sent.
    ///
    /// # Errors
    /// As for [`submit`](Self::submit).
    fn flush(&mut self, stop: &mut dyn FnMut() -> bool) -> Result<()>;

    /// What became of every frame submitted so far.
    fn stats(&self) -> SinkStats;
}

impl<S: Sink + ?Sized> Sink for Box<S> {
    fn acquire(&mut self, most: usize) -> Result<Slots<'_>> {
        (**self).acquire(most)
    }

    fn is_offline(&self) -> bool {
        (**self).is_offline()
    }

    fn submit(&mut self) -> Result<()> {
        (**self).submit()
    }

    fn flush(&mut self, stop: &mut dyn FnMut() -> bool) -> Result<()> {
        (**self).flush(stop)
    }

    fn stats(&self) -> SinkStats {
        (**self).stats()
    }
}

/// What became of every frame that a sink was given: `submitted = sent + refused + pending`, and after
/// [`flush`](Sink::flush) nothing is pending.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SinkStats {
    /// Frames submitted.
    pub submitted: u64,
    /// Frames taken by the device, or written.
    pub sent: u64,
    /// Bytes of those.
    pub sent_bytes: u64,
    /// Frames that found no room or were not accepted.
    pub refused: u64,
    /// Frames handed over of which nothing is known yet.
    pub pending: u64,
}

impl SinkStats {
    /// True when every frame submitted is accounted for.
    pub fn balances(&self) -> bool {
        self.submitted == self.sent + self.refused + self.pending
    }
}

/// Room for frames, on loan from a sink: slots of one size, filled one after the other.
#[derive(Debug)]
pub struct Slots<'a> {
    region: &'a mut [u8],
    stride: usize,
    head: usize,
    lengths: &'a mut Vec<u32>,
    /// Where it goes when frames are due, for a sink that wants to know.
    dates: Option<&'a mut Vec<Timestamp>>,
    due: Timestamp,
}

impl<'a> Slots<'a> {
    /// Slots of `stride` bytes each in `region`; a frame begins `head` bytes behind the beginning of its slot. The
    /// lengths of those that are filled go to `lengths`, which is cleared.
    ///
    /// # Panics
    /// When a slot has no room behind its head.
    pub fn new(
        region: &'a mut [u8],
        stride: usize,
        head: usize,
        lengths: &'a mut Vec<u32>,
    ) -> Self {
        assert!(head < stride, "a slot of {stride} bytes begins at {head}");
        lengths.clear();
        Self { region, stride, head, lengths, dates: None, due: Timestamp::EPOCH }
    }

    /// The same, of a sink that wants to know when frames are due: that goes to `dates`, which is cleared.
    pub fn dated(self, dates: &'a mut Vec<Timestamp>) -> Self {
        dates.clear();
        Self { dates: Some(dates), ..self }
    }

    /// The frames that are filled from now on are due at this time: of `CLOCK_MONOTONIC`, or, for a sink that
    /// [is offline](Sink::is_offline), since the epoch.
    #[inline]
    pub fn date(&mut self, due: Timestamp) {
        self.due = due;
    }

    /// How many slots are still empty.
    pub fn room(&self) -> usize {
        self.region.len() / self.stride - self.lengths.len()
    }

    /// Has `fill` write a frame to the next slot and say how long it is.
    ///
    /// # Panics
    /// When there is no room, or the frame is said to be longer than its slot.
    pub fn push(&mut self, fill: impl FnOnce(&mut [u8]) -> usize) {
        let Ok(_) = self.try_push(|slot| Ok::<_, Infallible>(fill(slot)));
    }

    /// The same, where `fill` may find that there is no frame: then the slot stays empty.
    ///
    /// # Errors
    /// That of `fill`.
    ///
    /// # Panics
    /// As [`push`](Self::push).
    pub fn try_push<E>(
        &mut self,
        fill: impl FnOnce(&mut [u8]) -> std::result::Result<usize, E>,
    ) -> std::result::Result<usize, E> {
        let start = self.lengths.len() * self.stride;
        let slot = &mut self.region[start + self.head..start + self.stride];
        let length = fill(slot)?;
        assert!(length <= slot.len(), "{length} bytes in a slot of {}", slot.len());
        self.lengths.push(length as u32);
        if let Some(dates) = &mut self.dates {
            dates.push(self.due);
        }
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_put_behind_their_heads() {
        let mut region = [0; 12];
        let mut lengths = vec![7];
        let mut slots = Slots::new(&mut region, 6, 2, &mut lengths);
        assert_eq!(slots.room(), 2);
        for byte in [1, 2] {
            slots.push(|slot| {
                assert_eq!(slot.len(), 4);
                slot[..3].fill(byte);
                3
            });
        }
        assert_eq!(slots.room(), 0);
        assert_eq!((region, lengths), ([0, 0, 1, 1, 1, 0, 0, 0, 2, 2, 2, 0], vec![3, 3]));
    }

    #[test]
    fn a_slot_without_a_frame_stays_empty() {
        let (mut region, mut lengths) = ([0; 8], Vec::new());
        let mut slots = Slots::new(&mut region, 4, 0, &mut lengths);
        assert_eq!(slots.try_push(|_| Err("none")), Err("none"));
        assert_eq!((slots.try_push(|_| Ok::<_, ()>(3)), slots.room()), (Ok(3), 1));
        assert_eq!(lengths, [3]);
    }

    #[test]
    fn a_sink_that_wants_to_know_is_told_when_each_frame_is_due() {
        let (mut region, mut lengths) = ([0; 12], Vec::new());
        let mut dates = vec![Timestamp::from_nanos(1)];
        let mut slots = Slots::new(&mut region, 4, 0, &mut lengths).dated(&mut dates);
        for (due, length) in [(5, Ok(3)), (6, Err("none")), (7, Ok(2)), (7, Ok(1))] {
            slots.date(Timestamp::from_nanos(due));
            assert_eq!(slots.try_push(|_| length), length);
        }
        assert_eq!(
            (dates, lengths),
            ([5, 7, 7].map(Timestamp::from_nanos).to_vec(), vec![3, 2, 1])
        );
    }

    #[test]
    #[should_panic(expected = "5 bytes in a slot of 4")]
    fn a_frame_that_is_too_long_is_refused() {
        Slots::new(&mut [0; 4], 4, 0, &mut Vec::new()).push(|_| 5);
    }

    #[test]
    fn sums_balance_only_when_every_frame_is_accounted_for() {
        let stats = SinkStats { submitted: 6, sent: 3, refused: 2, pending: 1, sent_bytes: 180 };
        assert!(stats.balances());
        assert!(!SinkStats { pending: 0, ..stats }.balances());
    }
}
