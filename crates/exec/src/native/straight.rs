//! Programs as code without a branch that depends on a packet.
//!
//! Every step is done for every packet: who comes to a step is a number, 0 or 1, and what a step finds makes the numbers of
//! the steps behind it. That is for packets that have all the bytes that any step looks at, so that nobody is rejected; who
//! has fewer [leaves](Op::Fit), which is foreseen, as it is rare.

use std::collections::HashMap;

use linerate_filter::plan::{BinaryOperator, Comparison, Width};

use crate::bits::Bits;
use crate::condition::Condition;
use crate::join::Either;
use crate::lookup::{Lookup, Table};
use crate::program::{Column, ColumnId, Distance, Operand, Place, Program, Step, most};

/// The place of an operation among the others, and the number that it gives.
pub(super) type Number = usize;

/// Index of a table.
pub(super) type TableId = usize;

/// A number that operations before have made, or a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Argument<N> {
    Number(N),
    Constant(u32),
}

/// Bytes of the packet at `base + offset`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Bytes<N> {
    pub(super) base: Option<N>,
    pub(super) offset: u32,
    pub(super) width: Width,
}

/// What has a yes and a no.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Question<N> {
    /// How two numbers compare.
    Compare(Condition, N, Argument<N>),
    /// Whether bytes, as they are, are a constant.
    Equal(Bytes<N>, u32),
    /// Whether some of their bits are all 0.
    Clear(Bytes<N>, u32),
    /// Whether one of the numbers is this. If it says so, no number has more than 16 bits.
    Among { number: N, numbers: Box<[u32]>, are_halves: bool },
    /// Whether one of the numbers is the upper or the lower half of this.
    Halves { number: N, numbers: Box<[u16]> },
    /// Whether the bit of a word whose number is the lower five bits of the second is set.
    Bit { word: N, bit: N },
}

/// What gives a number of 32 bits; `N` says which numbers it is made of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Op<N> {
    Constant(u32),
    /// The length on the wire.
    Length,
    /// Bytes as they are: the first is the lowest, and zeros above them.
    Load(Bytes<N>),
    /// So many lower bytes turned round.
    Turn(N, Width),
    /// No operation that divides, and shifts by constants below 32 only.
    Apply(BinaryOperator, N, Argument<N>),
    /// A mask, or 1, if the answer is this, else 0.
    Answer {
        question: Question<N>,
        is: bool,
        of: Option<N>,
    },
    /// The second if the first is not 0, else the third.
    Choose(N, N, N),
    /// The word of this number in a table.
    Look(TableId, N),
    /// No number: packets leave unless they have `base + end` bytes.
    Fit {
        base: N,
        end: u32,
    },
}

impl<N: Copy> Argument<N> {
    fn map<M>(self, to: &mut impl FnMut(N) -> M) -> Argument<M> {
        match self {
            Self::Number(number) => Argument::Number(to(number)),
            Self::Constant(constant) => Argument::Constant(constant),
        }
    }
}

impl<N: Copy> Bytes<N> {
    fn map<M>(self, to: &mut impl FnMut(N) -> M) -> Bytes<M> {
        let Self { base, offset, width } = self;
        Bytes { base: base.map(to), offset, width }
    }
}

impl<N: Copy> Question<N> {
    fn map<M>(&self, to: &mut impl FnMut(N) -> M) -> Question<M> {
        match self {
            Self::Compare(condition, left, right) => {
                let left = to(*left);
                Question::Compare(*condition, left, right.map(to))
            }
            Self::Equal(bytes, constant) => Question::Equal(bytes.map(to), *constant),
            Self::Clear(bytes, bits) => Question::Clear(bytes.map(to), *bits),
            Self::Among { number, numbers, are_halves } => Question::Among {
                number: to(*number),
                numbers: numbers.clone(),
                are_halves: *are_halves,
            },
            Self::Halves { number, numbers } => {
                Question::Halves { number: to(*number), numbers: numbers.clone() }
            }
            Self::Bit { word, bit } => {
                let word = to(*word);
                Question::Bit { word, bit: to(*bit) }
            }
        }
    }

    /// Whether it is about this number.
    pub(super) fn reads(&self, number: N) -> bool
    where
        N: PartialEq,
    {
        let mut is_read = false;
        self.map(&mut |operand| is_read |= operand == number);
        is_read
    }

