//! From a plan to a function of a packet.
//!
//! The code follows the plan: for each node it computes the value in `eax`, compares, and jumps. What a
//! packet is known to have on the way to a node is not asked for again. Fields that are compared with one number
//! stay in network order, and the number is turned round instead.

use std::mem;
use std::num::NonZeroU8;

use cranelift_assembler_x64::{Fixed, Inst, TrapCode, inst};
use linerate_filter::plan::{
    BinaryOperator, Check, Comparison, Load, Node, Plan, Target, Value, ValueId, Width,
};

use crate::assembler::{Assembler, Label, Memory, Numbered, Operand, at, at_index, word_of};
use crate::condition::Condition;

/// What values are computed in, and the result.
const EAX: u8 = 0;
/// The second operand.
const ECX: u8 = 1;
/// What a division needs beside `eax`; where a table is.
const EDX: u8 = 2;
const RSP: u8 = 4;
/// How many bytes were captured.
const RSI: u8 = 6;
/// Where they are.
const RDI: u8 = 7;
/// The length on the wire, which comes in `edx`.
const LENGTH: u8 = 8;

/// Numbers of four bytes that the 128 bytes below the stack's end have room for, which are a function's own as
/// long as it calls nobody (System V ABI for AMD64, 3.2.2).
const ROOM: usize = 32;

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

/// Numbers in vectors, the first of them again where there are none left.
struct Row {
    /// Of 16 bits each, not 32.
    are_halves: bool,
    vectors: Vec<[u32; 4]>,
}

impl Row {
    /// With so many numbers as the first, one way to guess is worth the vectors; with more vectors than the second
    /// other ways are better.
    const WORTH: usize = 6;
    const MOST: usize = 4;

    /// The numbers, of which those that are compared have no bits but in the mask; `None` where other ways are better.
    fn of(numbers: &[u32], mask: u32) -> Option<Self> {
        let are_halves = mask <= 0xffff && numbers.iter().all(|number| *number <= 0xffff);
        let each = if are_halves { 8 } else { 4 };
        if !(Self::WORTH..=Self::MOST * each).contains(&numbers.len()) {
            return None;
        }
        let vector = |numbers: &[u32]| {
            let number = |at: usize| *numbers.get(at).unwrap_or(&numbers[0]);
            std::array::from_fn(|at| match are_halves {
                true => number(2 * at) | number(2 * at + 1) << 16,
                false => number(at),
            })
        };
        Some(Self { are_halves, vectors: numbers.chunks(each).map(vector).collect() })
    }
}

/// A bit for each number from the lowest of a set on.
struct Table {
    lowest: u32,
    words: Vec<u32>,
}

/// Comparisons with so many numbers cost no more than a look into a table, whose word has to come from memory.
const FEW: usize = 16;

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

struct Compiler<'a> {
    plan: &'a Plan,
    code: &'a mut Assembler,
    /// Tables that are looked into, and where they will be.
    tables: Vec<(Label, Table)>,
    /// Vectors of numbers, and where they will be.
    vectors: Vec<(Label, [u32; 4])>,
    /// Of the nodes, then of those who are kept and of those who are not.
    labels: Vec<Label>,
    /// What is known of packets that come to a node; `None` where nobody does.
    known: Vec<Option<Known>>,
    /// And of those that have come so far.
    now: Known,
}

/// The function behind the code; `None` where this knows none for what the plan asks.
pub(super) fn assemble(plan: &Plan, code: &mut Assembler) -> Option<()> {
    let labels: Vec<_> = (0..plan.nodes().len() + 2).map(|_| code.label()).collect();
    let known = vec![None; labels.len()];
    let mut compiler = Compiler {
        plan,
        code,
        tables: Vec::new(),
        vectors: Vec::new(),
        labels,
        known,
        now: Known::default(),
    };
    compiler.function()
}

