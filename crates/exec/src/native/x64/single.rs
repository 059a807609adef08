//! The function of a packet.

use std::num::NonZeroU8;

use cranelift_assembler_x64::{Fixed, Inst, TrapCode, inst};
use linerate_filter::plan::{BinaryOperator, Plan, Width};

use crate::assembler::{Assembler, Label, Memory, Numbered, Operand, at, at_index, word_of};
use crate::condition::Condition;
use crate::native::single::{self, Bytes, Machine};

/// The number, and the result.
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

/// The function behind the code; `None` where there is none for what the plan asks.
pub(super) fn assemble(plan: &Plan, code: &mut Assembler) -> Option<()> {
    single::single(&mut X64 { code, tables: Vec::new(), vectors: Vec::new() }, plan)
}

struct X64<'a> {
    code: &'a mut Assembler,
    /// Tables that are looked into, and where they will be.
    tables: Vec<(Label, Vec<u32>)>,
    /// Vectors of numbers, and where they will be.
    vectors: Vec<(Label, [u32; 4])>,
}

impl Machine for X64<'_> {
    type Label = Label;

    /// The 128 bytes below the stack's end are a function's own as long as it calls nobody (System V ABI for AMD64, 3.2.2).
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
        self.code.push(inst::movl_rm::new(LENGTH, EDX));
    }

    fn end(&mut self, result: u32) {
        self.constant(result);
        self.code.push(inst::retq_zo::new());
    }

    fn finish(&mut self) {
        self.code.align(16);
        for (label, vector) in self.vectors.drain(..) {
            self.code.bind(label);
            self.code.words(&vector);
        }
        for (label, words) in self.tables.drain(..) {
            self.code.bind(label);
            self.code.words(&words);
        }
    }

    fn constant(&mut self, constant: u32) {
        self.code.push(inst::movl_oi::new(EAX, constant));
    }

    fn length(&mut self) {
        self.code.push(inst::movl_rm::new(EAX, LENGTH));
    }

    fn fetch(&mut self, cell: usize) {
        self.code.push(inst::movl_rm::new(EAX, memory_of(cell)));
    }

    fn put(&mut self, cell: usize) {
        self.code.push(inst::movl_mr::new(memory_of(cell), EAX));
    }

    fn negate(&mut self) {
        self.code.push(inst::negl_m::new(EAX));
    }

    fn with_constant(&mut self, operator: BinaryOperator, constant: u32, dropped: Label) {
        match operator {
            BinaryOperator::Add => self.code.push(inst::addl_mi::new(EAX, constant)),
            BinaryOperator::Subtract => self.code.push(inst::subl_mi::new(EAX, constant)),
            BinaryOperator::And => self.code.push(inst::andl_mi::new(EAX, constant)),
            BinaryOperator::Or => self.code.push(inst::orl_mi::new(EAX, constant)),
            BinaryOperator::Xor => self.code.push(inst::xorl_mi::new(EAX, constant)),
            BinaryOperator::ShiftLeft | BinaryOperator::ShiftRight if constant >= 32 => {
                self.constant(0);
            }
            BinaryOperator::ShiftLeft => self.code.push(inst::shll_mi::new(EAX, constant as u8)),
            BinaryOperator::ShiftRight => self.code.push(inst::shrl_mi::new(EAX, constant as u8)),
            BinaryOperator::Multiply | BinaryOperator::Divide | BinaryOperator::Modulo => {
                self.code.push(inst::movl_oi::new(ECX, constant));
                self.with_ecx(operator, dropped);
            }
        }
    }

    fn with_cell(&mut self, operator: BinaryOperator, cell: usize, dropped: Label) {
        self.code.push(inst::movl_rm::new(ECX, memory_of(cell)));
        self.with_ecx(operator, dropped);
    }

    fn need(&mut self, bytes: u32, is_behind: bool, dropped: Label) {
        let bytes = bytes.cast_signed();
        if is_behind {
            self.code.push(inst::leaq_rm::new(ECX, at(EAX, bytes)));
            self.code.push(inst::cmpq_rm::new(ECX, RSI));
            self.code.jump_if(Condition::Above, dropped);
        } else {
            self.code.push(inst::cmpq_mi::new(RSI, bytes));
            self.code.jump_if(Condition::Below, dropped);
        }
    }

    fn load(&mut self, bytes: Bytes) {
        let memory = memory_at(bytes);
        match bytes.width {
            Width::Byte => self.code.push(inst::movzbl_rm::new(EAX, memory)),
            Width::Half => self.code.push(inst::movzwl_rm::new(EAX, memory)),
            Width::Word => self.code.push(inst::movl_rm::new(EAX, memory)),
        }
    }

    fn turn(&mut self, width: Width) {
        match width {
            Width::Byte => {}
            Width::Half => self.code.push(inst::rolw_mi::new(EAX, 8)),
            Width::Word => self.code.push(inst::bswapl_o::new(EAX)),
        }
    }

    fn compare_bytes(&mut self, bytes: Bytes, constant: u32) {
        let memory = memory_at(bytes);
        match bytes.width {
            Width::Byte => self.code.push(inst::cmpb_mi::new(memory, constant as u8)),
            Width::Word => self.code.push(inst::cmpl_mi::new(memory, constant)),
            // Instructions with a constant of 16 bits are slow to decode.
            Width::Half => {
                self.load(bytes);
                self.compare(constant);
            }
        }
    }

    fn compare(&mut self, constant: u32) {
        self.code.push(inst::cmpl_mi::new(EAX, constant));
    }

    fn compare_cell(&mut self, cell: usize) {
        self.code.push(inst::cmpl_rm::new(EAX, Operand::Mem(memory_of(cell))));
    }

    fn intersect(&mut self, cell: usize) {
        self.code.push(inst::andl_rm::new(EAX, Operand::Mem(memory_of(cell))));
    }

    fn compare_all(&mut self, constants: &[u32], mask: u32) -> Option<Condition> {
        const NUMBER: u8 = 0;
        const FOUND: u8 = 1;
        const NEXT: u8 = 2;
        let row = Row::of(constants, mask)?;
        self.code.push(inst::movd_a::new(NUMBER, EAX));
        if row.are_halves {
            self.code.push(inst::pshuflw_a::new(NUMBER, NUMBER, 0));
        }
        self.code.push(inst::pshufd_a::new(NUMBER, NUMBER, 0));
        for (at, vector) in row.vectors.into_iter().enumerate() {
            let (to, label) = (if at == 0 { FOUND } else { NEXT }, self.code.label());
            self.code.load(to, label);
            self.vectors.push((label, vector));
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
        Some(Condition::NotEqual)
    }

    fn look(&mut self, table: Vec<u32>) -> Condition {
        let label = self.code.label();
        self.tables.push((label, table));
        self.code.locate(EDX, label);
        self.code.push(inst::movl_rm::new(ECX, EAX));
        self.code.push(inst::shrl_mi::new(ECX, 5));
        self.code.push(inst::movl_rm::new(ECX, word_of(EDX, ECX)));
        self.code.push(inst::btl_mr::new(ECX, EAX));
        // The bit is in the carry, as after a comparison of a smaller number.
        Condition::Below
    }
}