    /// Whether it is asked by one instruction, so that it can be asked twice.
    fn is_short(&self) -> bool {
        matches!(self, Self::Compare(..) | Self::Equal(..) | Self::Clear(..) | Self::Bit { .. })
    }
}

impl<N: Copy> Op<N> {
    /// The same of other numbers.
    pub(super) fn map<M>(&self, mut to: impl FnMut(N) -> M) -> Op<M> {
        let to = &mut to;
        match self {
            Self::Constant(constant) => Op::Constant(*constant),
            Self::Length => Op::Length,
            Self::Load(bytes) => Op::Load(bytes.map(to)),
            Self::Turn(number, width) => Op::Turn(to(*number), *width),
            Self::Apply(operator, left, right) => {
                let left = to(*left);
                Op::Apply(*operator, left, right.map(to))
            }
            Self::Answer { question, is, of } => {
                let question = question.map(to);
                Op::Answer { question, is: *is, of: of.map(to) }
            }
            Self::Choose(when, then, otherwise) => {
                let [when, then, otherwise] = [when, then, otherwise].map(|number| to(*number));
                Op::Choose(when, then, otherwise)
            }
            Self::Look(table, index) => Op::Look(*table, to(*index)),
            Self::Fit { base, end } => Op::Fit { base: to(*base), end: *end },
        }
    }

    /// The numbers that it is made of.
    pub(super) fn operands(&self) -> Vec<N> {
        let mut operands = Vec::new();
        self.map(|number| operands.push(number));
        operands
    }
}

/// Code without a branch that depends on a packet, but for those that leave.
#[derive(Debug)]
pub(super) struct Straight {
    /// Numbers come before what is made of them.
    pub(super) ops: Vec<Op<Number>>,
    pub(super) tables: Vec<Box<[u32]>>,
    /// Packets with fewer bytes leave.
    pub(super) known: u32,
    /// The number that says whether the packet is kept.
    pub(super) result: Number,
}

/// A number that is added to offsets is at most this: else it is not likely that who is not asked has the bytes behind it.
const FARTHEST: u32 = 1 << 10;

/// To compare a number with so many takes less one after the other than by vectors.
const FEW: usize = 3;

/// More operations cost more than to guess.
const MOST: usize = 200;

impl Straight {
    /// `None` where the program divides, shifts by what a packet says, looks behind what may be far away, asks for what
    /// is not among the bytes, or is long.
    pub(super) fn new(program: &Program) -> Option<Self> {
        let mut builder = Builder::new(program);
        let result = builder.all()?;
        Some(builder.finish(result)).filter(|straight| straight.ops.len() <= MOST)
    }
}

/// Who comes somewhere; nothing stands for everybody.
type Mask = Option<Number>;

struct Builder<'a> {
    program: &'a Program,
    ops: Vec<Op<Number>>,
    /// Where operations are that were asked for before.
    known: HashMap<Op<Number>, Number>,
    /// For each column, its number.
    numbers: Vec<Option<Number>>,
    /// For each number that is added to offsets, where it is seen to that packets reach as far.
    fits: HashMap<Number, Number>,
    /// So many bytes are looked at from the packet's first one on.
    captured: u32,
    tables: Vec<Box<[u32]>>,
    /// For each place, who comes to it, if anybody can.
    arrivals: Vec<Option<Arrival>>,
}

#[derive(Clone)]
struct Arrival {
    mask: Mask,
    excluded: Option<Excluded>,
}

/// All who come were in a mask, and some bits of a column were none of some constants. Of them, who has yet another constant
/// there is whoever of the mask has it.
#[derive(Clone)]
struct Excluded {
    column: ColumnId,
    bits: u32,
    constants: Vec<u32>,
    of: Mask,
}

impl<'a> Builder<'a> {
    fn new(program: &'a Program) -> Self {
        Self {
            program,
            ops: Vec::new(),
            known: HashMap::new(),
            numbers: vec![None; program.columns.len()],
            fits: HashMap::new(),
            captured: 0,
            tables: Vec::new(),
            arrivals: vec![None; program.places()],
        }
    }

    fn all(&mut self) -> Option<Number> {
        self.lead(self.program.entry, Arrival { mask: None, excluded: None });
        for (place, step) in self.program.steps.iter().enumerate() {
            if let Some(arrival) = self.arrivals[place].take() {
                self.step(step, arrival)?;
            }
        }
        Some(match self.arrivals[self.program.accepted()].take() {
            Some(Arrival { mask: Some(mask), .. }) => mask,
            Some(Arrival { mask: None, .. }) => self.op(Op::Constant(1)),
            None => self.op(Op::Constant(0)),
        })
    }

