//! Ways that ask the same of fields at different places made one.
//!
//! IPv4 and IPv6 have their ports at different places, IPv4 and ARP their addresses: `port 80` and `host 10.0.0.1` ask the same
//! there. Who comes to the earlier way goes on to the later one, where each field is loaded once, from where the packet has it.

use crate::join::entrances;
use crate::lookup::Lookup;
use crate::program::{Column, ColumnId, Distance, Operand, Place, Step, most};

/// With more steps, to compare them with each other takes too long.
const STEPS: usize = 64;

/// Bases that are no larger can have offsets added.
const FARTHEST: u32 = 1 << 30;

/// Merges what can be. Earlier ways are left without a way to them, but for their first steps.
pub(crate) fn merge(steps: &mut [Step], columns: &mut Vec<Column>, entry: Place) {
    if steps.len() > STEPS {
        return;
    }
    for earlier in 0..steps.len() {
        let entrances = entrances(steps, entry);
        let comparison = Comparison { steps, columns, entrances: &entrances };
        let Some((later, pairs)) = comparison.likeness(earlier) else { continue };
        let mut merger = Merger { columns, choices: Vec::new() };
        for (one, other) in pairs {
            steps[other] = merger.step(&steps[one], &steps[other]);
        }
        steps[earlier] = Step::Pass { choices: merger.choices.into(), next: later };
    }
}

struct Comparison<'a> {
    steps: &'a [Step],
    columns: &'a [Column],
    entrances: &'a [usize],
}

impl Comparison<'_> {
    /// The nearest later step that asks the same, with the pairs of steps that become one.
    fn likeness(&self, earlier: Place) -> Option<(Place, Vec<(Place, Place)>)> {
        let is_reached = |place: &Place| self.entrances[*place] > 0;
        let laters = (earlier + 1..self.steps.len()).filter(is_reached);
        laters.filter(|_| is_reached(&earlier)).find_map(|later| {
            let mut pairs = Vec::new();
            self.are_alike(earlier, later, &mut pairs).then_some((later, pairs))
        })
    }

    fn are_alike(&self, one: Place, other: Place, pairs: &mut Vec<(Place, Place)>) -> bool {
        let (Some(a), Some(b)) = (self.steps.get(one), self.steps.get(other)) else { return false };
        let (Some(a), Some(b)) = (Question::of(a), Question::of(b)) else { return false };
        let places = a.operands.iter().zip(b.operands).all(|(a, b)| self.are_movable(*a, b));
        pairs.push((one, other));
        places
            && a.kind == b.kind
            && a.ways.into_iter().zip(b.ways).all(|(a, b)| {
                let is_alone = |place: Place| self.entrances[place] == 1;
                a == b || is_alone(a) && is_alone(b) && self.are_alike(a, b, pairs)
            })
    }

    /// Whether both are as many bytes of windows, and who has them has their bases.
    fn are_movable(&self, one: Operand, other: Operand) -> bool {
        let [one, other] = [one, other].map(|operand| field(self.columns, operand));
        let (Some(one), Some(other)) = (one, other) else { return false };
        let has_base = |field: &Field| {
            field.base.is_none_or(|base| {
                let bytes = certain(self.columns, base.present);
                let is_small = most(self.columns, base.lanes).is_some_and(|most| most <= FARTHEST);
                is_small && bytes.is_some_and(|bytes| bytes <= field.end)
            })
        };
        one.end - one.offset == other.end - other.offset && has_base(&one) && has_base(&other)
    }
}

/// How many bytes suffice for a column, if that is the same for all packets.
fn certain(columns: &[Column], present: ColumnId) -> Option<u32> {
    match &columns[present] {
        Column::Present { base: None, end } => Some(*end),
        Column::Extract { from, .. } => certain(columns, from.present),
        Column::Constant(_) => Some(0),
        _ => None,
    }
}

/// Bytes of a window.
struct Field {
    base: Option<Operand>,
    /// Where the window begins, and the bytes end.
    offset: u32,
    end: u32,
}

fn field(columns: &[Column], operand: Operand) -> Option<Field> {
    match (&columns[operand.lanes], &columns[operand.present]) {
        (Column::Window { base, offset }, Column::Present { base: other, end })
            if base == other =>
        {
            Some(Field { base: *base, offset: *offset, end: *end })
        }
        _ => None,
    }
}

/// What a step asks, of what, and where it leads.
struct Question<'a> {
    kind: Kind<'a>,
    operands: Vec<Operand>,
    ways: [Place; 2],
}

#[derive(PartialEq)]
enum Kind<'a> {
    Test(&'a Lookup),
    /// Of the two halves of a window; the upper one comes first.
    Either(&'a [u16], &'a [u16], bool),
}

