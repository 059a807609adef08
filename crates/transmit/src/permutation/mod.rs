//! Full-cycle permutations: every number below a limit once, in an order that looks random.
//!
//! A [`Permutation`] has random access: the item at any index, without those before it and without
//! memory. So a run can be cut into shards and be resumed exactly, and a program in the kernel can
//! walk it as well as user space does.
//!
//! It is a Feistel network over the next power of two; what falls outside the limit is sent through
//! the network again until it falls inside ("cycle walking": Black, Rogaway, "Ciphers with arbitrary
//! finite domains", 2002). The order is not a secret: who knows some of it can find the rest.

pub(crate) mod random;

pub use random::Random;
pub(crate) use random::below;

/// Rounds of the network; each changes one half of the number.
const ROUNDS: usize = 4;

/// A permutation of the numbers below a limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permutation {
    count: u128,
    low_bits: u32,
    high_bits: u32,
    keys: [u64; ROUNDS],
}

impl Permutation {
    /// A permutation of the numbers below `count`, one of many by `seed`: the same seed gives the same
    /// order on every machine.
    ///
    /// # Panics
    /// When `count` is 0 or more than 2^64.
    pub fn new(count: u128, seed: u64) -> Self {
        assert!((1..=1 << 64).contains(&count), "a permutation of {count} numbers");
        let bits = (128 - (count - 1).leading_zeros()).max(2);
        let mut random = Random::new(seed);
        let keys = [(); ROUNDS].map(|()| random.next());
        Self { count, low_bits: bits / 2, high_bits: bits - bits / 2, keys }
    }

    /// How many numbers it permutes.
    pub fn count(&self) -> u128 {
        self.count
    }

    /// The number at `index`; at 1 + the last one it begins anew.
    pub fn at(&self, index: u64) -> u64 {
        let mut number = index;
        if u128::from(index) >= self.count {
            number = (u128::from(index) % self.count) as u64;
        }
        loop {
            number = self.mix(number);
            if u128::from(number) < self.count {
                return number;
            }
        }
    }

    /// Bits of the lower and of the upper half of the numbers that go through the network.
    pub(crate) fn bits(&self) -> (u32, u32) {
        (self.low_bits, self.high_bits)
    }

    /// The keys of the rounds: those that change the upper half and those that change the lower take turns.
    pub(crate) fn keys(&self) -> &[u64] {
        &self.keys
    }

    /// One pass through the network. Each round is undone by itself, so the whole is a bijection.
    fn mix(&self, number: u64) -> u64 {
        let mut low = number & mask(self.low_bits);
        let mut high = number >> self.low_bits;
        for pair in self.keys.chunks_exact(2) {
            high ^= hash(low, pair[0]) >> (64 - self.high_bits);
            low ^= hash(high, pair[1]) >> (64 - self.low_bits);
        }
        high << self.low_bits | low
    }
}

pub(crate) const MULTIPLIERS: [u64; 2] = [0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb];

/// All bits of the half and of the key move the highest bits: a multiplication carries only upwards, so
/// the highest are then folded onto the lowest and go through another one. (The multipliers are those of
/// Stafford's variant 13 of MurmurHash3's finaliser.)
fn hash(half: u64, key: u64) -> u64 {
    let product = (half ^ key).wrapping_mul(MULTIPLIERS[0]);
    (product ^ product >> 32).wrapping_mul(MULTIPLIERS[1])
}

fn mask(bits: u32) -> u64 {
    (1 << bits) - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn order(count: u64, seed: u64) -> Vec<u64> {
        let permutation = Permutation::new(count.into(), seed);
        (0..count).map(|index| permutation.at(index)).collect()
    }

    fn is_complete(mut order: Vec<u64>) -> bool {
        order.sort_unstable();
        order.iter().copied().eq(0..order.len() as u64)
    }

    #[test]
    fn small_ones_are_complete() {
        for count in 1..300 {
            assert!(is_complete(order(count, count)), "{count}");
        }
    }

    #[test]
    fn a_large_prefix_is_complete() {
        assert!(is_complete(order(1 << 22, 7)));
        assert!(is_complete(order((1 << 21) + 1, 7)));
    }

    #[test]
    fn it_begins_anew_at_the_end() {
        let permutation = Permutation::new(10, 1);
        assert_eq!(permutation.at(13), permutation.at(3));
    }

    #[test]
    fn the_largest_ones_work() {
        for count in [1 << 64, (1 << 64) - 1, (1 << 63) + 1] {
            let permutation = Permutation::new(count, 3);
            let items: std::collections::HashSet<_> =
                (0..1000).map(|i| permutation.at(u64::MAX - 1 - i)).collect();
            assert_eq!(items.len(), 1000);
        }
    }

    #[test]
    fn the_order_is_the_same_on_every_machine() {
        assert_eq!(order(10, 1), order(10, 1));
        assert_ne!(order(100, 1), order(100, 2));
    }

    /// Pearson's statistic of how often pairs of neighbours fall into each of 16 x 16 cells. With 255 degrees of
    /// freedom, 400 is beyond the 99.9999th percentile.
    fn chi_squared(order: &[u64]) -> f64 {
        let cell = |item: u64| (item * 16 / order.len() as u64) as usize;
        let mut cells = [0_u32; 256];
        order.windows(2).for_each(|pair| cells[cell(pair[0]) * 16 + cell(pair[1])] += 1);
        let expected = (order.len() - 1) as f64 / 256.0;
        cells.iter().map(|&n| (f64::from(n) - expected).powi(2) / expected).sum()
    }

    #[test]
    fn neighbours_in_the_order_have_nothing_in_common() {
        for count in [1 << 16, 100_000, 1 << 20] {
            for seed in 0..8 {
                let statistic = chi_squared(&order(count, seed));
                assert!(statistic < 400.0, "{count} {seed}: {statistic}");
            }
        }
    }

    #[test]
    fn any_part_of_the_order_is_spread_evenly() {
        for seed in 0..8 {
            let order = order(1 << 20, seed);
            let mut cells = [0_i64; 64];
            order[..64_000].iter().for_each(|item| cells[(item >> 14) as usize] += 1);
            let most = cells.iter().map(|n| (n - 1000).abs()).max();
            assert!(most < Some(170), "{seed}: {cells:?}");
        }
    }

    proptest! {
        #[test]
        fn every_number_comes_once(count in 1..5_000_u64, seed: u64) {
            prop_assert!(is_complete(order(count, seed)));
        }
    }
}
