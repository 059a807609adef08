//! A block of packets looking for rules.

use linerate_filter::rules::Ranges;

use crate::columns::Columns;
use crate::lanes::{Lanes, Mask, ones};
use crate::lookup::Lookup;
use crate::portable::BitRows;
use crate::program::Operand;

use super::drawer::{Folder, Under};
use super::grid::{AXES, Grid};
use super::matches::SetMatches;
use super::tier::{Drawer, Field, Leftover};

/// For each field of a grid, the numbers of packets' rows.
pub(super) type Found = [Lanes; AXES];

/// The row without filters.
const EMPTY: Lookup = Lookup::Equal { mask: u32::MAX, constant: 0 };

/// A block's packets, and what becomes of them.
pub(super) struct Search<'a> {
    pub(super) columns: Columns<'a>,
    pub(super) leftovers: &'a [Leftover],
    pub(super) found: &'a mut Found,
    /// Where the block begins in its batch.
    pub(super) first: usize,
    pub(super) matches: &'a mut SetMatches,
}

impl Search<'_> {
    /// Those of the packets whose number passes.
    pub(super) fn test(&mut self, operand: Operand, lookup: &Lookup, active: Mask) -> Mask {
        let (level, chunks) = (self.columns.level(), active.chunks());
        let (lanes, present) = self.columns.get(operand, chunks);
        let there = present.map_or(active, |present| active & *present);
        there & level.test(lookup, lanes, chunks)
    }

    /// Notes which filters keep packets because of a grid's rules.
    pub(super) fn grid(&mut self, grid: &Grid, mut active: Mask) {
        let level = self.columns.level();
        for need in &grid.needs {
            let (_, present) = self.columns.get(*need, active.chunks());
            active = present.map_or(active, |present| active & *present);
        }
        for (axis, found) in grid.axes.iter().zip(&mut *self.found) {
            let chunks = active.chunks();
            let (lanes, present) = self.columns.get(axis.operand, chunks);
            active = present.map_or(active, |present| active & *present);
            level.extract(axis.bits, lanes, chunks, found);
            axis.classes.find(level, chunks, found);
            active = active & !level.test(&EMPTY, found, chunks);
        }
        if grid.is_sparse {
            return self.pick(grid, active);
        }
        let mut rows = [BitRows { words: &[], numbers: &self.found[0] }; AXES];
        for ((axis, numbers), rows) in grid.axes.iter().zip(&*self.found).zip(&mut rows) {
            *rows = BitRows { words: axis.classes.rows(), numbers };
        }
        let (rows, stride) = (&rows[..grid.axes.len()], self.matches.stride());
        let out = self.matches.words_mut(self.first, grid.first);
        level.intersect(rows, grid.width, active, out, stride);
    }

    /// Compares those words of packets' rows that may have something in common.
    fn pick(&mut self, grid: &Grid, active: Mask) {
        let stride = self.matches.stride();
        let out = self.matches.words_mut(self.first, grid.first);
        let axes = || grid.axes.iter().zip(&*self.found);
        for packet in active.iter() {
            let parts = axes().map(|(axis, rows)| axis.classes.parts(rows.of(packet)));
            for part in ones(parts.fold(u64::MAX, |all, parts| all & parts)) {
                for word in grid.words_of(part) {
                    let words = axes().map(|(axis, rows)| axis.classes.word(rows.of(packet), word));
                    out[packet * stride + word] |= words.fold(u64::MAX, |all, word| all & word);
                }
            }
        }
    }

    /// Notes which filters keep packets because of a drawer's rules.
    pub(super) fn drawer(&mut self, drawer: &Drawer, active: Mask) {
        let active = drawer
            .common
            .iter()
            .fold(active, |active, (operand, lookup)| self.test(*operand, lookup, active));
        if let Some((lookup, points)) = &drawer.points {
            let hits = self.test(drawer.field.operand, lookup, active);
            self.judge(drawer, hits, |number| std::iter::once(points.of(number)));
        }
        if let Some(spans) = &drawer.spans {
            let own = drawer.field.operand;
            let (_, present) = self.columns.get(own, active.chunks());
            let there = present.map_or(active, |present| active & *present);
            self.judge(drawer, there, |number| spans.get(number));
        }
    }

    /// Takes filters out of the folders that the numbers of packets find, which have them, and asks the rules there.
    fn judge<'f, I: Iterator<Item = Under<'f>>>(
        &mut self,
        drawer: &Drawer,
        hits: Mask,
        found: impl Fn(u32) -> I,
    ) {
        let own = drawer.field.operand;
        for operand in &drawer.operands {
            self.columns.get(*operand, hits.chunks());
        }
        let (lanes, _) = self.columns.known(own);
        let (columns, leftovers) = (&self.columns, self.leftovers);
        let mut judge = Judge { columns, leftovers, first: self.first, matches: self.matches };
        for packet in hits.iter() {
            for under in found(drawer.field.number(lanes.of(packet))) {
                judge.take(under, packet);
            }
        }
    }
}

/// Notes filters of packets for which all that rules ask about is there.
struct Judge<'a, 'c> {
    columns: &'a Columns<'c>,
    leftovers: &'a [Leftover],
    first: usize,
    matches: &'a mut SetMatches,
}

impl Judge<'_, '_> {
    #[inline(always)]
    fn take(&mut self, under: Under<'_>, packet: usize) {
        match under {
            Under::Filter(filter) => self.matches.insert(self.first + packet, filter),
            Under::Folder(folder) => self.open(folder, packet),
        }
    }

    fn open(&mut self, folder: &Folder, packet: usize) {
        let row = self.first + packet;
        folder.filters.iter().for_each(|filter| self.matches.insert(row, *filter));
        if let Some(filters) = &folder.row {
            self.matches.insert_row(row, filters);
        }
        for rule in &folder.rules {
            let rule = &self.leftovers[*rule as usize];
            if let Some(filter) = rule.filter.filter(|_| self.holds(rule, packet)) {
                self.matches.insert(row, filter);
            }
        }
    }

    fn holds(&self, rule: &Leftover, packet: usize) -> bool {
        let meets = |(field, ranges): &(Field, Ranges)| {
            let lane = self.columns.at(field.operand, packet);
            lane.is_some_and(|lane| ranges.contains(field.number(lane)))
        };
        rule.conditions.iter().all(meets)
            && rule.needs.iter().all(|need| self.columns.at(*need, packet).is_some())
    }
}
