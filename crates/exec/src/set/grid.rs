//! Rules that ask for the same fields, found by all of them at once: for each field a row of bits, one for each
//! filter, and what is in every row holds (T. V. Lakshman and D. Stiliadis, "High-speed policy-based packet
//! forwarding using efficient multi-dimensional range matching", SIGCOMM 1998).

use crate::bits::Bits;
use crate::program::Operand;

use super::classes::Classes;
use super::matches::BITS;

/// The most fields.
pub(super) const AXES: usize = 8;

/// Rules of filters, at most one of each unless there is one field only.
#[derive(Debug)]
pub(super) struct Grid {
    /// Those with few classes come first.
    pub(super) axes: Box<[Axis]>,
    /// What packets must have besides.
    pub(super) needs: Box<[Operand]>,
    /// The word of a packet's matches with which rows begin.
    pub(super) first: usize,
    /// Words of a row.
    pub(super) width: usize,
}

/// One of the fields.
#[derive(Debug)]
pub(super) struct Axis {
    pub(super) operand: Operand,
    pub(super) bits: Bits,
    pub(super) classes: Classes,
}

impl Grid {
    /// Makes a filter keep nothing.
    pub(super) fn forget(&mut self, filter: usize) {
        let bits = BITS * self.first..BITS * (self.first + self.width);
        if let Some(axis) = self.axes.first_mut().filter(|_| bits.contains(&filter)) {
            axis.classes.forget(filter - bits.start);
        }
    }
}
