//! Classic programs as extended socket filters.

use super::Register::{R0, R1, R2, R6, R7, R8, R10};
use super::{
    Alu, AssembleError, Assembler, Instruction, Label, Operand, Register, Size, Test, helper,
};
use crate::classic::opcode::*;
use crate::classic::{self, Program, ancillary};

/// Why a classic program has no extended form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TranslateError {
    /// Loops stay in user space.
    #[error("instruction {at} jumps backward")]
    BackwardJump {
        /// Where.
        at: usize,
    },
    /// Socket filters cannot ask for this.
    #[error("instruction {at} loads from {offset:#x}, which extended filters have no word for")]
    Ancillary {
        /// Where.
        at: usize,
        /// The offset.
        offset: u32,
    },
    /// The program is too long for its jumps.
    #[error(transparent)]
    Assemble(#[from] AssembleError),
}

/// A socket filter (`BPF_PROG_TYPE_SOCKET_FILTER`) that first adds 1 to a counter and then gives
/// the verdict of `program`.
///
/// The counter is the 64-bit element 0 of an array map, plain or per CPU, given by its file
/// descriptor. Packets seen minus packets that the socket got are those that the filter turned
/// away.
///
/// The verdicts are those of [`Program::run`], to the letter: where the kernel's own translation
/// of classic filters differs (shifts by 32 and more, indices that wrap around) this one does
/// not. Loads relative to the network header (`SKF_NET_OFF`), which [`Program::run`] cannot know,
/// are the kernel's. The program may be longer than the kernel takes classic programs.
pub fn from_classic(
    program: &Program,
    counter_map: i32,
) -> Result<Vec<Instruction>, TranslateError> {
    let mut translation = Translation::new(program);
    translation.count_packet(counter_map);
    translation.initialise(program);
    for (at, instruction) in program.instructions().iter().enumerate() {
        if translation.begin(at) {
            translation.translate(at, instruction)?;
        } else {
            translation.leads_on = false;
        }
    }
    translation.end()
}

/// The accumulator, where loads from the packet leave their result.
const A: Register = R0;
/// The index register, which loads from the packet leave alone.
const X: Register = R7;
/// Set in the codes of arithmetic and jumps whose second operand is X, `BPF_X`.
const BY_X: u16 = 0x08;

/// Keeps A while something else is loaded.
const SAVED: Register = R8;
/// The socket buffer, where loads from the packet expect it.
const CONTEXT: Register = R6;

/// Offsets in `struct __sk_buff` (`linux/bpf.h`, Linux 6.18).
mod context {
    pub(super) const LENGTH: i16 = 0;
    pub(super) const PACKET_TYPE: i16 = 4;
    pub(super) const MARK: i16 = 8;
    pub(super) const PROTOCOL: i16 = 16;
    pub(super) const VLAN_PRESENT: i16 = 20;
    pub(super) const VLAN_TCI: i16 = 24;
    pub(super) const VLAN_PROTOCOL: i16 = 28;
    pub(super) const INTERFACE_INDEX: i16 = 40;
}

struct Translation {
    assembler: Assembler,
    /// One for each classic instruction, and one where 0 is returned.
    labels: Vec<Label>,
    /// Whether a jump leads to each label. The verifier refuses instructions out of reach, which
    /// classic programs may have, so that these are left out.
    reached: Vec<bool>,
    /// Whether what was written last leads on to what is written next.
    leads_on: bool,
}

impl Translation {
    fn new(program: &Program) -> Self {
        let mut assembler = Assembler::new();
        let places = program.instructions().len() + 1;
        let labels = (0..places).map(|_| assembler.label()).collect();
        Self { assembler, labels, reached: vec![false; places], leads_on: true }
    }

    /// The label of an instruction that is being jumped to.
    fn reach(&mut self, target: usize) -> Label {
        self.reached[target] = true;
        self.labels[target]
    }

    /// The label of the place where 0 is returned.
    fn reject(&mut self) -> Label {
        self.reach(self.labels.len() - 1)
    }

    /// Places the label of an instruction; false if nothing leads there.
    fn begin(&mut self, at: usize) -> bool {
        self.assembler.place(self.labels[at]);
        std::mem::replace(&mut self.leads_on, true) || self.reached[at]
    }

