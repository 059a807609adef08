//! Which questions are done.

use std::collections::VecDeque;

/// The numbers that are done: all below the position, and some from there on.
#[derive(Debug)]
pub(super) struct Ledger {
    position: u64,
    done: VecDeque<bool>,
}

impl Ledger {
    /// All below `position` are done.
    pub(super) fn new(position: u64) -> Self {
        Self { position, done: VecDeque::new() }
    }

    /// This one is done.
    pub(super) fn finish(&mut self, number: u64) {
        let Some(place) = number.checked_sub(self.position) else { return };
        let place = place as usize;
        if place >= self.done.len() {
            self.done.resize(place + 1, false);
        }
        self.done[place] = true;
        while self.done.front() == Some(&true) {
            self.done.pop_front();
            self.position += 1;
        }
    }

    /// The first that is not done.
    pub(super) fn position(&self) -> u64 {
        self.position
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_position_is_behind_all_that_is_done_in_a_row() {
        let mut ledger = Ledger::new(10);
        let positions = [12, 10, 9, 13, 11, 14].map(|number| {
            ledger.finish(number);
            ledger.position()
        });
        assert_eq!(positions, [10, 11, 11, 11, 14, 15]);
    }
}
