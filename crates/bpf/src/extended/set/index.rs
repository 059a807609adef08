//! Where each rule is, and what is to be written when filters come and go.

use std::collections::{BTreeMap, HashMap};

use linerate_base::Result;

use super::super::Metadata;
use super::number::Field;
use super::prefix::Prefix;
use super::{FIELDS, KEY, ROWS, Rule, WORD, layout, place};

/// The maps that a running program reads.
pub trait Store {
    /// The table's word at an offset in bytes.
    fn read(&self, offset: usize) -> u64;

    /// Sets the table's word at an offset, in one step and after what was written before.
    fn write(&mut self, offset: usize, word: u64);

    /// Sets the value of a prefix in the trie, by the trie's key in full.
    ///
    /// # Errors
    /// When the kernel has no memory for it.
    fn put(&mut self, key: &[u8], value: u32) -> Result<()>;

    /// Removes a prefix from the trie.
    ///
    /// # Errors
    /// When the kernel does not.
    fn remove(&mut self, key: &[u8]) -> Result<()>;

    /// Waits until no program reads what it found before; false where that cannot be known.
    fn settle(&mut self) -> bool;
}

/// The filters of a set, by number, and their rules' places.
#[derive(Debug)]
pub struct Index {
    fields: Vec<Field>,
    /// By field.
    prefixes: Vec<BTreeMap<Prefix, Node>>,
    rows: Free<usize>,
    words: [Word; WORD],
    members: HashMap<usize, Member>,
}

/// A prefix in the trie.
#[derive(Debug)]
struct Node {
    row: usize,
    /// How many rules have it in their ranges.
    owners: usize,
}

/// A word of all rows.
#[derive(Clone, Debug, Default)]
struct Word {
    /// Bits of rules, and bits that rules had which a program may still see.
    taken: u64,
    left: u64,
    /// The fields that its first rule asked for: those of one kind stay together, so that packets of another kind are
    /// done with all of them at once.
    shape: Vec<usize>,
}

/// A filter.
#[derive(Debug)]
struct Member {
    word: usize,
    rules: Vec<Placed>,
}

/// For each field that a rule asks for, the numbers.
type Asked = Vec<(usize, Vec<Prefix>)>;

/// A rule and its bit.
#[derive(Debug)]
struct Placed {
    bit: usize,
    asked: Asked,
}

/// What can be given, and what cannot yet be as a program may still see it.
#[derive(Debug)]
struct Free<T> {
    now: Vec<T>,
    later: Vec<T>,
}

impl Index {
    /// A set without filters, which can take those that ask for these fields, in an empty table and trie. `None` for no
    /// field, and for more than [`FIELDS`].
    pub fn new(fields: Vec<Field>, store: &mut impl Store) -> Option<Self> {
        if fields.is_empty() || fields.len() > FIELDS {
            return None;
        }
        // The first is empty, and each field has one.
        let rows = (1 + fields.len()..ROWS).rev().collect();
        store.write(layout::EMPTY, 0);
        Some(Self {
            prefixes: fields.iter().map(|_| BTreeMap::new()).collect(),
            fields,
            rows: Free { now: rows, later: Vec::new() },
            words: [const { Word { taken: 0, left: 0, shape: Vec::new() } }; WORD],
            members: HashMap::new(),
        })
    }

    /// What filters can ask for.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// The metadata that programs must have written.
    pub fn needs(&self) -> impl Iterator<Item = Metadata> {
        self.fields.iter().filter_map(|field| field.number.metadata())
    }