impl Compiler<'_> {
    fn function(&mut self) -> Option<()> {
        self.code.push(inst::movl_rm::new(LENGTH, EDX));
        for slot in 0..self.plan.slots() {
            self.code.push(inst::movl_mi::new(cell(slot)?, 0));
        }
        self.lead(self.plan.entry());
        let entry = self.label(self.plan.entry());
        if entry != self.labels[0] {
            self.code.jump(entry);
        }
        for (id, node) in self.plan.nodes().iter().enumerate() {
            if let Some(known) = self.known[id] {
                self.now = known;
                self.code.bind(self.labels[id]);
                self.node(id, node)?;
            }
        }
        for (target, kept) in [(Target::Accept, 1), (Target::Drop, 0)] {
            let label = self.label(target);
            self.code.bind(label);
            self.code.push(inst::movl_oi::new(EAX, kept));
            self.code.push(inst::retq_zo::new());
        }
        self.code.align(16);
        for (label, vector) in mem::take(&mut self.vectors) {
            self.code.bind(label);
            self.code.words(&vector);
        }
        for (label, table) in mem::take(&mut self.tables) {
            self.code.bind(label);
            self.code.words(&table.words);
        }
        Some(())
    }

    fn index(&self, target: Target) -> usize {
        match target {
            Target::Node(id) => id,
            Target::Accept => self.plan.nodes().len(),
            Target::Drop => self.plan.nodes().len() + 1,
        }
    }

    fn label(&self, target: Target) -> Label {
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
                self.code.push(inst::movl_mr::new(cell(slot)?, EAX));
                // What was known may have been behind the slot's last number.
                self.now.behind = None;
                self.lead(next);
                self.go(next, id);
            }
            Node::Compare { how, left, right, then, otherwise } => {
                self.value(right, 0)?;
                self.spill(0)?;
                self.value(left, 1)?;
                let right = Operand::Mem(self.spilled(0)?);
                let condition = match how {
                    Comparison::Intersects => {
                        self.code.push(inst::andl_rm::new(EAX, right));
                        Condition::NotEqual
                    }
                    how => {
                        self.code.push(inst::cmpl_rm::new(EAX, right));
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
                            Value::Load(load) => u32::MAX >> (32 - 8 * load.width.bytes()),
                            _ => u32::MAX,
                        };
                        self.value(value, 0)?;
                        if mask != u32::MAX {
                            self.code.push(inst::andl_mi::new(EAX, mask));
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
        if self.following(id) != Some(label) {
            self.code.jump(label);
        }
    }

    /// The label of what follows the code of node `id`.
    fn following(&self, id: usize) -> Option<Label> {
        let next = (id + 1..self.plan.nodes().len()).find(|next| self.known[*next].is_some());
        Some(self.labels[next.unwrap_or(self.plan.nodes().len())])
    }

    fn part(&mut self, condition: Condition, then: Target, otherwise: Target, id: usize) {
        self.lead(then);
        self.lead(otherwise);
        let (then, otherwise) = (self.label(then), self.label(otherwise));
        self.code.branch(condition, then, otherwise, self.following(id));
    }

    /// Compares the number in `eax`, which has no bits but in the mask.
    fn check(&mut self, check: &Check, mask: u32, then: Target, otherwise: Target, id: usize) {
        match check {
            Check::Equal(number) => {
                self.code.push(inst::cmpl_mi::new(EAX, *number));
                self.part(Condition::Equal, then, otherwise, id);
            }
            Check::Within(low, high) => {
                self.code.push(inst::subl_mi::new(EAX, *low));
                self.code.push(inst::cmpl_mi::new(EAX, high - low));
                self.part(Condition::BelowOrEqual, then, otherwise, id);
            }
            Check::Among(numbers) => match (Row::of(numbers, mask), Table::of(numbers)) {
                (Some(row), _) => self.in_row(&row, then, otherwise, id),
                (None, Some(table)) => self.in_table(table, then, otherwise, id),
                (None, None) => {
                    self.lead(then);
                    self.lead(otherwise);
                    let (then, otherwise) = (self.label(then), self.label(otherwise));
                    self.among(numbers, then, otherwise);
                    self.code.jump(otherwise);
                }
            },
        }
    }

    /// Compares with all numbers at once: one way for the processor to guess instead of many.
    fn in_row(&mut self, row: &Row, then: Target, otherwise: Target, id: usize) {
        const NUMBER: u8 = 0;
        const FOUND: u8 = 1;
        const NEXT: u8 = 2;
        self.code.push(inst::movd_a::new(NUMBER, EAX));
        if row.are_halves {
            self.code.push(inst::pshuflw_a::new(NUMBER, NUMBER, 0));
        }
        self.code.push(inst::pshufd_a::new(NUMBER, NUMBER, 0));
        for (at, vector) in row.vectors.iter().enumerate() {
            let (to, label) = (if at == 0 { FOUND } else { NEXT }, self.code.label());
            self.code.load(to, label);
            self.vectors.push((label, *vector));
            match row.are_halves {
                true => self.code.push(inst::pcmpeqw_a::new(to, NUMBER)),
                false => self.code.push(inst::pcmpeqd_a::new(to, NUMBER)),
            }
            if to != FOUND {
                self.code.push(inst::por_a::new(FOUND, to));
            }
        }
        self.code.push(inst::pmovmskb_rm::new(ECX, FOUND));
        self.code.push(inst::testl_mr::new(ECX, ECX));
        self.part(Condition::NotEqual, then, otherwise, id);
    }

    /// One look instead of many comparisons.
    fn in_table(&mut self, table: Table, then: Target, otherwise: Target, id: usize) {
        let (outside, words) = (self.label(otherwise), self.code.label());
        self.code.push(inst::subl_mi::new(EAX, table.lowest));
        self.code.push(inst::cmpl_mi::new(EAX, 32 * table.words.len() as u32));
        self.lead(otherwise);
        self.code.jump_if(Condition::AboveOrEqual, outside);
        self.code.locate(EDX, words);
        self.code.push(inst::movl_rm::new(ECX, EAX));
        self.code.push(inst::shrl_mi::new(ECX, 5));
        self.code.push(inst::movl_rm::new(ECX, word_of(EDX, ECX)));
        self.code.push(inst::btl_mr::new(ECX, EAX));
        self.tables.push((words, table));
        // The bit is in the carry, as after a comparison of a smaller number.
        self.part(Condition::Below, then, otherwise, id);
    }

    /// Halves the numbers until a few are left. Falls through behind the last of them.
    fn among(&mut self, numbers: &[u32], then: Label, otherwise: Label) {
        const ROW: usize = 4;
        if numbers.len() <= ROW {
            for number in numbers {
                self.code.push(inst::cmpl_mi::new(EAX, *number));
                self.code.jump_if(Condition::Equal, then);
            }
            return;
        }
        let (lower, upper) = numbers.split_at(numbers.len() / 2);
        let above = self.code.label();
        self.code.push(inst::cmpl_mi::new(EAX, upper[0]));
        self.code.jump_if(Condition::AboveOrEqual, above);
        self.among(lower, then, otherwise);
        self.code.jump(otherwise);
        self.code.bind(above);
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
        let memory = self.address(load, 0)?;
        let all = u32::MAX >> (32 - 8 * load.width.bytes());
        let mask = mask & all;
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
        match load.width {
            Width::Byte if mask == all => {
                self.code.push(inst::cmpb_mi::new(memory, number as u8));
            }
            Width::Word if mask == all => {
                self.code.push(inst::cmpl_mi::new(memory, turn(number)));
            }
            width => {
                self.fetch(memory, width);
                if mask != all {
                    self.code.push(inst::andl_mi::new(EAX, turn(mask)));
                }
                self.code.push(inst::cmpl_mi::new(EAX, turn(number)));
            }
        }
        self.part(Condition::Equal, then, otherwise, id);
        Some(())
    }

    /// Brings bytes to `eax` as they are.
    fn fetch(&mut self, memory: Memory, width: Width) {
        match width {
            Width::Byte => self.code.push(inst::movzbl_rm::new(EAX, memory)),
            Width::Half => self.code.push(inst::movzwl_rm::new(EAX, memory)),
            Width::Word => self.code.push(inst::movl_rm::new(EAX, memory)),
        }
    }

    /// Where the bytes of a load are; packets that do not have them are dropped.
    fn address(&mut self, load: Load, depth: usize) -> Option<Memory> {
        let offset = i32::try_from(load.offset).ok()?;
        let end = i32::try_from(load.end()).ok()?;
        let dropped = self.label(Target::Drop);
        let Some(base) = load.base else {
            if self.now.captured < end as u32 {
                self.code.push(inst::cmpq_mi::new(RSI, end));
                self.code.jump_if(Condition::Below, dropped);
                self.now.captured = end as u32;
            }
            return Some(at(RDI, offset));
        };
        self.value(base, depth)?;
        let is_known = self.now.behind.is_some_and(|(of, known)| of == base && known >= end as u32);
        if !is_known {
            self.code.push(inst::leaq_rm::new(ECX, at(EAX, end)));
            self.code.push(inst::cmpq_rm::new(ECX, RSI));
            self.code.jump_if(Condition::Above, dropped);
            self.now.behind = Some((base, end as u32));
        }
        Some(at_index(RDI, EAX, offset))
    }

    /// Computes a value to `eax`, whose upper half in `rax` is zero.
    fn value(&mut self, id: ValueId, depth: usize) -> Option<()> {
        match self.plan.values()[id] {
            Value::Metadata(_) => return None,
            Value::Constant(number) => self.code.push(inst::movl_oi::new(EAX, number)),
            Value::Length => self.code.push(inst::movl_rm::new(EAX, LENGTH)),
            Value::Slot(slot) => self.code.push(inst::movl_rm::new(EAX, cell(slot)?)),
            Value::Negate(operand) => {
                self.value(operand, depth)?;
                self.code.push(inst::negl_m::new(EAX));
            }
            Value::Load(load) => {
                let memory = self.address(load, depth)?;
                self.fetch(memory, load.width);
                match load.width {
                    Width::Byte => {}
                    Width::Half => self.code.push(inst::rolw_mi::new(EAX, 8)),
                    Width::Word => self.code.push(inst::bswapl_o::new(EAX)),
                }
            }
            Value::Binary(operator, left, right) => match self.plan.values()[right] {
                Value::Constant(number) => {
                    self.value(left, depth)?;
                    self.with_constant(operator, number);
                }
                _ => {
                    self.value(right, depth)?;
                    self.spill(depth)?;
                    self.value(left, depth + 1)?;
                    let right = self.spilled(depth)?;
                    self.code.push(inst::movl_rm::new(ECX, right));
                    self.with_ecx(operator);
                }
            },
        }
        Some(())
    }

    /// Puts the number in `eax` aside, while others are computed that are needed with it.
    fn spill(&mut self, depth: usize) -> Option<()> {
        let memory = self.spilled(depth)?;
        self.code.push(inst::movl_mr::new(memory, EAX));
        Some(())
    }

    fn spilled(&self, depth: usize) -> Option<Memory> {
        cell(self.plan.slots() + depth)
    }

    /// `eax operator number`.
    fn with_constant(&mut self, operator: BinaryOperator, number: u32) {
        match operator {
            BinaryOperator::Add => self.code.push(inst::addl_mi::new(EAX, number)),
            BinaryOperator::Subtract => self.code.push(inst::subl_mi::new(EAX, number)),
            BinaryOperator::And => self.code.push(inst::andl_mi::new(EAX, number)),
            BinaryOperator::Or => self.code.push(inst::orl_mi::new(EAX, number)),
            BinaryOperator::Xor => self.code.push(inst::xorl_mi::new(EAX, number)),
            BinaryOperator::ShiftLeft | BinaryOperator::ShiftRight if number >= 32 => {
                self.code.push(inst::movl_oi::new(EAX, 0));
            }
            BinaryOperator::ShiftLeft => self.code.push(inst::shll_mi::new(EAX, number as u8)),
            BinaryOperator::ShiftRight => self.code.push(inst::shrl_mi::new(EAX, number as u8)),
            BinaryOperator::Multiply | BinaryOperator::Divide | BinaryOperator::Modulo => {
                self.code.push(inst::movl_oi::new(ECX, number));
                self.with_ecx(operator);
            }
        }
    }

    /// `eax operator ecx`.
    fn with_ecx(&mut self, operator: BinaryOperator) {
        match operator {
            BinaryOperator::Add => self.code.push(inst::addl_rm::new(EAX, ECX)),
            BinaryOperator::Subtract => self.code.push(inst::subl_rm::new(EAX, ECX)),
            BinaryOperator::Multiply => self.code.push(inst::imull_rm::new(EAX, ECX)),
            BinaryOperator::And => self.code.push(inst::andl_rm::new(EAX, ECX)),
            BinaryOperator::Or => self.code.push(inst::orl_rm::new(EAX, ECX)),
            BinaryOperator::Xor => self.code.push(inst::xorl_rm::new(EAX, ECX)),
            BinaryOperator::ShiftLeft => self.shift(inst::shll_mc::new(EAX, Fixed(ECX))),
            BinaryOperator::ShiftRight => self.shift(inst::shrl_mc::new(EAX, Fixed(ECX))),
            BinaryOperator::Divide => self.divide(),
            BinaryOperator::Modulo => {
                self.divide();
                self.code.push(inst::movl_rm::new(EAX, EDX));
            }
        }
    }

    /// The processor takes the lower five bits of a distance only.
    fn shift(&mut self, by_cl: impl Into<Inst<Numbered>>) {
        let near = self.code.label();
        self.code.push(by_cl);
        self.code.push(inst::cmpl_mi::new(ECX, 32));
        self.code.jump_if(Condition::Below, near);
        self.code.push(inst::movl_oi::new(EAX, 0));
        self.code.bind(near);
    }

    /// By zero it drops the packet.
    fn divide(&mut self) {
        let dropped = self.label(Target::Drop);
        self.code.push(inst::testl_mr::new(ECX, ECX));
        self.code.jump_if(Condition::Equal, dropped);
        self.code.push(inst::movl_oi::new(EDX, 0));
        let never = TrapCode(NonZeroU8::MIN);
        self.code.push(inst::divl_m::new(Fixed(EAX), Fixed(EDX), ECX, never));
    }
}

/// A number in the room below the stack's end.
fn cell(number: usize) -> Option<Memory> {
    (number < ROOM).then(|| at(RSP, -4 * (number as i32 + 1)))
}
