//! The function of a packet.

use linerate_filter::plan::{BinaryOperator, Plan, Width};

use super::assembler::{
    Assembler, Label, Of3, RET, SP, WithNumber, ZERO, csel, ldr_word_of, lowest, lsr, msub, of3,
    str_word, with,
};
use super::{instruction, with_constant};
use crate::condition::Condition;
use crate::native::single::{self, Bytes, FEW, Machine};

/// The function's arguments: where the bytes are, how many, and the length on the wire.
const DATA: u8 = 0;
const COUNT: u8 = 1;
const LENGTH: u8 = 2;
/// The result.
const RESULT: u8 = 0;
/// The number.
const NUMBER: u8 = 3;
/// The second operand.
const OTHER: u8 = 4;
/// What lies between.
const SCRATCH: u8 = 5;

/// The function behind the code; `None` where there is none for what the plan asks.
pub(super) fn assemble(plan: &Plan, code: &mut Assembler) -> Option<()> {
    single::single(&mut A64 { code, tables: Vec::new() }, plan)
}

struct A64<'a> {
    code: &'a mut Assembler,
    /// Tables that are looked into, and where they will be.
    tables: Vec<(Label, Vec<u32>)>,
}

impl Machine for A64<'_> {
    type Label = Label;

    const CELLS: usize = 32;

    fn label(&mut self) -> Label {
        self.code.label()
    }

    fn bind(&mut self, label: Label) {
        self.code.bind(label);
    }

    fn jump(&mut self, to: Label) {
        self.code.jump(to);
    }

    fn jump_if(&mut self, condition: Condition, to: Label) {
        self.code.jump_if(condition, to);
    }

    fn begin(&mut self) {
        self.code.push(with(WithNumber::Sub, true, SP, SP, FRAME));
    }

    fn end(&mut self, result: u32) {
        self.code.constant(RESULT, result);
        self.code.push(with(WithNumber::Add, true, SP, SP, FRAME));
        self.code.push(RET);
    }

    fn finish(&mut self) {
        for (label, words) in self.tables.drain(..) {
            self.code.bind(label);
            self.code.words(&words);
        }
    }

    fn constant(&mut self, constant: u32) {
        self.code.constant(NUMBER, constant);
    }

    fn length(&mut self) {
        self.code.push(of3(Of3::Orr, false, [NUMBER, ZERO, LENGTH]));
    }

    fn fetch(&mut self, cell: usize) {
        self.cell(NUMBER, cell);
    }

    fn put(&mut self, cell: usize) {
        self.code.push(str_word(NUMBER, SP, 4 * cell as u32));
    }

    fn negate(&mut self) {
        self.code.push(of3(Of3::Sub, false, [NUMBER, ZERO, NUMBER]));
    }

    fn with_constant(&mut self, operator: BinaryOperator, constant: u32, dropped: Label) {
        use BinaryOperator::{Divide, Modulo, ShiftLeft, ShiftRight};
        match operator {
            ShiftLeft | ShiftRight if constant >= 32 => self.constant(0),
            Divide | Modulo => {
                self.code.constant(OTHER, constant);
                self.with_other(operator, dropped);
            }
            _ => with_constant(self.code, operator, NUMBER, NUMBER, constant, SCRATCH),
        }
    }

    fn with_cell(&mut self, operator: BinaryOperator, cell: usize, dropped: Label) {
        self.cell(OTHER, cell);
        self.with_other(operator, dropped);
    }

    fn need(&mut self, bytes: u32, is_behind: bool, dropped: Label) {
        if is_behind {
            self.code.with_number(WithNumber::Add, true, OTHER, NUMBER, bytes, SCRATCH);
            self.code.push(of3(Of3::Subs, true, [ZERO, OTHER, COUNT]));
            self.code.jump_if(Condition::Above, dropped);
        } else {
            self.code.with_number(WithNumber::Subs, true, ZERO, COUNT, bytes, SCRATCH);
            self.code.jump_if(Condition::Below, dropped);
        }
    }

    fn load(&mut self, Bytes { offset, width, is_behind }: Bytes) {
        let mut from = DATA;
        if is_behind {
            self.code.push(of3(Of3::Add, true, [OTHER, DATA, NUMBER]));
            from = OTHER;
        }
        self.code.load(width, NUMBER, from, offset, SCRATCH);
    }

    fn turn(&mut self, width: Width) {
        self.code.turn(width, NUMBER, NUMBER);
    }

    fn compare_bytes(&mut self, bytes: Bytes, constant: u32) {
        self.load(bytes);
        self.compare(constant);
    }

    fn compare(&mut self, constant: u32) {
        self.code.compare(NUMBER, constant, SCRATCH);
    }

    fn compare_cell(&mut self, cell: usize) {
        self.cell(OTHER, cell);
        self.code.push(of3(Of3::Subs, false, [ZERO, NUMBER, OTHER]));
    }

    fn intersect(&mut self, cell: usize) {
        self.cell(OTHER, cell);
        self.code.push(of3(Of3::Ands, false, [ZERO, NUMBER, OTHER]));
    }

    fn compare_all(&mut self, constants: &[u32], _: u32) -> Option<Condition> {
        if constants.len() > FEW {
            return None;
        }
        self.code.compare_all(&[NUMBER], constants.iter().copied(), SCRATCH);
        Some(Condition::Equal)
    }

    fn look(&mut self, table: Vec<u32>) -> Condition {
        let label = self.code.label();
        self.tables.push((label, table));
        self.code.locate(OTHER, label);
        self.code.push(lsr(SCRATCH, NUMBER, 5));
        self.code.push(ldr_word_of(OTHER, OTHER, SCRATCH));
        self.code.push(of3(Of3::Lsr, false, [OTHER, OTHER, NUMBER]));
        self.code.push(lowest(OTHER, OTHER, 1));
        self.code.compare(OTHER, 1, SCRATCH);
        Condition::Equal
    }
}

/// Bytes of the cells, a multiple of 16, as the stack pointer has to be.
const FRAME: u32 = 4 * A64::CELLS as u32;

impl A64<'_> {
    fn cell(&mut self, to: u8, cell: usize) {
        self.code.load(Width::Word, to, SP, 4 * cell as u32, SCRATCH);
    }

    fn with_other(&mut self, operator: BinaryOperator, dropped: Label) {
        let is_division = matches!(operator, BinaryOperator::Divide | BinaryOperator::Modulo);
        if is_division {
            self.code.compare(OTHER, 0, SCRATCH);
            self.code.jump_if(Condition::Equal, dropped);
        }
        let to = if operator == BinaryOperator::Modulo { SCRATCH } else { NUMBER };
        self.code.push(of3(instruction(operator), false, [to, NUMBER, OTHER]));
        match operator {
            BinaryOperator::Modulo => self.code.push(msub(NUMBER, SCRATCH, OTHER, NUMBER)),
            BinaryOperator::ShiftLeft | BinaryOperator::ShiftRight => {
                // The processor takes the lower five bits of a distance only.
                self.code.compare(OTHER, 32, SCRATCH);
                self.code.push(csel(Condition::Below, NUMBER, NUMBER, ZERO));
            }
            _ => {}
        }
    }
}
