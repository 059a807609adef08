//! Plans made into columns and steps.
//!
//! A load is four bytes wide whatever its width, so that neighbouring fields share a column: a window. Which
//! packets have the bytes is asked for each load by itself.

use std::collections::HashMap;

use linerate_filter::plan::{
    BinaryOperator, Comparison, Load, Metadata, Node, Plan, Target, Value, ValueId, Width,
};

use crate::bits::Bits;
use crate::join::{self, Either};
use crate::lookup::Lookup;
use crate::merge;
use crate::quads::{self, Quad};

/// Index of a [`Column`].
pub(crate) type ColumnId = usize;

/// How a column is made. Operands have smaller numbers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Column {
    /// Four bytes of each packet, whether it has them or not.
    Window { base: Option<Operand>, offset: u32 },
    /// No numbers, but which packets have bytes up to `base + end`.
    Present { base: Option<Operand>, end: u32 },
    /// Nobody has these bytes, or this answer.
    Missing,
    /// The same for all.
    Constant(u32),
    /// The length on the wire.
    Length,
    /// Which way the packet went, by the kernel's number.
    PacketType,
    /// The number of the interface.
    Interface,
    /// What was bound to a slot.
    Slot,
    /// Some bits of another column.
    Extract { from: Operand, bits: Bits },
    /// Of two other columns.
    Combine { operator: BinaryOperator, left: Operand, right: Operand },
    /// One number for the packets that came to a [`Step::Pass`], another for the others.
    Choice { passed: Distance, others: Distance },
}

/// A number and what is added to it; nothing stands for zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Distance {
    pub(crate) base: Option<Operand>,
    pub(crate) plus: u32,
}

/// Where numbers are, and where it says which packets have them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Operand {
    pub(crate) lanes: ColumnId,
    pub(crate) present: ColumnId,
}

/// Where packets go: the number of a step, or past the last one [`Program::accepted`], and past that the drop.
pub(crate) type Place = usize;

/// What is done with the packets that come to it.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Test {
        operand: Operand,
        lookup: Lookup,
        then: Place,
        otherwise: Place,
    },
    Either {
        either: Either,
        then: Place,
        otherwise: Place,
    },
    Compare {
        how: Comparison,
        left: Operand,
        right: Operand,
        then: Place,
        otherwise: Place,
    },
    Bind {
        slot: ColumnId,
        value: Operand,
        next: Place,
    },
    /// Packets only go on; choices note who they were.
    Pass {
        choices: Box<[ColumnId]>,
        next: Place,
    },
}

/// A plan for blocks of packets.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) columns: Vec<Column>,
    pub(crate) steps: Vec<Step>,
    pub(crate) entry: Place,
    /// For each column, those made of it, by one way or another.
    pub(crate) dependants: Vec<Vec<ColumnId>>,
    /// For each column, how many captured bytes suffice for a packet to have a number in it, if any do.
    pub(crate) enough: Vec<Option<u32>>,
    /// The last constant offset that is looked at.
    pub(crate) reach: usize,
    /// For each column, the quad that it is loaded in, if any.
    pub(crate) quads: Vec<Option<Quad>>,
}

/// Steps and their columns, before those that ask the same are merged.
pub(crate) struct Joined {
    pub(crate) steps: Vec<Step>,
    pub(crate) columns: Vec<Column>,
    pub(crate) entry: Place,
}

/// More columns than this make a block too large for the processor's caches.
const COLUMNS: usize = 1024;

impl Program {
    /// `None` when it would need too many columns.
    pub(crate) fn new(plan: &Plan) -> Option<Self> {
        let Joined { mut steps, mut columns, mut entry } = Joined::new(plan);
        if columns.len() > COLUMNS {
            return None;
        }
        merge::merge(&mut steps, &mut columns, entry);
        join::retain_reached(&mut steps, &mut entry);
        let quads = quads::quads(&columns, quads::looked_at(&steps, &columns));
        Some(Self { steps, entry, quads, ..Self::of_columns(columns) })
    }

    /// Columns for others to look at, and no steps.
    pub(crate) fn of_columns(columns: Vec<Column>) -> Self {
        Self {
            dependants: dependants(&columns),
            enough: enough(&columns),
            reach: reach(&columns) as usize,
            quads: quads::quads(&columns, 0..columns.len()),
            columns,
            steps: Vec::new(),
            entry: 0,
        }
    }

    /// Where accepted packets go.
    pub(crate) fn accepted(&self) -> Place {
        self.steps.len()
    }

    /// How many places there are.
    pub(crate) fn places(&self) -> usize {
        self.steps.len() + 2
    }
}