    /// Adds a filter under a number that none has, and that programs will tell. False, and nothing is changed, where it
    /// asks for other fields, or there is no room for its rules.
    ///
    /// # Errors
    /// Those of the store; what is written by then keeps no packet, and stays.
    pub fn insert(
        &mut self,
        filter: usize,
        rules: &[Rule],
        store: &mut impl Store,
    ) -> Result<bool> {
        let Some(asked) = rules.iter().map(|rule| self.asked(rule)).collect::<Option<Vec<_>>>()
        else {
            return Ok(false);
        };
        let prefixes = asked.iter().flatten().map(|(_, prefixes)| prefixes.len()).sum();
        if self.rows.now.len() < prefixes || self.word(&asked).is_none() {
            self.settle(store);
        }
        let Some(word) = self.word(&asked).filter(|_| self.rows.now.len() >= prefixes) else {
            return Ok(false);
        };
        let rules = self.words[word].take(asked);
        describe(filter, word, &rules, store);
        for (field, prefix) in prefixes_of(&rules) {
            self.own(field, prefix, store)?;
        }
        rules.iter().for_each(|rule| self.enter(word, rule, store));
        self.members.insert(filter, Member { word, rules });
        let used = store.read(layout::USED);
        store.write(layout::USED, used | 1 << word);
        Ok(true)
    }

    /// Removes a filter; false if there is none of this number.
    ///
    /// # Errors
    /// Those of the store; the filter is gone by then.
    pub fn remove(&mut self, filter: usize, store: &mut impl Store) -> Result<bool> {
        let Some(Member { word, rules }) = self.members.remove(&filter) else { return Ok(false) };
        for rule in &rules {
            self.leave(word, rule, store);
            self.words[word].left |= 1 << rule.bit;
        }
        for (field, prefix) in prefixes_of(&rules) {
            self.disown(field, prefix, store)?;
        }
        Ok(true)
    }

    /// What a rule asks for; `None` if these are other fields.
    fn asked(&self, rule: &Rule) -> Option<Asked> {
        let asked = rule.conditions.iter().map(|condition| {
            let number = self.fields.iter().position(|field| *field == condition.field)?;
            Some((number, condition.ranges.iter().copied().flat_map(Prefix::cover).collect()))
        });
        asked.collect()
    }

    /// The word for a filter's rules: one of its kind, else one that is free, else any that has room.
    fn word(&self, rules: &[Asked]) -> Option<usize> {
        let shape = shape(rules);
        let with_room = || (0..WORD).filter(|word| self.words[*word].room() >= rules.len());
        let of_kind = with_room().find(|word| self.words[*word].shape == shape);
        let free = || with_room().find(|word| self.words[*word].taken == 0);
        of_kind.or_else(free).or_else(|| with_room().next())
    }

    /// Waits until what was left can be given again.
    fn settle(&mut self, store: &mut impl Store) {
        let is_left = !self.rows.later.is_empty() || self.words.iter().any(|word| word.left != 0);
        if is_left && store.settle() {
            self.rows.now.append(&mut self.rows.later);
            self.words.iter_mut().for_each(Word::settle);
        }
    }

    /// Writes a rule's bit to the rows that it belongs in. That it is asked for comes first: who does not see that does not
    /// see the bit.
    fn enter(&self, word: usize, rule: &Placed, store: &mut impl Store) {
        for (field, _) in &rule.asked {
            let asked = layout::ASKED + 8 * field;
            store.write(asked, store.read(asked) | 1 << word);
        }
        self.rows_of(rule).for_each(|row| set(store, row, word, rule.bit));
    }

    /// Takes a rule's bit out of all rows.
    fn leave(&self, word: usize, rule: &Placed, store: &mut impl Store) {
        self.rows_of(rule).for_each(|row| clear(store, row, word, rule.bit));
    }

    /// The rows that a rule's bit belongs in.
    fn rows_of(&self, rule: &Placed) -> impl Iterator<Item = usize> {
        let prefixes = prefixes_of(std::slice::from_ref(rule));
        let found = prefixes.flat_map(|(field, prefix)| self.rows_within(field, prefix));
        found.chain(self.indifferent(rule))
    }

    /// The rows of a rule's fields that it does not ask for.
    fn indifferent(&self, rule: &Placed) -> impl Iterator<Item = usize> {
        let is_asked = |field: &usize| rule.asked.iter().any(|(asked, _)| asked == field);
        (0..self.fields.len()).filter(move |field| !is_asked(field)).map(|field| 1 + field)
    }

