//! Who is next to be probed, or visited.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Duration;

use linerate_base::Timestamp;

use crate::roll::Roll;
use crate::trail::{Hold, Trail};
use crate::{Caps, Shard, Target, Targets};
use linerate_transmit::Blocklist;

/// Targets that are put off at most, because there are as many visits to their host or network as there may be.
const MOST_PUT_OFF: usize = 1 << 16;
/// Of those put off, so many are looked at for each that is taken.
const LOOKS: usize = 8;
/// A probe counts for this time, and a SYN as a visit, if nothing answers.
const UNDER_WAY: Duration = Duration::from_secs(1);

/// The way through a part of all targets.
#[derive(Debug)]
pub struct Walk {
    targets: Targets,
    shard: Shard,
    position: u64,
    trail: Trail,
    /// Those that have answered, where somebody asks.
    answered: Option<HashSet<Target>>,
    caps: Caps,
    /// Put off, with the stretches that they hold.
    put_off: VecDeque<(Target, Hold)>,
    /// The next target is a new one, if there is any.
    is_turn_of_new: bool,
    found: Option<Found>,
    /// With caps: those that may answer, what they hold, and until when.
    asked: HashMap<Target, Hold>,
    ends: VecDeque<(Timestamp, Target)>,
}

/// Targets that answers name.
#[derive(Debug)]
struct Found {
    /// Those to be visited.
    queue: VecDeque<Target>,
    /// All that were taken or are in the queue.
    seen: Roll,
    blocked: Blocklist,
    /// There are targets of IPv4, and of IPv6.
    families: [bool; 2],
}

impl Walk {
    /// Through this part of the targets, from `position` on. It is `now`.
    pub fn new(targets: Targets, shard: Shard, position: u64, caps: Caps, now: Timestamp) -> Self {
        Self {
            targets,
            shard,
            position,
            trail: Trail::new(now, position),
            answered: None,
            caps,
            put_off: VecDeque::new(),
            is_turn_of_new: false,
            found: None,
            asked: HashMap::new(),
            ends: VecDeque::new(),
        }
    }

    /// Passes over these, and over all that answer from now on: they are not visited again.
    #[must_use]
    pub fn without(self, answered: impl IntoIterator<Item = Target>) -> Self {
        Self { answered: Some(answered.into_iter().collect()), ..self }
    }

    /// Goes to those, too, that answers name, unless they are blocked: each once, whoever names it.
    #[must_use]
    pub fn following(self, blocked: Blocklist) -> Self {
        let (ipv4, ipv6) = self.targets.examples();
        let families = [ipv4.is_some(), ipv6.is_some()];
        let found = Found { queue: VecDeque::new(), seen: Roll::default(), blocked, families };
        Self { found: Some(found), ..self }
    }

    /// True when it goes to those whom answers name.
    pub(crate) fn follows(&self) -> bool {
        self.found.is_some()
    }

    /// Somebody named these targets. Those of a family that there were no targets of are left out: nobody knows the way.
    pub(crate) fn offer(&mut self, targets: &[Target]) {
        let Some(found) = &mut self.found else { return };
        targets.iter().for_each(|target| found.seen.touch(*target));
        for target in targets {
            let has_way = found.families[usize::from(target.address.is_ipv6())];
            if has_way && !found.blocked.blocks(target.address) && found.seen.add(*target) {
                found.queue.push_back(*target);
            }
        }
    }

    /// Begins anew, with those that have not answered, whoever named them.
    pub fn again(&mut self, now: Timestamp) {
        self.ends.clear();
        for (target, hold) in std::mem::take(&mut self.asked) {
            self.over(target, hold);
        }
        let Some(found) = &mut self.found else {
            self.position = 0;
            self.trail.again(now);
            return;
        };
        let answered = self.answered.as_ref();
        let has_answered = |target: &Target| answered.is_some_and(|all| all.contains(target));
        let silent = found.seen.all().iter().filter(|target| !has_answered(target));
        found.queue.extend(silent);
    }

    /// The target that [`next`](Self::next) just gave cannot be visited yet, and comes again later.
    pub fn put_off(&mut self, target: Target, now: Timestamp) {
        let hold = match self.asked.remove(&target) {
            Some(hold) => {
                self.ends.pop_back();
                self.caps.leave(target.address);
                hold
            }
            None => self.trail.hold(now),
        };
        self.put_off.push_back((target, hold));
    }

    /// The next target; `None` where there is none, or none that may be visited at the moment.
    pub fn next(&mut self, now: Timestamp) -> Option<Target> {
        if !self.caps.are_set() && self.put_off.is_empty() {
            return self.take();
        }
        // Those put off and new ones take turns: the former may have to wait for long.
        self.is_turn_of_new = !self.is_turn_of_new;
        let (target, hold) = match self.is_turn_of_new {
            true => self.take_capped(now).or_else(|| self.take_put_off())?,
            false => self.take_put_off().or_else(|| self.take_capped(now))?,
        };
        self.asked.insert(target, hold);
        self.ends.push_back((now + UNDER_WAY, target));
        Some(target)
    }

