//! Packets of sources, when they are due, to a sink.

use std::time::Duration;

use linerate_base::{Batch, Result, Sink, Source};

use super::timing::Timetable;
use super::{Frames, Skipped, Timing};
use crate::handover::{self, End, Feed, Handover, Limits};
use crate::pacing::NAP;

/// What is to become of packets, when, and of how many.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The frames that are made of them.
    pub frames: Frames,
    /// When they leave.
    pub timing: Timing,
    /// How many are sent at most.
    pub count: Option<u64>,
    /// For how long packets are due.
    pub duration: Option<Duration>,
}

/// How far it has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets taken from sources: `taken = submitted + skipped`.
    pub taken: u64,
    /// Frames given to the sink.
    pub submitted: u64,
    /// Packets that no frame was made of.
    pub skipped: Skipped,
    /// Packets whose recorded time was before that of others ahead of them.
    pub backwards: u64,
    /// Packets of the batch at hand, and how many of them were taken.
    pub batch: (usize, usize),
    /// How long the packet at hand has to wait.
    pub early: Duration,
}

/// Told how far it has come, and asked whether to stop, every 50 ms or more often.
pub type Watch<'a> = dyn FnMut(&Counts) -> bool + 'a;

/// What was replayed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// What became of packets before the sink.
    pub counts: Counts,
    /// What became of frames there; it began with the first packet at hand.
    pub sent: handover::Report,
}

/// Sends the packets of sources, one source after the other. A savefile is told when each packet is due, in the recorded
/// time of the first.
pub struct Replayer<'a> {
    frames: &'a Frames,
    handover: Handover<'a>,
    counts: Counts,
}

impl<'a> Replayer<'a> {
    /// A replayer into `sink`, which has slots of [`Frames::slot`] bytes.
    ///
    /// # Errors
    /// For a pace that makes no sense.
    pub fn new(plan: &'a Plan, sink: &'a mut dyn Sink) -> Result<Self> {
        let limits = Limits { count: plan.count, duration: plan.duration };
        let handover = Handover::new(sink, Timetable::new(&plan.timing)?, limits);
        Ok(Self { frames: &plan.frames, handover, counts: Counts::default() })
    }

    /// Sends what comes from `source`. Says why the plan is at its end; `None` when only the source is.
    ///
    /// # Errors
    /// Those of the source, whose packets before the fault were sent, and of the sink.
    pub fn play(&mut self, source: &mut dyn Source, watch: &mut Watch<'_>) -> Result<Option<End>> {
        self.handover.timetable().begin();
        loop {
            if let Some(end) = self.handover.end(watch(&self.counts)) {
                return Ok(Some(end));
            }
            let Some(batch) = source.next_batch(NAP)? else { return Ok(None) };
            if let Some(end) = self.batch(&batch, watch)? {
                return Ok(Some(end));
            }
        }
    }

    fn batch(&mut self, batch: &Batch<'_>, watch: &mut Watch<'_>) -> Result<Option<End>> {
        self.counts.batch = (batch.len(), 0);
        if let Some(first) = batch.get(0) {
            self.handover.begin(first.time);
            self.handover.timetable().meet(first.time);
        }
        let Self { frames, handover, counts } = self;
        let passed = handover.pass(&mut Packets { frames, batch, counts, watch });
        counts.submitted = handover.submitted();
        counts.backwards = handover.timetable().backwards();
        passed
    }

    /// Waits until nothing is pending, or `stop` says true, and says what became of everything; `end` is why it ended,
    /// `None` for an error.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn finish(self, end: Option<End>, stop: &mut dyn FnMut() -> bool) -> (Report, Result<()>) {
        let (sent, flushed) = self.handover.finish(end, stop);
        (Report { counts: self.counts, sent }, flushed)
    }
}

/// The packets of a batch.
struct Packets<'a, 'b> {
    frames: &'a Frames,
    batch: &'a Batch<'b>,
    counts: &'a mut Counts,
    watch: &'a mut Watch<'a>,
}

impl Feed for Packets<'_, '_> {
    fn is_empty(&self) -> bool {
        self.counts.batch.1 == self.counts.batch.0
    }

    fn take(&mut self, slot: &mut [u8], timetable: &mut Timetable) -> Option<usize> {
        let packet = self.batch.get(self.counts.batch.1)?;
        let made = self.frames.make(&packet, slot);
        match made {
            Ok(length) => timetable.sent(length),
            Err(reason) => self.counts.skipped.count(reason),
        }
        self.counts.taken += 1;
        self.counts.batch.1 += 1;
        if let Some(next) = self.batch.get(self.counts.batch.1) {
            timetable.meet(next.time);
        }
        made.ok()
    }

