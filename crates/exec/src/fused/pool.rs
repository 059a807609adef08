//! Numbers, vectors and tables beside the code, each once.

use std::collections::BTreeMap;

use super::vectors::Source;
use crate::assembler::{Assembler, Label};
use crate::lanes::CHUNK;

/// What is to stand behind the code.
#[derive(Default)]
pub(super) struct Pool {
    numbers: BTreeMap<u32, Label>,
    vectors: BTreeMap<[u32; CHUNK], Label>,
    tables: BTreeMap<Box<[u32]>, Label>,
}

impl Pool {
    /// A number, for all lanes.
    pub(super) fn number(&mut self, code: &mut Assembler, number: u32) -> Source {
        Source::Number(self.place(code, number))
    }

    /// The same number, once.
    pub(super) fn word(&mut self, code: &mut Assembler, number: u32) -> Source {
        Source::At(self.place(code, number))
    }

    fn place(&mut self, code: &mut Assembler, number: u32) -> Label {
        *self.numbers.entry(number).or_insert_with(|| code.label())
    }

    /// A number for each lane.
    pub(super) fn vector(&mut self, code: &mut Assembler, lanes: [u32; CHUNK]) -> Source {
        Source::At(*self.vectors.entry(lanes).or_insert_with(|| code.label()))
    }

    /// Words to gather from.
    pub(super) fn table(&mut self, code: &mut Assembler, words: &[u32]) -> Label {
        *self.tables.entry(words.into()).or_insert_with(|| code.label())
    }

    /// Puts all of it here.
    pub(super) fn write(self, code: &mut Assembler) {
        code.align(64);
        for (lanes, label) in self.vectors {
            code.bind(label);
            code.words(&lanes);
        }
        for (words, label) in self.tables {
            code.bind(label);
            code.words(&words);
        }
        for (number, label) in self.numbers {
            code.bind(label);
            code.words(&[number]);
        }
    }
}
