//! Many filters at once as maps: which filters are asked is data, so that a running program takes others without
//! being loaded anew.
//!
//! A filter is given as [`Rule`]s, conjunctions of ranges of [`Field`]s. The program knows the fields. For each it looks
//! the packet's number up in a trie of prefixes (LPM), which gives a *row*: a bit for each rule that the number
//! satisfies. A rule that is in the rows of all its fields holds (T. V. Lakshman and D. Stiliadis, "High-speed
//! policy-based packet forwarding using efficient multi-dimensional range matching", SIGCOMM 1998). A row has a word more,
//! which says in which of its words there is anything: the rows of 4,096 rules are compared in one step before any word
//! is (F. Baboescu and G. Varghese, "Scalable packet classification", SIGCOMM 2001).
//!
//! - [`Number`]: what fields are made of, and the instructions that find it
//! - [`Index`]: where each rule is, and what is to be written to the maps ([`Store`]) when filters come and go
//! - [`Search`]: the fragment of a program that finds a packet's filters
//!
//! ```text
//! number -> trie -> row --.
//! number -> trie -> row --+-- and -> bits of rules -> entries -> filters
//! number -> trie -> row --'
//! ```
//! Two maps are shared: the trie of all fields, and the *table*, the one element of an array map, with entries and rows.
//! A filter that is being added appears to a program with its last bit, as all its fields must have it; one that is being
//! removed is gone with the first.

mod index;
mod number;
mod prefix;
mod search;

pub use index::{Index, Store};
pub use number::{Field, Number};
pub use search::Search;

/// All conditions hold, of a packet that has their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    /// Each of another field.
    pub conditions: Vec<Condition>,
}

/// A field is in one of the ranges, from the first to the last number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// What is looked at.
    pub field: Field,
    /// Ascending, without common numbers. All numbers: it is enough that the packet has one.
    pub ranges: Vec<(u32, u32)>,
}

/// The most fields of a set: each takes some of the fragment's stack.
pub const FIELDS: usize = 40;

/// The most rules: a bit each in 64 words of 64 bits.
pub const RULES: usize = WORD * WORD;

/// Bits of a word, and words of a row.
const WORD: usize = u64::BITS as usize;

/// Rows that there can be; each prefix of a field has one.
const ROWS: usize = 16_000;

/// Where things are in the table. All are words of 64 bits in the machine's byte order.
mod layout {
    use super::{FIELDS, ROWS, RULES, WORD};

    /// In which words there are rules.
    pub(super) const USED: usize = 0;
    /// Where the empty row is among the rows: in memory, as the verifier then follows one way behind it instead of two.
    pub(super) const EMPTY: usize = 8;
    /// By field, in which words there are rules that ask for it.
    pub(super) const ASKED: usize = 16;
    /// By rule: the rules of its filter in its word, and its filter's number.
    pub(super) const ENTRIES: usize = ASKED + 8 * FIELDS;
    pub(super) const ENTRY: usize = 16;
    /// Rows, first the empty one, then by field the rules that do not ask for it.
    pub(super) const FIRST_ROW: usize = ENTRIES + ENTRY * RULES;
    /// A row: in which words there is anything, then these.
    pub(super) const ROW: usize = 8 + 8 * WORD;
    /// An offset among the rows is cut to so many bits, so that the verifier sees that it is inside.
    pub(super) const ROW_BITS: u32 = (ROWS * ROW).next_power_of_two().trailing_zeros();
    pub(super) const SIZE: usize = FIRST_ROW + (1 << ROW_BITS) + ROW;
}

/// The trie's addresses: number of the field and number of the packet, 4 bytes each in network order.
const KEY: usize = 8;

/// Bytes of the table, which is the one element of an array map that user space has mapped.
pub const TABLE_SIZE: usize = layout::SIZE;

/// Bytes of an address in the trie, whose values have 4.
pub const TRIE_ADDRESS_SIZE: usize = KEY;

/// The most prefixes in the trie.
pub const TRIE_ENTRIES: usize = ROWS;

/// A number with which powers of two have 64 different products in their upper six bits (C. E. Leiserson, H. Prokop and
/// K. H. Randall, "Using de Bruijn sequences to index a 1 in a computer word", 1998). Programs have no instruction that
/// counts zeros.
const DE_BRUIJN: u64 = 0x03f7_9d71_b4cb_0a89;

/// Where what belongs to a bit of a word lies.
const fn place(bit: usize) -> usize {
    (DE_BRUIJN.wrapping_mul(1 << bit) >> (u64::BITS - 6)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_have_places_of_their_own() {
        let mut places: Vec<_> = (0..WORD).map(place).collect();
        places.sort_unstable();
        assert!(places.into_iter().eq(0..WORD));
    }
}
