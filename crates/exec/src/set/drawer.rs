//! Rules by the ranges of one field.

use crate::lookup::Table;

/// Index of a rule in its tier.
pub(super) type RuleId = u32;

/// Rules under single numbers.
#[derive(Debug)]
pub(super) struct Points {
    table: Table,
    /// For each place of the table, where its rules are.
    heads: Vec<(u32, u32)>,
    rules: Vec<RuleId>,
}

impl Points {
    /// Entries are not empty.
    pub(super) fn new(mut entries: Vec<(u32, RuleId)>) -> Self {
        entries.sort_unstable();
        let mut keys: Vec<_> = entries.iter().map(|(key, _)| *key).collect();
        keys.dedup();
        let table = Table::new(&keys);
        let mut heads = vec![(0, 0); table.places().0.len()];
        let mut first = 0;
        for group in entries.chunk_by(|one, other| one.0 == other.0) {
            let head = (first, first + group.len() as u32);
            table.places_of(group[0].0).for_each(|place| heads[place] = head);
            first = head.1;
        }
        Self { table, heads, rules: entries.into_iter().map(|(_, rule)| rule).collect() }
    }

    /// The rules under a number.
    pub(super) fn get(&self, number: u32) -> &[RuleId] {
        let (from, to) = self.table.places_of(number).next().map_or((0, 0), |p| self.heads[p]);
        &self.rules[from as usize..to as usize]
    }
}

/// Rules under ranges: a segment tree (J. L. Bentley, "Solutions to Klee's rectangle problems", 1977) over the
/// ranges that no bound lies inside of. A range is noted at a logarithmic number of nodes.
#[derive(Debug)]
pub(super) struct Spans {
    /// The first number of each leaf, beginning with 0.
    leaves: Vec<u32>,
    /// A power of two, so that the leaf of number `n` is node `size + n`.
    size: usize,
    /// For each node, where its rules are.
    heads: Vec<(u32, u32)>,
    /// For each node, itself or the next one above it that has rules; 0 if none has.
    next: Vec<u32>,
    rules: Vec<RuleId>,
}

impl Spans {
    pub(super) fn new(entries: &[((u32, u32), RuleId)]) -> Self {
        let bounds = |(from, to): (u32, u32)| [Some(from), to.checked_add(1)];
        let mut leaves: Vec<_> =
            entries.iter().flat_map(|(range, _)| bounds(*range)).flatten().collect();
        leaves.push(0);
        leaves.sort_unstable();
        leaves.dedup();
        let size = leaves.len().next_power_of_two();
        let mut noted = Vec::new();
        for ((from, to), rule) in entries {
            let leaf = |number: u32| leaves.partition_point(|first| *first <= number) - 1;
            for node in cover(size, leaf(*from), leaf(*to)) {
                noted.push((node, *rule));
            }
        }
        noted.sort_unstable();
        let mut heads = vec![(0, 0); 2 * size];
        let mut first = 0;
        for group in noted.chunk_by(|one, other| one.0 == other.0) {
            heads[group[0].0] = (first, first + group.len() as u32);
            first += group.len() as u32;
        }
        let mut next = vec![0; 2 * size];
        for node in 1..2 * size {
            let (from, to) = heads[node];
            next[node] = if from < to { node as u32 } else { next[node / 2] };
        }
        Self { leaves, size, heads, next, rules: noted.into_iter().map(|(_, rule)| rule).collect() }
    }

    /// The rules under ranges that a number is in.
    pub(super) fn get(&self, number: u32) -> impl Iterator<Item = RuleId> {
        let leaf = self.leaves.partition_point(|first| *first <= number) - 1;
        let mut node = self.next[self.size + leaf] as usize;
        let groups = std::iter::from_fn(move || {
            let (from, to) = self.heads[node];
            node = self.next[node / 2] as usize;
            (from < to).then(|| &self.rules[from as usize..to as usize])
        });
        groups.flatten().copied()
    }
}

/// The nodes that together stand for leaves from the first to the last.
fn cover(size: usize, first: usize, last: usize) -> Vec<usize> {
    let (mut left, mut right) = (size + first, size + last + 1);
    let mut nodes = Vec::new();
    while left < right {
        if left % 2 == 1 {
            nodes.push(left);
            left += 1;
        }
        if right % 2 == 1 {
            right -= 1;
            nodes.push(right);
        }
        (left, right) = (left / 2, right / 2);
    }
    nodes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn number() -> impl Strategy<Value = u32> {
        prop_oneof![0..40_u32, u32::MAX - 20..=u32::MAX]
    }

    proptest! {
        #[test]
        fn a_number_finds_what_is_filed_under_it(
            ranges in prop::collection::vec((number(), number()), 1..40),
            asked in prop::collection::vec(number(), 60),
        ) {
            let ranges: Vec<_> = ranges.into_iter().map(|(a, b)| (a.min(b), a.max(b))).collect();
            let entries: Vec<_> = ranges.iter().copied().zip(0..).collect();
            let spans = Spans::new(&entries);
            let points = Points::new(entries.iter().map(|((from, _), rule)| (*from, *rule)).collect());
            for number in asked {
                let filed = |holds: &dyn Fn((u32, u32)) -> bool| -> Vec<RuleId> {
                    entries.iter().filter(|(range, _)| holds(*range)).map(|(_, rule)| *rule).collect()
                };
                let mut found: Vec<_> = spans.get(number).collect();
                found.sort_unstable();
                prop_assert_eq!(found, filed(&|(from, to)| (from..=to).contains(&number)));
                prop_assert_eq!(points.get(number), filed(&|(from, _)| from == number));
            }
        }
    }
}
