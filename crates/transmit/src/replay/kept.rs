//! A source that can be played again.

use std::time::Duration;

use linerate_base::{Batch, Descriptor, Interface, Result, Source, Stats};

/// Keeps the packets that another source delivers, as long as they are few, and delivers them again.
pub struct Kept<S> {
    source: S,
    /// The most bytes to keep.
    most: usize,
    region: Vec<u8>,
    descriptors: Vec<Descriptor>,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Packets come from the source and are kept.
    Keeping,
    /// There are too many.
    PassingOn,
    /// The source is at its end.
    Complete,
    /// Packets are to come from memory.
    Rewound,
    /// They came from there.
    Again,
}

impl<S: Source> Kept<S> {
    /// Keeps up to `most` bytes of what `source` delivers.
    pub fn new(source: S, most: usize) -> Self {
        let (most, state) = (most.min(u32::MAX as usize), State::Keeping);
        Self { source, most, region: Vec::new(), descriptors: Vec::new(), state }
    }

    /// Begins anew; false when the packets were too many to be kept, or are not at their end.
    pub fn rewind(&mut self) -> bool {
        let can = matches!(self.state, State::Complete | State::Again);
        if can {
            self.state = State::Rewound;
        }
        can
    }

    /// The source inside.
    pub fn get_ref(&self) -> &S {
        &self.source
    }
}

/// Adds the packets to those that are kept; false when they become too many.
fn keep(batch: &Batch<'_>, most: usize, region: &mut Vec<u8>, kept: &mut Vec<Descriptor>) -> bool {
    for (descriptor, packet) in batch.descriptors().iter().zip(batch.iter()) {
        let size = region.len() + packet.data.len() + (kept.len() + 1) * size_of::<Descriptor>();
        if size > most {
            (*region, *kept) = (Vec::new(), Vec::new());
            return false;
        }
        kept.push(Descriptor { offset: region.len() as u32, ..*descriptor });
        region.extend_from_slice(packet.data);
    }
    true
}

impl<S: Source> Source for Kept<S> {
    fn interfaces(&self) -> &[Interface] {
        self.source.interfaces()
    }

    fn next_batch(&mut self, wait: Duration) -> Result<Option<Batch<'_>>> {
        match self.state {
            State::Complete | State::Again => return Ok(None),
            State::Rewound => {
                self.state = State::Again;
                let interfaces = self.source.interfaces();
                return Ok(Some(Batch::new(&self.region, &self.descriptors, interfaces)));
            }
            State::Keeping | State::PassingOn => {}
        }
        let batch = self.source.next_batch(wait)?;
        if self.state == State::Keeping {
            self.state = match &batch {
                None => State::Complete,
                Some(batch) if keep(batch, self.most, &mut self.region, &mut self.descriptors) => {
                    State::Keeping
                }
                Some(_) => State::PassingOn,
            };
        }
        Ok(batch)
    }

    /// Since it was last begun. What was turned away the first time counts again, as if it were read again.
    fn stats(&mut self) -> Result<Stats> {
        match self.state {
            State::Rewound => Ok(Stats::default()),
            _ => self.source.stats(),
        }
    }

    fn stop(&mut self) -> Result<()> {
        self.source.stop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::fakes::Packets;

    fn drain(source: &mut impl Source) -> Vec<(i64, Vec<u8>)> {
        let mut all = Vec::new();
        while let Some(batch) = source.next_batch(Duration::ZERO).unwrap() {
            all.extend(batch.iter().map(|p| (p.time.nanos(), p.data.to_vec())));
        }
        all
    }

    #[test]
    fn what_was_kept_comes_again_and_again() {
        let mut packets = Packets::new(&[(1, 60), (2, 0), (3, 61)]);
        packets.filtered = 2;
        let mut kept = Kept::new(packets, 1000);
        assert!(!kept.rewind(), "not at its end");
        let first = drain(&mut kept);
        assert_eq!(first.len(), 3);
        let stats = kept.stats().unwrap();
        assert_eq!((stats.delivered, stats.filtered), (3, 2));
        for _ in 0..2 {
            assert!(kept.rewind());
            assert_eq!(kept.stats().unwrap(), Stats::default());
            assert_eq!(drain(&mut kept), first);
            assert_eq!(kept.stats().unwrap(), stats);
        }
    }

    #[test]
    fn too_much_is_passed_on_and_not_kept() {
        let mut kept = Kept::new(Packets::new(&[(1, 60), (2, 60)]), 150);
        assert_eq!(drain(&mut kept).len(), 2);
        assert!(!kept.rewind());
    }
}
