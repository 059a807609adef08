//! The fragment of a program that finds a packet's filters.

use super::super::Register::{R0, R1, R2, R3, R4, R5, R7, R8, R9, R10};
use super::super::{
    Alu, Assembler, Hook, Instruction, Label, Predicate, Register, Size, Test, helper,
};
use super::number::Finder;
use super::{DE_BRUIJN, FIELDS, Field, KEY, WORD, layout};

/// What a fragment needs to know.
#[derive(Clone, Copy, Debug)]
pub struct Search<'a> {
    /// Those of the [`Index`](super::Index).
    pub fields: &'a [Field],
    /// Descriptor of the trie.
    pub trie: i32,
    /// Descriptor of the table.
    pub table: i32,
    /// Where the program will run.
    pub hook: Hook,
}

/// On the stack: in which words rules may hold; the trie's key, whose bits (u32) come before its bytes; what the load
/// helper gives; by field, where its row is among the rows. What is written on some ways only is written at once: of a word
/// that was written in part the verifier remembers what was in it before, and follows the ways that differ there apart.
const CANDIDATES: i16 = Predicate::STACK.start;
const LOOKED_UP: i16 = CANDIDATES + 12;
const ADDRESS: i16 = LOOKED_UP + 4;
const LOADED: i16 = ADDRESS + 8;
const FOUND: i16 = LOADED + 8;

const _: () = assert!(FOUND + 8 * FIELDS as i16 <= Predicate::STACK.end);

const KEY_BITS: i32 = 8 * KEY as i32;

/// Cuts an offset to a row's.
const INSIDE: i32 = (1 << layout::ROW_BITS) - 8;

