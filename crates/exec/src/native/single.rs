//! The function of a packet: the walk over a plan, which is the same for all processors.
//!
//! It takes the packet's bytes, their number, and its length on the wire, and gives 1 if the filter keeps it, or 0. The code
//! follows the plan: for each node it computes a number, compares it, and jumps. What a packet is known to have on the way
//! to a node is not asked for again. Fields that are compared with one number stay in network order, and the number is
//! turned round instead.

use linerate_filter::plan::{
    BinaryOperator, Check, Comparison, Load, Node, Plan, Target, Value, ValueId, Width,
};

use crate::condition::Condition;

/// What a processor does. It computes one number at a time, of 32 bits.
pub(super) trait Machine {
    /// A place in the code.
    type Label: Copy + PartialEq;

    /// There is room for so many numbers beside.
    const CELLS: usize;

    /// A label that is nowhere yet.
    fn label(&mut self) -> Self::Label;

    /// The label is here.
    fn bind(&mut self, label: Self::Label);

    /// Goes on there.
    fn jump(&mut self, to: Self::Label);

    /// The same if the last comparison found this.
    fn jump_if(&mut self, condition: Condition, to: Self::Label);

    /// Begins the function.
    fn begin(&mut self);

    /// Ends the function with a result.
    fn end(&mut self, result: u32);

    /// Puts what the code refers to behind it.
    fn finish(&mut self);

    /// The number is a constant.
    fn constant(&mut self, constant: u32);

    /// The number is the packet's length on the wire.
    fn length(&mut self);

    /// The number is that in a cell.
    fn fetch(&mut self, cell: usize);

    /// Puts the number into a cell.
    fn put(&mut self, cell: usize);

    /// The number is zero minus it.
    fn negate(&mut self);

    /// `number operator constant`; a division by zero goes to `dropped`.
    fn with_constant(&mut self, operator: BinaryOperator, constant: u32, dropped: Self::Label);

    /// `number operator cell`; a division by zero goes to `dropped`.
    fn with_cell(&mut self, operator: BinaryOperator, cell: usize, dropped: Self::Label);

    /// Goes to `dropped` unless so many bytes were captured, behind the number if it says so.
    fn need(&mut self, bytes: u32, is_behind: bool, dropped: Self::Label);

    /// The number is bytes as they are: the first is the lowest, and zeros above them.
    fn load(&mut self, bytes: Bytes);

    /// Turns the number's lower bytes round.
    fn turn(&mut self, width: Width);

    /// Compares bytes as they are with a constant; what becomes of the number is not said.
    fn compare_bytes(&mut self, bytes: Bytes, constant: u32);

    /// Compares the number with a constant.
    fn compare(&mut self, constant: u32);

    /// Compares the number with a cell.
    fn compare_cell(&mut self, cell: usize);

    /// Compares the bits that number and cell have in common with zero.
    fn intersect(&mut self, cell: usize);

    /// Compares the number with all of some constants, without a branch: what is found if it is one of them. `None` where
    /// other ways are better. The number has no bits but in the mask.
    fn compare_all(&mut self, constants: &[u32], mask: u32) -> Option<Condition>;

    /// Looks at the bit of a table that the number says: what is found if it is set.
    fn look(&mut self, table: Vec<u32>) -> Condition;
}

/// Bytes of the packet.
#[derive(Clone, Copy)]
pub(super) struct Bytes {
    /// Below 2^31.
    pub(super) offset: u32,
    pub(super) width: Width,
    /// The number is added to the offset.
    pub(super) is_behind: bool,
}

/// What a packet is known to have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Known {
    /// So many bytes were captured.
    captured: u32,
    /// And so many behind the offset that is this value.
    behind: Option<(ValueId, u32)>,
}

