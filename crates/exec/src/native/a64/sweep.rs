//! The function of many packets.

use linerate_filter::plan::Width;

use super::assembler::{
    Assembler, Label, Of3, RET, SP, WithNumber, ZERO, csel, cset, ldr_at, ldr_word_of, lowest, lsr,
    of3, pop, prfm, push, str_word, strb, with,
};
use super::{instruction, with_constant};
use crate::condition::Condition;
use crate::native::straight::{Argument, Bytes, Op, Question, Straight, TableId};
use crate::native::sweep::{self, AHEAD, CAPTURED, DESCRIPTOR, LENGTH, Machine, OFFSET};

/// The function's arguments: the region, the first descriptor, their end, and where the results go. The function of single
/// packets takes bytes, their number, and the length on the wire; it leaves alone what is in 9 and above.
const ARGUMENTS: [u8; 4] = [0, 1, 2, 3];
/// What lies between an operation's instructions; the second for large numbers there.
const SCRATCH: u8 = 8;
const LARGE: u8 = 17;
/// Both halves of a number.
const UPPER: u8 = 25;
const LOWER: u8 = 26;
/// The region.
const REGION: u8 = 9;
/// The packet's descriptor.
const DESCRIPTORS: u8 = 10;
/// Where the loop ends for now, and where it ends.
const NOW: u8 = 11;
const END: u8 = 12;
/// Where the packet's result goes.
const OUT: u8 = 13;
/// Bytes from the descriptor to the offset of the packet that begins to be loaded.
const LEAD: u8 = 14;
/// The packet's first byte.
const PACKET: u8 = 15;
/// How many bytes of it there are.
const BYTES: u8 = 16;
/// Those that belong to who calls, with the address to go back to (AAPCS64, 6.1.1).
const SAVED: [[u8; 2]; 5] = [[29, 30], [19, 20], [21, 22], [23, 24], [25, 26]];

pub(super) fn assemble(
    straight: Option<&Straight>,
    reach: u32,
    single: Label,
    code: &mut Assembler,
) {
    let tables = straight.map_or(0, |straight| straight.tables.len());
    let tables = (0..tables).map(|_| code.label()).collect();
    let mut a64 = A64 { code, single, frame: 0, tables, written: 0, asked: None };
    sweep::sweep(&mut a64, straight, reach);
}

struct A64<'a> {
    code: &'a mut Assembler,
    /// The function of single packets.
    single: Label,
    /// Bytes of cells.
    frame: u32,
    tables: Vec<Label>,
    /// So many of the tables are there.
    written: usize,
    /// The question that the last comparison answers, if its registers are still the same.
    asked: Option<Question<u8>>,
}

impl Machine for A64<'_> {
    type Label = Label;

    const REGISTERS: &'static [u8] = &[0, 1, 2, 3, 4, 5, 6, 7, 19, 20, 21, 22, 23, 24];

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
        self.frame = (4 * cells as u32).next_multiple_of(16);
        SAVED.iter().for_each(|saved| self.code.push(push(*saved)));
        self.code.push(with(WithNumber::Sub, true, SP, SP, self.frame));
        for (to, from) in [REGION, DESCRIPTORS, END, OUT].into_iter().zip(ARGUMENTS) {
            self.copy_address(to, from);
        }
        self.code.push(with(WithNumber::Sub, true, NOW, END, AHEAD as u32 * DESCRIPTOR as u32));
        self.code.constant(LEAD, AHEAD as u32 * DESCRIPTOR as u32 + OFFSET as u32);
    }

    fn packet(&mut self, top: Label, reach: u32, done: Label) {
        // With fewer packets than are loaded ahead the loop ends for now before it begins.
        self.compare_addresses(DESCRIPTORS, NOW);
        self.code.jump_if(Condition::Below, top);
        self.nearer();
        self.code.jump_if(Condition::AboveOrEqual, done);
        self.code.bind(top);
        self.code.push(ldr_at(Width::Word, SCRATCH, DESCRIPTORS, LEAD));
        self.code.with_number(WithNumber::Add, false, SCRATCH, SCRATCH, reach, LARGE);
        self.code.push(prfm(REGION, SCRATCH));
        self.descriptor(PACKET, OFFSET);
        self.code.push(of3(Of3::Add, true, [PACKET, PACKET, REGION]));
        self.descriptor(BYTES, CAPTURED);
    }

    fn need(&mut self, bytes: u32, slow: Label) {
        if bytes > 0 {
            self.code.compare(BYTES, bytes, SCRATCH);
            self.code.jump_if(Condition::Below, slow);
        }
    }

    fn op(&mut self, op: &Op<u8>, to: u8, slow: Label) {
        match op {
            Op::Answer { question, is, of } => {
                return self.answer(question, *is, *of, to);
            }
            Op::Constant(constant) => self.code.constant(to, *constant),
            Op::Length => self.descriptor(to, LENGTH),
            Op::Load(bytes) => self.load(bytes, to),
            Op::Turn(number, width) => self.code.turn(*width, to, *number),
            Op::Apply(operator, left, Argument::Constant(constant)) => {
                with_constant(self.code, *operator, to, *left, *constant, SCRATCH);
            }
            Op::Apply(operator, left, Argument::Number(right)) => {
                self.code.push(of3(instruction(*operator), false, [to, *left, *right]));
            }
            Op::Choose(when, then, otherwise) => {
                self.code.compare(*when, 0, SCRATCH);
                self.code.push(csel(Condition::NotEqual, to, *then, *otherwise));
            }
            Op::Look(table, index) => self.look(*table, *index, to),
            Op::Fit { base, end } => {
                self.code.with_number(WithNumber::Add, false, SCRATCH, *base, *end, LARGE);
                self.code.push(of3(Of3::Subs, false, [ZERO, SCRATCH, BYTES]));
                self.code.jump_if(Condition::Above, slow);
            }
        }
        self.asked = None;
    }

    fn fetch(&mut self, to: u8, cell: usize) {
        self.asked = None;
        self.code.load(Width::Word, to, SP, 4 * cell as u32, SCRATCH);
    }

    fn put(&mut self, cell: usize, from: u8) {
        self.code.push(str_word(from, SP, 4 * cell as u32));
    }

    fn single(&mut self) -> u8 {
        let [bytes, count, length, ..] = ARGUMENTS;
        self.copy_address(bytes, PACKET);
        self.copy_address(count, BYTES);
        self.descriptor(length, LENGTH);
        self.code.call(self.single);
        bytes
    }

    fn keep(&mut self, result: u8) {
        self.code.push(strb(result, OUT));
    }

    fn next(&mut self, top: Label) {
        for (pointer, step) in [(DESCRIPTORS, DESCRIPTOR as u32), (OUT, 1)] {
            self.code.push(with(WithNumber::Add, true, pointer, pointer, step));
        }
        self.compare_addresses(DESCRIPTORS, NOW);
        self.code.jump_if(Condition::Below, top);
        self.nearer();
        self.code.jump_if(Condition::Below, top);
    }

    fn end(&mut self) {
        self.code.push(with(WithNumber::Add, true, SP, SP, self.frame));
        SAVED.iter().rev().for_each(|saved| self.code.push(pop(*saved)));
        self.code.push(RET);
    }

    fn table(&mut self, words: &[u32]) {
        self.code.bind(self.tables[self.written]);
        self.code.words(words);
        self.written += 1;
    }
}

