//! The function of many packets.

use cranelift_assembler_x64::inst;
use linerate_filter::plan::{BinaryOperator, Width};

use crate::assembler::{Assembler, Label, Memory, at, at_index, word_of};
use crate::condition::Condition;
use crate::native::straight::{Argument, Bytes, Op, Question, Straight, TableId};
use crate::native::sweep::{self, AHEAD, CAPTURED, DESCRIPTOR, LENGTH, Machine, OFFSET};

/// The result of single packets, and what lies between an operation's instructions.
const EAX: u8 = 0;
/// The function's arguments: the region, the first descriptor, their end, and where the results go. The function of single
/// packets takes bytes, their number, and the length on the wire.
const RDI: u8 = 7;
const RSI: u8 = 6;
const RDX: u8 = 2;
const RCX: u8 = 1;
const RSP: u8 = 4;
/// The packet's first byte.
const PACKET: u8 = RDI;
/// The region.
const REGION: u8 = 3;
/// The packet's descriptor.
const DESCRIPTORS: u8 = 5;
/// Where the packet's result goes.
const OUT: u8 = 13;
/// Bytes from the descriptor to that of the packet that begins to be loaded.
const LEAD: u8 = 14;
/// Nothing.
const ZERO: u8 = 15;
/// Those that belong to who calls.
const SAVED: [u8; 6] = [REGION, DESCRIPTORS, 12, OUT, LEAD, ZERO];

/// Above the cells: where the loop ends for now, and where it ends.
const ENDS: i32 = 16;

pub(super) fn assemble(
    straight: Option<&Straight>,
    reach: u32,
    single: Label,
    code: &mut Assembler,
) {
    let tables = straight.map_or(0, |straight| straight.tables.len());
    let tables = (0..tables).map(|_| code.label()).collect();
    let mut x64 =
        X64 { code, single, frame: 0, tables, written: 0, vectors: Vec::new(), asked: None };
    sweep::sweep(&mut x64, straight, reach);
    x64.code.align(16);
    for (label, vector) in x64.vectors {
        x64.code.bind(label);
        x64.code.words(&vector);
    }
}

struct X64<'a> {
    code: &'a mut Assembler,
    /// The function of single packets.
    single: Label,
    /// Bytes of cells, and of what is above them.
    frame: i32,
    tables: Vec<Label>,
    /// So many of the tables are there.
    written: usize,
    /// Vectors of numbers, and where they will be.
    vectors: Vec<(Label, [u32; 4])>,
    /// The question that the processor's flags answer, if its registers are still the same.
    asked: Option<Question<u8>>,
}

