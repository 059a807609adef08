//! Rules that ask for the same fields, found by all of them at once: for each field a row of bits, one for each
//! filter, and what is in every row holds (T. V. Lakshman and D. Stiliadis, "High-speed policy-based packet
//! forwarding using efficient multi-dimensional range matching", SIGCOMM 1998). Of long rows a word is looked at only where
//! all fields have something near it.

use std::ops::Range;

use crate::bits::Bits;
use crate::program::Operand;

use super::classes::{Classes, part};
use super::matches::BITS;

/// The most fields.
pub(super) const AXES: usize = 8;

/// Rules of filters, at most one of each unless there is one field only.
#[derive(Debug)]
pub(super) struct Grid {
    /// Those with few classes come first, and then those whose numbers fewest filters want: these leave the fewest packets to be
    /// looked up in the others.
    pub(super) axes: Box<[Axis]>,
    /// What packets must have besides.
    pub(super) needs: Box<[Operand]>,
    /// The word of a packet's matches with which rows begin: the first of a group.
    pub(super) first: usize,
    /// Words of a row.
    pub(super) width: usize,
    /// Rows are long, and those of a packet seldom have something in the same part.
    pub(super) is_sparse: bool,
}

/// Rows of so many words are compared as a whole: they are a few vectors.
const SHORT: usize = 32;
/// So many words are compared as a whole for what one costs that is picked.
const PICKING: f64 = 4.0;

/// Whether it is better to pick words of rows than to compare all.
pub(super) fn is_sparse(axes: &[Axis], width: usize) -> bool {
    let common: f64 = axes.iter().map(|axis| axis.classes.density()).product();
    width > SHORT && common * PICKING < 1.0
}

/// One of the fields.
#[derive(Debug)]
pub(super) struct Axis {
    pub(super) operand: Operand,
    pub(super) bits: Bits,
    pub(super) classes: Classes,
}

impl Grid {
    /// The words of a part of all rows.
    pub(super) fn words_of(&self, number: usize) -> Range<usize> {
        let part = part(self.width);
        number * part..((number + 1) * part).min(self.width)
    }

    /// Makes a filter keep nothing.
    pub(super) fn forget(&mut self, filter: usize) {
        let bits = BITS * self.first..BITS * (self.first + self.width);
        if let Some(axis) = self.axes.first_mut().filter(|_| bits.contains(&filter)) {
            axis.classes.forget(filter - bits.start);
        }
    }
}
