//! Searches among ascending bounds by halves, of which the first five need no memory.

/// What a number's place among bounds stands for.
#[derive(Debug)]
pub(crate) struct Bounds {
    bounds: Box<[u32]>,
    /// One for each count of bounds that are not above a number.
    values: Box<[u32]>,
    /// The bounds that the first halvings look at: after number `n` comes `2 * n` for a number below it, else the one behind.
    /// The first is number 1.
    pivots: [u32; FIRST],
    /// Where these halvings end, in order of numbers: with a value where no bounds are left to be looked at, else with how many
    /// bounds are surely not above.
    outcomes: [u32; FIRST],
}

/// Ways that the first halvings end: two vectors of them.
pub(crate) const FIRST: usize = 1 << HALVINGS;
/// How many halvings need no memory.
pub(crate) const HALVINGS: usize = 5;

impl Bounds {
    /// Bounds ascend.
    ///
    /// # Panics
    /// Unless there is one value more than there are bounds.
    pub(crate) fn new(bounds: Box<[u32]>, values: Box<[u32]>) -> Self {
        assert_eq!(values.len(), bounds.len() + 1, "a value for each count");
        let mut counts = [0; 2 * FIRST];
        let mut pivots = [u32::MAX; FIRST];
        // Where there are few bounds, it is as if some that nothing reaches came behind them.
        let mut rest = bounds.len().max(FIRST - 1);
        for level in 0..HALVINGS {
            let half = rest.div_ceil(2);
            for node in 1 << level..2 << level {
                let count: usize = counts[node];
                pivots[node] = bounds.get(count + half - 1).copied().unwrap_or(u32::MAX);
                (counts[2 * node], counts[2 * node + 1]) = (count, count + half);
            }
            rest -= half;
        }
        let mut outcomes = [0; FIRST];
        for (outcome, count) in outcomes.iter_mut().zip(&counts[FIRST..]) {
            *outcome = if rest == 0 { values[*count.min(&bounds.len())] } else { *count as u32 };
        }
        Self { bounds, values, pivots, outcomes }
    }

    /// The value of a number.
    pub(crate) fn value(&self, number: u32) -> u32 {
        self.values[self.bounds.partition_point(|bound| *bound <= number)]
    }

    pub(crate) fn bounds(&self) -> &[u32] {
        &self.bounds
    }

    pub(crate) fn values(&self) -> &[u32] {
        &self.values
    }

    pub(crate) fn pivots(&self) -> &[u32; FIRST] {
        &self.pivots
    }

    pub(crate) fn outcomes(&self) -> &[u32; FIRST] {
        &self.outcomes
    }

    /// So few that to compare a number with each takes less than to halve them.
    pub(crate) fn are_few(&self) -> bool {
        self.bounds.len() <= 12
    }

    /// How many bounds are left to be looked at after the first halvings.
    pub(crate) fn rest(&self) -> usize {
        self.bounds.len() >> HALVINGS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::Level;
    use crate::lanes::{CHUNK, Chunks, LANES, Lanes, each};
    use proptest::prelude::*;

    fn number() -> impl Strategy<Value = u32> {
        prop_oneof![0..200_u32, u32::MAX - 70..=u32::MAX, any::<u32>()]
    }

    proptest! {
        #[test]
        fn every_level_finds_the_value_of_each_number(
            bounds in prop_oneof![
                prop::collection::btree_set(number(), 0..40),
                prop::collection::btree_set(number(), 0..300),
            ],
            asked in prop::collection::vec(number(), LANES),
            chunks in any::<Chunks>(),
        ) {
            let values = (0..=bounds.len() as u32).map(|at| 7 * at + 1).collect();
            let bounds = Bounds::new(bounds.into_iter().collect(), values);
            for level in Level::all() {
                let mut numbers = Lanes::default();
                numbers.0.as_flattened_mut().copy_from_slice(&asked);
                level.look_up(&bounds, chunks, &mut numbers);
                for at in each(chunks).flat_map(|chunk| CHUNK * chunk..CHUNK * (chunk + 1)) {
                    let number = asked[at];
                    prop_assert_eq!(numbers.of(at), bounds.value(number), "{}: {:#x}", level, number);
                }
            }
        }
    }
}