impl Machine for X64<'_> {
    type Label = Label;

    const REGISTERS: &'static [u8] = &[9, 10, 11, 12, RSI, 8, RDX, RCX];

    fn label(&mut self) -> Label {
        self.code.label()
    }

    fn bind(&mut self, label: Label) {
        self.code.bind(label);
    }

    fn jump(&mut self, to: Label) {
        self.code.jump(to);
    }

    fn begin(&mut self, cells: usize) {
        self.frame = (4 * cells).next_multiple_of(8) as i32 + ENDS;
        SAVED.iter().for_each(|saved| self.code.push(inst::pushq_o::new(*saved)));
        self.code.push(inst::subq_mi_sxl::new(RSP, self.frame));
        self.code.push(inst::movq_rm::new(REGION, RDI));
        self.code.push(inst::movq_rm::new(DESCRIPTORS, RSI));
        self.code.push(inst::movq_rm::new(OUT, RCX));
        let [now, end] = self.ends();
        self.code.push(inst::movq_mr::new(end, RDX));
        self.code.push(inst::leaq_rm::new(RDX, at(RDX, -AHEAD * DESCRIPTOR)));
        self.code.push(inst::movq_mr::new(now, RDX));
        self.code.push(inst::movl_oi::new(LEAD, (AHEAD * DESCRIPTOR) as u32));
        self.code.push(inst::movl_oi::new(ZERO, 0));
    }

    fn packet(&mut self, top: Label, reach: u32, done: Label) {
        // With fewer packets than are loaded ahead the loop ends for now before it begins.
        let begun = self.code.label();
        let [now, _] = self.ends();
        self.code.push(inst::cmpq_rm::new(DESCRIPTORS, now));
        self.code.jump_if(Condition::Below, begun);
        self.nearer();
        self.code.jump_if(Condition::AboveOrEqual, done);
        self.code.bind(begun);
        self.code.align(32);
        self.code.bind(top);
        let ahead = at_index(DESCRIPTORS, LEAD, OFFSET);
        self.code.push(inst::movl_rm::new(EAX, ahead));
        self.code.prefetch(REGION, EAX, reach as i32);
        self.code.push(inst::movl_rm::new(PACKET, at(DESCRIPTORS, OFFSET)));
        self.code.push(inst::addq_rm::new(PACKET, REGION));
    }

    fn need(&mut self, bytes: u32, slow: Label) {
        if bytes > 0 {
            self.code.push(inst::cmpl_mi::new(at(DESCRIPTORS, CAPTURED), bytes));
            self.code.jump_if(Condition::Below, slow);
        }
    }

    fn op(&mut self, op: &Op<u8>, to: u8, slow: Label) {
        match op {
            Op::Answer { question, is, of } => return self.answer(question, *is, *of, to),
            Op::Constant(constant) => self.code.push(inst::movl_oi::new(to, *constant)),
            Op::Length => self.code.push(inst::movl_rm::new(to, at(DESCRIPTORS, LENGTH))),
            Op::Load(bytes) => match bytes.width {
                Width::Byte => self.code.push(inst::movzbl_rm::new(to, memory(bytes))),
                Width::Half => self.code.push(inst::movzwl_rm::new(to, memory(bytes))),
                Width::Word => self.code.push(inst::movl_rm::new(to, memory(bytes))),
            },
            Op::Turn(number, width) => {
                self.copy(to, *number);
                match width {
                    Width::Byte => {}
                    Width::Half => self.code.push(inst::rolw_mi::new(to, 8)),
                    Width::Word => self.code.push(inst::bswapl_o::new(to)),
                }
            }
            Op::Apply(operator, left, Argument::Constant(constant)) => {
                self.with_constant(*operator, *left, *constant, to);
            }
            Op::Apply(operator, left, Argument::Number(right)) => {
                self.with_number(*operator, *left, *right, to);
            }
            Op::Choose(when, then, otherwise) => self.choose(*when, *then, *otherwise, to),
            Op::Look(table, index) => self.look(*table, *index, to),
            Op::Fit { base, end } => {
                self.code.push(inst::leal_rm::new(EAX, at(*base, end.cast_signed())));
                self.code.push(inst::cmpl_rm::new(EAX, at(DESCRIPTORS, CAPTURED)));
                self.code.jump_if(Condition::Above, slow);
            }
        }
        self.asked = None;
    }

    fn fetch(&mut self, to: u8, cell: usize) {
        self.code.push(inst::movl_rm::new(to, memory_of(cell)));
        self.asked = None;
    }

    fn put(&mut self, cell: usize, from: u8) {
        self.code.push(inst::movl_mr::new(memory_of(cell), from));
    }

    fn single(&mut self) -> u8 {
        self.code.push(inst::movl_rm::new(RSI, at(DESCRIPTORS, CAPTURED)));
        self.code.push(inst::movl_rm::new(RDX, at(DESCRIPTORS, LENGTH)));
        self.code.call(self.single);
        EAX
    }

    fn keep(&mut self, result: u8) {
        self.code.push(inst::movb_mr::new(at(OUT, 0), result));
    }

    fn next(&mut self, top: Label) {
        let [now, _] = self.ends();
        self.code.push(inst::addq_mi_sxb::new(DESCRIPTORS, DESCRIPTOR as i8));
        self.code.push(inst::addq_mi_sxb::new(OUT, 1));
        self.code.push(inst::cmpq_rm::new(DESCRIPTORS, now));
        self.code.jump_if(Condition::Below, top);
        self.nearer();
        self.code.jump_if(Condition::Below, top);
    }

    fn end(&mut self) {
        self.code.push(inst::addq_mi_sxl::new(RSP, self.frame));
        SAVED.iter().rev().for_each(|saved| self.code.push(inst::popq_o::new(*saved)));
        self.code.push(inst::retq_zo::new());
    }

    fn table(&mut self, words: &[u32]) {
        self.code.align(64);
        self.code.bind(self.tables[self.written]);
        self.code.words(words);
        self.written += 1;
    }
}

