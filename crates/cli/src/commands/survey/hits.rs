//! Whether still enough targets answer.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::Journal;
use crate::units::grouped;

/// The last so long counts.
const WINDOW: Duration = Duration::from_secs(10);
/// Of fewer probes the share of those that are answered says little.
const FEWEST: u64 = 1_000;

/// How many of the latest probes were answered.
#[derive(Debug)]
pub(in super::super) struct Hits {
    /// A share, from 0 to 1, below which there is no use in going on.
    least: Option<f64>,
    began: Instant,
    /// How many were sent and answered at some times, the first of them the latest before the window.
    marks: VecDeque<Mark>,
}

#[derive(Clone, Copy, Debug)]
struct Mark {
    time: Duration,
    sent: u64,
    answered: u64,
}

impl Hits {
    /// Less than this share, from 0 to 1, are too few; `None`: nothing is.
    pub(in super::super) fn new(least: Option<f64>) -> Self {
        Self { least, began: Instant::now(), marks: VecDeque::new() }
    }

    /// Looks at what the journal has now. True when the run is to end, for the reason that is then in the journal. Those who
    /// are asked again were silent before: of them nothing is expected.
    pub(in super::super) fn judge(&mut self, journal: &mut Journal) -> bool {
        if journal.pass == 0 && journal.stopped.is_none() {
            journal.stopped = self.fall(self.began.elapsed(), journal.sent, journal.answered);
        }
        journal.stopped.is_some()
    }

    /// So many were sent and answered until `time` after the beginning. Tells when too few of the window's were answered; a
    /// window lasts ten seconds, and until a thousand probes were sent.
    fn fall(&mut self, time: Duration, sent: u64, answered: u64) -> Option<String> {
        let least = self.least?;
        self.marks.push_back(Mark { time, sent, answered });
        let is_whole = |mark: &Mark| time >= mark.time + WINDOW && sent >= mark.sent + FEWEST;
        while self.marks.get(1).is_some_and(is_whole) {
            self.marks.pop_front();
        }
        let first = self.marks.front().filter(|mark| is_whole(mark))?;
        let (probes, hits) = (sent - first.sent, answered - first.answered);
        let share = hits as f64 / probes as f64;
        (share < least).then(|| {
            format!(
                "of {} probes in {:.0} s {:.3} % were answered, less than {} %",
                grouped(probes),
                (time - first.time).as_secs_f64(),
                100.0 * share,
                100.0 * least
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is told in the first so many seconds, where so many of a hundred probes a second are answered.
    fn told(seconds: u64, rate: u64, answered: impl Fn(u64) -> u64) -> Option<(u64, String)> {
        let mut hits = Hits::new(Some(0.05));
        let mut all = 0;
        (0..seconds).find_map(|second| {
            all += answered(second);
            let said = hits.fall(Duration::from_secs(second), second * rate, all);
            said.map(|said| (second, said))
        })
    }

    #[test]
    fn a_share_that_falls_is_told_once_a_window_is_below() {
        assert_eq!(told(60, 1_000, |_| 50), None, "5 % are enough");
        let (second, said) = told(60, 1_000, |second| if second < 20 { 100 } else { 0 }).unwrap();
        assert_eq!(second, 25, "half of the window");
        assert_eq!(said, "of 10,000 probes in 10 s 4.000 % were answered, less than 5 %");
    }

    #[test]
    fn of_few_probes_nothing_is_said() {
        let (second, _) = told(60, 20, |_| 0).unwrap();
        assert_eq!(second, 50, "a thousand were sent by then");
        assert_eq!(told(60, 10, |_| 0), None);
        assert_eq!(told(10, 1_000_000, |_| 0), None, "not for as long yet");
    }
}
