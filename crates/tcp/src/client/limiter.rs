//! So many answers in a second and no more.

/// A budget that is filled up as time goes by (RFC 5961 7).
#[derive(Clone, Copy, Debug)]
pub(super) struct Limiter {
    per_second: u32,
    /// Thousandths of answers that may still be given.
    left: u64,
    tick: u32,
}

impl Limiter {
    /// A full budget of so many a second, at the tick `now`.
    pub(super) fn new(per_second: u32, now: u32) -> Self {
        Self { per_second, left: u64::from(per_second) * 1000, tick: now }
    }

    /// True when another answer may be given, which then counts.
    pub(super) fn take(&mut self, now: u32) -> bool {
        let passed = now.wrapping_sub(self.tick) as i32;
        if passed > 0 {
            let most = u64::from(self.per_second) * 1000;
            self.left = most.min(self.left + passed as u64 * u64::from(self.per_second));
            self.tick = now;
        }
        let may = self.left >= 1000;
        self.left -= if may { 1000 } else { 0 };
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_brings_so_many_and_not_more() {
        let mut limiter = Limiter::new(10, u32::MAX);
        let mut count = |now: u32| (0..100).filter(|_| limiter.take(now)).count();
        assert_eq!((count(u32::MAX), count(u32::MAX)), (10, 0));
        assert_eq!((count(99), count(199), count(60_000)), (1, 1, 10));
    }
}
