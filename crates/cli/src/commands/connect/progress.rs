//! The live line while targets are visited.

use super::keeper::State;
use crate::live::{LiveLine, packets};
use crate::units::grouped;

/// How far it is.
pub(super) struct Progress(LiveLine);

impl Progress {
    pub(super) fn new() -> Self {
        Self(LiveLine::new(true))
    }

    /// So many connections are open, and `left` targets are to be visited yet.
    pub(super) fn at(&mut self, state: &State, open: usize, left: u64) {
        if !self.0.is_due() {
            return;
        }
        self.0.show(state.sent, |rate, elapsed| {
            let share = 100.0 * state.opened as f64 / state.sent.max(1) as f64;
            let begin = packets(state.sent, rate, elapsed).replace("packets", "SYNs");
            let seconds = left.checked_div(rate).unwrap_or_default();
            let (opened, open) = (grouped(state.opened), grouped(open as u64));
            format!("{begin}  {opened} opened ({share:.2} %)  {open} open  {seconds} s left")
        });
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.clear();
    }
}
