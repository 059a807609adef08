//! Rules by the ranges of one field.

use crate::lookup::Table;

/// Index of a rule in its tier.
pub(super) type RuleId = u32;

/// What is filed: a rule of which something is left to be asked, or else its filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Entry {
    Rule(RuleId),
    Filter(usize),
}

/// What lies under one number or range.
#[derive(Clone, Debug, Default)]
pub(super) struct Folder {
    pub(super) rules: Box<[RuleId]>,
    pub(super) filters: Box<[usize]>,
    /// The filters as bits, where they are so many that these are shorter.
    pub(super) row: Option<Box<[u64]>>,
}

impl Folder {
    fn new(entries: impl Iterator<Item = Entry>) -> Self {
        let (mut rules, mut filters) = (Vec::new(), Vec::new());
        for entry in entries {
            match entry {
                Entry::Rule(rule) => rules.push(rule),
                Entry::Filter(filter) => filters.push(filter),
            }
        }
        let row = row(&filters);
        let filters = if row.is_some() { Vec::new() } else { filters };
        Self { rules: rules.into(), filters: filters.into(), row }
    }

    fn is_empty(&self) -> bool {
        self.rules.is_empty() && self.filters.is_empty() && self.row.is_none()
    }

    /// Takes a filter out.
    fn forget(&mut self, filter: usize) {
        if self.filters.contains(&filter) {
            self.filters = self.filters.iter().copied().filter(|f| *f != filter).collect();
        }
        if let Some(word) = self.row.as_mut().and_then(|row| row.get_mut(filter / 64)) {
            *word &= !(1 << (filter % 64));
        }
    }
}

fn row(filters: &[usize]) -> Option<Box<[u64]>> {
    let words = filters.iter().max()? / 64 + 1;
    (words < filters.len()).then(|| {
        let mut row = vec![0; words];
        filters.iter().for_each(|filter| row[filter / 64] |= 1 << (filter % 64));
        row.into()
    })
}

/// Rules under single numbers.
#[derive(Debug)]
pub(super) struct Points {
    table: Table,
    /// What is under the number of each place of the table: a filter, and nothing else; or, with its highest bit set, the
    /// number of a folder. So most of what is found is found without a look elsewhere.
    found: Vec<u32>,
    /// The first is empty.
    folders: Vec<Folder>,
}

/// Tells a folder's number.
const FOLDER: u32 = 1 << 31;

/// What is under a number, to be looked at.
#[derive(Clone, Copy)]
pub(super) enum Under<'a> {
    Filter(usize),
    Folder(&'a Folder),
}

impl Points {
    /// Entries are not empty, and ascend.
    pub(super) fn new(entries: &[(u32, Entry)]) -> Self {
        let mut keys: Vec<_> = entries.iter().map(|(key, _)| *key).collect();
        keys.dedup();
        let table = Table::new(&keys);
        let mut found = vec![FOLDER; table.places().0.len()];
        let mut folders = vec![Folder::default()];
        for group in entries.chunk_by(|one, other| one.0 == other.0) {
            let under = match *group {
                [(_, Entry::Filter(filter))] if filter < FOLDER as usize => filter as u32,
                _ => {
                    folders.push(Folder::new(group.iter().map(|(_, entry)| *entry)));
                    FOLDER | (folders.len() as u32 - 1)
                }
            };
            table.places_of(group[0].0).for_each(|place| found[place] = under);
        }
        Self { table, found, folders }
    }

    /// The numbers under which there is something.
    pub(super) fn table(&self) -> &Table {
        &self.table
    }

    /// What is under the number at a place of the table.
    #[inline(always)]
    pub(super) fn at(&self, place: usize) -> Under<'_> {
        match self.found[place] {
            folder @ FOLDER.. => Under::Folder(&self.folders[(folder & !FOLDER) as usize]),
            filter => Under::Filter(filter as usize),
        }
    }

    pub(super) fn forget(&mut self, filter: usize) {
        self.folders.iter_mut().for_each(|folder| folder.forget(filter));
        let is_it = |found: &&mut u32| **found as usize == filter && **found < FOLDER;
        self.found.iter_mut().filter(is_it).for_each(|found| *found = FOLDER);
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
    /// What is at each node.
    folders: Vec<Folder>,
    /// For each node, itself or the next one above it that has something; 0 if none has.
    next: Vec<u32>,
}