    /// The target at the position that is to be visited.
    fn take(&mut self) -> Option<Target> {
        while self.position < self.count() {
            let target = self.targets.at(self.shard, self.position);
            self.position += 1;
            if !self.has_answered(&target) && self.is_new(target) {
                return Some(target);
            }
        }
        self.found.as_mut()?.queue.pop_front()
    }

    /// False for one that was named, and is in the queue or was visited.
    fn is_new(&mut self, target: Target) -> bool {
        self.found.as_mut().is_none_or(|found| found.seen.add(target))
    }

    /// One of those put off that may be visited now.
    fn take_put_off(&mut self) -> Option<(Target, Hold)> {
        for _ in 0..LOOKS.min(self.put_off.len()) {
            let (target, hold) = self.put_off.pop_front()?;
            if self.caps.enter(target.address) {
                return Some((target, hold));
            }
            self.put_off.push_back((target, hold));
        }
        None
    }

    /// The first one that may be visited now; those before it are put off.
    fn take_capped(&mut self, now: Timestamp) -> Option<(Target, Hold)> {
        while self.put_off.len() < MOST_PUT_OFF {
            let target = self.take()?;
            let hold = self.trail.hold(now);
            if self.caps.enter(target.address) {
                return Some((target, hold));
            }
            self.put_off.push_back((target, hold));
        }
        None
    }

    /// A target has answered to what was sent to it then; the visit holds what is to be given to [`over`](Self::over).
    pub(crate) fn opened(&mut self, target: Target, sent: Timestamp) -> Hold {
        self.note(target);
        self.asked.remove(&target).unwrap_or_else(|| {
            self.caps.enter_anyway(target.address);
            self.trail.hold(sent)
        })
    }

    /// A visit is over.
    pub(crate) fn over(&mut self, target: Target, hold: Hold) {
        self.caps.leave(target.address);
        self.trail.release(hold);
    }

    /// A target does not want to be visited.
    pub(crate) fn refused(&mut self, target: Target) {
        self.note(target);
        self.give_up(target);
    }

    /// No answer is waited for any more: the target was not probed, or is silent.
    pub fn give_up(&mut self, target: Target) {
        if let Some(hold) = self.asked.remove(&target) {
            self.over(target, hold);
        }
    }

    /// A target has answered: kept where somebody asks.
    fn note(&mut self, target: Target) {
        if let Some(answered) = &mut self.answered {
            answered.insert(target);
        }
    }

    /// True for one that has answered, where that is kept.
    pub(crate) fn has_answered(&self, target: &Target) -> bool {
        self.answered.as_ref().is_some_and(|answered| answered.contains(target))
    }

    /// It is `now`: those that have not answered in time do not count any more.
    pub fn advance(&mut self, now: Timestamp) {
        while let Some((end, target)) = self.ends.front().copied()
            && end <= now
        {
            self.ends.pop_front();
            self.give_up(target);
        }
        self.trail.advance(now, self.position);
    }

    /// True when all targets were taken, and all that were named so far.
    pub fn is_done(&self) -> bool {
        self.left() == 0
    }

    /// How many targets are to be taken yet.
    pub fn left(&self) -> u64 {
        let named = self.found.as_ref().map_or(0, |found| found.queue.len());
        self.count() - self.position + (self.put_off.len() + named) as u64
    }

    /// How many targets there are.
    pub fn count(&self) -> u64 {
        self.targets.count_in(self.shard)
    }

