//! The live line while targets are visited.

use super::keeper::State;
use crate::commands::survey;
use crate::live::{LiveLine, ahead, packets};
use crate::units::grouped;

/// How far it is.
pub(super) struct Progress {
    line: LiveLine,
    targets: u64,
    retries: u32,
}

impl Progress {
    /// So many targets are known at the beginning, and who does not answer is asked again so often.
    pub(super) fn new(targets: u64, retries: u32) -> Self {
        Self { line: LiveLine::new(true), targets, retries }
    }

    /// So many connections are open, and `left` targets are to be visited yet.
    pub(super) fn at(&mut self, state: &State, open: usize, left: u64) {
        if !self.line.is_due() {
            return;
        }
        let silent = self.targets.saturating_sub(state.opened);
        let left = survey::to_come(left, silent, state.pass, self.retries);
        self.line.show(state.sent, |rate, elapsed| {
            let share = 100.0 * state.opened as f64 / state.sent.max(1) as f64;
            let begin = packets(state.sent, rate, elapsed).replace("packets", "SYNs");
            let (opened, open) = (grouped(state.opened), grouped(open as u64));
            let end = ahead(left, state.sent, rate, elapsed);
            format!("{begin}  {opened} opened ({share:.2} %)  {open} open  {end}")
        });
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.line.clear();
    }
}
