//! Random numbers with random access.

/// A sequence of numbers that look random, one of many by its seed: splitmix64 (Steele, Lea, Flood,
/// "Fast splittable pseudorandom number generators", 2014). Not a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Random {
    state: u64,
}

/// The golden ratio in 64 bits: the step from one state to the next.
pub(crate) const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl Random {
    /// The sequence of this seed.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next number.
    #[expect(clippy::should_implement_trait, reason = "it never ends, so there is no Option")]
    pub fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        finalise(self.state)
    }

    /// The state before the first number.
    pub(crate) fn state(&self) -> u64 {
        self.state
    }

    /// The number at `index` of the sequence, from 0.
    pub fn at(&self, index: u64) -> u64 {
        finalise(self.state.wrapping_add(index.wrapping_add(1).wrapping_mul(STEP)))
    }
}

/// Shifts and multipliers, and the last shift.
pub(crate) const FINALISER: [(i32, u64); 2] =
    [(30, 0xbf58_476d_1ce4_e5b9), (27, 0x94d0_49bb_1331_11eb)];
pub(crate) const LAST_SHIFT: i32 = 31;

fn finalise(state: u64) -> u64 {
    let mixed = FINALISER
        .iter()
        .fold(state, |state, (bits, multiplier)| (state ^ state >> bits).wrapping_mul(*multiplier));
    mixed ^ mixed >> LAST_SHIFT
}

/// The number below `count`, at most 2^64, that `random` stands for, near-uniform: by multiplication
/// (Lemire, "Fast random integer generation in an interval", 2019), without its rejections. Up to 2^32 numbers 64
/// bits are enough for it, which is what a program in the kernel has.
pub(crate) fn below(random: u64, count: u128) -> u64 {
    if count <= 1 << 32 {
        return ((random >> 32) * count as u64) >> 32;
    }
    ((u128::from(random) * (count - 1) + u128::from(random)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_splitmix64() {
        // From Vigna's splitmix64.c with state 1234567.
        let mut random = Random::new(1_234_567);
        assert_eq!([random.next(), random.next()], [6457827717110365317, 3203168211198807973]);
    }

    #[test]
    fn access_by_index_gives_the_same_numbers() {
        let mut next = Random::new(9);
        let sequence = next;
        for index in 0..10 {
            assert_eq!(next.next(), sequence.at(index));
        }
    }

    #[test]
    fn numbers_stay_below_the_count() {
        assert_eq!((below(u64::MAX, 10), below(0, 10), below(u64::MAX, 1)), (9, 0, 0));
        assert_eq!(
            (below(u64::MAX, 1 << 32), below(u64::MAX, 1 << 64)),
            (u32::MAX.into(), u64::MAX)
        );
    }
}
