//! When each packet leaves.

use std::time::Duration;

use linerate_base::{Result, Timestamp};

use super::Speed;
use crate::pacing::{Pace, Rate, Schedule};
use crate::sender::is_fast;

/// When packets leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// As they were recorded.
    Recorded {
        /// How much faster.
        speed: Speed,
        /// The longest wait for a packet; `None`: as long as recorded.
        max_gap: Option<Duration>,
    },
    /// At a pace, whatever was recorded.
    Paced(Pace),
}

impl Timing {
    /// True when packets are due at once, whenever that is.
    pub fn is_unlimited(&self) -> bool {
        matches!(self, Self::Paced(pace) if pace.rate == Rate::Unlimited)
    }

    /// True when packets are to leave faster than system calls can send them, for all that is known.
    pub fn is_fast(&self) -> bool {
        matches!(self, Self::Paced(pace) if is_fast(pace.rate, SHORTEST))
    }
}

/// Bytes of a packet without much in it.
const SHORTEST: usize = 60;

/// Tells when packets are due, in nanoseconds since the beginning.
#[derive(Clone, Debug)]
pub(crate) enum Timetable {
    Recorded(Recorded),
    Paced(Schedule),
}

/// The times of a record.
#[derive(Clone, Debug)]
pub(crate) struct Recorded {
    speed: Speed,
    /// The longest gap, of recorded time.
    max_gap: u64,
    /// The latest time of a packet of the file at hand.
    latest: Option<Timestamp>,
    /// Recorded time that has passed since the beginning, gaps cut.
    passed: u64,
    backwards: u64,
    lost: u64,
}

/// A sender that was held up makes up for it, but not for more than this: dense moments of a record are smoothed
/// without making it longer, and a process that was stopped does not send all it has missed at once.
const CATCH_UP: u64 = 100_000_000;

/// A short file that is sent again and again shall be no flood.
const BETWEEN_FILES: Duration = Duration::from_millis(1);

/// Packets of several queues come a little out of order. What goes back further is a clock that was set.
const SET_BACK: i64 = 1_000_000_000;

impl Timetable {
    /// # Errors
    /// As [`Schedule::new`].
    pub(crate) fn new(timing: &Timing) -> Result<Self> {
        Ok(match timing {
            Timing::Recorded { speed, max_gap } => Self::Recorded(Recorded::new(*speed, *max_gap)),
            Timing::Paced(pace) => Self::Paced(Schedule::new(pace)?),
        })
    }

    /// A file begins, a moment behind the last packet of the file before.
    pub(crate) fn begin(&mut self) {
        if let Self::Recorded(recorded) = self {
            recorded.begin();
        }
    }

    /// The packet at hand was recorded at this time.
    pub(crate) fn meet(&mut self, time: Timestamp) {
        if let Self::Recorded(recorded) = self {
            recorded.meet(time);
        }
    }

    /// When the packet at hand is due.
    pub(crate) fn due(&self) -> u64 {
        match self {
            Self::Recorded(recorded) => recorded.due(),
            Self::Paced(schedule) => schedule.due(),
        }
    }

    /// The packet at hand is on its way, `length` bytes long.
    pub(crate) fn sent(&mut self, length: usize) {
        if let Self::Paced(schedule) = self {
            schedule.sent(length);
        }
    }

    /// It is `now`: where the packet at hand is late by more than can be made up for, all the rest is late.
    pub(crate) fn catch_up(&mut self, now: u64) {
        match self {
            Self::Recorded(recorded) => {
                let late = now.saturating_sub(recorded.due());
                recorded.lost += late.saturating_sub(CATCH_UP);
            }
            Self::Paced(schedule) => schedule.catch_up(now),
        }
    }

    /// True when packets are due at once, whenever that is.
    pub(crate) fn is_unlimited(&self) -> bool {
        matches!(self, Self::Paced(schedule) if schedule.rate() == Rate::Unlimited)
    }

    /// Nanoseconds by which the rest is late.
    pub(crate) fn lost(&self) -> u64 {
        match self {
            Self::Recorded(recorded) => recorded.lost,
            Self::Paced(schedule) => schedule.lost(),
        }
    }

    /// Packets that were recorded before others that they came behind.
    pub(crate) fn backwards(&self) -> u64 {
        match self {
            Self::Recorded(recorded) => recorded.backwards,
            Self::Paced(_) => 0,
        }
    }
}

impl Recorded {
    fn new(speed: Speed, max_gap: Option<Duration>) -> Self {
        let max_gap = max_gap.map_or(u64::MAX, |gap| speed.recorded(gap));
        Self { speed, max_gap, latest: None, passed: 0, backwards: 0, lost: 0 }
    }

    fn begin(&mut self) {
        if self.latest.take().is_some() {
            self.passed = self.passed.saturating_add(self.speed.recorded(BETWEEN_FILES));
        }
    }

    fn meet(&mut self, time: Timestamp) {
        // What a file has no time for leaves at once.
        if time == Timestamp::EPOCH {
            return;
        }
        let gap = self.latest.map_or(0, |latest| time.nanos_since(latest));
        self.backwards += u64::from(gap < 0);
        self.passed = self.passed.saturating_add(self.max_gap.min(gap.max(0) as u64));
        let is_out_of_order = (-SET_BACK..0).contains(&gap);
        if self.latest.is_none() || !is_out_of_order {
            self.latest = Some(time);
        }
    }

