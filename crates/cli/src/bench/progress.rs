//! How far a long bench is, on standard error.

use std::time::{Duration, Instant};

use crate::output;

/// Steps, most of them of about the same length.
pub(crate) struct Progress {
    /// All of it, in steps; what is over of it, and what goes on.
    whole: f64,
    done: f64,
    current: f64,
    began: Instant,
    told: Option<Instant>,
}

/// Steps may be short: no more than a line in this time.
const LINE: Duration = Duration::from_secs(1);

impl Progress {
    /// None of so many steps is done.
    pub(crate) fn new(steps: usize) -> Self {
        Self::of(steps as f64)
    }

    /// Of steps whose lengths sum to this.
    pub(crate) fn of(whole: f64) -> Self {
        Self { whole, done: 0.0, current: 0.0, began: Instant::now(), told: None }
    }

    /// Says what step comes next, and how long everything will take.
    pub(crate) fn next(&mut self, what: &str) {
        self.next_of(what, 1.0);
    }

    /// The same of a step of this length, or of a part of a step, which those of others may come between.
    pub(crate) fn next_of(&mut self, what: &str, length: f64) {
        self.done += self.current;
        self.current = length;
        if self.told.is_some_and(|told| told.elapsed() < LINE) {
            return;
        }
        let share = self.done / self.whole;
        let left = left(self.began.elapsed(), share);
        output::tell(format_args!("{:.0} %: {what}{left}", 100.0 * share));
        self.told = Some(Instant::now());
    }
}

/// The time that the rest will take, if it takes as long as what is done.
fn left(elapsed: Duration, share: f64) -> String {
    if share <= 0.0 {
        return String::new();
    }
    let seconds = elapsed.as_secs_f64() * (1.0 / share - 1.0).max(0.0);
    match seconds.round() as u64 {
        seconds @ ..60 => format!(", {seconds} s left"),
        seconds => format!(", {} min left", seconds.div_ceil(60)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_takes_as_long_as_what_is_done() {
        assert_eq!(left(Duration::ZERO, 0.0), "");
        assert_eq!(left(Duration::from_secs(10), 0.25), ", 30 s left");
        assert_eq!(left(Duration::from_secs(100), 0.5), ", 2 min left");
    }

    #[test]
    fn parts_of_steps_sum_to_steps() {
        let mut progress = Progress::new(3);
        progress.next("a");
        for _ in 0..4 {
            progress.next_of("b", 0.25);
        }
        progress.next("c");
        assert!((progress.done - 2.0).abs() < 1e-9);
    }
}