    /// The rows of a prefix and of those in it.
    fn rows_within(&self, field: usize, prefix: Prefix) -> impl Iterator<Item = usize> {
        let last = Prefix { first: prefix.last(), bits: u32::BITS };
        self.prefixes[field].range(prefix..=last).map(|(_, node)| node.row)
    }

    /// Sees to it that a prefix is in the trie, with what wider ones have.
    fn own(&mut self, field: usize, prefix: Prefix, store: &mut impl Store) -> Result<()> {
        let prefixes = &mut self.prefixes[field];
        if let Some(node) = prefixes.get_mut(&prefix) {
            node.owners += 1;
            return Ok(());
        }
        let wider = prefix.wider().find_map(|wider| Some(prefixes.get(&wider)?.row));
        let Some(row) = self.rows.now.pop() else { return Ok(()) };
        for offset in (0..layout::ROW).step_by(8) {
            let inherited = wider.map_or(0, |wider| store.read(row_at(wider) + offset));
            store.write(row_at(row) + offset, inherited);
        }
        prefixes.insert(prefix, Node { row, owners: 1 });
        store.put(&key(field, prefix), (row * layout::ROW) as u32)
    }

    fn disown(&mut self, field: usize, prefix: Prefix, store: &mut impl Store) -> Result<()> {
        let Some(node) = self.prefixes[field].get_mut(&prefix) else { return Ok(()) };
        node.owners -= 1;
        if node.owners > 0 {
            return Ok(());
        }
        self.rows.later.push(node.row);
        self.prefixes[field].remove(&prefix);
        store.remove(&key(field, prefix))
    }
}

impl Word {
    fn room(&self) -> usize {
        self.taken.count_zeros() as usize
    }

    /// Gives rules bits, of which there are enough.
    fn take(&mut self, rules: Vec<Asked>) -> Vec<Placed> {
        if self.taken == 0 {
            self.shape = shape(&rules);
        }
        let mut place = |asked| {
            let bit = self.taken.trailing_ones() as usize;
            self.taken |= 1 << bit;
            Placed { bit, asked }
        };
        rules.into_iter().map(&mut place).collect()
    }

    fn settle(&mut self) {
        self.taken &= !self.left;
        self.left = 0;
    }
}

/// The prefixes of rules, with their fields.
fn prefixes_of(rules: &[Placed]) -> impl Iterator<Item = (usize, Prefix)> {
    let asked = rules.iter().flat_map(|rule| &rule.asked);
    asked.flat_map(|(field, prefixes)| prefixes.iter().map(|prefix| (*field, *prefix)))
}

/// The fields that a filter's first rule asks for.
fn shape(rules: &[Asked]) -> Vec<usize> {
    rules.first().into_iter().flatten().map(|(field, _)| *field).collect()
}

/// Writes what is told of rules once they are found.
fn describe(filter: usize, word: usize, rules: &[Placed], store: &mut impl Store) {
    let all = rules.iter().fold(0, |all, rule| all | 1 << rule.bit);
    for rule in rules {
        let number = WORD * place(word) + place(rule.bit);
        let entry = layout::ENTRIES + layout::ENTRY * number;
        store.write(entry, all);
        store.write(entry + 8, filter as u64);
    }
}

fn row_at(row: usize) -> usize {
    layout::FIRST_ROW + layout::ROW * row
}

/// The words come before the one that tells of them.
fn set(store: &mut impl Store, row: usize, word: usize, bit: usize) {
    let (summary, at) = (row_at(row), row_at(row) + 8 + 8 * place(word));
    store.write(at, store.read(at) | 1 << bit);
    store.write(summary, store.read(summary) | 1 << word);
}

fn clear(store: &mut impl Store, row: usize, word: usize, bit: usize) {
    let (summary, at) = (row_at(row), row_at(row) + 8 + 8 * place(word));
    let left = store.read(at) & !(1 << bit);
    store.write(at, left);
    if left == 0 {
        store.write(summary, store.read(summary) & !(1 << word));
    }
}

