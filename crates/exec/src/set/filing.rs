//! Where rules are filed.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, HashMap};

use linerate_filter::plan::{Check, Value, ValueId};
use linerate_filter::rules::{Condition, Ranges, Rule};

use crate::lookup::Lookup;
use crate::program::{Builder, Column, Operand};
use crate::sheet::GROUP;

use super::classes::Classes;
use super::drawer::{Entry, Points, RuleId, Spans};
use super::grid::{AXES, Axis, Grid, is_sparse};
use super::matches::BITS;
use super::tier::{Drawer, Field, Guard, Leftover};

/// A guard is worth its while for so many rules.
const GUARDED: usize = 8;
/// The most guards: each is asked of every packet.
const GUARDS: usize = 16;
/// So many rules, of which hardly a packet meets more than one, are better looked for in a drawer.
const FEW: usize = 32;
/// A packet finds many rules in a drawer.
const CROWDED: f64 = 3.0;
/// The most grids for rules of one shape.
const LAYERS: usize = 4;

/// Rules in their places.
pub(super) struct Filed {
    pub(super) columns: Vec<Column>,
    pub(super) guards: Vec<Guard>,
    pub(super) points: Vec<Points>,
    pub(super) leftovers: Vec<Leftover>,
}

/// Files rules, each with the number of its filter.
pub(super) fn file(values: &[Value], rules: &[(usize, &Rule)]) -> Filed {
    let known = guards(rules);
    let rivals = Rivals::new(rules);
    let mut filing = Filing {
        values,
        builder: Builder::new(values, 0),
        points: HashMap::new(),
        leftovers: Vec::new(),
    };
    let test = |filing: &mut Filing<'_>, known: &Option<_>| known.and_then(|c| filing.question(c));
    let mut guards: Vec<_> = known
        .iter()
        .map(|known| Guard { test: test(&mut filing, known), drawers: vec![], grids: vec![] })
        .collect();
    let mut piles: BTreeMap<(usize, ValueId, u32), Vec<Posed<'_>>> = BTreeMap::new();
    for (shape, rules) in groups(values, rules, &known, &rivals) {
        if let Some(grids) = filing.grids(&shape, &rules) {
            guards[shape.guard].grids.extend(grids);
            continue;
        }
        for posed in rules {
            let key = (shape.guard, posed.under.value, posed.under.mask);
            piles.entry(key).or_default().push(posed);
        }
    }
    for ((guard, ..), rules) in &piles {
        let common = common(rules, known[*guard]);
        let told: Vec<_> = known[*guard].into_iter().chain(common.iter().copied()).collect();
        let pile = rules.iter().map(|posed| (posed.under, filing.file(posed, &told, &rivals)));
        let pile: Vec<_> = pile.collect();
        guards[*guard].drawers.push(filing.drawer(&pile, &common));
    }
    guards.retain(|guard| !guard.drawers.is_empty() || !guard.grids.is_empty());
    let mut points: Vec<_> = filing.points.into_iter().collect();
    points.sort_unstable_by_key(|(_, number)| *number);
    let points = points.into_iter().map(|(entries, _)| Points::new(&entries)).collect();
    Filed { columns: filing.builder.columns, guards, points, leftovers: filing.leftovers }
}

/// Rules by their shapes.
fn groups<'a>(
    values: &[Value],
    rules: &[(usize, &'a Rule)],
    guards: &[Option<&Condition>],
    rivals: &Rivals,
) -> BTreeMap<Shape, Vec<Posed<'a>>> {
    let mut groups: BTreeMap<Shape, Vec<Posed<'_>>> = BTreeMap::new();
    for (filter, rule) in rules {
        let mut known =
            rule.conditions.iter().filter_map(|c| guards.iter().position(|g| *g == Some(c)));
        let guard = known.next().unwrap_or(0);
        if let Some(under) = rule.conditions.iter().min_by_key(|c| rivals.of(c)) {
            let shape = Shape::new(guard, values, rule, guards[guard]);
            let crowd = rivals.crowd(under);
            groups.entry(shape).or_default().push(Posed { filter: *filter, rule, under, crowd });
        }
    }
    groups
}

/// What rules have in common that can lie in one grid.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Shape {
    /// Index of the guard.
    guard: usize,
    /// The fields that they ask for, besides the guard's.
    axes: Vec<(ValueId, u32)>,
    needs: Vec<ValueId>,
}

impl Shape {
    fn new(guard: usize, values: &[Value], rule: &Rule, known: Option<&Condition>) -> Self {
        let asked = rule.conditions.iter().filter(|c| Some(*c) != known);
        let mut axes: Vec<_> = asked.map(|c| (c.value, c.mask)).collect();
        let mut needs: Vec<_> = rule.untold_needs(values).collect();
        axes.sort_unstable();
        needs.sort_unstable();
        Self { guard, axes, needs }
    }
}

