//! What became of every packet, from counters that the kernel sets back whenever they are read.

use linerate_base::Stats;
use linerate_sys::packet_socket::Statistics;

/// Sums since the source was opened.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ledger {
    /// Packets that the kernel let through to the socket, those dropped included.
    pub(crate) passed: u64,
    dropped: u64,
    freezes: u64,
    /// Packets lent out to the application.
    delivered: u64,
}

impl Ledger {
    /// Adds what the kernel counted since it was last asked.
    pub(crate) fn add(&mut self, counted: Statistics) {
        self.passed += u64::from(counted.packets);
        self.dropped += u64::from(counted.dropped);
        self.freezes += u64::from(counted.freezes);
    }

    /// Adds packets that were lent out.
    pub(crate) fn deliver(&mut self, packets: usize) {
        self.delivered += packets as u64;
    }

    /// Packets that were let through, not dropped and not delivered: they wait in the buffer.
    pub(crate) fn pending(&self) -> u64 {
        self.passed.saturating_sub(self.dropped + self.delivered)
    }

    /// The sums, with `seen` packets before the filter.
    pub(crate) fn stats(&self, seen: u64) -> Stats {
        Stats {
            seen,
            delivered: self.delivered,
            filtered: seen.saturating_sub(self.passed),
            dropped: self.dropped,
            pending: self.pending(),
            freezes: self.freezes,
            ..Stats::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readings_add_up_and_the_rest_is_pending() {
        let mut ledger = Ledger::default();
        ledger.add(Statistics { packets: 10, dropped: 3, freezes: 1 });
        ledger.deliver(2);
        ledger.add(Statistics { packets: 5, dropped: 1, freezes: 1 });
        let stats = ledger.stats(20);
        assert!(stats.balances());
        assert_eq!((stats.filtered, stats.dropped, stats.pending, stats.freezes), (5, 4, 9, 2));
    }
}