impl Known {
    /// What is known on both ways to a node.
    fn or(self, other: Self) -> Self {
        let behind = self
            .behind
            .zip(other.behind)
            .and_then(|(one, two)| (one.0 == two.0).then(|| (one.0, one.1.min(two.1))));
        Self { captured: self.captured.min(other.captured), behind }
    }
}

/// A bit for each number from the lowest of a set on.
struct Table {
    lowest: u32,
    words: Vec<u32>,
}

/// Comparisons with so many numbers cost no more than a look into a table, whose word has to come from memory.
pub(super) const FEW: usize = 16;

/// The bits of a table at most: ports have as many.
const BITS: u32 = 1 << 16;

impl Table {
    /// `None` where comparisons are better.
    fn of(numbers: &[u32]) -> Option<Self> {
        let (&lowest, &highest) = (numbers.first()?, numbers.last()?);
        if numbers.len() <= FEW || highest - lowest >= BITS {
            return None;
        }
        let mut words = vec![0; (highest - lowest) as usize / 32 + 1];
        for bit in numbers.iter().map(|number| number - lowest) {
            words[bit as usize / 32] |= 1 << (bit % 32);
        }
        Some(Self { lowest, words })
    }
}

struct Compiler<'a, M: Machine> {
    plan: &'a Plan,
    machine: &'a mut M,
    /// Of the nodes, then of those who are kept and of those who are not.
    labels: Vec<M::Label>,
    /// What is known of packets that come to a node; `None` where nobody does.
    known: Vec<Option<Known>>,
    /// And of those that have come so far.
    now: Known,
}

/// The function; `None` where there is no code for what the plan asks.
pub(super) fn single<M: Machine>(machine: &mut M, plan: &Plan) -> Option<()> {
    let labels: Vec<_> = (0..plan.nodes().len() + 2).map(|_| machine.label()).collect();
    let known = vec![None; labels.len()];
    Compiler { plan, machine, labels, known, now: Known::default() }.function()
}