    /// Leaves out what nobody needs.
    fn finish(self, result: Number) -> Straight {
        let mut is_needed = vec![false; self.ops.len()];
        is_needed[result] = true;
        for (number, op) in self.ops.iter().enumerate().rev() {
            if is_needed[number] || matches!(op, Op::Fit { .. }) {
                is_needed[number] = true;
                op.operands().into_iter().for_each(|operand| is_needed[operand] = true);
            }
        }
        let mut moved = vec![0; self.ops.len()];
        let mut ops = Vec::new();
        for (number, op) in self.ops.iter().enumerate().filter(|(number, _)| is_needed[*number]) {
            moved[number] = ops.len();
            ops.push(op.map(|operand| moved[operand]));
        }
        Straight { known: self.captured, ops, tables: self.tables, result: moved[result] }
    }

    fn op(&mut self, op: Op<Number>) -> Number {
        *self.known.entry(op).or_insert_with_key(|op| {
            self.ops.push(op.clone());
            self.ops.len() - 1
        })
    }

    fn apply(&mut self, operator: BinaryOperator, left: Number, constant: u32) -> Number {
        use BinaryOperator::{Add, And, Or, ShiftLeft, ShiftRight, Subtract, Xor};
        let is_nothing = match operator {
            Add | Subtract | Or | Xor | ShiftLeft | ShiftRight => constant == 0,
            And => constant == u32::MAX,
            _ => false,
        };
        match is_nothing {
            true => left,
            false => self.op(Op::Apply(operator, left, Argument::Constant(constant))),
        }
    }

    fn step(&mut self, step: &Step, arrival: Arrival) -> Option<()> {
        match step {
            Step::Test { operand, lookup, then, otherwise } => {
                let constant = match lookup {
                    Lookup::Equal { mask, constant } => Some((operand.lanes, *mask, *constant)),
                    _ => None,
                };
                self.require(operand.present)?;
                let [then, otherwise] = [*then, *otherwise];
                let questions = self.lookup(operand.lanes, lookup)?;
                self.part(arrival, &questions, constant, then, otherwise);
            }
            Step::Compare { how, left, right, then, otherwise } => {
                self.require(left.present)?;
                self.require(right.present)?;
                let [left, right] = [self.number(left.lanes)?, self.number(right.lanes)?];
                let right = Argument::Number(right);
                let question = match how {
                    Comparison::Equal => Question::Compare(Condition::Equal, left, right),
                    Comparison::Greater => Question::Compare(Condition::Above, left, right),
                    Comparison::GreaterEqual => {
                        Question::Compare(Condition::AboveOrEqual, left, right)
                    }
                    Comparison::Intersects => {
                        let both = self.op(Op::Apply(BinaryOperator::And, left, right));
                        Question::Compare(Condition::NotEqual, both, Argument::Constant(0))
                    }
                };
                self.part(arrival, &[question], None, *then, *otherwise);
            }
            Step::Either { either, then, otherwise } => {
                either.operands.iter().try_for_each(|half| self.require(half.present))?;
                let question = self.either(either)?;
                self.part(arrival, &[question], None, *then, *otherwise);
            }
            Step::Bind { slot, value, next } => {
                self.require(value.present)?;
                let value = self.number(value.lanes)?;
                let bound = match arrival.mask {
                    None => value,
                    Some(mask) => {
                        let before = self.number(*slot)?;
                        self.op(Op::Choose(mask, value, before))
                    }
                };
                self.program.dependants[*slot].iter().for_each(|made| self.numbers[*made] = None);
                self.numbers[*slot] = Some(bound);
                self.lead(*next, arrival);
            }
            Step::Pass { choices, next } => {
                for choice in choices {
                    self.choice(*choice, arrival.mask)?;
                }
                self.lead(*next, arrival);
            }
        }
        Some(())
    }