impl X64<'_> {
    /// `eax operator ecx`.
    fn with_ecx(&mut self, operator: BinaryOperator, dropped: Label) {
        match operator {
            BinaryOperator::Add => self.code.push(inst::addl_rm::new(EAX, ECX)),
            BinaryOperator::Subtract => self.code.push(inst::subl_rm::new(EAX, ECX)),
            BinaryOperator::Multiply => self.code.push(inst::imull_rm::new(EAX, ECX)),
            BinaryOperator::And => self.code.push(inst::andl_rm::new(EAX, ECX)),
            BinaryOperator::Or => self.code.push(inst::orl_rm::new(EAX, ECX)),
            BinaryOperator::Xor => self.code.push(inst::xorl_rm::new(EAX, ECX)),
            BinaryOperator::ShiftLeft => self.shift(inst::shll_mc::new(EAX, Fixed(ECX))),
            BinaryOperator::ShiftRight => self.shift(inst::shrl_mc::new(EAX, Fixed(ECX))),
            BinaryOperator::Divide => self.divide(dropped),
            BinaryOperator::Modulo => {
                self.divide(dropped);
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
        self.constant(0);
        self.code.bind(near);
    }

    /// By zero it drops the packet.
    fn divide(&mut self, dropped: Label) {
        self.code.push(inst::testl_mr::new(ECX, ECX));
        self.code.jump_if(Condition::Equal, dropped);
        self.code.push(inst::movl_oi::new(EDX, 0));
        let never = TrapCode(NonZeroU8::MIN);
        self.code.push(inst::divl_m::new(Fixed(EAX), Fixed(EDX), ECX, never));
    }
}

/// A number in the room below the stack's end.
fn memory_of(cell: usize) -> Memory {
    at(RSP, -4 * (cell as i32 + 1))
}

/// Bytes of the packet.
fn memory_at(bytes: Bytes) -> Memory {
    let offset = bytes.offset.cast_signed();
    if bytes.is_behind { at_index(RDI, EAX, offset) } else { at(RDI, offset) }
}
