//! Counters that must balance.

use std::ops::AddAssign;

/// What became of every packet that a source saw.
///
/// The sums balance: `seen = delivered + filtered + dropped + pending`. While packets flow the
/// counters are read one after another and may be apart by what arrived in between; once a
/// source is stopped they are exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Packets that reached the source's first counter.
    pub seen: u64,
    /// Packets handed to the application.
    pub delivered: u64,
    /// Packets that the filter, in the kernel or in user space, turned away.
    pub filtered: u64,
    /// Packets lost because no buffer space was left, or none that is large enough.
    pub dropped: u64,
    /// Of those dropped, packets longer than the place for one: a larger buffer would not have taken them.
    pub oversized: u64,
    /// Packets taken out of the buffer that the network card was to stamp and did not: they have the kernel's time.
    pub unstamped: u64,
    /// Packets that are captured and wait in the buffer for the application.
    pub pending: u64,
    /// Times that the buffer was full and capturing stopped until the application caught up.
    pub freezes: u64,
    /// Packets that the interface itself reports as lost before any capture could see them; not
    /// part of `seen`. `None` where the driver does not say.
    pub interface_dropped: Option<u64>,
    /// True when a filter in the kernel turned packets away before any counter: `seen` and
    /// `filtered` then leave those packets out.
    pub filtered_uncounted: bool,
}

impl Stats {
    /// True when every packet seen is accounted for.
    pub fn balances(&self) -> bool {
        self.seen == self.delivered + self.filtered + self.dropped + self.pending
    }
}

impl AddAssign for Stats {
    fn add_assign(&mut self, other: Self) {
        self.seen += other.seen;
        self.delivered += other.delivered;
        self.filtered += other.filtered;
        self.dropped += other.dropped;
        self.oversized += other.oversized;
        self.unstamped += other.unstamped;
        self.pending += other.pending;
        self.freezes += other.freezes;
        self.interface_dropped = match (self.interface_dropped, other.interface_dropped) {
            (Some(a), Some(b)) => Some(a + b),
            (a, b) => a.or(b),
        };
        self.filtered_uncounted |= other.filtered_uncounted;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_balance_only_when_every_packet_is_accounted_for() {
        let mut all = Stats {
            seen: 10,
            delivered: 4,
            filtered: 3,
            dropped: 2,
            pending: 1,
            ..Stats::default()
        };
        assert!(all.balances());
        all.dropped += 1;
        assert!(!all.balances());
    }

    #[test]
    fn unknown_interface_drops_do_not_hide_known_ones() {
        let mut sum = Stats::default();
        sum += Stats { interface_dropped: Some(3), ..Stats::default() };
        sum += Stats::default();
        assert_eq!(sum.interface_dropped, Some(3));
    }
}
