//! How far a long bench is, on standard error.

use std::time::{Duration, Instant};

use crate::output;

/// Steps of about the same length.
pub(crate) struct Progress {
    steps: usize,
    done: usize,
    began: Instant,
}

impl Progress {
    /// None of so many steps is done.
    pub(crate) fn new(steps: usize) -> Self {
        Self { steps, done: 0, began: Instant::now() }
    }

    /// Says what comes next, and how long everything will take.
    pub(crate) fn next(&mut self, what: &str) {
        let left = left(self.began.elapsed(), self.done, self.steps);
        self.done += 1;
        output::tell(format_args!("{} of {}: {what}{left}", self.done, self.steps));
    }
}

/// The time that the rest will take, if it takes as long as what is done.
fn left(elapsed: Duration, done: usize, steps: usize) -> String {
    if done == 0 {
        return String::new();
    }
    let seconds = elapsed.as_secs_f64() / done as f64 * steps.saturating_sub(done) as f64;
    match seconds as u64 {
        seconds @ ..60 => format!(", {seconds} s left"),
        seconds => format!(", {} min left", seconds.div_ceil(60)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_takes_as_long_as_what_is_done() {
        assert_eq!(left(Duration::ZERO, 0, 4), "");
        assert_eq!(left(Duration::from_secs(10), 1, 4), ", 30 s left");
        assert_eq!(left(Duration::from_secs(100), 2, 4), ", 2 min left");
    }
}
