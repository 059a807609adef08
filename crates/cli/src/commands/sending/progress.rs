//! The live line while packets are sent.

use std::time::Duration;

use crate::live::{LiveLine, packets};

/// How far it is.
pub(in super::super) struct Progress(LiveLine);

impl Progress {
    pub(in super::super) fn new() -> Self {
        Self(LiveLine::new(true))
    }

    /// So many packets were handed over, the next has to wait for so long, and `percent` tells how much of all that is,
    /// where that is known.
    pub(in super::super) fn at(
        &mut self,
        submitted: u64,
        early: Duration,
        percent: impl FnOnce() -> Option<u64>,
    ) {
        if self.0.is_visible() && self.0.is_due() {
            self.0.show(submitted, |rate, elapsed| {
                packets(submitted, rate, elapsed) + &rest(early, percent())
            });
        }
    }

    /// Makes way for other output.
    pub(in super::super) fn clear(&mut self) {
        self.0.clear();
    }
}

fn rest(early: Duration, percent: Option<u64>) -> String {
    let mut text = percent.map(|percent| format!("  {percent} %")).unwrap_or_default();
    if early.as_secs() > 0 {
        text += &format!("  the next in {} s", early.as_secs());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_tells_how_much_is_sent_and_what_is_waited_for() {
        assert_eq!(rest(Duration::from_secs(3599), Some(42)), "  42 %  the next in 3599 s");
        assert_eq!(rest(Duration::from_millis(999), None), "");
    }
}
