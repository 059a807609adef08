//! Rules filed for look-up, never changed.
//!
//! Rules that have a condition in common with many others, such as the protocol, are only looked for among packets
//! that meet it: their guard. Beneath it they lie in drawers, each for one field.

use std::cmp::Reverse;
use std::collections::HashMap;

use linerate_filter::plan::{Check, Value, ValueId};
use linerate_filter::rules::{Condition, Ranges, Rule};

use crate::bits::Bits;
use crate::columns::{Block, Columns, Memory};
use crate::kernels::Level;
use crate::lanes::{Arrivals, CHUNK, Fork, each, ones};
use crate::lookup::Lookup;
use crate::program::{Builder, Operand, Program};
use crate::vector::{Packets, Rows};

use super::drawer::{Entry, Folder, Points, RuleId, Spans};
use super::matches::SetMatches;

/// A guard is worth its while for so many rules.
const GUARDED: usize = 8;
/// The most guards: each is asked of every packet.
const GUARDS: usize = 16;

/// Some of a set's filters.
#[derive(Debug)]
pub(super) struct Tier {
    members: Vec<usize>,
    /// The columns that fields are in.
    program: Program,
    guards: Vec<Guard>,
    rules: Vec<Filed>,
}

/// Rules that only packets with a certain number can meet; or any packets.
#[derive(Debug)]
struct Guard {
    test: Option<(Operand, Lookup)>,
    drawers: Vec<Drawer>,
}

/// Rules by one field.
#[derive(Debug)]
struct Drawer {
    field: Field,
    /// What numbers are rules under, and which rules.
    points: Option<(Lookup, Points)>,
    spans: Option<Spans>,
    /// What the rules ask for besides.
    operands: Vec<Operand>,
}

/// Some bits of a column.
#[derive(Clone, Copy, Debug)]
struct Field {
    operand: Operand,
    bits: Bits,
    mask: u32,
}

/// What is left to be asked of a rule that was found.
#[derive(Debug)]
struct Filed {
    /// `None` when it was removed.
    filter: Option<usize>,
    needs: Box<[Operand]>,
    conditions: Box<[(Field, Ranges)]>,
}

/// Whether rules can be filed: each needs a condition to be filed under.
pub(super) fn takes(rules: &[Rule]) -> bool {
    rules.iter().all(|rule| !rule.conditions.is_empty())
}

impl Tier {
    /// Files the rules of members, which are given by number.
    pub(super) fn new(values: &[Value], members: &[(usize, &[Rule])]) -> Self {
        let rules = members.iter().flat_map(|(number, rules)| rules.iter().map(|r| (*number, r)));
        let rules: Vec<_> = rules.collect();
        let mut counts: HashMap<&Condition, usize> = HashMap::new();
        for condition in rules.iter().flat_map(|(_, rule)| &rule.conditions) {
            *counts.entry(condition).or_default() += 1;
        }
        let guards = guards(&rules, &counts);
        let rivals = Rivals::new(&rules);
        let mut filing = Filing { builder: Builder::new(values, 0), filed: Vec::new() };
        let mut piles: HashMap<(Option<usize>, ValueId, u32), Pile<'_>> = HashMap::new();
        for (number, rule) in rules {
            let guard = rule.conditions.iter().find_map(|c| guards.iter().position(|g| *g == c));
            let Some(under) = rule.conditions.iter().min_by_key(|c| rivals.of(c)) else {
                continue;
            };
            let known = guard.map(|guard| guards[guard]);
            let mut asked: Vec<_> =
                rule.conditions.iter().filter(|c| *c != under && Some(*c) != known).collect();
            // What fewest meet comes first.
            asked.sort_by_key(|c| rivals.of(c));
            let id = filing.file(number, rule, &asked);
            piles.entry((guard, under.value, under.mask)).or_default().push((under, id));
        }
        let mut piles: Vec<_> = piles.into_iter().collect();
        piles.sort_unstable_by_key(|(key, _)| *key);
        let guards = std::iter::once(None).chain((0..guards.len()).map(Some)).map(|guard| Guard {
            test: guard.map(|guard| filing.guard(guards[guard])),
            drawers: piles
                .iter()
                .filter(|((of, ..), _)| *of == guard)
                .map(|(_, pile)| filing.drawer(pile))
                .collect(),
        });
        let guards = guards.filter(|guard| !guard.drawers.is_empty()).collect();
        Self {
            members: members.iter().map(|(number, _)| *number).collect(),
            guards,
            program: Program::of_columns(filing.builder.columns),
            rules: filing.filed,
        }
    }

    /// The numbers of its filters, removed ones included.
    pub(super) fn members(&self) -> &[usize] {
        &self.members
    }

