//! From where a run that is ended now has to go on.

use std::collections::VecDeque;
use std::time::Duration;

use linerate_base::Timestamp;

/// How often a stretch begins.
const STEP: Duration = Duration::from_millis(100);
/// A target that has not answered in this time will not.
const PATIENCE: Duration = Duration::from_secs(1);

/// The targets of the last moments, in stretches. A stretch is behind us when its time has long passed and nothing that
/// began in it is under way.
#[derive(Debug)]
pub(crate) struct Trail {
    stretches: VecDeque<Stretch>,
    /// The number of the first one.
    first: u32,
}

#[derive(Debug)]
struct Stretch {
    since: Timestamp,
    /// Of the first target that was taken in it.
    position: u64,
    /// Visits under way.
    held: u64,
}

/// A stretch that a visit holds, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hold(u32);

impl Trail {
    /// One that begins now, at this position.
    pub(crate) fn new(now: Timestamp, position: u64) -> Self {
        let stretch = Stretch { since: now, position, held: 0 };
        Self { stretches: [stretch].into(), first: 0 }
    }

    /// Begins anew, at the first position. What is held holds nothing any more.
    pub(crate) fn again(&mut self, now: Timestamp) {
        self.first = self.first.wrapping_add(self.stretches.len() as u32);
        self.stretches = [Stretch { since: now, position: 0, held: 0 }].into();
    }

    /// It is `now`, and `position` is that of the next target.
    pub(crate) fn advance(&mut self, now: Timestamp, position: u64) {
        let since = self.stretches.back().map_or(now, |stretch| stretch.since);
        if now >= since + STEP {
            self.stretches.push_back(Stretch { since: now, position, held: 0 });
        }
        while let (Some(first), Some(second)) = (self.stretches.front(), self.stretches.get(1))
            && first.held == 0
            && now >= second.since + PATIENCE
        {
            self.stretches.pop_front();
            self.first = self.first.wrapping_add(1);
        }
    }

    /// A visit holds the stretch in which its target was taken: the one of this time, or the first one left.
    pub(crate) fn hold(&mut self, at: Timestamp) -> Hold {
        let later = self.stretches.iter().rev().take_while(|stretch| stretch.since > at).count();
        let index = self.stretches.len().saturating_sub(1 + later);
        self.stretches[index].held += 1;
        Hold(self.first.wrapping_add(index as u32))
    }

    /// A visit is over.
    pub(crate) fn release(&mut self, hold: Hold) {
        let index = hold.0.wrapping_sub(self.first) as usize;
        if let Some(stretch) = self.stretches.get_mut(index) {
            stretch.held -= 1;
        }
    }

    /// The position before which everything is done.
    pub(crate) fn position(&self) -> u64 {
        self.stretches.front().map_or(0, |stretch| stretch.position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn what_is_under_way_holds_the_position() {
        let mut trail = Trail::new(at(0), 5);
        trail.advance(at(100), 20);
        let early = trail.hold(at(99));
        let late = trail.hold(at(100));
        trail.advance(at(200), 30);
        trail.advance(at(5_000), 90);
        assert_eq!(trail.position(), 5, "the first stretch is held");
        trail.release(early);
        trail.advance(at(5_000), 90);
        assert_eq!(trail.position(), 20, "the second one");
        trail.release(late);
        trail.advance(at(5_001), 91);
        assert_eq!(trail.position(), 30, "this one lasted until a moment ago");
        trail.advance(at(6_000), 99);
        assert_eq!(trail.position(), 90);
    }

    #[test]
    fn what_was_held_before_a_new_beginning_holds_nothing() {
        let mut trail = Trail::new(at(0), 5);
        let old = trail.hold(at(0));
        trail.again(at(1_000));
        let new = trail.hold(at(1_000));
        trail.release(old);
        trail.advance(at(9_000), 90);
        trail.advance(at(19_000), 91);
        assert_eq!(trail.position(), 0, "the new one holds it");
        trail.release(new);
        trail.advance(at(29_000), 92);
        assert_eq!(trail.position(), 91);
    }

    #[test]
    fn without_visits_the_position_is_a_second_behind() {
        let mut trail = Trail::new(at(0), 0);
        for millis in 0..3_000 {
            trail.advance(at(millis), millis as u64);
        }
        let behind = 2_999 - trail.position();
        assert!((1_000..1_300).contains(&behind), "{behind}");
    }
}
