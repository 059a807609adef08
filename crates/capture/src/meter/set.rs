//! Filters whose rules lie in maps, where they come and go while the program runs.

use std::os::fd::{AsFd, AsRawFd};

use linerate_base::Result;
use linerate_bpf::extended::set::{self, Field, Index, Rule, Search, Store};
use linerate_bpf::extended::{Hook, Metadata};
use linerate_sys::bpf::{Map, MapSpec, SharedWords, settle};

use super::MeterFilter;

/// So many filters are better looked up than asked one after the other.
const MANY: usize = 100;

/// A set of filters, and the maps of its programs.
#[derive(Debug)]
pub(super) struct Set {
    maps: Maps,
    index: Index,
}

#[derive(Debug)]
struct Maps {
    trie: Map,
    table: SharedWords,
}

impl Set {
    /// An empty set for filters such as these; `None` where they are few, or have hardly anything in common.
    ///
    /// # Errors
    /// Without CAP_BPF, and when there is no memory.
    pub(super) fn for_filters(filters: &[MeterFilter]) -> Result<Option<Self>> {
        let (fields, takes) = fields(filters);
        if takes < MANY {
            return Ok(None);
        }
        let (address, entries) = (set::TRIE_ADDRESS_SIZE as u32, set::TRIE_ENTRIES as u32);
        let trie = Map::new(&MapSpec::lpm_trie("meter_trie", address, 4, entries))?;
        let table = SharedWords::new("meter_rows", set::TABLE_SIZE as u32)?;
        let mut maps = Maps { trie, table };
        Ok(Index::new(fields, &mut maps).map(|index| Self { maps, index }))
    }

    /// Adds a filter under its number; false where that cannot be.
    ///
    /// # Errors
    /// When the kernel has no memory for it.
    pub(super) fn insert(&mut self, number: usize, rules: &[Rule]) -> Result<bool> {
        self.index.insert(number, rules, &mut self.maps)
    }

    /// Removes a filter; false if it has none of this number.
    ///
    /// # Errors
    /// None that can be expected: the maps are ours.
    pub(super) fn remove(&mut self, number: usize) -> Result<bool> {
        self.index.remove(number, &mut self.maps)
    }

    /// The metadata that programs must have written.
    pub(super) fn needs(&self) -> impl Iterator<Item = Metadata> {
        self.index.needs()
    }

    /// What finds the filters of packets at a hook.
    pub(super) fn search(&self, hook: Hook) -> Search<'_> {
        let Maps { trie, table } = &self.maps;
        let (trie, table) = (trie.as_fd().as_raw_fd(), table.map().as_fd().as_raw_fd());
        Search { fields: self.index.fields(), trie, table, hook }
    }
}

/// The fields that filters ask for, as many as a set can have, and how many filters ask for no others.
fn fields(filters: &[MeterFilter]) -> (Vec<Field>, usize) {
    let (mut fields, mut takes) = (Vec::new(), 0);
    for rules in filters.iter().filter_map(|filter| filter.rules.as_ref()) {
        let known = fields.len();
        for condition in rules.iter().flat_map(|rule| &rule.conditions) {
            if !fields.contains(&condition.field) {
                fields.push(condition.field.clone());
            }
        }
        match fields.len() <= set::FIELDS {
            true => takes += 1,
            false => fields.truncate(known),
        }
    }
    (fields, takes)
}

impl Store for Maps {
    fn read(&self, offset: usize) -> u64 {
        self.table.read(offset)
    }

    fn write(&mut self, offset: usize, word: u64) {
        self.table.write(offset, word);
    }

    fn put(&mut self, key: &[u8], value: u32) -> Result<()> {
        self.trie.insert(key, &value.to_ne_bytes())
    }

    fn remove(&mut self, key: &[u8]) -> Result<()> {
        self.trie.remove(key).map(drop)
    }

    fn settle(&mut self) -> bool {
        settle().is_ok()
    }
}