    /// Packets come to a place, too.
    fn lead(&mut self, place: Place, arrival: Arrival) {
        if place > self.program.accepted() {
            return;
        }
        let both = match (self.arrivals[place].take(), arrival.mask) {
            (None, _) => arrival,
            (Some(Arrival { mask: Some(before), .. }), Some(mask)) => {
                let mask = self.op(Op::Apply(BinaryOperator::Or, before, Argument::Number(mask)));
                Arrival { mask: Some(mask), excluded: None }
            }
            (Some(_), _) => Arrival { mask: None, excluded: None },
        };
        self.arrivals[place] = Some(both);
    }

    /// Those who came go one way if any answer is yes, or the other. If there is one question, whether some bits of a column
    /// are a constant, it is said which.
    fn part(
        &mut self,
        arrival: Arrival,
        questions: &[Question<Number>],
        constant: Option<(ColumnId, u32, u32)>,
        then: Place,
        otherwise: Place,
    ) {
        let mask = arrival.mask;
        let mut excluded = constant.map(|(column, bits, _)| {
            let before = arrival.excluded.filter(|e| (e.column, e.bits) == (column, bits));
            before.unwrap_or(Excluded { column, bits, constants: Vec::new(), of: mask })
        });
        let mut among = mask;
        if let (Some(excluded), Some((_, _, constant))) = (&mut excluded, constant)
            && !excluded.constants.contains(&constant)
        {
            among = excluded.of;
            excluded.constants.push(constant);
        }
        let is_dropped = |place| place > self.program.accepted();
        let (is_short, ends) = (questions.iter().all(Question::is_short), is_dropped(otherwise));
        let [passing, others] = match questions {
            [question] if is_short || ends || is_dropped(then) => {
                let others = self.answer(question, false, mask);
                [self.answer(question, true, among), others].map(Some)
            }
            _ => {
                let none = questions
                    .iter()
                    .fold(mask, |mask, question| Some(self.answer(question, false, mask)));
                [self.without(mask, none), none]
            }
        };
        if let Some(passing) = passing {
            self.lead(then, Arrival { mask: Some(passing), excluded: None });
        }
        self.lead(otherwise, Arrival { mask: others, excluded });
    }

    /// A mask, or 1, for whom the answer is this; what nobody needs is left out in the end.
    fn answer(&mut self, question: &Question<Number>, is: bool, of: Mask) -> Number {
        self.op(Op::Answer { question: question.clone(), is, of })
    }

    /// Who is in a mask, but not in another, all of whose are in the first; nobody at all if that has everybody.
    fn without(&mut self, mask: Mask, others: Mask) -> Option<Number> {
        let others = others?;
        Some(match mask {
            None => self.apply(BinaryOperator::Xor, others, 1),
            Some(mask) => self.op(Op::Apply(BinaryOperator::Xor, mask, Argument::Number(others))),
        })
    }

    /// What a lookup asks: any of these questions.
    fn lookup(&mut self, column: ColumnId, lookup: &Lookup) -> Option<Vec<Question<Number>>> {
        Some(match lookup {
            Lookup::Equal { mask, constant } => vec![self.equal(column, *mask, *constant)?],
            Lookup::Few { mask, constants } if constants.len() <= FEW => {
                let equal = |constant: &u32| self.equal(column, *mask, *constant);
                constants.iter().map(equal).collect::<Option<_>>()?
            }
            Lookup::Few { mask, constants } => {
                let (number, turned) = self.field(column, *mask)?;
                let numbers: Box<[_]> = constants.iter().map(|c| turned.constant(*c)).collect();
                let are_halves = turned.constant(*mask) <= 0xffff;
                vec![Question::Among { number, numbers, are_halves }]
            }
            Lookup::Within { mask, low, span } => {
                let right = mask.trailing_zeros().min(low.trailing_zeros()).min(31);
                let number = self.part_of(column, Bits { right, mask: mask >> right, left: 0 })?;
                let (low, span) = (low >> right, span >> right);
                vec![if low.checked_add(span).is_none_or(|high| high >= mask >> right) {
                    Question::Compare(Condition::AboveOrEqual, number, Argument::Constant(low))
                } else {
                    let above = self.apply(BinaryOperator::Subtract, number, low);
                    Question::Compare(Condition::BelowOrEqual, above, Argument::Constant(span))
                }]
            }
            Lookup::Bitmap { right, mask, bitmap } => {
                let bits = Bits { right: *right, mask: mask & 0xffff, left: 0 };
                let bit = self.part_of(column, bits)?;
                let index = self.apply(BinaryOperator::ShiftRight, bit, 5);
                let table = self.table(&bitmap[..]);
                vec![Question::Bit { word: self.op(Op::Look(table, index)), bit }]
            }
            Lookup::Hashed { mask, table } => {
                let number = self.part_of(column, Bits { right: 0, mask: *mask, left: 0 })?;
                self.hashed(table, number).into()
            }
        })
    }