/// A prefix as the trie's key (`struct bpf_lpm_trie_key_u8` of `linux/bpf.h`).
fn key(field: usize, prefix: Prefix) -> [u8; 4 + KEY] {
    let mut key = [0; 4 + KEY];
    key[..4].copy_from_slice(&(u32::BITS + prefix.bits).to_ne_bytes());
    key[4..8].copy_from_slice(&(field as u32).to_be_bytes());
    key[8..].copy_from_slice(&prefix.first.to_be_bytes());
    key
}

#[cfg(test)]
mod tests {
    use super::super::{Condition, Number, TABLE_SIZE};
    use super::*;
    use proptest::prelude::*;

    /// The maps in memory.
    struct Memory {
        table: Vec<u64>,
        trie: HashMap<Vec<u8>, u32>,
        settles: bool,
    }

    impl Store for Memory {
        fn read(&self, offset: usize) -> u64 {
            self.table[offset / 8]
        }

        fn write(&mut self, offset: usize, word: u64) {
            self.table[offset / 8] = word;
        }

        fn put(&mut self, key: &[u8], value: u32) -> Result<()> {
            self.trie.insert(key.to_vec(), value);
            Ok(())
        }

        fn remove(&mut self, key: &[u8]) -> Result<()> {
            assert!(self.trie.remove(key).is_some(), "{key:?}");
            Ok(())
        }

        fn settle(&mut self) -> bool {
            self.settles
        }
    }

    impl Memory {
        fn new(settles: bool) -> Self {
            Self { table: vec![0; TABLE_SIZE / 8], trie: HashMap::new(), settles }
        }

        /// A row by an offset among the rows: what is in it, and what its first word says of that.
        fn row(&self, offset: usize) -> Vec<u64> {
            let words = &self.table[(layout::FIRST_ROW + offset) / 8..][..1 + WORD];
            for word in 0..WORD {
                assert_eq!(words[0] >> word & 1 == 1, words[1 + place(word)] != 0);
            }
            words.to_vec()
        }

        /// The filters that a program finds for numbers of fields.
        fn find(&self, numbers: &[Option<u32>]) -> Vec<usize> {
            let mut candidates = vec![u64::MAX; WORD];
            for (field, number) in numbers.iter().enumerate() {
                let mut prefixes = number.iter().flat_map(|number| {
                    let exact = Prefix::of(*number, 32);
                    std::iter::once(exact).chain(exact.wider())
                });
                let row = prefixes.find_map(|prefix| self.trie.get(&key(field, prefix)[..]));
                let row = self.row(row.map_or(0, |row| *row as usize));
                let others = self.row(layout::ROW * (1 + field));
                for (word, bits) in candidates.iter_mut().enumerate() {
                    *bits &= row[1 + word] | others[1 + word];
                }
            }
            let mut found = Vec::new();
            for (word, mut bits) in candidates.into_iter().enumerate() {
                while bits != 0 {
                    let number = WORD * word + place(bits.trailing_zeros() as usize);
                    let entry = layout::ENTRIES + layout::ENTRY * number;
                    bits &= !self.read(entry);
                    found.push(self.read(entry + 8) as usize);
                }
            }
            found.sort_unstable();
            found
        }
    }

    fn field(number: usize) -> Field {
        let load = Number::Load {
            base: None,
            offset: number as u32,
            size: super::super::super::Size::Word,
        };
        Field { number: load, mask: u32::MAX }
    }

    const COUNT: usize = 3;

    fn number() -> impl Strategy<Value = u32> {
        prop_oneof![0..40_u32, u32::MAX - 10..=u32::MAX]
    }

    fn rule() -> impl Strategy<Value = Rule> {
        let range = (number(), number()).prop_map(|(a, b)| (a.min(b), a.max(b)));
        let condition = prop::option::weighted(0.6, range);
        prop::collection::vec(condition, COUNT).prop_map(|ranges| {
            let asked = ranges.into_iter().enumerate();
            let asked = asked.filter_map(|(at, range)| Some((field(at), vec![range?])));
            Rule { conditions: asked.map(|(field, ranges)| Condition { field, ranges }).collect() }
        })
    }