    fn due(&self) -> u64 {
        self.speed.replayed(self.passed).saturating_add(self.lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn timetable(speed: &str, max_gap: Option<Duration>) -> Timetable {
        let speed = speed.parse().unwrap();
        Timetable::new(&Timing::Recorded { speed, max_gap }).unwrap()
    }

    /// When packets with these times are due.
    fn due(timetable: &mut Timetable, times: &[i64]) -> Vec<u64> {
        timetable.begin();
        let mut one = |time: &i64| {
            timetable.meet(Timestamp::from_nanos(*time));
            timetable.due()
        };
        times.iter().map(&mut one).collect()
    }

    #[test]
    fn gaps_are_those_recorded_or_a_share_of_them() {
        for (speed, expected) in
            [("1x", [0, 300, 1000]), ("2", [0, 150, 500]), ("0.5x", [0, 600, 2000])]
        {
            assert_eq!(due(&mut timetable(speed, None), &[5000, 5300, 6000]), expected, "{speed}");
        }
    }

    #[test]
    fn thirds_of_nanoseconds_are_not_lost() {
        assert_eq!(due(&mut timetable("3x", None), &[1, 2, 3, 4]), [0, 0, 0, 1]);
    }

    #[test]
    fn long_gaps_are_cut_as_they_are_waited_for() {
        let hour = 3_600_000_000_000;
        let mut timetable = timetable("2x", Some(Duration::from_secs(1)));
        assert_eq!(due(&mut timetable, &[7, hour, hour + 10]), [0, 1_000_000_000, 1_000_000_005]);
    }

    #[test]
    fn packets_out_of_order_leave_at_once_and_move_nothing() {
        let mut timetable = timetable("1x", None);
        assert_eq!(due(&mut timetable, &[100, 200, 150, 300]), [0, 100, 100, 200]);
        assert_eq!(timetable.backwards(), 1);
    }

    #[test]
    fn a_clock_that_was_set_back_goes_on_from_there() {
        let mut timetable = timetable("1x", None);
        let day = 86_400_000_000_000;
        assert_eq!(due(&mut timetable, &[2 * day, day, day + 5]), [0, 0, 5]);
        assert_eq!(timetable.backwards(), 1);
    }

    #[test]
    fn packets_without_a_time_leave_at_once() {
        let mut timetable = timetable("1x", None);
        assert_eq!(due(&mut timetable, &[0, 5000, 0, 5100]), [0, 0, 0, 100]);
        assert_eq!(timetable.backwards(), 0);
    }

    #[test]
    fn files_follow_each_other_whatever_their_times() {
        let mut timetable = timetable("2x", None);
        assert_eq!(due(&mut timetable, &[1000, 1100]), [0, 50]);
        assert_eq!(due(&mut timetable, &[500, 550]), [1_000_050, 1_000_075]);
        assert_eq!(timetable.backwards(), 0);
    }

    #[test]
    fn what_is_fast_is_known_of_a_pace_only() {
        let paced = |rate: &str| Timing::Paced(Pace::new(rate.parse().unwrap())).is_fast();
        assert!(paced("max") && paced("1Mpps") && paced("10Gbps"));
        assert!(!paced("1000") && !paced("10Mbps"));
        let speed = "1000x".parse().unwrap();
        assert!(!Timing::Recorded { speed, max_gap: None }.is_fast());
    }

    #[test]
    fn what_is_late_is_made_up_for_within_bounds() {
        let mut timetable = timetable("1x", None);
        due(&mut timetable, &[1, 1]);
        timetable.catch_up(90_000_000);
        assert_eq!((timetable.due(), timetable.lost()), (0, 0));
        timetable.catch_up(150_000_000);
        assert_eq!((timetable.due(), timetable.lost()), (50_000_000, 50_000_000));
    }

    proptest! {
        #[test]
        fn time_never_goes_back_nor_beyond_what_was_recorded(
            times in prop::collection::vec(1..1_000_000_000_000_i64, 2..100), speed in 1..10_000_000_u64,
        ) {
            let timing = Timing::Recorded { speed: Speed::from_millionths(speed), max_gap: None };
            let due = due(&mut Timetable::new(&timing).unwrap(), &times);
            prop_assert!(due.windows(2).all(|pair| pair[0] <= pair[1]));
            let forward: i64 = times.windows(2).map(|pair| (pair[1] - pair[0]).max(0)).sum();
            prop_assert!(u128::from(*due.last().unwrap()) <= forward as u128 * 1_000_000 / u128::from(speed));
        }

        #[test]
        fn in_order_each_is_due_at_its_exact_time(
            gaps in prop::collection::vec(0..10_000_000_000_i64, 1..100), speed in 1..10_000_000_u64,
        ) {
            let timing = Timing::Recorded { speed: Speed::from_millionths(speed), max_gap: None };
            let times: Vec<_> = gaps.iter().scan(7, |time, gap| { *time += gap; Some(*time) }).collect();
            let due = due(&mut Timetable::new(&timing).unwrap(), &times);
            for (time, due) in times.iter().zip(due) {
                let exact = (time - times[0]) as u128 * 1_000_000 / u128::from(speed);
                prop_assert_eq!(u128::from(due), exact);
            }
        }
    }
}