    /// Whether some bits of a column are a constant.
    fn equal(&mut self, column: ColumnId, mask: u32, constant: u32) -> Option<Question<Number>> {
        if let Column::Window { base, offset } = self.program.columns[column]
            && mask != 0
        {
            let (span, turned) = Span::turned(mask);
            let (bits, constant) = (turned.constant(mask), turned.constant(constant));
            let is_whole = bits == span.all();
            if is_whole || constant == 0 {
                let bytes = self.bytes(base, offset, &span)?;
                return Some(match is_whole {
                    true => Question::Equal(bytes, constant),
                    false => Question::Clear(bytes, bits),
                });
            }
        }
        let (number, turned) = self.field(column, mask)?;
        let constant = Argument::Constant(turned.constant(constant));
        Some(Question::Compare(Condition::Equal, number, constant))
    }

    /// Whether a number is at the one or the other of its places in a table.
    fn hashed(&mut self, table: &Table, number: Number) -> [Question<Number>; 2] {
        let (places, shift) = table.places();
        let id = self.table(places);
        table.factors().map(|factor| {
            let product = self.apply(BinaryOperator::Multiply, number, factor);
            let place = self.apply(BinaryOperator::ShiftRight, product, shift);
            let found = self.op(Op::Look(id, place));
            Question::Compare(Condition::Equal, found, Argument::Number(number))
        })
    }

    fn table(&mut self, words: &[u32]) -> TableId {
        let known = self.tables.iter().position(|table| table[..] == *words);
        known.unwrap_or_else(|| {
            self.tables.push(words.into());
            self.tables.len() - 1
        })
    }

    fn either(&mut self, either: &Either) -> Option<Question<Number>> {
        let Column::Window { base, offset } = self.program.columns[either.operands[0].lanes] else {
            return None;
        };
        let number = self.load(base, offset, &Span::of(u32::MAX))?;
        let numbers = either.constants.iter().map(|constant| constant.swap_bytes()).collect();
        Some(Question::Halves { number, numbers })
    }

    /// Some bits of a column where they cost least, and what becomes of constants that they are compared with.
    fn field(&mut self, column: ColumnId, mask: u32) -> Option<(Number, Turned)> {
        let Column::Window { base, offset } = self.program.columns[column] else {
            let number = self.number(column)?;
            return Some((self.apply(BinaryOperator::And, number, mask), Turned::not()));
        };
        if mask == 0 {
            return Some((self.op(Op::Constant(0)), Turned::not()));
        }
        let (span, turned) = Span::turned(mask);
        let bytes = self.load(base, offset, &span)?;
        let bits = turned.constant(mask);
        let number = match bits == span.all() {
            true => bytes,
            false => self.apply(BinaryOperator::And, bytes, bits),
        };
        Some((number, turned))
    }

    /// Bits of a column as a number.
    fn part_of(&mut self, column: ColumnId, bits: Bits) -> Option<Number> {
        let (mut number, mut rest) = (None, bits);
        let mut all = u32::MAX;
        if let Column::Window { base, offset } = self.program.columns[column] {
            // Zeros between are of the number, too.
            let filled = u32::MAX.checked_shr(bits.mask.leading_zeros()).unwrap_or(0);
            let span = Span::of(filled << bits.right);
            let bytes = self.load(base, offset, &span)?;
            number = Some(match span.width {
                Width::Byte => bytes,
                width => self.op(Op::Turn(bytes, width)),
            });
            // The span's last byte is the lowest now.
            rest = Bits { right: bits.right.checked_sub(span.right())?, ..bits };
            all = span.all();
        }
        let number = match number {
            Some(number) => number,
            None => self.number(column)?,
        };
        let moved = self.apply(BinaryOperator::ShiftRight, number, rest.right);
        let masked = match rest.mask & all >> rest.right == all >> rest.right {
            true => moved,
            false => self.apply(BinaryOperator::And, moved, rest.mask),
        };
        Some(self.apply(BinaryOperator::ShiftLeft, masked, rest.left))
    }