    fn holds(rule: &Rule, numbers: &[Option<u32>]) -> bool {
        rule.conditions.iter().all(|Condition { field: asked, ranges }| {
            let at = (0..COUNT).find(|at| field(*at) == *asked).unwrap();
            numbers[at].is_some_and(|n| ranges.iter().any(|(from, to)| (*from..=*to).contains(&n)))
        })
    }

    proptest! {
        #[test]
        fn numbers_find_the_filters_that_are_there(
            steps in prop::collection::vec((prop::collection::vec(rule(), 0..4), any::<bool>(), any::<prop::sample::Index>()), 1..60),
            asked in prop::collection::vec(prop::collection::vec(prop::option::weighted(0.9, number()), COUNT), 40),
            settles: bool,
        ) {
            let mut memory = Memory::new(settles);
            let mut index = Index::new((0..COUNT).map(field).collect(), &mut memory).unwrap();
            let mut there: BTreeMap<usize, Vec<Rule>> = BTreeMap::new();
            for (filter, (rules, removes, which)) in steps.into_iter().enumerate() {
                if removes && !there.is_empty() {
                    let gone = *there.keys().nth(which.index(there.len())).unwrap();
                    there.remove(&gone);
                    prop_assert!(index.remove(gone, &mut memory).unwrap());
                    prop_assert!(!index.remove(gone, &mut memory).unwrap());
                }
                prop_assert!(index.insert(filter, &rules, &mut memory).unwrap());
                there.insert(filter, rules);
            }
            for numbers in &asked {
                let keeps = |rules: &[Rule]| rules.iter().any(|rule| holds(rule, numbers));
                let meant: Vec<_> = there.iter().filter(|(_, r)| keeps(r)).map(|(f, _)| *f).collect();
                prop_assert_eq!(memory.find(numbers), meant);
            }
            for gone in there.keys() {
                prop_assert!(index.remove(*gone, &mut memory).unwrap());
            }
            prop_assert!(memory.trie.is_empty());
        }
    }

    fn single(number: u32) -> Vec<Rule> {
        vec![Rule {
            conditions: vec![Condition { field: field(0), ranges: vec![(number, number)] }],
        }]
    }

    #[test]
    fn what_is_full_takes_no_more_until_something_has_left() {
        let mut memory = Memory::new(true);
        let mut index = Index::new(vec![field(0)], &mut memory).unwrap();
        for number in 0..super::super::RULES as u32 {
            assert!(index.insert(number as usize, &single(number), &mut memory).unwrap());
        }
        assert!(!index.insert(5000, &single(5000), &mut memory).unwrap());
        assert!(index.remove(17, &mut memory).unwrap());
        assert!(index.insert(5000, &single(5000), &mut memory).unwrap());
        assert_eq!(memory.find(&[Some(5000)]), [5000]);
        assert_eq!(memory.find(&[Some(17)]), [0; 0]);
    }

    #[test]
    fn a_place_is_not_given_again_while_a_program_may_look_at_it() {
        let mut memory = Memory::new(false);
        let mut index = Index::new(vec![field(0)], &mut memory).unwrap();
        for number in 0..super::super::RULES as u32 {
            assert!(index.insert(number as usize, &single(number), &mut memory).unwrap());
        }
        assert!(index.remove(17, &mut memory).unwrap());
        assert!(!index.insert(5000, &single(5000), &mut memory).unwrap());
        memory.settles = true;
        assert!(index.insert(5000, &single(5000), &mut memory).unwrap());
    }

    #[test]
    fn other_fields_are_not_taken() {
        let mut memory = Memory::new(true);
        let mut index = Index::new(vec![field(1)], &mut memory).unwrap();
        assert!(!index.insert(0, &single(3), &mut memory).unwrap());
        assert!(Index::new(Vec::new(), &mut memory).is_none());
        assert!(Index::new((0..FIELDS + 1).map(field).collect(), &mut memory).is_none());
    }
}