impl<'a> Question<'a> {
    fn of(step: &'a Step) -> Option<Self> {
        match step {
            Step::Test { operand, lookup, then, otherwise } => Some(Self {
                kind: Kind::Test(lookup),
                operands: vec![*operand],
                ways: [*then, *otherwise],
            }),
            Step::Either { either, then, otherwise } => Some(Self {
                kind: Kind::Either(&either.constants, either.early(), either.upper_first()),
                operands: either.operands.into(),
                ways: [*then, *otherwise],
            }),
            Step::Compare { .. } | Step::Bind { .. } | Step::Pass { .. } => None,
        }
    }
}

struct Merger<'a> {
    columns: &'a mut Vec<Column>,
    choices: Vec<ColumnId>,
}

impl Merger<'_> {
    /// The later step with the choice between both steps' fields.
    fn step(&mut self, earlier: &Step, later: &Step) -> Step {
        let mut step = later.clone();
        match (earlier, &mut step) {
            (Step::Test { operand: from, .. }, Step::Test { operand, .. }) => {
                *operand = self.operand(*from, *operand);
            }
            (Step::Either { either: from, .. }, Step::Either { either, .. }) => {
                for (operand, from) in either.operands.iter_mut().zip(from.operands) {
                    *operand = self.operand(from, *operand);
                }
            }
            _ => unreachable!("steps that are alike"),
        }
        step
    }

    fn operand(&mut self, earlier: Operand, later: Operand) -> Operand {
        let fields = [earlier, later].map(|operand| field(self.columns, operand));
        let [Some(earlier), Some(later)] = fields else { unreachable!("fields that are movable") };
        let offset = earlier.offset.min(later.offset);
        let distance = |field: &Field| Distance { base: field.base, plus: field.offset - offset };
        let choice = Column::Choice { passed: distance(&earlier), others: distance(&later) };
        let lanes = self.choice(choice);
        let base = Some(Operand { lanes, present: self.column(Column::Constant(0)) });
        let end = offset + (later.end - later.offset);
        Operand {
            lanes: self.column(Column::Window { base, offset }),
            present: self.column(Column::Present { base, end }),
        }
    }

    /// A choice of this merger's packets, which others do not share.
    fn choice(&mut self, choice: Column) -> ColumnId {
        if let Some(known) = self.choices.iter().find(|known| self.columns[**known] == choice) {
            return *known;
        }
        self.columns.push(choice);
        self.choices.push(self.columns.len() - 1);
        self.columns.len() - 1
    }

    /// A column that is there, or a new one.
    fn column(&mut self, column: Column) -> ColumnId {
        let known = self.columns.iter().position(|other| *other == column);
        known.unwrap_or_else(|| {
            self.columns.push(column);
            self.columns.len() - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use linerate_base::LinkType;
    use linerate_filter::{Hermetic, Options, compile};

    use super::merge;
    use crate::join::entrances;
    use crate::program::{Column, Joined, Step};

    /// A filter before and after.
    fn programs(text: &str) -> [Joined; 2] {
        let filter = compile(text, &Options::new(LinkType::ETHERNET, &Hermetic)).unwrap();
        let plan = filter.plan().expect("a plan");
        let [before, mut after] = [(); 2].map(|()| Joined::new(&plan));
        merge(&mut after.steps, &mut after.columns, after.entry);
        [before, after]
    }

    /// The steps that packets can come to.
    fn reached(program: &Joined) -> Vec<Step> {
        let entrances = entrances(&program.steps, program.entry);
        let steps = program.steps.iter().zip(entrances).filter(|(_, entrances)| *entrances > 0);
        steps.map(|(step, _)| step.clone()).collect()
    }

    fn count(program: &Joined, is: impl Fn(&Step) -> bool) -> usize {
        reached(program).iter().filter(|step| is(step)).count()
    }

    #[test]
    fn ports_of_both_families_are_looked_at_once() {
        for text in ["port 80", "tcp port 80 or 443 or 22", "not udp port 53"] {
            let either = |step: &Step| matches!(step, Step::Either { .. });
            assert_eq!(programs(text).map(|program| count(&program, either)), [2, 1], "{text}");
        }
    }

    #[test]
    fn chains_that_ask_the_same_are_merged_as_a_whole() {
        let programs = programs("host 10.1.2.3");
        let test = |step: &Step| matches!(step, Step::Test { .. });
        assert_eq!(programs.each_ref().map(|program| count(program, test)), [6, 4]);
        let passes = |step: &Step| matches!(step, Step::Pass { choices, .. } if choices.len() == 2);
        assert_eq!(count(&programs[1], passes), 1);
    }

    #[test]
    fn what_lies_anywhere_is_not_merged() {
        let text = "ip and ether[ether[0:4]] = 7 or arp and ether[ether[4:4]] = 7";
        let [_, merged] = programs(text);
        assert!(!merged.columns.iter().any(|column| matches!(column, Column::Choice { .. })));
    }
}