impl<M: Machine> Compiler<'_, M> {
    fn function(&mut self) -> Option<()> {
        self.machine.begin();
        for slot in 0..self.plan.slots() {
            self.machine.constant(0);
            self.put(slot)?;
        }
        self.lead(self.plan.entry());
        let entry = self.label(self.plan.entry());
        if entry != self.labels[0] {
            self.machine.jump(entry);
        }
        for (id, node) in self.plan.nodes().iter().enumerate() {
            if let Some(known) = self.known[id] {
                self.now = known;
                self.machine.bind(self.labels[id]);
                self.node(id, node)?;
            }
        }
        for (target, kept) in [(Target::Accept, 1), (Target::Drop, 0)] {
            let label = self.label(target);
            self.machine.bind(label);
            self.machine.end(kept);
        }
        self.machine.finish();
        Some(())
    }

    fn index(&self, target: Target) -> usize {
        match target {
            Target::Node(id) => id,
            Target::Accept => self.plan.nodes().len(),
            Target::Drop => self.plan.nodes().len() + 1,
        }
    }

    fn label(&self, target: Target) -> M::Label {
        self.labels[self.index(target)]
    }

    /// Packets of which so much is known as now go to `target`, too.
    fn lead(&mut self, target: Target) {
        let index = self.index(target);
        let now = self.now;
        self.known[index] = Some(self.known[index].map_or(now, |known| known.or(now)));
    }

    fn node(&mut self, id: usize, node: &Node) -> Option<()> {
        match *node {
            Node::Bind { slot, value, next } => {
                self.value(value, 0)?;
                self.put(slot)?;
                // What was known may have been behind the slot's last number.
                self.now.behind = None;
                self.lead(next);
                self.go(next, id);
            }
            Node::Compare { how, left, right, then, otherwise } => {
                self.value(right, 0)?;
                let right = self.spill(0)?;
                self.value(left, 1)?;
                let condition = match how {
                    Comparison::Intersects => {
                        self.machine.intersect(right);
                        Condition::NotEqual
                    }
                    how => {
                        self.machine.compare_cell(right);
                        match how {
                            Comparison::Equal => Condition::Equal,
                            Comparison::Greater => Condition::Above,
                            _ => Condition::AboveOrEqual,
                        }
                    }
                };
                self.part(condition, then, otherwise, id);
            }
            Node::Test { value, mask, ref check, then, otherwise } => {
                match (self.plan.values()[value], check) {
                    (Value::Load(load), Check::Equal(number)) => {
                        self.field(load, mask, *number, then, otherwise, id)?;
                    }
                    (read, _) => {
                        let reach = match read {
                            Value::Load(load) => all(load.width),
                            _ => u32::MAX,
                        };
                        self.value(value, 0)?;
                        if mask != u32::MAX {
                            self.with_constant(BinaryOperator::And, mask);
                        }
                        self.check(check, mask & reach, then, otherwise, id);
                    }
                }
            }
        }
        Some(())
    }

    /// Jumps unless the target's code follows that of node `id`.
    fn go(&mut self, target: Target, id: usize) {
        let label = self.label(target);
        if self.following(id) != label {
            self.machine.jump(label);
        }
    }

    /// The label of what follows the code of node `id`.
    fn following(&self, id: usize) -> M::Label {
        let next = (id + 1..self.plan.nodes().len()).find(|next| self.known[*next].is_some());
        self.labels[next.unwrap_or(self.plan.nodes().len())]
    }

    /// Goes one way if the last comparison found this, else the other.
    fn part(&mut self, condition: Condition, then: Target, otherwise: Target, id: usize) {
        self.lead(then);
        self.lead(otherwise);
        let (then, otherwise) = (self.label(then), self.label(otherwise));
        let next = self.following(id);
        if next == then {
            self.machine.jump_if(condition.opposite(), otherwise);
            return;
        }
        self.machine.jump_if(condition, then);
        if next != otherwise {
            self.machine.jump(otherwise);
        }
    }

    /// Holds the number, which has no bits but in the mask, to a check.
    fn check(&mut self, check: &Check, mask: u32, then: Target, otherwise: Target, id: usize) {
        match check {
            Check::Equal(number) => {
                self.machine.compare(*number);
                self.part(Condition::Equal, then, otherwise, id);
            }
            Check::Within(low, high) => {
                self.with_constant(BinaryOperator::Subtract, *low);
                self.machine.compare(high - low);
                self.part(Condition::BelowOrEqual, then, otherwise, id);
            }
            Check::Among(numbers) => {
                if let Some(condition) = self.machine.compare_all(numbers, mask) {
                    self.part(condition, then, otherwise, id);
                } else if let Some(table) = Table::of(numbers) {
                    self.in_table(table, then, otherwise, id);
                } else {
                    self.lead(then);
                    self.lead(otherwise);
                    let (then, otherwise) = (self.label(then), self.label(otherwise));
                    self.among(numbers, then, otherwise);
                    self.machine.jump(otherwise);
                }
            }
        }
    }

    /// One look instead of many comparisons.
    fn in_table(&mut self, table: Table, then: Target, otherwise: Target, id: usize) {
        self.with_constant(BinaryOperator::Subtract, table.lowest);
        self.machine.compare(32 * table.words.len() as u32);
        self.lead(otherwise);
        let outside = self.label(otherwise);
        self.machine.jump_if(Condition::AboveOrEqual, outside);
        let is_set = self.machine.look(table.words);
        self.part(is_set, then, otherwise, id);
    }

    /// Halves the numbers until a few are left. Falls through behind the last of them.
    fn among(&mut self, numbers: &[u32], then: M::Label, otherwise: M::Label) {
        const ROW: usize = 4;
        if numbers.len() <= ROW {
            for number in numbers {
                self.machine.compare(*number);
                self.machine.jump_if(Condition::Equal, then);
            }
            return;
        }
        let (lower, upper) = numbers.split_at(numbers.len() / 2);
        let above = self.machine.label();
        self.machine.compare(upper[0]);
        self.machine.jump_if(Condition::AboveOrEqual, above);
        self.among(lower, then, otherwise);
        self.machine.jump(otherwise);
        self.machine.bind(above);
        self.among(upper, then, otherwise);
    }

    /// Whether the field, under a mask, is `number`: all in network order.
    fn field(
        &mut self,
        load: Load,
        mask: u32,
        number: u32,
        then: Target,
        otherwise: Target,
        id: usize,
    ) -> Option<()> {
        let bytes = self.bytes(load, 0)?;
        let mask = mask & all(load.width);
        if number & !mask != 0 {
            self.lead(otherwise);
            self.go(otherwise, id);
            return Some(());
        }
        let turn = |number: u32| match load.width {
            Width::Byte => number,
            Width::Half => u32::from((number as u16).swap_bytes()),
            Width::Word => number.swap_bytes(),
        };
        if mask == all(load.width) {
            self.machine.compare_bytes(bytes, turn(number));
        } else {
            self.machine.load(bytes);
            self.with_constant(BinaryOperator::And, turn(mask));
            self.machine.compare(turn(number));
        }
        self.part(Condition::Equal, then, otherwise, id);
        Some(())
    }

    /// Where the bytes of a load are; packets that do not have them are dropped.
    fn bytes(&mut self, load: Load, depth: usize) -> Option<Bytes> {
        let end = u32::try_from(load.end()).ok().filter(|end| *end <= i32::MAX as u32)?;
        let dropped = self.label(Target::Drop);
        match load.base {
            None => {
                if self.now.captured < end {
                    self.machine.need(end, false, dropped);
                    self.now.captured = end;
                }
            }
            Some(base) => {
                self.value(base, depth)?;
                let known = self.now.behind.filter(|(of, _)| *of == base);
                if known.is_none_or(|(_, known)| known < end) {
                    self.machine.need(end, true, dropped);
                    self.now.behind = Some((base, end));
                }
            }
        }
        Some(Bytes { offset: load.offset, width: load.width, is_behind: load.base.is_some() })
    }

    fn value(&mut self, id: ValueId, depth: usize) -> Option<()> {
        match self.plan.values()[id] {
            Value::Metadata(_) => return None,
            Value::Constant(number) => self.machine.constant(number),
            Value::Length => self.machine.length(),
            Value::Slot(slot) => self.machine.fetch(slot),
            Value::Negate(operand) => {
                self.value(operand, depth)?;
                self.machine.negate();
            }
            Value::Load(load) => {
                let bytes = self.bytes(load, depth)?;
                self.machine.load(bytes);
                self.machine.turn(load.width);
            }
            Value::Binary(operator, left, right) => match self.plan.values()[right] {
                Value::Constant(number) => {
                    self.value(left, depth)?;
                    self.with_constant(operator, number);
                }
                _ => {
                    self.value(right, depth)?;
                    let right = self.spill(depth)?;
                    self.value(left, depth + 1)?;
                    let dropped = self.label(Target::Drop);
                    self.machine.with_cell(operator, right, dropped);
                }
            },
        }
        Some(())
    }

    fn with_constant(&mut self, operator: BinaryOperator, constant: u32) {
        let dropped = self.label(Target::Drop);
        self.machine.with_constant(operator, constant, dropped);
    }

    /// Puts the number aside, while others are computed that are needed with it, and says where it is.
    fn spill(&mut self, depth: usize) -> Option<usize> {
        let cell = self.plan.slots() + depth;
        self.put(cell)?;
        Some(cell)
    }

    fn put(&mut self, cell: usize) -> Option<()> {
        (cell < M::CELLS).then(|| self.machine.put(cell))
    }
}

/// All bits that so many bytes have.
fn all(width: Width) -> u32 {
    u32::MAX >> (32 - 8 * width.bytes())
}