impl Search<'_> {
    /// The register in which `found` has the number of a filter.
    pub const FILTER: Register = R3;

    /// Appends the fragment. `found` is written once, and run for each filter that keeps the packet, once for
    /// each; it may use [`FILTER`](Self::FILTER), R4 and R5, and calls nothing.
    ///
    /// The program around it is what a [`Predicate`] expects, with the metadata of [`Index::needs`](super::Index::needs); the
    /// fragment destroys R0 to R5 and R7 to R9, and leaves at its end.
    pub fn emit(&self, code: &mut Assembler, found: impl FnOnce(&mut Assembler)) {
        let end = code.label();
        self.begin(code);
        for number in 0..self.fields.len() {
            self.look_up(code, number, end);
        }
        self.gather(code, found, end);
        code.place(end);
    }

    /// All words that have rules.
    fn begin(&self, code: &mut Assembler) {
        code.extend(self.table(R1, layout::USED));
        code.extend([
            Instruction::load(Size::Double, R1, R1, 0),
            Instruction::store(Size::Double, R10, CANDIDATES, R1),
            Instruction::store(Size::Double, R10, LOADED, R1),
            Instruction::store(Size::Word, R10, LOOKED_UP, KEY_BITS),
        ]);
    }

    /// Finds the row of a field, and leaves out the words in which nothing can hold any more.
    fn look_up(&self, code: &mut Assembler, number: usize, end: Label) {
        let Field { number: what, mask } = &self.fields[number];
        let (none, known) = (code.label(), code.label());
        // A field that no candidate asks for need not be looked up.
        code.extend(self.table(R1, layout::ASKED + 8 * number));
        code.extend([
            Instruction::load(Size::Double, R1, R1, 0),
            Instruction::load(Size::Double, R2, R10, CANDIDATES),
            Instruction::alu(Alu::And, R1, R2),
        ]);
        code.jump_if(Test::Equal, R1, 0, none);
        Finder { code, hook: self.hook, loaded: LOADED }.find(what, none);
        code.push(Instruction::alu32(Alu::And, R0, *mask));
        code.extend(Instruction::load_number(R1, (number as u64) << u32::BITS));
        code.extend([
            Instruction::alu(Alu::Or, R0, R1),
            Instruction::big_endian64(R0),
            Instruction::store(Size::Double, R10, ADDRESS, R0),
            Instruction::mov(R2, R10),
            Instruction::alu(Alu::Add, R2, i32::from(LOOKED_UP)),
        ]);
        code.extend(Instruction::load_map(R1, self.trie));
        code.push(Instruction::call(helper::MAP_LOOKUP_ELEM));
        code.jump_if(Test::Equal, R0, 0, none);
        code.push(Instruction::load(Size::Word, R1, R0, 0));
        code.jump(known);
        code.place(none);
        code.extend(self.table(R1, layout::EMPTY));
        code.push(Instruction::load(Size::Double, R1, R1, 0));
        code.place(known);
        self.narrow(code, number);
        code.jump_if(Test::Equal, R1, 0, end);
    }

    /// Keeps R1 as a field's row. R1 = the words that are left.
    fn narrow(&self, code: &mut Assembler, number: usize) {
        code.push(Instruction::alu(Alu::And, R1, INSIDE));
        code.push(Instruction::store(Size::Double, R10, found_at(number), R1));
        code.extend(self.table(R2, layout::FIRST_ROW));
        code.push(Instruction::alu(Alu::Add, R2, R1));
        code.push(Instruction::load(Size::Double, R1, R2, 0));
        code.extend(self.table(R2, indifferent(number)));
        code.extend([
            Instruction::load(Size::Double, R2, R2, 0),
            Instruction::alu(Alu::Or, R1, R2),
            Instruction::load(Size::Double, R2, R10, CANDIDATES),
            Instruction::alu(Alu::And, R1, R2),
            Instruction::store(Size::Double, R10, CANDIDATES, R1),
        ]);
    }

    /// Goes through the words that are left, and through the rules that hold in each.
    ///
    /// The verifier sees an end, as words and bits are counted down. It walks all turns, and so that it walks each once, two
    /// things matter (`kernel/bpf/verifier.c`, Linux 6.18). It follows a jump that is not taken first and remembers the other
    /// way, 8,192 at most: so the way out of a loop comes first. And within loops it takes states for different that
    /// differ in registers that nobody reads any more: so these are as they were when a turn begins.
    fn gather(&self, code: &mut Assembler, found: impl FnOnce(&mut Assembler), end: Label) {
        const NUMBERS: [Register; 3] = [R3, R4, R5];
        let clear = |register| Instruction::mov(register, 0);
        let [words, more_words, bits, last_bit, more_bits] = [(); 5].map(|()| code.label());
        code.push(Instruction::load(Size::Double, R7, R10, CANDIDATES));
        code.push(Instruction::mov(R8, WORD as i32));
        code.push(Instruction::mov(R9, WORD as i32));
        code.extend(Instruction::load_number(R0, DE_BRUIJN));
        code.extend([R1, R2].map(clear));
        code.extend(NUMBERS.map(clear));

        code.place(words);
        code.jump_if(Test::NotEqual, R7, 0, more_words);
        code.jump(end);
        code.place(more_words);
        code.jump_if(Test::Equal, R8, 0, end);
        next_bit(code, (R7, R8), R1);
        code.push(Instruction::alu(Alu::Xor, R7, R1));
        place_of(code, R1);
        code.push(Instruction::alu(Alu::Lsh, R1, 3));
        self.intersect(code, words);

        code.place(bits);
        code.jump_if(Test::NotEqual, R2, 0, more_bits);
        code.place(last_bit);
        code.push(Instruction::mov(R9, WORD as i32));
        code.jump(words);
        code.place(more_bits);
        code.jump_if(Test::Equal, R9, 0, last_bit);
        next_bit(code, (R2, R9), R3);
        place_of(code, R3);
        self.take(code);
        found(code);
        code.extend(NUMBERS.map(clear));
        code.jump(bits);
    }

    /// R2 = the rules that hold of the word at R1 in each row; on to `none` if there are none.
    fn intersect(&self, code: &mut Assembler, none: Label) {
        for number in 0..self.fields.len() {
            code.push(Instruction::load(Size::Double, R3, R10, found_at(number)));
            code.push(Instruction::alu(Alu::And, R3, INSIDE));
            code.extend(self.table(R4, layout::FIRST_ROW + 8));
            code.extend([
                Instruction::alu(Alu::Add, R4, R3),
                Instruction::alu(Alu::Add, R4, R1),
                Instruction::load(Size::Double, R4, R4, 0),
            ]);
            code.extend(self.table(R5, indifferent(number) + 8));
            code.extend([
                Instruction::alu(Alu::Add, R5, R1),
                Instruction::load(Size::Double, R5, R5, 0),
                Instruction::alu(Alu::Or, R4, R5),
            ]);
            match number {
                0 => code.push(Instruction::mov(R2, R4)),
                _ => code.push(Instruction::alu(Alu::And, R2, R4)),
            }
            code.jump_if(Test::Equal, R2, 0, none);
        }
    }

    /// R3 = the filter of the rule at R3 of the word at R1; its rules are out of R2.
    fn take(&self, code: &mut Assembler) {
        const WORD_OF_ENTRIES: i32 = (WORD * layout::ENTRY / 8) as i32;
        code.push(Instruction::mov(R5, R1));
        code.push(Instruction::alu(Alu::Mul, R5, WORD_OF_ENTRIES));
        code.push(Instruction::alu(Alu::Mul, R3, layout::ENTRY as i32));
        code.extend(self.table(R4, layout::ENTRIES));
        code.extend([
            Instruction::alu(Alu::Add, R4, R5),
            Instruction::alu(Alu::Add, R4, R3),
            Instruction::load(Size::Double, R5, R4, 0),
            Instruction::alu(Alu::Xor, R5, -1),
            Instruction::alu(Alu::And, R2, R5),
            Instruction::load(Size::Double, R3, R4, 8),
        ]);
    }

    /// Address of a byte of the table.
    fn table(&self, to: Register, offset: usize) -> [Instruction; 2] {
        Instruction::load_map_value(to, self.table, offset as u32)
    }
}

/// Where the offset of a field's row is on the stack.
fn found_at(number: usize) -> i16 {
    FOUND + 8 * number as i16
}

/// Where in the table the row is of the rules that do not ask for a field.
fn indifferent(number: usize) -> usize {
    layout::FIRST_ROW + layout::ROW * (1 + number)
}

/// `bit` = the lowest bit of a word, and one less is left.
fn next_bit(code: &mut Assembler, (word, left): (Register, Register), bit: Register) {
    code.extend([
        Instruction::alu(Alu::Sub, left, 1),
        Instruction::mov(bit, word),
        Instruction::neg(bit),
        Instruction::alu(Alu::And, bit, word),
    ]);
}

/// The place of a bit, with the number for it in R0.
fn place_of(code: &mut Assembler, bit: Register) {
    code.push(Instruction::alu(Alu::Mul, bit, R0));
    code.push(Instruction::alu(Alu::Rsh, bit, 64 - 6));
}