/// A rule that is to be filed.
struct Posed<'a> {
    filter: usize,
    rule: &'a Rule,
    /// The condition that fewest others share.
    under: &'a Condition,
    /// The share of packets that find it there.
    crowd: f64,
}

/// Whether a look at the rows of all is better than one into a drawer: they are few, or a packet would find many. Only
/// single numbers are told from all others by vector instructions; of ranges each packet finds some.
fn is_crowded(rules: &[Posed<'_>]) -> bool {
    let is_range = |posed: &Posed<'_>| posed.under.ranges.iter().any(|(from, to)| from < to);
    let crowd: f64 = rules.iter().map(|posed| posed.crowd).sum();
    rules.len() <= FEW || crowd >= CROWDED || rules.iter().any(is_range)
}

/// Rules with at most one of each filter; but of one field all, as who meets any of a filter's meets the filter.
fn layers<'a, 'r>(shape: &Shape, rules: &'a [Posed<'r>]) -> Vec<Vec<&'a Posed<'r>>> {
    let mut layers: Vec<Vec<_>> = Vec::new();
    let mut taken: HashMap<usize, usize> = HashMap::new();
    for posed in rules {
        let count = taken.entry(posed.filter).or_default();
        let layer = if shape.axes.len() == 1 { 0 } else { *count };
        *count += 1;
        if layer == layers.len() {
            layers.push(Vec::new());
        }
        layers[layer].push(posed);
    }
    layers
}

/// The conditions that all of some rules have, besides those under which they are filed and their guard's, if it pays
/// to ask them of all packets.
fn common<'a>(rules: &[Posed<'a>], guard: Option<&Condition>) -> Vec<&'a Condition> {
    let Some(first) = rules.first().filter(|_| rules.len() >= GUARDED) else { return Vec::new() };
    let has = |rule: &Posed<'_>, condition: &Condition| {
        rule.under != condition && rule.rule.conditions.contains(condition)
    };
    let is_common = |condition: &&Condition| {
        Some(*condition) != guard
            && check(&condition.ranges).is_some()
            && rules.iter().all(|rule| has(rule, condition))
    };
    first.rule.conditions.iter().filter(is_common).collect()
}

/// Conditions with rules under them.
type Pile<'a> = Vec<(&'a Condition, Entry)>;

/// None, for any packets, and the conditions that most rules have in common, one of each rule: the first that is for a
/// single number.
fn guards<'a>(rules: &[(usize, &'a Rule)]) -> Vec<Option<&'a Condition>> {
    let mut counts: HashMap<&Condition, usize> = HashMap::new();
    for condition in rules.iter().flat_map(|(_, rule)| &rule.conditions) {
        *counts.entry(condition).or_default() += 1;
    }
    let first = |rule: &'a Rule| rule.conditions.iter().find(|c| c.ranges.count() == 1);
    let mut guards: Vec<_> = rules.iter().filter_map(|(_, rule)| first(rule)).collect();
    guards.sort_unstable_by_key(|c| (Reverse(counts[c]), c.value, c.mask, c.ranges.iter().next()));
    guards.dedup();
    guards.retain(|condition| counts[condition] >= GUARDED);
    guards.truncate(GUARDS);
    std::iter::once(None).chain(guards.into_iter().map(Some)).collect()
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

    /// The share of packets that meet a condition, if their numbers are as the ranges' bounds are.
    fn crowd(&self, condition: &Condition) -> f64 {
        let bounds = self.0[&(condition.value, condition.mask)].len();
        self.of(condition).0 as f64 / bounds as f64
    }
}

struct Filing<'a> {
    values: &'a [Value],
    builder: Builder<'a>,
    /// Entries under single numbers, ascending, and the number of what will be made of them.
    points: HashMap<Vec<(u32, Entry)>, usize>,
    leftovers: Vec<Leftover>,
}

