//! What the kernel counts for the whole machine.

use std::fs;
use std::time::Duration;

use serde::Serialize;

/// The kernel's receiving half, all CPUs together (`/proc/net/softnet_stat`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Softnet {
    /// Packets that came into the stack.
    pub processed: u64,
    /// Packets that found a CPU's backlog full.
    pub dropped: u64,
    /// Times that polling ended for want of budget, with packets left.
    pub squeezed: u64,
    /// Packets that other CPUs handed over (RPS).
    pub handed_over: u64,
}

/// Softirqs, all CPUs together (`/proc/softirqs`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Softirqs {
    /// `NET_RX`.
    pub receive: u64,
    /// `NET_TX`.
    pub transmit: u64,
}

impl Softnet {
    pub(super) fn read() -> Self {
        Self::parse(&fs::read_to_string("/proc/net/softnet_stat").unwrap_or_default())
    }

    /// A line for each CPU, of hexadecimal numbers (`softnet_seq_show` in net/core/net-procfs.c, Linux 6.18).
    fn parse(text: &str) -> Self {
        let mut sum = Self::default();
        for line in text.lines() {
            let words = line.split_ascii_whitespace();
            let numbers = words.map(|word| u64::from_str_radix(word, 16).unwrap_or(0));
            let numbers: Vec<_> = numbers.collect();
            let number = |n: usize| numbers.get(n).copied().unwrap_or(0);
            sum.processed += number(0);
            sum.dropped += number(1);
            sum.squeezed += number(2);
            sum.handed_over += number(9);
        }
        sum
    }

    /// The kernel's counters have 32 bits for each CPU.
    pub(super) fn since(self, before: Self) -> Self {
        Self {
            processed: self.processed.saturating_sub(before.processed),
            dropped: self.dropped.saturating_sub(before.dropped),
            squeezed: self.squeezed.saturating_sub(before.squeezed),
            handed_over: self.handed_over.saturating_sub(before.handed_over),
        }
    }
}

impl Softirqs {
    pub(super) fn read() -> Self {
        Self::parse(&fs::read_to_string("/proc/softirqs").unwrap_or_default())
    }

    fn parse(text: &str) -> Self {
        let of = |name: &str| {
            let line = text.lines().find_map(|line| line.trim_start().strip_prefix(name));
            let numbers = line.unwrap_or_default().split_ascii_whitespace();
            numbers.filter_map(|number| number.parse::<u64>().ok()).sum()
        };
        Self { receive: of("NET_RX:"), transmit: of("NET_TX:") }
    }

    pub(super) fn since(self, before: Self) -> Self {
        Self {
            receive: self.receive.saturating_sub(before.receive),
            transmit: self.transmit.saturating_sub(before.transmit),
        }
    }
}

/// `some ... total=` of `/proc/pressure/io`, in microseconds there.
pub(super) fn storage() -> Option<Duration> {
    pressure(&fs::read_to_string("/proc/pressure/io").ok()?)
}

fn pressure(text: &str) -> Option<Duration> {
    let total = text.lines().next()?.strip_prefix("some ")?.split_once("total=")?.1;
    total.trim().parse().ok().map(Duration::from_micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_the_kernel_are_summed() {
        let softnet = Softnet::parse(
            "0000000a 00000002 00000001 0 0 0 0 0 0 00000003 0 0 0\n00000010 00000000 00000000\n",
        );
        let expected = Softnet { processed: 26, dropped: 2, squeezed: 1, handed_over: 3 };
        assert_eq!(softnet, expected);
        let softirqs = Softirqs::parse("   CPU0 CPU1\n  NET_TX:  8  12\n  NET_RX: 7 1\n");
        assert_eq!(softirqs, Softirqs { receive: 8, transmit: 20 });
        let text = "some avg10=0.00 avg60=0.49 avg300=11.32 total=1500\nfull avg10=0.00 total=7\n";
        assert_eq!(pressure(text), Some(Duration::from_micros(1500)));
        assert_eq!(pressure(""), None);
    }
}