impl X64<'_> {
    /// Where the loop ends for now, and where it ends.
    fn ends(&self) -> [Memory; 2] {
        [at(RSP, self.frame - 16), at(RSP, self.frame - 8)]
    }

    /// Nothing more is loaded ahead: the loop goes to its end, with which the descriptor is compared.
    fn nearer(&mut self) {
        let [now, end] = self.ends();
        self.code.push(inst::movl_oi::new(LEAD, 0));
        self.code.push(inst::movq_rm::new(EAX, end));
        self.code.push(inst::movq_mr::new(now, EAX));
        self.code.push(inst::cmpq_rm::new(DESCRIPTORS, EAX));
    }

    fn copy(&mut self, to: u8, from: u8) {
        if to != from {
            self.code.push(inst::movl_rm::new(to, from));
        }
    }

    /// Brings a mask, or 1, to a register if the answer is this, else 0. The whole register is written, so that it is not waited
    /// for whatever it held before.
    fn answer(&mut self, question: &Question<u8>, is: bool, of: Option<u8>, to: u8) {
        if self.asked.as_ref() != Some(question) {
            self.ask(question);
        }
        let condition = if is { yes(question) } else { yes(question).opposite() };
        match of {
            None => {
                self.code.push(inst::movl_oi::new(to, 0));
                self.code.set(condition, to);
            }
            Some(mask) => {
                self.copy(to, mask);
                self.code.move_if(condition.opposite(), to, ZERO);
            }
        }
        self.asked = Some(question.clone()).filter(|question| !question.reads(to));
    }

    fn ask(&mut self, question: &Question<u8>) {
        match question {
            Question::Compare(_, left, Argument::Constant(0)) => {
                self.code.push(inst::testl_mr::new(*left, *left));
            }
            Question::Compare(_, left, Argument::Constant(constant)) => {
                self.code.push(inst::cmpl_mi::new(*left, *constant));
            }
            Question::Compare(_, left, Argument::Number(right)) => {
                self.code.push(inst::cmpl_rm::new(*left, *right));
            }
            Question::Equal(bytes, constant) => {
                let (memory, constant) = (memory(bytes), *constant);
                match bytes.width {
                    Width::Byte => self.code.push(inst::cmpb_mi::new(memory, constant as u8)),
                    Width::Half => self.code.push(inst::cmpw_mi::new(memory, constant as u16)),
                    Width::Word => self.code.push(inst::cmpl_mi::new(memory, constant)),
                }
            }
            Question::Clear(bytes, bits) => {
                let (memory, bits) = (memory(bytes), *bits);
                match bytes.width {
                    Width::Byte => self.code.push(inst::testb_mi::new(memory, bits as u8)),
                    Width::Half => self.code.push(inst::testw_mi::new(memory, bits as u16)),
                    Width::Word => self.code.push(inst::testl_mi::new(memory, bits)),
                }
            }
            Question::Among { number, numbers, are_halves } => {
                self.among(*number, numbers, *are_halves);
            }
            Question::Halves { number, numbers } => self.halves(*number, numbers),
            Question::Bit { word, bit } => self.code.push(inst::btl_mr::new(*word, *bit)),
        }
    }

    fn with_constant(&mut self, operator: BinaryOperator, left: u8, constant: u32, to: u8) {
        use BinaryOperator::{
            Add, And, Divide, Modulo, Multiply, Or, ShiftLeft, ShiftRight, Subtract, Xor,
        };
        if operator == Multiply {
            self.code.push(inst::imull_rmi::new(to, left, constant.cast_signed()));
            return;
        }
        self.copy(to, left);
        match operator {
            Add => self.code.push(inst::addl_mi::new(to, constant)),
            Subtract => self.code.push(inst::subl_mi::new(to, constant)),
            And => self.code.push(inst::andl_mi::new(to, constant)),
            Or => self.code.push(inst::orl_mi::new(to, constant)),
            Xor => self.code.push(inst::xorl_mi::new(to, constant)),
            ShiftLeft => self.code.push(inst::shll_mi::new(to, constant as u8)),
            ShiftRight => self.code.push(inst::shrl_mi::new(to, constant as u8)),
            Multiply | Divide | Modulo => unreachable!("straight code does not divide"),
        }
    }

    fn with_number(&mut self, operator: BinaryOperator, left: u8, right: u8, to: u8) {
        use BinaryOperator::{
            Add, And, Divide, Modulo, Multiply, Or, ShiftLeft, ShiftRight, Subtract, Xor,
        };
        let is_subtraction = operator == Subtract;
        let (first, second, result) = match to == right {
            true if is_subtraction => (left, right, EAX),
            true => (right, left, to),
            false => (left, right, to),
        };
        self.copy(result, first);
        match operator {
            Add => self.code.push(inst::addl_rm::new(result, second)),
            Subtract => self.code.push(inst::subl_rm::new(result, second)),
            Multiply => self.code.push(inst::imull_rm::new(result, second)),
            And => self.code.push(inst::andl_rm::new(result, second)),
            Or => self.code.push(inst::orl_rm::new(result, second)),
            Xor => self.code.push(inst::xorl_rm::new(result, second)),
            ShiftLeft | ShiftRight | Divide | Modulo => {
                unreachable!("straight code shifts by constants, and does not divide")
            }
        }
        self.copy(to, result);
    }

    fn choose(&mut self, when: u8, then: u8, otherwise: u8, to: u8) {
        self.code.push(inst::testl_mr::new(when, when));
        if to == then {
            self.code.push(inst::cmovel_rm::new(to, otherwise));
        } else {
            self.copy(to, otherwise);
            self.code.push(inst::cmovnel_rm::new(to, then));
        }
    }

    fn look(&mut self, table: TableId, index: u8, to: u8) {
        self.code.locate(EAX, self.tables[table]);
        self.code.push(inst::movl_rm::new(to, word_of(EAX, index)));
    }

    /// Compares with all numbers; what is found is not zero.
    fn among(&mut self, number: u8, numbers: &[u32], are_halves: bool) {
        self.code.push(inst::movd_a::new(NUMBER, number));
        if are_halves {
            self.code.push(inst::pshuflw_a::new(NUMBER, NUMBER, 0));
        }
        self.code.push(inst::pshufd_a::new(NUMBER, NUMBER, 0));
        let each = if are_halves { 8 } else { 4 };
        let vectors = numbers.chunks(each).map(|numbers| {
            let number = |at: usize| *numbers.get(at).unwrap_or(&numbers[0]);
            std::array::from_fn(|at| match are_halves {
                true => number(2 * at) | number(2 * at + 1) << 16,
                false => number(at),
            })
        });
        self.any(vectors.collect(), are_halves);
    }

    /// The same with both halves.
    fn halves(&mut self, number: u8, numbers: &[u16]) {
        self.code.push(inst::movd_a::new(NUMBER, number));
        self.code.push(inst::pshufd_a::new(NUMBER, NUMBER, 0));
        let vectors = numbers.chunks(4).map(|numbers| {
            let twice = |number: u16| u32::from(number) | u32::from(number) << 16;
            std::array::from_fn(|at| twice(*numbers.get(at).unwrap_or(&numbers[0])))
        });
        self.any(vectors.collect(), true);
    }

    /// Whether any of the vectors has what is in the vector register.
    fn any(&mut self, mut vectors: Vec<[u32; 4]>, are_halves: bool) {
        let last = vectors.pop();
        for (at, vector) in vectors.iter().enumerate() {
            let to = if at == 0 { FOUND } else { NEXT };
            self.code.push(inst::movdqa_a::new(to, NUMBER));
            self.equal(to, *vector, are_halves);
            if to == NEXT {
                self.code.push(inst::por_a::new(FOUND, NEXT));
            }
        }
        last.into_iter().for_each(|last| self.equal(NUMBER, last, are_halves));
        if !vectors.is_empty() {
            self.code.push(inst::por_a::new(NUMBER, FOUND));
        }
        self.code.push(inst::pmovmskb_rm::new(EAX, NUMBER));
        self.code.push(inst::testl_mr::new(EAX, EAX));
    }

    fn equal(&mut self, register: u8, vector: [u32; 4], are_halves: bool) {
        let label = self.code.label();
        self.vectors.push((label, vector));
        self.code.equal(register, label, are_halves);
    }
}

/// Vector registers: what is looked for, what was found, and what is found next.
const NUMBER: u8 = 0;
const FOUND: u8 = 1;
const NEXT: u8 = 2;

/// What the flags say if the answer is yes.
fn yes(question: &Question<u8>) -> Condition {
    match question {
        Question::Compare(condition, ..) => *condition,
        Question::Equal(..) | Question::Clear(..) => Condition::Equal,
        Question::Among { .. } | Question::Halves { .. } => Condition::NotEqual,
        // The bit is in the carry, as after a comparison of a smaller number.
        Question::Bit { .. } => Condition::Below,
    }
}

fn memory(bytes: &Bytes<u8>) -> Memory {
    let offset = bytes.offset.cast_signed();
    match bytes.base {
        Some(base) => at_index(PACKET, base, offset),
        None => at(PACKET, offset),
    }
}

fn memory_of(cell: usize) -> Memory {
    at(RSP, 4 * cell as i32)
}