    fn is_stopped(&mut self, submitted: u64, early: Duration) -> bool {
        (self.counts.submitted, self.counts.early) = (submitted, early);
        (self.watch)(self.counts)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use linerate_base::ErrorKind;
    use linerate_sys::clock::monotonic;

    use crate::pacing::{Pace, Rate, wire_bits};
    use crate::replay::Speed;
    use crate::replay::fakes::{Packets, Taken};

    fn plan(timing: Timing) -> Plan {
        let frames = Frames { longest: 100, ..Frames::default() };
        Plan { frames, timing, count: None, duration: None }
    }

    const RECORDED: Timing = Timing::Recorded { speed: Speed::RECORDED, max_gap: None };

    /// Plays the packets by the plan; gives what was taken, the end and the report.
    fn play(plan: &Plan, source: &mut Packets) -> (Taken, Result<Option<End>>, Report) {
        play_into(Taken::new(), plan, source)
    }

    fn play_into(
        mut taken: Taken,
        plan: &Plan,
        source: &mut Packets,
    ) -> (Taken, Result<Option<End>>, Report) {
        let mut replayer = Replayer::new(plan, &mut taken).unwrap();
        let end = replayer.play(source, &mut |_| false);
        let (report, flushed) = replayer.finish(None, &mut || false);
        flushed.unwrap();
        let Counts { taken: all, submitted, skipped, .. } = report.counts;
        assert_eq!(all, submitted + skipped.total());
        assert_eq!(submitted, report.sent.stats.submitted);
        (taken, end, report)
    }

    #[test]
    fn packets_leave_in_order_and_not_before_their_time() {
        let times = [0, 3_000_000, 2_000_000, 9_000_000];
        let packets = times.map(|time| (1 + time, 60 + time as u32 / 1_000_000));
        let began = Instant::now();
        let (taken, end, report) = play(&plan(RECORDED), &mut Packets::new(&packets));
        assert_eq!(end.unwrap(), None);
        assert_eq!(taken.frames, [(0, 60), (1, 63), (2, 62), (3, 69)]);
        for (time, due) in taken.times.iter().zip([0, 3, 3, 9]) {
            assert!(
                time.duration_since(taken.times[0]) + Duration::from_micros(500)
                    >= Duration::from_millis(due)
            );
        }
        for (date, due) in taken.dates.iter().zip([0, 3, 3, 9].map(Duration::from_millis)) {
            let after = Duration::from_nanos((date - taken.dates[0]).cast_unsigned());
            assert!((due..=due + report.sent.lost).contains(&after), "{:?}", taken.dates);
        }
        let age = Duration::from_nanos((monotonic() - taken.dates[0]).cast_unsigned());
        assert!((Duration::from_millis(9)..=began.elapsed()).contains(&age), "{age:?}");
        assert_eq!(report.counts.backwards, 1);
    }

    #[test]
    fn packets_that_make_no_frame_are_counted_and_not_sent() {
        let plan = plan(Timing::Paced(Pace::new(Rate::Unlimited)));
        let (taken, _, report) =
            play(&plan, &mut Packets::new(&[(1, 13), (1, 60), (1, 101), (1, 61)]));
        assert_eq!(taken.frames, [(1, 60), (3, 61)]);
        assert_eq!(
            report.counts.skipped,
            Skipped { too_short: 1, too_long: 1, ..Skipped::default() }
        );
        assert_eq!(report.sent.wire_bits, wire_bits(60) + wire_bits(61));
    }

    #[test]
    fn it_ends_with_the_count_or_the_time() {
        let unlimited = Timing::Paced(Pace::new(Rate::Unlimited));
        let counted = Plan { count: Some(2), ..plan(unlimited) };
        let (taken, end, _) = play(&counted, &mut Packets::new(&[(1, 60); 5]));
        assert_eq!((taken.frames.len(), end.unwrap()), (2, Some(End::Complete)));
        let timed = Plan { duration: Some(Duration::from_millis(5)), ..plan(RECORDED) };
        let hour = 3_600_000_000_000;
        let (taken, end, _) =
            play(&timed, &mut Packets::new(&[(1, 60), (2_000_000, 60), (hour, 60)]));
        assert_eq!((taken.frames.len(), end.unwrap()), (2, Some(End::Time)));
    }

    #[test]
    fn a_savefile_gets_each_packet_at_once_with_the_time_at_which_it_is_due() {
        let speed = "2x".parse().unwrap();
        let hour = 3_600_000_000_000;
        let packets = [(hour, 60), (3 * hour, 61), (3 * hour - 50, 62), (3 * hour + 8, 63)];
        for (timing, dates) in [
            (RECORDED, [hour, 3 * hour, 3 * hour, 3 * hour + 8]),
            (Timing::Recorded { speed, max_gap: None }, [hour, 2 * hour, 2 * hour, 2 * hour + 4]),
            (
                Timing::Paced(Pace::new(Rate::Frames(1_000))),
                [0, 1, 2, 3].map(|seconds| hour + seconds * 1_000_000_000),
            ),
        ] {
            let mut savefile = Taken::new();
            savefile.is_offline = true;
            let (taken, end, report) =
                play_into(savefile, &plan(timing), &mut Packets::new(&packets));
            assert_eq!((end.unwrap(), taken.dates), (None, dates.to_vec()), "{timing:?}");
            assert_eq!((taken.frames.len(), report.sent.lost), (4, Duration::ZERO));
        }
    }

    #[test]
    fn a_long_gap_does_not_make_it_deaf() {
        let hour = 3_600_000_000_000;
        let (plan, mut taken) = (plan(RECORDED), Taken::new());
        let mut replayer = Replayer::new(&plan, &mut taken).unwrap();
        let mut asked = 0;
        let end = replayer.play(&mut Packets::new(&[(1, 60), (hour, 60)]), &mut |counts| {
            asked += u32::from(counts.early > Duration::from_secs(3000));
            asked == 3
        });
        assert_eq!((end.unwrap(), taken.frames.len()), (Some(End::Stopped), 1));
    }

    #[test]
    fn what_comes_before_a_fault_is_sent() {
        let mut source = Packets::new(&[(1, 60), (2, 61)]);
        source.fault = true;
        let (taken, end, report) = play(&plan(RECORDED), &mut source);
        assert_eq!((taken.frames.len(), report.sent.end), (2, None));
        assert_eq!(end.unwrap_err().kind(), ErrorKind::Malformed);
    }
}
