//! Tests of fields.

use cranelift_assembler_x64::inst;
use linerate_filter::plan::Comparison;

use super::registers::{MASK, OTHER, TEMPORARY};
use super::steps::Steps;
use super::vectors::{self, ALL, How, Index, Source};
use crate::bits::Bits;
use crate::condition::Condition;
use crate::join::Either;
use crate::lanes::CHUNK;
use crate::lookup::{Lookup, Table};
use crate::program::{ColumnId, Place};

impl Steps<'_> {
    /// Brings to the mask register what a lookup finds.
    pub(super) fn lookup(&mut self, column: ColumnId, lookup: &Lookup) -> Option<Found> {
        match lookup {
            Lookup::Equal { mask, constant } => self.equal(column, *mask, *constant)?,
            Lookup::Within { mask, low, span } => {
                let number = self.masked_number(column, *mask)?;
                let moved = self.vectors.claim()?;
                let [low, span] = [low, span].map(|n| self.pool.number(self.code, *n));
                self.code.vector(vectors::SUBTRACT, moved, number, low);
                self.code.compare(How::AtMost, MASK, moved, span, ALL);
                self.vectors.release(moved);
                self.vectors.release(number);
            }
            Lookup::Few { constants, .. } if constants.is_empty() => return Some(Found::Never),
            Lookup::Few { mask, constants } => {
                let (field, turned) = self.field(column)?;
                let field = self.masked(field, turned(*mask))?;
                self.in_chains(constants, |this, constant, mask, among| {
                    let constant = this.pool.number(this.code, turned(*constant));
                    this.code.compare(How::NotEqual, mask, field, constant, among);
                });
                self.vectors.release(field);
                return Some(Found::Fails);
            }
            Lookup::Bitmap { right, mask, bitmap } => {
                let bits = Bits { right: *right, mask: *mask & 0xffff, left: 0 };
                self.in_bitmap(column, bits, &bitmap[..])?;
            }
            Lookup::Hashed { mask, table } => self.in_table(column, *mask, table)?,
        }
        Some(Found::Holds)
    }

    /// Brings to the mask register of whom all comparisons hold, each of which is made to one mask, among the lanes of one.
    /// They wait for each other, so many of them go by two ways.
    fn in_chains<T>(&mut self, constants: &[T], compare: impl Fn(&mut Self, &T, u8, u8)) {
        const FEW: usize = 3;
        for (at, constant) in constants.iter().enumerate() {
            let ways = if constants.len() > FEW { 2 } else { 1 };
            let mask = [MASK, OTHER][at % ways];
            compare(self, constant, mask, if at < ways { ALL } else { mask });
        }
        if constants.len() > FEW {
            self.code.meet_masks(MASK, MASK, OTHER);
        }
    }

    fn equal(&mut self, column: ColumnId, mask: u32, constant: u32) -> Option<()> {
        let (field, turned) = self.field(column)?;
        let (bits, constant) = (turned(mask), turned(constant));
        let [mask, number] = [bits, constant].map(|number| self.pool.number(self.code, number));
        if constant == 0 {
            self.code.vector(vectors::DISJOINT, MASK, field, mask);
        } else if constant == bits && bits.is_power_of_two() {
            self.code.vector(vectors::INTERSECTS, MASK, field, mask);
        } else {
            let masked = self.masked(field, bits)?;
            self.code.vector(vectors::EQUAL, MASK, masked, number);
            self.vectors.release(masked);
            return Some(());
        }
        self.vectors.release(field);
        Some(())
    }

    fn in_bitmap(&mut self, column: ColumnId, bits: Bits, bitmap: &[u32]) -> Option<()> {
        let lanes = self.number(column)?;
        let number = self.extracted(lanes, bits)?;
        self.vectors.release(lanes);
        let [word, bit] = [self.vectors.claim()?, self.vectors.claim()?];
        self.code.shift(false, word, number, 5);
        let found = self.looked_up(bitmap, word)?;
        let within = self.pool.number(self.code, 31);
        self.code.vector(vectors::AND, number, number, within);
        let one = self.pool.word(self.code, 1);
        self.code.vector(vectors::BROADCAST, bit, 0, one);
        self.code.vector(vectors::SHIFT_LEFT, bit, bit, Source::Register(number));
        self.code.vector(vectors::INTERSECTS, MASK, found, Source::Register(bit));
        [number, word, bit, found].into_iter().for_each(|used| self.vectors.release(used));
        Some(())
    }

    fn in_table(&mut self, column: ColumnId, mask: u32, table: &Table) -> Option<()> {
        let key = self.masked_number(column, mask)?;
        let (places, shift) = table.places();
        let place = self.vectors.claim()?;
        for (mask, factor) in [MASK, OTHER].into_iter().zip(table.factors()) {
            let factor = self.pool.number(self.code, factor);
            self.code.vector(vectors::MULTIPLY, place, key, factor);
            self.code.shift(false, place, place, shift as u8);
            let found = self.looked_up(places, place)?;
            self.code.vector(vectors::EQUAL, mask, key, Source::Register(found));
            self.vectors.release(found);
        }
        self.code.join_masks(MASK, MASK, OTHER);
        [key, place].into_iter().for_each(|used| self.vectors.release(used));
        Some(())
    }

    /// The words of a table with these numbers, which are all in it.
    fn looked_up(&mut self, words: &[u32], numbers: u8) -> Option<u8> {
        const GATHERED: u8 = 3;
        let table = self.pool.table(self.code, words);
        let found = self.vectors.claim()?;
        self.code.locate(TEMPORARY, table);
        self.code.fill_mask(GATHERED);
        self.code.vector(vectors::XOR, found, found, Source::Register(found));
        self.code.gather(found, GATHERED, TEMPORARY, Index { lanes: numbers, scale: 4 }, 0);
        Some(found)
    }

    pub(super) fn compare(
        &mut self,
        how: Comparison,
        left: ColumnId,
        right: ColumnId,
    ) -> Option<()> {
        let [left, right] = [self.number(left)?, self.number(right)?];
        let other = Source::Register(right);
        match how {
            Comparison::Equal => self.code.vector(vectors::EQUAL, MASK, left, other),
            Comparison::Greater => self.code.compare(How::Above, MASK, left, other, ALL),
            Comparison::GreaterEqual => self.code.compare(How::AtLeast, MASK, left, other, ALL),
            Comparison::Intersects => self.code.vector(vectors::INTERSECTS, MASK, left, other),
        }
        [left, right].into_iter().for_each(|used| self.vectors.release(used));
        Some(())
    }

    pub(super) fn either(
        &mut self,
        either: &Either,
        active: u8,
        then: Place,
        otherwise: Place,
    ) -> Option<()> {
        let [first, second] = either.operands;
        self.require(active, first.present)?;
        let (field, turned) = self.field(first.lanes)?;
        self.in_chains(&either.constants, |this, constant, mask, among| {
            let both = turned(u32::from(*constant) << 16 | u32::from(*constant));
            let constants = this.pool.vector(this.code, [both; CHUNK]);
            this.code.compare_16(How::NotEqual, mask, field, constants, among);
        });
        self.vectors.release(field);
        let (others, places) = (self.mask(), self.mask());
        self.code.take_mask_32(others, MASK);
        // Who has not what the second looks at may be kept for the first: such chunks go packet by packet.
        if !self.is_known(second.present) {
            self.code.push(inst::movl_rm::new(places, active));
            self.require(places, second.present)?;
            self.code.push(inst::cmpl_rm::new(places, active));
            self.code.jump_if(Condition::NotEqual, self.done);
        }
        // Of whom neither half is one of the numbers.
        self.code.push(inst::movl_rm::new(places, others));
        self.code.push(inst::shrl_mi::new(places, 1));
        self.code.push(inst::andl_rm::new(others, places));
        self.code.push(inst::movl_oi::new(places, 0x5555_5555_u32));
        self.code.extract_bits(others, others, places);
        self.masks.release(places);
        self.part_by(active, others, otherwise, then);
        Some(())
    }
}

/// What a lookup has brought to the mask register.
pub(super) enum Found {
    /// Of whom it holds.
    Holds,
    /// Of whom it does not hold.
    Fails,
    /// Nothing: it holds of nobody.
    Never,
}