impl A64<'_> {
    fn copy_address(&mut self, to: u8, from: u8) {
        self.code.push(of3(Of3::Orr, true, [to, ZERO, from]));
    }

    fn compare_addresses(&mut self, left: u8, right: u8) {
        self.code.push(of3(Of3::Subs, true, [ZERO, left, right]));
    }

    /// A number from the packet's descriptor.
    fn descriptor(&mut self, to: u8, field: i32) {
        self.code.load(Width::Word, to, DESCRIPTORS, field as u32, SCRATCH);
    }

    /// Nothing more is loaded ahead: the loop goes to its end, with which the descriptor is compared.
    fn nearer(&mut self) {
        self.code.constant(LEAD, OFFSET as u32);
        self.copy_address(NOW, END);
        self.compare_addresses(DESCRIPTORS, END);
    }

    /// Brings a mask, or 1, to a register if the answer is this, else 0.
    fn answer(&mut self, question: &Question<u8>, is: bool, of: Option<u8>, to: u8) {
        if self.asked.as_ref() != Some(question) {
            self.ask(question);
        }
        let yes = match question {
            Question::Compare(condition, ..) => *condition,
            _ => Condition::Equal,
        };
        let condition = if is { yes } else { yes.opposite() };
        self.code.push(match of {
            None => cset(condition, to),
            Some(mask) => csel(condition, to, mask, ZERO),
        });
        self.asked = Some(question.clone()).filter(|question| !question.reads(to));
    }

    /// Compares what a question is about.
    fn ask(&mut self, question: &Question<u8>) {
        match question {
            Question::Compare(_, left, Argument::Constant(constant)) => {
                self.code.compare(*left, *constant, SCRATCH);
            }
            Question::Compare(_, left, Argument::Number(right)) => {
                self.code.push(of3(Of3::Subs, false, [ZERO, *left, *right]));
            }
            Question::Equal(bytes, constant) => {
                self.load(bytes, SCRATCH);
                self.code.compare(SCRATCH, *constant, LARGE);
            }
            Question::Clear(bytes, bits) => {
                self.load(bytes, SCRATCH);
                self.code.constant(LARGE, *bits);
                self.code.push(of3(Of3::Ands, false, [ZERO, SCRATCH, LARGE]));
            }
            Question::Among { number, numbers, .. } => {
                self.code.compare_all(&[*number], numbers.iter().copied(), SCRATCH);
            }
            Question::Halves { number, numbers } => {
                self.code.push(lsr(UPPER, *number, 16));
                self.code.push(lowest(LOWER, *number, 16));
                let numbers = numbers.iter().map(|number| u32::from(*number));
                self.code.compare_all(&[UPPER, LOWER], numbers, SCRATCH);
            }
            Question::Bit { word, bit } => {
                self.code.push(of3(Of3::Lsr, false, [SCRATCH, *word, *bit]));
                self.code.push(lowest(SCRATCH, SCRATCH, 1));
                self.code.compare(SCRATCH, 1, LARGE);
            }
        }
    }

    /// Bytes of the packet as they are.
    fn load(&mut self, bytes: &Bytes<u8>, to: u8) {
        let mut from = PACKET;
        if let Some(base) = bytes.base {
            self.code.push(of3(Of3::Add, true, [SCRATCH, PACKET, base]));
            from = SCRATCH;
        }
        self.code.load(bytes.width, to, from, bytes.offset, LARGE);
    }

    fn look(&mut self, table: TableId, index: u8, to: u8) {
        self.code.locate(SCRATCH, self.tables[table]);
        self.code.push(ldr_word_of(to, SCRATCH, index));
    }
}