    /// The addition is atomic: where the kernel preempts a filter, another packet's may run.
    fn count_packet(&mut self, map: i32) {
        let key = stack_slot(0);
        let uncounted = self.assembler.label();
        self.assembler.push(Instruction::mov(CONTEXT, R1));
        self.assembler.push(Instruction::store(Size::Word, R10, key, 0));
        self.assembler.extend(Instruction::load_map(R1, map));
        self.assembler.push(Instruction::mov(R2, R10));
        self.assembler.push(Instruction::alu(Alu::Add, R2, i32::from(key)));
        self.assembler.push(Instruction::call(helper::MAP_LOOKUP_ELEM));
        // Element 0 is always there, but the verifier wants to see that somebody looked.
        self.assembler.jump_if(Test::Equal, R0, 0, uncounted);
        self.assembler.push(Instruction::mov(R1, 1));
        self.assembler.push(Instruction::atomic_add(Size::Double, R0, 0, R1));
        self.assembler.place(uncounted);
    }

    /// Registers and scratch words start at 0.
    fn initialise(&mut self, program: &Program) {
        self.assembler.push(Instruction::mov32(A, 0));
        self.assembler.push(Instruction::mov32(X, 0));
        for word in scratch_words_read(program) {
            self.assembler.push(Instruction::store(Size::Word, R10, stack_slot(word), 0));
        }
    }

    fn translate(
        &mut self,
        at: usize,
        instruction: &classic::Instruction,
    ) -> Result<(), TranslateError> {
        let &classic::Instruction { code, k, .. } = instruction;
        match code {
            LDW_ABS | LDH_ABS | LDB_ABS if k >= ancillary::BASE => return self.ancillary(at, k),
            LDW_ABS | LDH_ABS | LDB_ABS => self.push(Instruction::packet_load(size(code), k)),
            LDW_IND | LDH_IND | LDB_IND => self.load_indexed(size(code), k),
            LDX_MSH => self.load_header_length(k),
            LD_IMM => self.push(Instruction::mov32(A, k)),
            LDX_IMM => self.push(Instruction::mov32(X, k)),
            LD_LEN => self.load_context(A, context::LENGTH),
            LDX_LEN => self.load_context(X, context::LENGTH),
            LD_MEM => self.push(Instruction::load(Size::Word, A, R10, stack_slot(k))),
            LDX_MEM => self.push(Instruction::load(Size::Word, X, R10, stack_slot(k))),
            ST => self.push(Instruction::store(Size::Word, R10, stack_slot(k), A)),
            STX => self.push(Instruction::store(Size::Word, R10, stack_slot(k), X)),
            TAX => self.push(Instruction::mov32(X, A)),
            TXA => self.push(Instruction::mov32(A, X)),
            RET_K => self.ret(Some(k)),
            RET_A => self.ret(None),
            NEG => self.push(Instruction::neg32(A)),
            JA => self.jump(at, k)?,
            code if is_conditional_jump(code) => self.conditional_jump(at, instruction),
            code => self.arithmetic(code, k),
        }
        Ok(())
    }

    fn push(&mut self, instruction: Instruction) {
        self.assembler.push(instruction);
    }

    fn reject_if(&mut self, test: Test, register: Register, bits: u32) {
        let reject = self.reject();
        self.assembler.jump_if32(test, register, bits, reject);
    }

    /// The kernel adds in 32 bits and takes negative sums for special offsets, so that sums of
    /// 2^31 and more are turned away here.
    fn load_indexed(&mut self, size: Size, k: u32) {
        const LARGEST: u32 = i32::MAX as u32;
        match LARGEST.checked_sub(k) {
            Some(room) => {
                self.reject_if(Test::Greater, X, room);
                self.push(Instruction::packet_load_indexed(size, X, k));
            }
            None => self.jump_to(self.labels.len() - 1),
        }
    }

    fn load_header_length(&mut self, k: u32) {
        self.push(Instruction::mov32(SAVED, A));
        self.push(Instruction::packet_load(Size::Byte, k));
        self.push(Instruction::alu32(Alu::And, R0, 0xf));
        self.push(Instruction::alu32(Alu::Lsh, R0, 2));
        self.push(Instruction::mov32(X, R0));
        self.push(Instruction::mov32(A, SAVED));
    }

    fn load_context(&mut self, dst: Register, offset: i16) {
        self.push(Instruction::load(Size::Word, dst, CONTEXT, offset));
    }

    fn ancillary(&mut self, at: usize, offset: u32) -> Result<(), TranslateError> {
        match offset {
            ancillary::PROTOCOL => {
                self.load_context(A, context::PROTOCOL);
                self.push(Instruction::big_endian16(A));
            }
            ancillary::PACKET_TYPE => self.load_context(A, context::PACKET_TYPE),
            ancillary::MARK => self.load_context(A, context::MARK),
            ancillary::INTERFACE_INDEX => {
                self.load_context(A, context::INTERFACE_INDEX);
                // A packet from no interface, which a packet socket never sees, has index 0. The
                // interpreter has no answer then.
                self.reject_if(Test::Equal, A, 0);
            }
            ancillary::XOR_X => self.push(Instruction::alu32(Alu::Xor, A, X)),
            ancillary::VLAN_TCI => self.load_context(A, context::VLAN_TCI),
            ancillary::VLAN_PRESENT => self.load_context(A, context::VLAN_PRESENT),
            ancillary::VLAN_PROTOCOL => {
                self.load_context(A, context::VLAN_PROTOCOL);
                self.push(Instruction::big_endian16(A));
            }
            _ => return Err(TranslateError::Ancillary { at, offset }),
        }
        Ok(())
    }