impl Joined {
    pub(crate) fn new(plan: &Plan) -> Self {
        let mut builder = Builder::new(plan.values(), plan.slots());
        let mut steps: Vec<_> = plan.nodes().iter().map(|node| builder.step(plan, node)).collect();
        let (columns, entry) = (builder.columns, place(plan, plan.entry()));
        join::join(&mut steps, &columns, entry);
        Self { steps, columns, entry }
    }
}

fn place(plan: &Plan, target: Target) -> Place {
    match target {
        Target::Node(id) => id,
        Target::Accept => plan.nodes().len(),
        Target::Drop => plan.nodes().len() + 1,
    }
}

/// For each column, how many captured bytes suffice.
fn enough(columns: &[Column]) -> Vec<Option<u32>> {
    let mut enough: Vec<Option<u32>> = Vec::with_capacity(columns.len());
    for column in columns {
        let both = |one: Option<u32>, other: Option<u32>| Some(one?.max(other?));
        let bytes = match column {
            Column::Present { base: None, end } => Some(*end),
            Column::Present { base: Some(base), end } => {
                let most = most(columns, base.lanes).and_then(|most| most.checked_add(*end));
                both(enough[base.present], most)
            }
            Column::Constant(_) | Column::Length | Column::Slot => Some(0),
            Column::Extract { from, .. } => enough[from.present],
            // Who has what a choice leads to has what it is made of.
            Column::Choice { .. } => Some(0),
            Column::Combine { operator, left, right } => {
                let divides = matches!(operator, BinaryOperator::Divide | BinaryOperator::Modulo);
                both(enough[left.present], enough[right.present]).filter(|_| !divides)
            }
            Column::Window { .. } | Column::Missing | Column::PacketType | Column::Interface => {
                None
            }
        };
        enough.push(bytes);
    }
    enough
}

/// The largest number that a column can have, where that is small.
pub(crate) fn most(columns: &[Column], id: ColumnId) -> Option<u32> {
    let reached = |distance: &Distance| {
        distance.base.map_or(Some(0), |base| most(columns, base.lanes))?.checked_add(distance.plus)
    };
    match &columns[id] {
        Column::Extract { bits, .. } => Some(bits.mask << bits.left),
        Column::Constant(constant) => Some(*constant),
        Column::Choice { passed, others } => Some(reached(passed)?.max(reached(others)?)),
        _ => None,
    }
}

/// Only what is made of slots is ever made again.
fn dependants(columns: &[Column]) -> Vec<Vec<ColumnId>> {
    let mut dependants = vec![Vec::new(); columns.len()];
    let slots = (0..columns.len()).filter(|id| matches!(columns[*id], Column::Slot));
    for slot in slots {
        let mut depends = vec![false; columns.len()];
        depends[slot] = true;
        for (id, column) in columns.iter().enumerate().skip(slot) {
            if column.operands().any(|operand| depends[operand.lanes] || depends[operand.present]) {
                depends[id] = true;
                dependants[slot].push(id);
            }
        }
    }
    dependants
}

fn reach(columns: &[Column]) -> u32 {
    let offsets = columns.iter().filter_map(|column| match column {
        Column::Window { base: None, offset } => Some(*offset),
        _ => None,
    });
    offsets.max().unwrap_or(0)
}

impl Column {
    pub(crate) fn operands(&self) -> impl Iterator<Item = Operand> {
        let [first, second] = match self {
            Self::Window { base, .. } | Self::Present { base, .. } => [*base, None],
            Self::Extract { from, .. } => [Some(*from), None],
            Self::Combine { left, right, .. } => [Some(*left), Some(*right)],
            Self::Choice { passed, others } => [passed.base, others.base],
            Self::Missing
            | Self::Constant(_)
            | Self::Length
            | Self::PacketType
            | Self::Interface
            | Self::Slot => [None, None],
        };
        first.into_iter().chain(second)
    }
}

/// Makes columns for the values that are asked for.
pub(crate) struct Builder<'a> {
    values: &'a [Value],
    pub(crate) columns: Vec<Column>,
    /// For each load, where its window begins.
    windows: Vec<u32>,
    /// The columns of windows, by base and offset.
    placed: HashMap<(Option<ValueId>, u32), ColumnId>,
    slots: Vec<Option<ColumnId>>,
    fields: Vec<Option<(Operand, Bits)>>,
    numbers: Vec<Option<Operand>>,
}

impl<'a> Builder<'a> {
    pub(crate) fn new(values: &'a [Value], slots: usize) -> Self {
        Self {
            values,
            columns: Vec::new(),
            windows: windows(values),
            placed: HashMap::new(),
            slots: vec![None; slots],
            fields: vec![None; values.len()],
            numbers: vec![None; values.len()],
        }
    }