    /// A column as a number.
    fn number(&mut self, column: ColumnId) -> Option<Number> {
        if let Some(number) = self.numbers[column] {
            return Some(number);
        }
        let number = match self.program.columns[column] {
            Column::Window { .. } => self.part_of(column, Bits::ALL)?,
            Column::Extract { from, bits } => self.part_of(from.lanes, bits)?,
            Column::Constant(constant) => self.op(Op::Constant(constant)),
            Column::Length => self.op(Op::Length),
            Column::Slot => self.op(Op::Constant(0)),
            Column::Combine { operator, left, right } => self.combined(operator, left, right)?,
            // Nobody came to where it is made.
            Column::Choice { others, .. } => self.distance(others)?,
            Column::Present { .. } | Column::Missing | Column::PacketType | Column::Interface => {
                return None;
            }
        };
        self.numbers[column] = Some(number);
        Some(number)
    }

    fn combined(
        &mut self,
        operator: BinaryOperator,
        left: Operand,
        right: Operand,
    ) -> Option<Number> {
        use BinaryOperator::{Divide, Modulo, ShiftLeft, ShiftRight};
        let left = self.number(left.lanes)?;
        match (operator, &self.program.columns[right.lanes]) {
            (Divide | Modulo, _) => None,
            (ShiftLeft | ShiftRight, Column::Constant(constant)) if *constant < 32 => {
                Some(self.apply(operator, left, *constant))
            }
            (ShiftLeft | ShiftRight, _) => None,
            (_, Column::Constant(constant)) => Some(self.apply(operator, left, *constant)),
            _ => {
                let right = Argument::Number(self.number(right.lanes)?);
                Some(self.op(Op::Apply(operator, left, right)))
            }
        }
    }

    fn choice(&mut self, column: ColumnId, passed_by: Mask) -> Option<()> {
        let Column::Choice { passed, others } = self.program.columns[column] else { return None };
        let passed = self.distance(passed)?;
        self.numbers[column] = Some(match passed_by {
            None => passed,
            Some(mask) => {
                let others = self.distance(others)?;
                self.op(Op::Choose(mask, passed, others))
            }
        });
        Some(())
    }

    fn distance(&mut self, distance: Distance) -> Option<Number> {
        match distance.base {
            None => Some(self.op(Op::Constant(distance.plus))),
            Some(base) => {
                let base = self.number(base.lanes)?;
                Some(self.apply(BinaryOperator::Add, base, distance.plus))
            }
        }
    }

    fn load(&mut self, base: Option<Operand>, offset: u32, span: &Span) -> Option<Number> {
        let bytes = self.bytes(base, offset, span)?;
        Some(self.op(Op::Load(bytes)))
    }

    /// Bytes of a window, which packets have.
    fn bytes(&mut self, base: Option<Operand>, offset: u32, span: &Span) -> Option<Bytes<Number>> {
        let (offset, width) = (offset.checked_add(span.first)?, span.width);
        let base = self.reach(base, offset.checked_add(width.bytes() as u32)?)?;
        Some(Bytes { base, offset, width })
    }

    /// Packets that have no number in a column leave.
    fn require(&mut self, column: ColumnId) -> Option<()> {
        use BinaryOperator::{Divide, Modulo};
        match self.program.columns[column] {
            Column::Constant(_) | Column::Length | Column::Slot | Column::Choice { .. } => {}
            Column::Present { base, end } => {
                base.map_or(Some(()), |base| self.require(base.present))?;
                self.reach(base, end)?;
            }
            Column::Extract { from, .. } => self.require(from.present)?,
            Column::Combine { operator: Divide | Modulo, .. } => return None,
            Column::Combine { left, right, .. } => {
                self.require(left.present)?;
                self.require(right.present)?;
            }
            Column::Missing | Column::Window { .. } | Column::PacketType | Column::Interface => {
                return None;
            }
        }
        Some(())
    }

    /// Packets that do not have so many bytes behind a base, if there is one, leave. Gives the base as a number.
    fn reach(&mut self, base: Option<Operand>, end: u32) -> Option<Option<Number>> {
        i32::try_from(end).ok()?;
        let Some(base) = base else {
            self.captured = end.max(self.captured);
            return Some(None);
        };
        most(&self.program.columns, base.lanes).filter(|most| *most <= FARTHEST)?;
        let base = self.number(base.lanes)?;
        self.fit(base, end);
        Some(Some(base))
    }