    fn arithmetic(&mut self, code: u16, k: u32) {
        let op = match code & !BY_X {
            ADD_K => Alu::Add,
            SUB_K => Alu::Sub,
            MUL_K => Alu::Mul,
            DIV_K => Alu::Div,
            MOD_K => Alu::Mod,
            OR_K => Alu::Or,
            AND_K => Alu::And,
            XOR_K => Alu::Xor,
            LSH_K => Alu::Lsh,
            RSH_K => Alu::Rsh,
            code => unreachable!("no checked program has code {code:#x}"),
        };
        match code {
            LSH_X | RSH_X => return self.shift(op),
            DIV_X | MOD_X => self.reject_if(Test::Equal, X, 0),
            _ => {}
        }
        self.push(Instruction::alu32(op, A, second_operand(code, k)));
    }

    /// Shifts by X; distances of 32 and more, which the machine would take modulo 32, leave 0.
    fn shift(&mut self, op: Alu) {
        let (far, done) = (self.assembler.label(), self.assembler.label());
        self.assembler.jump_if32(Test::GreaterOrEqual, X, u32::BITS, far);
        self.push(Instruction::alu32(op, A, X));
        self.assembler.jump(done);
        self.assembler.place(far);
        self.push(Instruction::mov32(A, 0));
        self.assembler.place(done);
    }

    fn jump(&mut self, at: usize, k: u32) -> Result<(), TranslateError> {
        if k.cast_signed() < 0 {
            return Err(TranslateError::BackwardJump { at });
        }
        self.jump_to(at + 1 + k as usize);
        Ok(())
    }

    fn jump_to(&mut self, target: usize) {
        let label = self.reach(target);
        self.assembler.jump(label);
        self.leads_on = false;
    }

    fn conditional_jump(&mut self, at: usize, jump: &classic::Instruction) {
        let (test, opposite) = match jump.code & !BY_X {
            JEQ_K => (Test::Equal, Some(Test::NotEqual)),
            JGT_K => (Test::Greater, Some(Test::LessOrEqual)),
            JGE_K => (Test::GreaterOrEqual, Some(Test::Less)),
            _ => (Test::CommonBits, None),
        };
        let operand = second_operand(jump.code, jump.k);
        let [holds, fails] = [jump.jt, jump.jf].map(|skipped| at + 1 + usize::from(skipped));
        match opposite {
            Some(opposite) if jump.jt == 0 => self.jump_if(opposite, operand, fails),
            _ => {
                self.jump_if(test, operand, holds);
                if jump.jf != 0 {
                    self.jump_to(fails);
                }
            }
        }
    }

    fn jump_if(&mut self, test: Test, operand: Operand, target: usize) {
        let label = self.reach(target);
        self.assembler.jump_if32(test, A, operand, label);
    }

    fn ret(&mut self, verdict: Option<u32>) {
        if let Some(verdict) = verdict {
            self.push(Instruction::mov32(R0, verdict));
        }
        self.push(Instruction::exit());
        self.leads_on = false;
    }

    fn end(mut self) -> Result<Vec<Instruction>, TranslateError> {
        if self.begin(self.labels.len() - 1) {
            self.ret(Some(0));
        }
        Ok(self.assembler.finish()?)
    }
}

fn size(code: u16) -> Size {
    match code {
        LDB_ABS | LDB_IND => Size::Byte,
        LDH_ABS | LDH_IND => Size::Half,
        _ => Size::Word,
    }
}

/// Where a scratch word lies on the stack.
fn stack_slot(word: u32) -> i16 {
    -4 * (word as i16 + 1)
}

/// The scratch words that some instruction reads.
fn scratch_words_read(program: &Program) -> impl Iterator<Item = u32> {
    let reads = program.instructions().iter().filter(|i| matches!(i.code, LD_MEM | LDX_MEM));
    let set = reads.fold(0_u16, |set, read| set | 1 << read.k);
    (0..classic::SCRATCH_WORDS).filter(move |word| set & (1 << word) != 0)
}

/// X or the constant.
fn second_operand(code: u16, k: u32) -> Operand {
    if code & BY_X != 0 { X.into() } else { k.into() }
}