impl Filing<'_> {
    fn field(&mut self, condition: &Condition) -> Field {
        let (operand, bits) = self.builder.field(condition.value);
        Field { operand, bits: bits.masked(condition.mask) }
    }

    /// Files a rule of which some conditions are known to hold.
    fn file(&mut self, posed: &Posed<'_>, known: &[&Condition], rivals: &Rivals) -> Entry {
        let Posed { filter, rule, under, .. } = *posed;
        let is_left = |c: &&Condition| *c != under && !known.contains(c);
        let mut asked: Vec<_> = rule.conditions.iter().filter(is_left).collect();
        // What fewest meet comes first.
        asked.sort_by_key(|c| rivals.of(c));
        let needs: Box<[_]> =
            rule.untold_needs(self.values).map(|value| self.builder.field(value).0).collect();
        let conditions: Box<[_]> =
            asked.iter().map(|c| (self.field(c), c.ranges.clone())).collect();
        if needs.is_empty() && conditions.is_empty() {
            return Entry::Filter(filter);
        }
        self.leftovers.push(Leftover { filter: Some(filter), needs, conditions });
        Entry::Rule(self.leftovers.len() as RuleId - 1)
    }

    /// Grids of rules, where these are better, and rows are not too large.
    fn grids(&mut self, shape: &Shape, rules: &[Posed<'_>]) -> Option<Vec<Grid>> {
        let layers = layers(shape, rules);
        let pays = (1..=AXES).contains(&shape.axes.len()) && is_crowded(rules);
        (pays && layers.len() <= LAYERS)
            .then(|| layers.iter().map(|layer| self.grid(shape, layer)).collect())
            .flatten()
    }

    fn grid(&mut self, shape: &Shape, rules: &[&Posed<'_>]) -> Option<Grid> {
        let words = || rules.iter().map(|posed| posed.filter / BITS);
        let first = words().min()? / GROUP * GROUP;
        let width = words().max()? - first + 1;
        let axes = shape.axes.iter().map(|(value, mask)| {
            let ranges = rules.iter().flat_map(|posed| {
                let conditions = posed.rule.conditions.iter();
                let own = conditions.filter(|c| (c.value, c.mask) == (*value, *mask));
                let bit = posed.filter - BITS * first;
                own.flat_map(|c| c.ranges.iter()).map(move |range| (range, bit))
            });
            let classes = Classes::new(width, &ranges.collect::<Vec<_>>())?;
            let (operand, bits) = self.builder.field(*value);
            Some(Axis { operand, bits: bits.masked(*mask), classes })
        });
        let mut axes: Box<[_]> = axes.collect::<Option<_>>()?;
        let key = |axis: &Axis| (!axis.classes.are_few(), axis.classes.wanted());
        axes.sort_by(|a, b| key(a).partial_cmp(&key(b)).unwrap_or(Ordering::Equal));
        let needs = shape.needs.iter().map(|value| self.builder.field(*value).0).collect();
        Some(Grid { is_sparse: is_sparse(&axes, width), axes, needs, first, width })
    }

    /// How to ask a condition of many packets, where it is one that can be asked so.
    fn question(&mut self, condition: &Condition) -> Option<(Operand, Lookup)> {
        let field = self.field(condition);
        Some((field.operand, lookup(field, &check(&condition.ranges)?)))
    }

    fn drawer(&mut self, pile: &Pile<'_>, common: &[&Condition]) -> Drawer {
        let common = common.iter().filter_map(|condition| self.question(condition)).collect();
        let field = self.field(pile[0].0);
        let entries: Vec<_> =
            pile.iter().flat_map(|(c, rule)| c.ranges.iter().map(|range| (range, *rule))).collect();
        let (points, spans): (Vec<_>, Vec<_>) =
            entries.into_iter().partition(|((from, to), _)| from == to);
        let points: Vec<_> = points.into_iter().map(|((at, _), rule)| (at, rule)).collect();
        let rules = pile.iter().filter_map(|(_, entry)| match entry {
            Entry::Rule(rule) => Some(&self.leftovers[*rule as usize]),
            Entry::Filter(_) => None,
        });
        let asked = rules.flat_map(|rule| {
            rule.needs.iter().copied().chain(rule.conditions.iter().map(|(field, _)| field.operand))
        });
        let mut operands: Vec<_> = asked.collect();
        operands.sort_unstable_by_key(|operand| (operand.lanes, operand.present));
        operands.dedup();
        Drawer {
            field,
            common,
            points: self.points(points),
            spans: (!spans.is_empty()).then(|| Spans::new(&spans)),
            operands,
        }
    }

    /// The number of the entries, if there are any.
    fn points(&mut self, mut entries: Vec<(u32, Entry)>) -> Option<usize> {
        entries.sort_unstable();
        let next = self.points.len();
        (!entries.is_empty()).then(|| *self.points.entry(entries).or_insert(next))
    }
}

/// How to see whether a field passes a check.
fn lookup(field: Field, check: &Check) -> Lookup {
    let (bits, check) = field.bits.check(u32::MAX, check);
    Lookup::new(bits, check)
}

/// Ranges as a check, where they are one or are all of single numbers.
fn check(ranges: &Ranges) -> Option<Check> {
    let numbers = || ranges.iter().map(|(number, _)| number).collect();
    match ranges.iter().next()? {
        (low, high) if ranges.iter().len() == 1 && low < high => Some(Check::Within(low, high)),
        _ if ranges.iter().all(|(from, to)| from == to) => among(numbers()),
        _ => None,
    }
}

/// Being one of some numbers; `None` if there are none.
fn among(mut numbers: Vec<u32>) -> Option<Check> {
    numbers.sort_unstable();
    numbers.dedup();
    match numbers[..] {
        [] => None,
        [number] => Some(Check::Equal(number)),
        _ => Some(Check::Among(numbers.into())),
    }
}
