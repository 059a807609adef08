//! Rules filed for look-up, never changed.
//!
//! Rules that have a condition in common with many others, such as the protocol, are only looked for among packets
//! that meet it: their guard. Beneath it they lie in drawers, each for one field; or in grids where a packet would find
//! many in a drawer, be it that it meets them or not.

use linerate_filter::plan::Value;
use linerate_filter::rules::{Ranges, Rule};

use crate::bits::Bits;
use crate::columns::Columns;
use crate::lookup::Lookup;
use crate::program::{Operand, Program};

use super::drawer::{Points, Spans};
use super::filing::{Filed, file};
use super::grid::Grid;
use super::matches::SetMatches;
use super::search::{Found, Search};

/// Some of a set's filters.
#[derive(Debug)]
pub(super) struct Tier {
    members: Vec<usize>,
    /// The columns that fields are in.
    program: Program,
    guards: Vec<Guard>,
    points: Vec<Points>,
    leftovers: Vec<Leftover>,
}

/// Rules that only packets with a certain number can meet; or any packets.
#[derive(Debug)]
pub(super) struct Guard {
    pub(super) test: Option<(Operand, Lookup)>,
    pub(super) drawers: Vec<Drawer>,
    pub(super) grids: Vec<Grid>,
}

/// Rules by one field.
#[derive(Debug)]
pub(super) struct Drawer {
    pub(super) field: Field,
    /// What all of them ask for: found out for many packets at once.
    pub(super) common: Vec<(Operand, Lookup)>,
    /// Which rules are under single numbers: index among the tier's, as drawers of different fields may have the same.
    pub(super) points: Option<usize>,
    pub(super) spans: Option<Spans>,
    /// What the rules ask for besides.
    pub(super) operands: Vec<Operand>,
}

/// Some bits of a column.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    pub(super) operand: Operand,
    pub(super) bits: Bits,
}

/// What is left to be asked of a rule that was found.
#[derive(Debug)]
pub(super) struct Leftover {
    /// `None` when it was removed.
    pub(super) filter: Option<usize>,
    pub(super) needs: Box<[Operand]>,
    pub(super) conditions: Box<[(Field, Ranges)]>,
}

/// Whether rules can be filed: each needs a condition to be filed under.
pub(super) fn takes(rules: &[Rule]) -> bool {
    rules.iter().all(|rule| !rule.conditions.is_empty())
}

impl Tier {
    /// Files the rules of members, which are given by number.
    pub(super) fn new(values: &[Value], members: &[(usize, &[Rule])]) -> Self {
        let rules = members.iter().flat_map(|(number, rules)| rules.iter().map(|r| (*number, r)));
        let members = members.iter().map(|(number, _)| *number).collect();
        let filed = file(values, &rules.collect::<Vec<_>>());
        let Filed { columns, guards, points, leftovers } = filed;
        Self { members, guards, points, program: Program::of_columns(columns), leftovers }
    }

    /// The numbers of its filters, removed ones included.
    pub(super) fn members(&self) -> &[usize] {
        &self.members
    }

    /// Makes a filter keep nothing.
    pub(super) fn forget(&mut self, number: usize) {
        self.leftovers
            .iter_mut()
            .for_each(|rule| rule.filter = rule.filter.filter(|f| *f != number));
        self.points.iter_mut().for_each(|points| points.forget(number));
        for Guard { drawers, grids, .. } in &mut self.guards {
            drawers.iter_mut().flat_map(|d| &mut d.spans).for_each(|spans| spans.forget(number));
            grids.iter_mut().for_each(|grid| grid.forget(number));
        }
    }

    /// The columns that it looks at.
    pub(super) fn program(&self) -> &Program {
        &self.program
    }

    /// Notes for the packets of a block, which is at `first` in its batch, which filters keep them.
    pub(super) fn search(
        &self,
        columns: Columns<'_>,
        found: &mut Found,
        first: usize,
        matches: &mut SetMatches,
    ) {
        let all = columns.packets();
        let Self { points, leftovers, .. } = self;
        let mut search = Search { columns, points, leftovers, found, first, matches };
        for guard in &self.guards {
            let active = match &guard.test {
                None => all,
                Some((operand, lookup)) => search.test(*operand, lookup, all),
            };
            guard.drawers.iter().for_each(|drawer| search.drawer(drawer, active));
            guard.grids.iter().for_each(|grid| search.grid(grid, active));
        }
    }
}

impl Field {
    pub(super) fn number(self, lane: u32) -> u32 {
        self.bits.number(lane)
    }
}
