//! The names that were written to, so that none is written over unasked.

use std::collections::HashMap;

/// Every name that a rotator has opened.
#[derive(Debug, Default)]
pub(super) struct Written(HashMap<String, File>);

#[derive(Debug, Default)]
struct File {
    /// The number of the period that wrote it last.
    period: u32,
    packets: u64,
    /// The number in the name of its latest namesake; 0 when there is none.
    namesakes: u32,
}

impl Written {
    /// The name for a file that is to be called `wanted` in the given period: that, unless an earlier period
    /// has written it; then `wanted-1`, or the next number that is free.
    pub(super) fn choose(&mut self, wanted: String, period: u32) -> String {
        if self.is_free(&wanted, period) {
            return wanted;
        }
        let mut number = self.0.get(&wanted).map_or(1, |file| file.namesakes.max(1));
        let mut name = format!("{wanted}-{number}");
        while !self.is_free(&name, period) {
            number += 1;
            name = format!("{wanted}-{number}");
        }
        self.0.entry(wanted).or_default().namesakes = number;
        name
    }

    /// Within a period, only a ring comes back to a name.
    fn is_free(&self, name: &str, period: u32) -> bool {
        self.0.get(name).is_none_or(|file| file.period == period)
    }

    /// Notes that `name` was opened, and gives the number of packets that were in it before.
    pub(super) fn open(&mut self, name: &str, period: u32) -> u64 {
        let file = self.0.entry(name.to_owned()).or_default();
        file.period = period;
        std::mem::take(&mut file.packets)
    }

    /// Notes that `name`, now closed, has `packets`.
    pub(super) fn close(&mut self, name: &str, packets: u64) {
        if let Some(file) = self.0.get_mut(name) {
            file.packets = packets;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Opens and closes a file with a packet; gives its name and what was in it before.
    fn write(written: &mut Written, wanted: &str, period: u32) -> (String, u64) {
        let name = written.choose(wanted.to_owned(), period);
        let before = written.open(&name, period);
        written.close(&name, 1);
        (name, before)
    }

    #[test]
    fn a_later_period_gets_a_name_of_its_own_to_which_its_ring_comes_back() {
        let mut written = Written::default();
        for (wanted, period, name, before) in [
            ("f", 1, "f", 0),
            ("f", 1, "f", 1),
            ("f-1", 2, "f-1", 0),
            ("f", 3, "f-2", 0),
            ("f", 3, "f-2", 1),
            ("f", 4, "f-3", 0),
            ("f-1", 4, "f-1-1", 0),
            ("g", 4, "g", 0),
        ] {
            assert_eq!(write(&mut written, wanted, period), (name.to_owned(), before));
        }
    }
}