    /// Makes a filter keep nothing.
    pub(super) fn forget(&mut self, number: usize) {
        self.rules.iter_mut().for_each(|rule| rule.filter = rule.filter.filter(|f| *f != number));
        for drawer in self.guards.iter_mut().flat_map(|guard| &mut guard.drawers) {
            drawer.points.iter_mut().for_each(|(_, points)| points.forget(number));
            drawer.spans.iter_mut().for_each(|spans| spans.forget(number));
        }
    }

    /// Notes for the packets of a block, which is at `first` in its batch, which filters keep them.
    pub(super) fn run(
        &self,
        level: Level,
        packets: Packets<'_>,
        rows: &Rows,
        memory: &mut Memory,
        (first, matches): (usize, &mut SetMatches),
    ) {
        memory.begin(&self.program);
        let block = Block { packets, rows, way: &[] };
        let mut search = Search {
            columns: Columns::new(&self.program, level, block, memory),
            level,
            rules: &self.rules,
            first,
            matches,
        };
        let all = Arrivals::first(packets.descriptors.len());
        for guard in &self.guards {
            let active = match &guard.test {
                None => all,
                Some((operand, lookup)) => search.test(*operand, lookup, &all),
            };
            for drawer in &guard.drawers {
                search.drawer(drawer, &active);
            }
        }
    }
}

/// Conditions with rules under them.
type Pile<'a> = Vec<(&'a Condition, Entry)>;

/// The conditions that most rules have in common, one of each rule: the first that is for a single number.
fn guards<'a>(
    rules: &[(usize, &'a Rule)],
    counts: &HashMap<&Condition, usize>,
) -> Vec<&'a Condition> {
    let first = |rule: &'a Rule| rule.conditions.iter().find(|c| c.ranges.count() == 1);
    let mut guards: Vec<_> = rules.iter().filter_map(|(_, rule)| first(rule)).collect();
    guards.sort_unstable_by_key(|c| (Reverse(counts[c]), c.value, c.mask, c.ranges.iter().next()));
    guards.dedup();
    guards.retain(|condition| counts[condition] >= GUARDED);
    guards.truncate(GUARDS);
    guards
}

/// Where the ranges of each field begin and end, ascending.
struct Rivals(HashMap<(ValueId, u32), Vec<u32>>);

impl Rivals {
    fn new(rules: &[(usize, &Rule)]) -> Self {
        let mut bounds: HashMap<_, Vec<_>> = HashMap::new();
        for condition in rules.iter().flat_map(|(_, rule)| &rule.conditions) {
            let ends = condition.ranges.iter().flat_map(|(from, to)| [from, to]);
            bounds.entry((condition.value, condition.mask)).or_default().extend(ends);
        }
        bounds.values_mut().for_each(|bounds| bounds.sort_unstable());
        Self(bounds)
    }

    /// How many of these are inside a condition's ranges, and how many numbers.
    fn of(&self, condition: &Condition) -> (usize, u64) {
        let bounds = &self.0[&(condition.value, condition.mask)];
        let below = |end: u64| bounds.partition_point(|bound| u64::from(*bound) < end);
        let inside = |(from, to): (u32, u32)| below(u64::from(to) + 1) - below(from.into());
        (condition.ranges.iter().map(inside).sum(), condition.ranges.count())
    }
}

struct Filing<'a> {
    builder: Builder<'a>,
    filed: Vec<Filed>,
}

