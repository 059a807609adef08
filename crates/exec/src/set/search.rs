//! A block of packets looking for rules.

use linerate_filter::rules::Ranges;

use crate::bits::Bits;
use crate::columns::Columns;
use crate::lanes::{Chunks, Lanes, List, Mask, ones};
use crate::lookup::Lookup;
use crate::portable::BitRows;
use crate::program::Operand;
use crate::sheet::Sheet;

use super::drawer::{Folder, Points, Spans, Under};
use super::grid::{AXES, Grid};
use super::matches::{BITS, SetMatches};
use super::tier::{Drawer, Field, Leftover};

/// Packets that are looked for, and what was found of them.
#[derive(Default)]
pub(super) struct Found {
    list: List,
    /// For each field of a grid the rows of those in the list; the first for the places of their numbers, too.
    numbers: [Lanes; AXES],
    /// Packets that are looked for, as a list, too.
    asked: (Mask, List),
    /// The numbers of those, or the rows of all packets.
    keys: [Lanes; AXES],
}

/// The row without filters.
const EMPTY: Lookup = Lookup::Equal { mask: u32::MAX, constant: 0 };

/// A block's packets, and what becomes of them.
pub(super) struct Search<'a> {
    pub(super) columns: Columns<'a>,
    pub(super) points: &'a [Points],
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
        for operand in grid.needs.iter().chain(grid.axes.iter().map(|axis| &axis.operand)) {
            active = self.columns.who_has(*operand, active);
        }
        let Found { list, numbers, keys, .. } = &mut *self.found;
        // As long as there are few classes, to look all packets up takes less than to list them.
        let few = grid.axes.iter().take_while(|axis| axis.classes.are_few()).count();
        for (axis, rows) in grid.axes[..few].iter().zip(&mut *keys) {
            let (chunks, (lanes, _)) = (active.chunks(), self.columns.known(axis.operand));
            level.extract(axis.bits, lanes, chunks, rows);
            axis.classes.find(level, chunks, rows);
            active = active & !level.test(&EMPTY, rows, chunks);
        }
        level.list(active, list);
        for (rows, listed) in keys[..few].iter().zip(&mut *numbers) {
            level.pick(Bits::ALL, rows, list, listed);
        }
        for (at, axis) in grid.axes.iter().enumerate().skip(few) {
            let (lanes, _) = self.columns.known(axis.operand);
            level.pick(axis.bits, lanes, list, &mut numbers[at]);
            axis.classes.find(level, list.chunks(), &mut numbers[at]);
            level.narrow(list, &mut numbers[..=at]);
        }
        if grid.is_sparse {
            return self.pick(grid);
        }
        let mut rows = [BitRows { words: &[], numbers: &numbers[0] }; AXES];
        for ((axis, numbers), rows) in grid.axes.iter().zip(&*numbers).zip(&mut rows) {
            *rows = BitRows { words: axis.classes.rows(), numbers };
        }
        let mut sheet = self.matches.sheet(self.first, grid.first);
        level.intersect(&rows[..grid.axes.len()], grid.width, list, &mut sheet);
    }

    /// Compares those words of packets' rows that may have something in common.
    fn pick(&mut self, grid: &Grid) {
        let Found { list, numbers, .. } = &*self.found;
        let mut sheet = self.matches.sheet(self.first, grid.first);
        for (at, packet) in list.packets().iter().enumerate() {
            let axes = || grid.axes.iter().zip(numbers).map(|(axis, rows)| (axis, rows.of(at)));
            let parts = axes().map(|(axis, row)| axis.classes.parts(row));
            for part in ones(parts.fold(u64::MAX, |all, parts| all & parts)) {
                for word in grid.words_of(part) {
                    let words = axes().map(|(axis, row)| axis.classes.word(row, word));
                    let filters = words.fold(u64::MAX, |all, word| all & word);
                    if filters != 0 {
                        sheet.insert(*packet as usize, word, filters);
                    }
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
        let active = self.columns.who_has(drawer.field.operand, active);
        if let Some(points) = drawer.points {
            self.points(drawer, &self.points[points], active);
        }
        if let Some(spans) = &drawer.spans {
            self.spans(drawer, spans, active);
        }
    }

    fn spans(&mut self, drawer: &Drawer, spans: &Spans, active: Mask) {
        self.make(drawer, active.chunks());
        let (lanes, _) = self.columns.known(drawer.field.operand);
        let mut judge = Judge {
            columns: &self.columns,
            leftovers: self.leftovers,
            sheet: self.matches.sheet(self.first, 0),
        };
        for packet in active.iter() {
            let found = spans.get(drawer.field.number(lanes.of(packet)));
            found.for_each(|under| judge.take(under, packet));
        }
    }

    fn points(&mut self, drawer: &Drawer, points: &Points, active: Mask) {
        let (level, field) = (self.columns.level(), drawer.field);
        let Found { list, numbers: [places, ..], asked, keys: [keys, ..] } = &mut *self.found;
        let (lanes, _) = self.columns.known(field.operand);
        // Drawers beneath the same guard ask for the same packets.
        if asked.0 != active {
            level.list(active, &mut asked.1);
            asked.0 = active;
        }
        level.pick(field.bits, lanes, &asked.1, keys);
        level.find(points.table(), &asked.1, keys, list, places);
        if !drawer.operands.is_empty() {
            let chunks = self.found.list.found_in();
            self.make(drawer, chunks);
        }
        let Found { list, numbers: [places, ..], .. } = &*self.found;
        let mut judge = Judge {
            columns: &self.columns,
            leftovers: self.leftovers,
            sheet: self.matches.sheet(self.first, 0),
        };
        for (packet, place) in list.packets().iter().zip(places.0.as_flattened()) {
            judge.take(points.at(*place as usize), *packet as usize);
        }
    }

    /// Makes all that a drawer's rules may be asked about.
    fn make(&mut self, drawer: &Drawer, chunks: Chunks) {
        for operand in &drawer.operands {
            self.columns.get(*operand, chunks);
        }
    }
}

/// Notes filters of packets for which all that rules ask about is there.
struct Judge<'a, 'c> {
    columns: &'a Columns<'c>,
    leftovers: &'a [Leftover],
    sheet: Sheet<'a>,
}

impl Judge<'_, '_> {
    #[inline(always)]
    fn take(&mut self, under: Under<'_>, packet: usize) {
        match under {
            Under::Filter(filter) => self.insert(packet, filter),
            Under::Folder(folder) => self.open(folder, packet),
        }
    }

    #[inline(always)]
    fn insert(&mut self, packet: usize, filter: usize) {
        self.sheet.insert(packet, filter / BITS, 1 << (filter % BITS));
    }

    fn open(&mut self, folder: &Folder, packet: usize) {
        folder.filters.iter().for_each(|filter| self.insert(packet, *filter));
        let row = folder.row.iter().flatten().enumerate();
        for (word, filters) in row.filter(|(_, filters)| **filters != 0) {
            self.sheet.insert(packet, word, *filters);
        }
        for rule in &folder.rules {
            let rule = &self.leftovers[*rule as usize];
            if let Some(filter) = rule.filter.filter(|_| self.holds(rule, packet)) {
                self.insert(packet, filter);
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