impl Spans {
    pub(super) fn new(entries: &[((u32, u32), Entry)]) -> Self {
        let bounds = |(from, to): (u32, u32)| [Some(from), to.checked_add(1)];
        let mut leaves: Vec<_> =
            entries.iter().flat_map(|(range, _)| bounds(*range)).flatten().collect();
        leaves.push(0);
        leaves.sort_unstable();
        leaves.dedup();
        let size = leaves.len().next_power_of_two();
        let mut noted = Vec::new();
        for ((from, to), entry) in entries {
            let leaf = |number: u32| leaves.partition_point(|first| *first <= number) - 1;
            for node in cover(size, leaf(*from), leaf(*to)) {
                noted.push((node, *entry));
            }
        }
        noted.sort_unstable();
        let mut folders = vec![Folder::default(); 2 * size];
        for group in noted.chunk_by(|one, other| one.0 == other.0) {
            folders[group[0].0] = Folder::new(group.iter().map(|(_, entry)| *entry));
        }
        let mut next = vec![0; 2 * size];
        for node in 1..2 * size {
            next[node] = if folders[node].is_empty() { next[node / 2] } else { node as u32 };
        }
        Self { leaves, size, folders, next }
    }

    /// What is under ranges that a number is in.
    pub(super) fn get(&self, number: u32) -> impl Iterator<Item = Under<'_>> {
        let leaf = self.leaves.partition_point(|first| *first <= number) - 1;
        let mut node = self.next[self.size + leaf] as usize;
        std::iter::from_fn(move || {
            let folder = (node > 0).then(|| Under::Folder(&self.folders[node]));
            node = self.next[node / 2] as usize;
            folder
        })
    }

    pub(super) fn forget(&mut self, filter: usize) {
        self.folders.iter_mut().for_each(|folder| folder.forget(filter));
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

    /// What is in folders, ascending.
    fn filed<'a>(under: impl IntoIterator<Item = Under<'a>>) -> Vec<Entry> {
        let mut found = Vec::new();
        for under in under {
            let folder = match under {
                Under::Folder(folder) => folder,
                Under::Filter(filter) => {
                    found.push(Entry::Filter(filter));
                    continue;
                }
            };
            found.extend(folder.rules.iter().map(|rule| Entry::Rule(*rule)));
            found.extend(folder.filters.iter().map(|filter| Entry::Filter(*filter)));
            let row = folder.row.iter().flat_map(|row| row.iter().enumerate());
            let bits = row.flat_map(|(word, bits)| {
                (0..64).map(move |bit| (64 * word + bit, bits >> bit & 1))
            });
            found
                .extend(bits.filter(|(_, bit)| *bit == 1).map(|(filter, _)| Entry::Filter(filter)));
        }
        found.sort_unstable();
        found
    }

    proptest! {
        #[test]
        fn a_number_finds_what_is_filed_under_it(
            ranges in prop::collection::vec((number(), number(), any::<bool>()), 1..80),
            asked in prop::collection::vec(number(), 60),
            forgotten in 0..80_usize,
        ) {
            let entry = |(at, (a, b, asks)): (usize, (u32, u32, bool))| {
                let entry = if asks { Entry::Rule(at as RuleId) } else { Entry::Filter(at) };
                ((a.min(b), a.max(b)), entry)
            };
            let entries: Vec<_> = ranges.into_iter().enumerate().map(entry).collect();
            let mut spans = Spans::new(&entries);
            let mut under: Vec<_> = entries.iter().map(|((from, _), e)| (*from, *e)).collect();
            under.sort_unstable();
            let mut points = Points::new(&under);
            spans.forget(forgotten);
            points.forget(forgotten);
            for number in asked {
                let meant = |holds: &dyn Fn((u32, u32)) -> bool| -> Vec<Entry> {
                    let there = entries.iter().filter(|(range, _)| holds(*range));
                    let mut meant: Vec<_> = there.map(|(_, entry)| *entry).collect();
                    meant.retain(|entry| *entry != Entry::Filter(forgotten));
                    meant.sort_unstable();
                    meant
                };
                prop_assert_eq!(filed(spans.get(number)), meant(&|(from, to)| (from..=to).contains(&number)));
                if entries.iter().any(|((from, _), _)| *from == number) {
                    let place = points.table().place_of(number);
                    prop_assert_eq!(filed([points.at(place)]), meant(&|(from, _)| from == number));
                }
            }
        }
    }
}