impl Filing<'_> {
    fn field(&mut self, condition: &Condition) -> Field {
        let (operand, bits) = self.builder.field(condition.value);
        Field { operand, bits, mask: condition.mask }
    }

    fn file(&mut self, filter: usize, rule: &Rule, asked: &[&Condition]) -> Entry {
        // Who meets a condition has the number.
        let is_met = |value: &&ValueId| rule.conditions.iter().any(|c| c.value == **value);
        let needs = rule.needs.iter().filter(|value| !is_met(value));
        let needs: Box<[_]> = needs.map(|value| self.builder.field(*value).0).collect();
        let conditions: Box<[_]> =
            asked.iter().map(|c| (self.field(c), c.ranges.clone())).collect();
        if needs.is_empty() && conditions.is_empty() {
            return Entry::Filter(filter);
        }
        self.filed.push(Filed { filter: Some(filter), needs, conditions });
        Entry::Rule(self.filed.len() as RuleId - 1)
    }

    fn guard(&mut self, condition: &Condition) -> (Operand, Lookup) {
        let field = self.field(condition);
        let numbers = condition.ranges.iter().map(|(number, _)| number).collect();
        (field.operand, field.lookup(numbers))
    }

    fn drawer(&mut self, pile: &Pile<'_>) -> Drawer {
        let field = self.field(pile[0].0);
        let entries: Vec<_> =
            pile.iter().flat_map(|(c, rule)| c.ranges.iter().map(|range| (range, *rule))).collect();
        let (points, spans): (Vec<_>, Vec<_>) =
            entries.into_iter().partition(|((from, to), _)| from == to);
        let points: Vec<_> = points.into_iter().map(|((at, _), rule)| (at, rule)).collect();
        let rules = pile.iter().filter_map(|(_, entry)| match entry {
            Entry::Rule(rule) => Some(&self.filed[*rule as usize]),
            Entry::Filter(_) => None,
        });
        let asked = rules.flat_map(|rule| {
            rule.needs.iter().copied().chain(rule.conditions.iter().map(|(field, _)| field.operand))
        });
        let mut operands: Vec<_> = asked.collect();
        operands.sort_unstable_by_key(|operand| (operand.lanes, operand.present));
        operands.dedup();
        let numbers: Vec<_> = points.iter().map(|(at, _)| *at).collect();
        Drawer {
            field,
            points: (!points.is_empty()).then(|| (field.lookup(numbers), Points::new(points))),
            spans: (!spans.is_empty()).then(|| Spans::new(&spans)),
            operands,
        }
    }
}

impl Field {
    /// How to see whether it is one of some numbers, of which there is at least one.
    fn lookup(self, mut numbers: Vec<u32>) -> Lookup {
        numbers.sort_unstable();
        numbers.dedup();
        let check = match numbers[..] {
            [number] => Check::Equal(number),
            _ => Check::Among(numbers.into()),
        };
        let (bits, check) = self.bits.check(self.mask, &check);
        Lookup::new(bits, check)
    }

    fn number(self, lane: u32) -> u32 {
        self.bits.number(lane) & self.mask
    }
}

/// A block's packets looking for rules.
struct Search<'a> {
    columns: Columns<'a>,
    level: Level,
    rules: &'a [Filed],
    /// Where the block begins in its batch.
    first: usize,
    matches: &'a mut SetMatches,
}

impl Search<'_> {
    fn test(&mut self, operand: Operand, lookup: &Lookup, active: &Arrivals) -> Arrivals {
        let (mut passing, mut others) = (Arrivals::default(), Arrivals::default());
        let (lanes, present) = self.columns.get(operand, active.chunks);
        let fork = &mut Fork { then: &mut passing, otherwise: &mut others };
        self.level.test(lookup, lanes, present, active, fork);
        passing
    }

    fn drawer(&mut self, drawer: &Drawer, active: &Arrivals) {
        if let Some((lookup, points)) = &drawer.points {
            let hits = self.test(drawer.field.operand, lookup, active);
            self.judge(drawer, &hits, |number| points.get(number).into_iter());
        }
        if let Some(spans) = &drawer.spans {
            self.judge(drawer, active, |number| spans.get(number));
        }
    }

    /// Takes filters out of the folders that packets' numbers find, and asks the rules there.
    fn judge<'f, I: Iterator<Item = &'f Folder>>(
        &mut self,
        drawer: &Drawer,
        hits: &Arrivals,
        folders: impl Fn(u32) -> I,
    ) {
        let own = drawer.field.operand;
        for operand in drawer.operands.iter().chain([&own]) {
            self.columns.get(*operand, hits.chunks);
        }
        for chunk in each(hits.chunks) {
            for lane in ones(hits.packets.0[chunk]) {
                let Some(number) = self.columns.at(own, chunk, lane) else { continue };
                for folder in folders(drawer.field.number(number)) {
                    self.take(folder, chunk, lane);
                }
            }
        }
    }

    fn take(&mut self, folder: &Folder, chunk: usize, lane: usize) {
        let packet = self.first + chunk * CHUNK + lane;
        folder.filters.iter().for_each(|filter| self.matches.insert(packet, *filter));
        if let Some(row) = &folder.row {
            self.matches.insert_row(packet, row);
        }
        for rule in &folder.rules {
            let rule = &self.rules[*rule as usize];
            if let Some(filter) = rule.filter.filter(|_| self.holds(rule, chunk, lane)) {
                self.matches.insert(packet, filter);
            }
        }
    }

    fn holds(&self, rule: &Filed, chunk: usize, lane: usize) -> bool {
        let meets = |(field, ranges): &(Field, Ranges)| {
            let lane = self.columns.at(field.operand, chunk, lane);
            lane.is_some_and(|lane| ranges.contains(field.number(lane)))
        };
        rule.conditions.iter().all(meets)
            && rule.needs.iter().all(|need| self.columns.at(*need, chunk, lane).is_some())
    }
}