    fn step(&mut self, plan: &Plan, node: &Node) -> Step {
        let place = |target: &Target| place(plan, *target);
        match node {
            Node::Test { value, mask, check, then, otherwise } => {
                let (operand, bits) = self.field(*value);
                let (bits, check) = bits.check(*mask, check);
                Step::Test {
                    operand,
                    lookup: Lookup::new(bits, check),
                    then: place(then),
                    otherwise: place(otherwise),
                }
            }
            Node::Compare { how, left, right, then, otherwise } => Step::Compare {
                how: *how,
                left: self.number(*left),
                right: self.number(*right),
                then: place(then),
                otherwise: place(otherwise),
            },
            Node::Bind { slot, value, next } => {
                Step::Bind { slot: self.slot(*slot), value: self.number(*value), next: place(next) }
            }
        }
    }

    fn push(&mut self, column: Column) -> Operand {
        self.columns.push(column);
        let id = self.columns.len() - 1;
        Operand { lanes: id, present: id }
    }

    fn slot(&mut self, slot: usize) -> ColumnId {
        if let Some(column) = self.slots[slot] {
            return column;
        }
        let column = self.push(Column::Slot).lanes;
        self.slots[slot] = Some(column);
        column
    }

    /// A value as a column by itself.
    fn number(&mut self, value: ValueId) -> Operand {
        if let Some(operand) = self.numbers[value] {
            return operand;
        }
        let (from, bits) = self.field(value);
        let operand =
            if bits == Bits::ALL { from } else { self.push(Column::Extract { from, bits }) };
        self.numbers[value] = Some(operand);
        operand
    }

    /// A value as some bits of a column.
    pub(crate) fn field(&mut self, value: ValueId) -> (Operand, Bits) {
        if let Some(field) = self.fields[value] {
            return field;
        }
        let field = self.new_field(value);
        self.fields[value] = Some(field);
        field
    }

    fn new_field(&mut self, value: ValueId) -> (Operand, Bits) {
        let column = match self.values[value] {
            Value::Load(load) => return self.load(value, load),
            Value::Constant(constant) => Column::Constant(constant),
            Value::Length => Column::Length,
            Value::Metadata(Metadata::PacketType) => Column::PacketType,
            Value::Metadata(Metadata::InterfaceIndex) => Column::Interface,
            // Packets of a batch have their tags among their bytes.
            Value::Metadata(Metadata::VlanPresent | Metadata::VlanTag) => Column::Constant(0),
            Value::Metadata(Metadata::Protocol) => Column::Missing,
            Value::Slot(slot) => {
                let id = self.slot(slot);
                return (Operand { lanes: id, present: id }, Bits::ALL);
            }
            Value::Negate(operand) => {
                let left = self.push(Column::Constant(0));
                let right = self.number(operand);
                Column::Combine { operator: BinaryOperator::Subtract, left, right }
            }
            Value::Binary(operator, left, right) => {
                if let Value::Constant(constant) = self.values[right] {
                    let (operand, bits) = self.field(left);
                    if let Some(bits) = bits.then(operator, constant) {
                        return (operand, bits);
                    }
                }
                let (left, right) = (self.number(left), self.number(right));
                Column::Combine { operator, left, right }
            }
        };
        (self.push(column), Bits::ALL)
    }

    fn load(&mut self, value: ValueId, load: Load) -> (Operand, Bits) {
        let Ok(end) = i32::try_from(load.end()) else {
            return (self.push(Column::Missing), Bits::ALL);
        };
        let base = load.base.map(|base| self.number(base));
        let present = self.push(Column::Present { base, end: end.cast_unsigned() }).present;
        let offset = self.windows[value];
        let key = (load.base, offset);
        let lanes = match self.placed.get(&key) {
            Some(lanes) => *lanes,
            None => {
                let lanes = self.push(Column::Window { base, offset }).lanes;
                self.placed.insert(key, lanes);
                lanes
            }
        };
        let (width, mask) = match load.width {
            Width::Byte => (1, 0xff),
            Width::Half => (2, 0xffff),
            Width::Word => (4, u32::MAX),
        };
        let right = 8 * (4 - width - (load.offset - offset));
        (Operand { lanes, present }, Bits { right, mask, left: 0 })
    }
}

/// For each load, the offset of the window that it shares with as many others as fit.
fn windows(values: &[Value]) -> Vec<u32> {
    let mut loads: Vec<_> = values.iter().enumerate().filter_map(as_load).collect();
    loads.sort_unstable_by_key(|(_, load)| (load.base, load.offset));
    let mut windows = vec![0; values.len()];
    let mut open: Option<Load> = None;
    for (id, load) in loads {
        let begin = open
            .filter(|first| first.base == load.base && load.end() <= u64::from(first.offset) + 4)
            .unwrap_or(load);
        windows[id] = begin.offset;
        open = Some(begin);
    }
    windows
}

fn as_load((id, value): (ValueId, &Value)) -> Option<(ValueId, Load)> {
    match value {
        Value::Load(load) => Some((id, *load)),
        _ => None,
    }
}