    /// How many of them were passed.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// How many of them were passed and are done with: a run that is ended now goes on from there.
    pub fn settled(&self) -> u64 {
        self.trail.position()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Addresses;
    use linerate_transmit::Blocklist;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    /// Through 256 ports of each of four hosts.
    fn walk(caps: Caps) -> Walk {
        let mut addresses = Addresses::default();
        assert!(addresses.add("10.0.0.0/30"));
        let targets = Targets::new(addresses, &[(1, 256)], &Blocklist::default(), 3).unwrap();
        Walk::new(targets, Shard::WHOLE, 0, caps, at(0))
    }

    #[test]
    fn each_target_is_taken_once_and_those_that_answered_not_again() {
        let mut walk = walk(Caps::default()).without([]);
        let all: HashSet<_> = std::iter::from_fn(|| walk.next(at(0))).collect();
        assert_eq!((all.len(), walk.is_done()), (1_024, true));
        let some: Vec<_> = all.iter().take(100).copied().collect();
        for target in &some {
            let hold = walk.opened(*target, at(0));
            walk.over(*target, hold);
        }
        walk.refused(*all.iter().nth(100).unwrap());
        walk.again(at(9));
        assert_eq!(std::iter::from_fn(|| walk.next(at(9))).count(), 1_024 - 101);
    }

    #[test]
    fn caps_put_targets_off_until_others_are_over() {
        let mut walk = walk(Caps::new(Some(2), Some(7)));
        let first: Vec<_> = std::iter::from_fn(|| walk.next(at(0))).collect();
        assert_eq!(first.len(), 7);
        let of_one = first.iter().filter(|target| target.address == first[0].address).count();
        assert!(of_one <= 2);
        let hold = walk.opened(first[0], at(0));
        walk.refused(first[1]);
        assert_eq!(
            std::iter::from_fn(|| walk.next(at(1))).count(),
            1,
            "in the refused one's place"
        );
        // All but the open one and the one of a moment ago have not answered.
        walk.advance(at(1_000));
        assert_eq!(std::iter::from_fn(|| walk.next(at(1_000))).count(), 5);
        walk.over(first[0], hold);
        assert_eq!(std::iter::from_fn(|| walk.next(at(1_000))).count(), 1);
    }

    #[test]
    fn who_was_asked_or_visited_before_all_begins_anew_holds_nothing() {
        let caps = Caps::new(Some(300), None);
        let mut walk = walk(caps.clone()).without([]);
        let first: Vec<_> = std::iter::from_fn(|| walk.next(at(0))).collect();
        let hold = walk.opened(first[0], at(0));
        walk.again(at(9));
        assert_eq!(std::iter::from_fn(|| walk.next(at(9))).count(), first.len() - 1);
        walk.over(first[0], hold);
        walk.advance(at(1_009));
        assert_eq!(format!("{:?}", walk.caps), format!("{caps:?}"), "nobody is counted any more");
        walk.advance(at(2_009));
        assert_eq!(walk.settled(), walk.position());
    }

    #[test]
    fn who_is_put_off_comes_again_and_holds_the_position() {
        for caps in [Caps::default(), Caps::new(None, Some(2_000))] {
            let mut walk = walk(caps);
            let first = walk.next(at(0)).unwrap();
            walk.put_off(first, at(0));
            let mut others = HashSet::new();
            for second in 1..4 {
                let now = at(1_000 * second);
                walk.advance(now);
                while walk.left() > 1 {
                    match walk.next(now).unwrap() {
                        target if target == first => walk.put_off(first, now),
                        target => assert!(others.insert(target)),
                    }
                }
                assert_eq!((others.len(), walk.settled(), walk.is_done()), (1_023, 0, false));
            }
            walk.advance(at(4_000));
            assert_eq!((walk.next(at(4_000)), walk.next(at(4_000))), (Some(first), None));
            assert!(walk.is_done());
            walk.advance(at(4_999));
            assert_eq!(walk.settled(), 0, "it may answer yet");
            walk.advance(at(6_000));
            assert_eq!(walk.settled(), 1_024);
            assert!(walk.ends.is_empty() && walk.asked.is_empty());
        }
    }

    #[test]
    fn who_is_named_is_taken_once_unless_blocked() {
        let blocked = Blocklist::parse("10.9.0.9", "b").unwrap();
        let mut walk = walk(Caps::default()).following(blocked);
        let target = |address: &str, port| Target { address: address.parse().unwrap(), port };
        let first = walk.next(at(0)).unwrap();
        let (new, of_list) = (target("10.9.0.1", 9), target("10.0.0.2", 7));
        walk.offer(&[new, of_list, first, new, target("10.9.0.9", 9), target("fd00::1", 9)]);
        let all: Vec<_> = std::iter::from_fn(|| walk.next(at(0))).chain([first]).collect();
        let different: HashSet<_> = all.iter().copied().collect();
        assert_eq!((all.len(), different.len()), (1_025, 1_025));
        assert!(different.contains(&new) && different.contains(&of_list) && walk.is_done());
        walk.offer(&[of_list]);
        assert!(walk.is_done());
    }

    #[test]
    fn who_was_named_and_did_not_answer_is_taken_again() {
        let mut walk = walk(Caps::default()).without([]).following(Blocklist::default());
        let named = |last: u8| Target { address: [10, 9, 0, last].into(), port: 9 };
        walk.offer(&[1, 2, 3].map(named));
        let all: Vec<_> = std::iter::from_fn(|| walk.next(at(0))).collect();
        assert_eq!(all.len(), 1_027);
        for target in all.iter().filter(|target| **target != named(2) && **target != all[0]) {
            let hold = walk.opened(*target, at(0));
            walk.over(*target, hold);
        }
        walk.again(at(9));
        let again: HashSet<_> = std::iter::from_fn(|| walk.next(at(9))).collect();
        assert_eq!(again, [named(2), all[0]].into());
    }

    #[test]
    fn with_caps_all_are_taken_in_the_end_and_nothing_is_left() {
        let mut walk = walk(Caps::new(Some(3), None));
        let mut all = HashSet::new();
        for seconds in 1.. {
            let now = at(1_000 * seconds);
            walk.advance(now);
            let taken: Vec<_> = std::iter::from_fn(|| walk.next(now)).collect();
            if taken.is_empty() {
                break;
            }
            assert!(taken.len() <= 12);
            all.extend(taken);
        }
        assert_eq!((all.len(), walk.is_done()), (1_024, true));
        assert!(walk.asked.is_empty() && walk.ends.is_empty());
        walk.advance(at(1_000_000));
        walk.advance(at(1_001_000));
        walk.advance(at(1_002_000));
        assert_eq!(walk.settled(), 1_024);
    }
}
