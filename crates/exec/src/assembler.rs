//! Code for x86-64 as it comes into being: instructions, labels, and references to them.

use cranelift_assembler_x64::{
    Amode, AmodeOffset, AmodeOffsetPlusKnownOffset, DeferredTarget, GprMem, Inst, Registers, Scale,
    inst,
};

use crate::condition::Condition;

/// Registers by their numbers.
pub(crate) struct Numbered;

impl Registers for Numbered {
    type ReadGpr = u8;
    type ReadWriteGpr = u8;
    type WriteGpr = u8;
    type ReadXmm = u8;
    type ReadWriteXmm = u8;
    type WriteXmm = u8;
}

/// A register or a place in memory.
pub(crate) type Operand = GprMem<u8, u8>;

/// A place in memory.
pub(crate) type Memory = Amode<u8>;

/// Where a jump leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Label(usize);

/// Code that comes into being.
#[derive(Default)]
pub(crate) struct Assembler {
    code: Vec<u8>,
    /// For each label, where it is.
    places: Vec<Option<usize>>,
    references: Vec<Reference>,
}

/// A distance to a label that is left open.
struct Reference {
    /// Where its four bytes end.
    end: usize,
    /// How many bytes of the instruction come after them: distances count from an instruction's end.
    behind: usize,
    to: Label,
}

/// A place in the code, at a distance that is left open, as that of a jump is.
const HERE: Memory = Amode::RipRelative { target: DeferredTarget::None };

/// The memory at `base + offset`.
pub(crate) fn at(base: u8, offset: i32) -> Memory {
    let simm32 = AmodeOffsetPlusKnownOffset { simm32: AmodeOffset::new(offset), offset: None };
    Amode::ImmReg { base, simm32, trap: None }
}

/// The word number `index` of those at `base`.
pub(crate) fn word_of(base: u8, index: u8) -> Memory {
    let simm32 = AmodeOffset::ZERO;
    Amode::ImmRegRegShift { base, index: index.into(), scale: Scale::Four, simm32, trap: None }
}

/// The memory at `base + index + offset`.
pub(crate) fn at_index(base: u8, index: u8, offset: i32) -> Memory {
    let simm32 = AmodeOffset::new(offset);
    Amode::ImmRegRegShift { base, index: index.into(), scale: Scale::One, simm32, trap: None }
}

impl Assembler {
    pub(crate) fn label(&mut self) -> Label {
        self.places.push(None);
        Label(self.places.len() - 1)
    }

    /// The label is here.
    pub(crate) fn bind(&mut self, label: Label) {
        self.places[label.0] = Some(self.code.len());
    }

    /// How many bytes there are.
    pub(crate) fn place(&self) -> usize {
        self.code.len()
    }

    pub(crate) fn push(&mut self, instruction: impl Into<Inst<Numbered>>) {
        instruction.into().encode(&mut self.code);
    }

    /// Puts bytes here as they are.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.code.extend_from_slice(bytes);
    }

    /// The last four bytes are the distance to a label, and this instruction has so many more.
    pub(crate) fn refer(&mut self, to: Label, behind: usize) {
        self.references.push(Reference { end: self.code.len(), behind, to });
    }

    pub(crate) fn jump(&mut self, to: Label) {
        self.push(inst::jmp_d32::new(0));
        self.refer(to, 0);
    }

    pub(crate) fn jump_if(&mut self, condition: Condition, to: Label) {
        match condition {
            Condition::Equal => self.push(inst::je_d32::new(0)),
            Condition::NotEqual => self.push(inst::jne_d32::new(0)),
            Condition::Above => self.push(inst::ja_d32::new(0)),
            Condition::AboveOrEqual => self.push(inst::jae_d32::new(0)),
            Condition::Below => self.push(inst::jb_d32::new(0)),
            Condition::BelowOrEqual => self.push(inst::jbe_d32::new(0)),
        }
        self.refer(to, 0);
    }

    /// Writes what the last comparison found to the lowest byte of a register, as 1 or 0.
    pub(crate) fn set(&mut self, condition: Condition, register: u8) {
        match condition {
            Condition::Equal => self.push(inst::sete_m::new(register)),
            Condition::NotEqual => self.push(inst::setne_m::new(register)),
            Condition::Above => self.push(inst::seta_m::new(register)),
            Condition::AboveOrEqual => self.push(inst::setae_m::new(register)),
            Condition::Below => self.push(inst::setb_m::new(register)),
            Condition::BelowOrEqual => self.push(inst::setbe_m::new(register)),
        }
    }

    /// Copies a register to another if the last comparison found this.
    pub(crate) fn move_if(&mut self, condition: Condition, to: u8, from: u8) {
        match condition {
            Condition::Equal => self.push(inst::cmovel_rm::new(to, from)),
            Condition::NotEqual => self.push(inst::cmovnel_rm::new(to, from)),
            Condition::Above => self.push(inst::cmoval_rm::new(to, from)),
            Condition::AboveOrEqual => self.push(inst::cmovael_rm::new(to, from)),
            Condition::Below => self.push(inst::cmovbl_rm::new(to, from)),
            Condition::BelowOrEqual => self.push(inst::cmovbel_rm::new(to, from)),
        }
    }

    pub(crate) fn call(&mut self, function: Label) {
        self.bytes(&[0xe8, 0, 0, 0, 0]);
        self.refer(function, 0);
    }

    /// Begins to load the line at `base + index + offset`.
    pub(crate) fn prefetch(&mut self, base: u8, index: u8, offset: i32) {
        debug_assert!(base < 8 && index < 8, "registers that need no prefix");
        self.bytes(&[0x0f, 0x18, 0x8c, index << 3 | base]);
        self.bytes(&offset.to_le_bytes());
    }

    /// Brings the address of a label to a register.
    pub(crate) fn locate(&mut self, register: u8, label: Label) {
        self.push(inst::leaq_rm::new(register, HERE));
        self.refer(label, 0);
    }

    /// Brings the vector at a label, which is [aligned](Self::align), to a vector register.
    pub(crate) fn load(&mut self, register: u8, label: Label) {
        self.push(inst::movdqa_a::new(register, HERE));
        self.refer(label, 0);
    }

    /// Compares a vector register's words, or their halves, with those at a label, which is [aligned](Self::align).
    pub(crate) fn equal(&mut self, register: u8, label: Label, are_halves: bool) {
        match are_halves {
            true => self.push(inst::pcmpeqw_a::new(register, HERE)),
            false => self.push(inst::pcmpeqd_a::new(register, HERE)),
        }
        self.refer(label, 0);
    }

    /// Goes on at a multiple of so many bytes. What is between does nothing.
    pub(crate) fn align(&mut self, bytes: usize) {
        const NOTHING: u8 = 0x90;
        self.code.resize(self.code.len().next_multiple_of(bytes), NOTHING);
    }

    /// Puts words here, which nobody must come to.
    pub(crate) fn words(&mut self, words: &[u32]) {
        self.code.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    }

    /// The code, with its references.
    ///
    /// # Panics
    /// When something refers to a label that is nowhere.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        for Reference { end, behind, to: Label(label) } in self.references {
            let place = self.places[label].expect("labels that are referred to are bound");
            // Both are far below 2^31: plans have some thousand nodes.
            let distance = place as i32 - (end + behind) as i32;
            self.code[end - 4..end].copy_from_slice(&distance.to_le_bytes());
        }
        self.code
    }
}
