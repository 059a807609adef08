//! How often times of each length came.

use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

/// Buckets to each doubling, as a power of two: a time is known to 0.4 % of itself.
const PRECISION: u32 = 8;

/// Times in buckets that are the wider the longer the times are: 256 to each doubling, and of a nanosecond
/// below 512. So quantiles are exact to 0.2 %, from nanoseconds to centuries, in the same memory.
#[derive(Clone, PartialEq, Eq)]
pub struct Histogram {
    counts: Vec<u64>,
    count: u64,
}

impl Histogram {
    /// How many buckets there are.
    pub const BUCKETS: usize = (64 - PRECISION as usize + 1) << PRECISION;

    /// An empty one.
    pub fn new() -> Self {
        Self { counts: vec![0; Self::BUCKETS], count: 0 }
    }

    /// One whose buckets were filled elsewhere, as [`bucket`](Self::bucket) numbers them; what is missing is empty.
    ///
    /// # Panics
    /// When there are more than [`BUCKETS`](Self::BUCKETS).
    pub fn of_counts(mut counts: Vec<u64>) -> Self {
        assert!(counts.len() <= Self::BUCKETS, "{} buckets", counts.len());
        counts.resize(Self::BUCKETS, 0);
        let count = counts.iter().sum();
        Self { counts, count }
    }

    /// The number of the bucket of a time in nanoseconds.
    #[inline]
    pub fn bucket(nanos: u64) -> usize {
        let shift = (64 - nanos.leading_zeros()).saturating_sub(PRECISION + 1);
        ((shift as usize) << PRECISION) + (nanos >> shift) as usize
    }

    /// The times in nanoseconds that fall into a bucket.
    fn times(bucket: usize) -> RangeInclusive<u64> {
        let shift = (bucket >> PRECISION).saturating_sub(1);
        let first = ((bucket - (shift << PRECISION)) as u64) << shift;
        first..=first + ((1 << shift) - 1)
    }

    /// Counts a time in nanoseconds `times` times.
    #[inline]
    pub fn record(&mut self, nanos: u64, times: u64) {
        self.counts[Self::bucket(nanos)] += times;
        self.count += times;
    }

    /// Adds what another one has counted.
    pub fn merge(&mut self, other: &Self) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(count, other)| *count += other);
        self.count += other.count;
    }

    /// How many times were counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The time that the share `share` of all, 0 to 1, does not exceed: 0.5 is the median, 1 the longest. `None` of an
    /// empty one.
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        let rank = ((self.count as f64 * share).ceil() as u64).clamp(1, self.count.max(1));
        let mut below = 0;
        let bucket = self.counts.iter().position(|count| {
            below += count;
            below >= rank
        })?;
        let times = Self::times(bucket);
        Some(Duration::from_nanos(times.start() + (times.end() - times.start()) / 2))
    }

    /// How often times from one bound to the next came, in nanoseconds, `per_doubling` bounds to each doubling: only
    /// those that did, the shortest first.
    ///
    /// # Panics
    /// When `per_doubling` is no power of two, or above 256.
    pub fn rows(&self, per_doubling: usize) -> Vec<(RangeInclusive<u64>, u64)> {
        let most = 1 << PRECISION;
        assert!(per_doubling.is_power_of_two() && per_doubling <= most, "{per_doubling} bounds");
        let group = most / per_doubling;
        let groups = self.counts.chunks(group).enumerate();
        let some = groups.map(|(index, counts)| (index * group, counts.iter().sum::<u64>()));
        some.filter(|(_, count)| *count > 0)
            .map(|(first, count)| {
                let (first, last) = (Self::times(first), Self::times(first + group - 1));
                (*first.start()..=*last.end(), count)
            })
            .collect()
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.rows(1)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_one_another_without_gaps() {
        let mut next = 0;
        for bucket in 0..Histogram::BUCKETS {
            let times = Histogram::times(bucket);
            assert_eq!(*times.start(), next, "{bucket}");
            assert_eq!(Histogram::bucket(*times.start()), bucket);
            assert_eq!(Histogram::bucket(*times.end()), bucket);
            assert!(times.end() - times.start() <= times.start() >> PRECISION);
            next = times.end().wrapping_add(1);
        }
        assert_eq!(next, 0, "the last bucket ends with the last number");
    }

    #[test]
    fn quantiles_of_few_and_of_many() {
        let mut histogram = Histogram::new();
        assert_eq!(histogram.quantile(0.5), None);
        histogram.record(7, 1);
        let nanos = Duration::from_nanos;
        assert_eq!([0.0, 0.5, 1.0].map(|share| histogram.quantile(share)), [Some(nanos(7)); 3]);
        (1..=100_000).for_each(|time| histogram.record(time, 1));
        for (share, expected) in [(0.5, 50_000.0), (0.99, 99_000.0), (1.0, 100_000.0)] {
            let found = histogram.quantile(share).unwrap().as_nanos() as f64;
            assert!((found / expected - 1.0).abs() < 0.003, "{share}: {found}");
        }
    }

    #[test]
    fn rows_are_those_that_have_something() {
        let mut histogram = Histogram::new();
        histogram.record(0, 3);
        histogram.record(1_000, 2);
        histogram.record(1_025, 1);
        assert_eq!(histogram.rows(1), [(0..=255, 3), (512..=1023, 2), (1024..=2047, 1)]);
        assert_eq!(histogram.rows(4)[1], (896..=1023, 2));
    }

    #[test]
    fn sums_and_counts_from_elsewhere() {
        let mut one = Histogram::new();
        one.record(300, 2);
        let mut other = Histogram::of_counts(vec![1, 0, 5]);
        other.merge(&one);
        assert_eq!(
            (other.count(), other.rows(256)),
            (8, vec![(0..=0, 1), (2..=2, 5), (300..=300, 2)])
        );
    }
}