    /// Packets that do not have so many bytes behind a number leave.
    fn fit(&mut self, base: Number, end: u32) {
        match self.fits.get(&base) {
            Some(fit) => {
                if let Op::Fit { end: before, .. } = &mut self.ops[*fit] {
                    *before = end.max(*before);
                }
            }
            None => {
                self.ops.push(Op::Fit { base, end });
                self.fits.insert(base, self.ops.len() - 1);
            }
        }
    }
}

/// The bytes of a window that some of its bits are in.
struct Span {
    first: u32,
    width: Width,
}

impl Span {
    fn of(mask: u32) -> Self {
        let first = mask.leading_zeros().min(24) / 8;
        let end = 4 - mask.trailing_zeros().min(24) / 8;
        match end.saturating_sub(first) {
            0 | 1 => Self { first, width: Width::Byte },
            2 => Self { first, width: Width::Half },
            _ => Self { first: 0, width: Width::Word },
        }
    }

    /// The same, and what becomes of constants of the window.
    fn turned(mask: u32) -> (Self, Turned) {
        let span = Self::of(mask);
        let turned = Turned { right: span.right(), by: Some(span.width) };
        (span, turned)
    }

    /// All bits of so many bytes.
    fn all(&self) -> u32 {
        u32::MAX >> (32 - 8 * self.width.bytes() as u32)
    }

    /// Bits of the window that are behind it.
    fn right(&self) -> u32 {
        32 - 8 * (self.first + self.width.bytes() as u32)
    }
}

/// What becomes of a constant of a window when fewer bytes of it are loaded, and as they are.
#[derive(Clone, Copy)]
struct Turned {
    right: u32,
    by: Option<Width>,
}

impl Turned {
    fn not() -> Self {
        Self { right: 0, by: None }
    }

    fn constant(self, constant: u32) -> u32 {
        let constant = constant >> self.right;
        match self.by {
            None | Some(Width::Byte) => constant,
            Some(Width::Half) => u32::from((constant as u16).swap_bytes()),
            Some(Width::Word) => constant.swap_bytes(),
        }
    }
}

#[cfg(test)]
mod tests {
    use linerate_base::LinkType;
    use linerate_filter::{Hermetic, Options, compile};

    use super::*;

    fn straight(text: &str) -> Option<Straight> {
        let filter = compile(text, &Options::new(LinkType::ETHERNET, &Hermetic)).unwrap();
        Straight::new(&Program::new(&filter.plan().expect("a plan")).expect("columns"))
    }

    fn count(straight: &Straight, is: impl Fn(&Op<Number>) -> bool) -> usize {
        straight.ops.iter().filter(|op| is(op)).count()
    }

    #[test]
    fn ports_of_both_families_are_loaded_and_compared_once() {
        let ports = straight("tcp port 80 or 443 or 22").expect("operations");
        let is_halves =
            |op: &Op<Number>| matches!(op, Op::Answer { question: Question::Halves { .. }, .. });
        assert_eq!(count(&ports, is_halves), 1);
        assert_eq!(count(&ports, |op| matches!(op, Op::Fit { .. })), 1);
        // Up to the next header of IPv6, the fragment's offset and the first byte of IPv4.
        assert_eq!(ports.known, 24);
    }

    #[test]
    fn of_constants_of_a_field_none_waits_for_the_others() {
        let types = straight("tcp src port 80").expect("operations");
        let is_free = |op: &Op<Number>| matches!(op, Op::Answer { of: None, .. });
        assert_eq!(count(&types, is_free), 2, "{:?}", types.ops);
    }

    #[test]
    fn what_is_needed_is_looked_at_though_nothing_depends_on_it() {
        assert_eq!(straight("ether[99] >= 0").expect("operations").known, 100);
        let behind = straight("ip and tcp[0] & 0 = 0").expect("operations");
        assert_eq!(count(&behind, |op| matches!(op, Op::Fit { end: 15, .. })), 1);
    }

    #[test]
    fn what_divides_or_lies_far_away_is_left_to_branches() {
        for text in [
            "ether[0] / ether[1] = 3",
            "ether[0] << ether[1] = 3",
            "ether[ether[0:2]] = 3",
            &(0..100).map(|i| format!("ether[{i}] = {i}")).collect::<Vec<_>>().join(" or "),
        ] {
            assert!(straight(text).is_none(), "{text}");
        }
    }
}
