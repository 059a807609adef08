//! Numbers of a packet.

use super::super::Register::{R0, R1, R2, R3, R4, R10};
use super::super::{
    Alu, Assembler, Hook, Instruction, Label, Metadata, Predicate, Register, Size, Test,
};

/// 32 bits that a packet has, or not.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Number {
    /// The packet's length on the wire.
    Length,
    /// What its bytes do not say.
    Metadata(Metadata),
    /// Bytes in network order, of which there are 1, 2 or 4.
    Load {
        /// What is added to the offset, if anything.
        base: Option<Box<Number>>,
        /// Bytes from the packet's first byte.
        offset: u32,
        /// How many bytes.
        size: Size,
    },
    /// An operation with a constant over 32 bits, as [`Alu`] has it.
    Operation(Alu, Box<Number>, u32),
}

/// Some bits of a number.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Field {
    /// The number.
    pub number: Number,
    /// The bits that count.
    pub mask: u32,
}

/// What a variable offset most often is: the length of an IPv4 header without options.
const USUAL: u32 = 20;

/// Displacements of loads have 16 bits.
const FARTHEST: u32 = i16::MAX as u32;

/// No packet is longer than a signed number of 32 bits says; more would be cut by the load helper.
const LARGEST_PACKET: i32 = i32::MAX;

impl Number {
    /// The metadata that it is made of.
    pub(super) fn metadata(&self) -> Option<Metadata> {
        match self {
            Self::Metadata(metadata) => Some(*metadata),
            Self::Operation(_, of, _) => of.metadata(),
            Self::Load { base, .. } => base.as_ref()?.metadata(),
            Self::Length => None,
        }
    }
}

/// Writes instructions that find numbers, at a hook, with [`Predicate`]'s registers around them.
pub(super) struct Finder<'a> {
    pub(super) code: &'a mut Assembler,
    pub(super) hook: Hook,
    /// Where on the stack there is a word to load to.
    pub(super) loaded: i16,
}

impl Finder<'_> {
    /// R0 = the number; on to `absent` where the packet has none. Destroys R1 to R5.
    pub(super) fn find(&mut self, number: &Number, absent: Label) {
        match number {
            Number::Length => self.code.push(Instruction::mov32(R0, Predicate::LENGTH)),
            Number::Metadata(word) => {
                self.code.push(Instruction::load(Size::Word, R0, R10, word.slot()));
            }
            Number::Operation(op, of, constant) => {
                self.find(of, absent);
                self.code.push(Instruction::alu32(*op, R0, *constant));
            }
            Number::Load { base: None, offset, size } => {
                let (slow, there) = (self.code.label(), self.code.label());
                self.directly(*offset, *size, slow, there);
                self.code.place(slow);
                self.code.push(Instruction::mov32(R2, *offset));
                self.by_helper(*size, absent);
                self.code.place(there);
                self.swap(*size);
            }
            Number::Load { base: Some(base), offset, size } => {
                self.find(base, absent);
                let (slow, there) = (self.code.label(), self.code.label());
                self.code.push(Instruction::mov32(R2, R0));
                self.code.jump_if32(Test::NotEqual, R2, USUAL, slow);
                self.directly(offset.saturating_add(USUAL), *size, slow, there);
                self.code.place(slow);
                self.add_offset(*offset, absent);
                self.by_helper(*size, absent);
                self.code.place(there);
                self.swap(*size);
            }
        }
    }

    /// R0 = bytes at an offset, and on to `there`; to `slow` if they cannot be read where they lie. Leaves R2.
    fn directly(&mut self, offset: u32, size: Size, slow: Label, there: Label) {
        let end = offset.saturating_add(bytes(size));
        if end > FARTHEST {
            return self.code.jump(slow);
        }
        self.code.push(Instruction::mov(R1, Predicate::START));
        self.code.push(Instruction::alu(Alu::Add, R1, end));
        self.code.jump_if(Test::Greater, R1, Predicate::END, slow);
        self.code.push(Instruction::load(size, R0, Predicate::START, offset as i16));
        self.code.jump(there);
    }

    /// R2 = R2 + offset; on to `absent` where no packet has bytes.
    fn add_offset(&mut self, offset: u32, absent: Label) {
        self.code.push(Instruction::mov32(R1, offset));
        self.code.push(Instruction::alu(Alu::Add, R2, R1));
        self.code.jump_if(Test::Greater, R2, LARGEST_PACKET, absent);
    }

    /// R0 = bytes at the offset in R2.
    fn by_helper(&mut self, size: Size, absent: Label) {
        self.code.push(Instruction::mov(R1, Predicate::CONTEXT));
        self.address(R3, self.loaded);
        self.code.push(Instruction::mov32(R4, bytes(size)));
        self.code.push(Instruction::call(self.hook.load_bytes()));
        self.code.jump_if(Test::NotEqual, R0, 0, absent);
        self.code.push(Instruction::load(size, R0, R10, self.loaded));
    }

    /// R0 in the machine's byte order.
    fn swap(&mut self, size: Size) {
        match size {
            Size::Byte => {}
            Size::Half => self.code.push(Instruction::big_endian16(R0)),
            Size::Word => self.code.push(Instruction::big_endian32(R0)),
            Size::Double => self.code.push(Instruction::big_endian64(R0)),
        }
    }

    fn address(&mut self, to: Register, slot: i16) {
        self.code.push(Instruction::mov(to, R10));
        self.code.push(Instruction::alu(Alu::Add, to, i32::from(slot)));
    }
}

fn bytes(size: Size) -> u32 {
    match size {
        Size::Byte => 1,
        Size::Half => 2,
        Size::Word => 4,
        Size::Double => 8,
    }
}
