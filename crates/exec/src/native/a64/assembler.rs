//! Code for 64-bit ARM as it comes into being: instructions, labels, and references to them.
//!
//! Every instruction is a word (Arm Architecture Reference Manual for A-profile architecture, DDI 0487, C4.1). The functions
//! that give one are named after what programmers write; with `is_wide` an instruction takes 64 bits of a register, else the
//! lower 32, and what it writes has zeros above them. Registers are numbers.

use linerate_filter::plan::Width;

use crate::condition::Condition;

/// Reads as zero, and keeps nothing; the stack pointer where an address is meant.
pub(super) const ZERO: u8 = 31;
pub(super) const SP: u8 = 31;

/// Where a jump leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Label(usize);

/// Instructions with three registers, of 32 bits: what they do to the second and the third goes to the first.
#[derive(Clone, Copy)]
#[repr(u32)]
pub(super) enum Of3 {
    Add = 0x0b00_0000,
    Sub = 0x4b00_0000,
    /// And compares.
    Subs = 0x6b00_0000,
    And = 0x0a00_0000,
    /// And compares with zero.
    Ands = 0x6a00_0000,
    Orr = 0x2a00_0000,
    Eor = 0x4a00_0000,
    Mul = 0x1b00_7c00,
    /// By zero that gives zero.
    Udiv = 0x1ac0_0800,
    /// By the lower five bits of the third.
    Lsl = 0x1ac0_2000,
    Lsr = 0x1ac0_2400,
}

/// Instructions with two registers and a number of 12 bits.
#[derive(Clone, Copy)]
#[repr(u32)]
pub(super) enum WithNumber {
    Add = 0x1100_0000,
    Sub = 0x5100_0000,
    /// And compares.
    Subs = 0x7100_0000,
}

/// Numbers of 12 bits.
const IMMEDIATE: u32 = 1 << 12;

const WIDE: u32 = 1 << 31;

fn sized(instruction: u32, is_wide: bool) -> u32 {
    if is_wide { instruction | WIDE } else { instruction }
}

fn registers(first: u8, second: u8, third: u8) -> u32 {
    u32::from(first) | u32::from(second) << 5 | u32::from(third) << 16
}

/// The condition's number (C1.2.4); of comparisons of numbers without a sign.
fn code(condition: Condition) -> u32 {
    match condition {
        Condition::Equal => 0,
        Condition::NotEqual => 1,
        Condition::AboveOrEqual => 2,
        Condition::Below => 3,
        Condition::Above => 8,
        Condition::BelowOrEqual => 9,
    }
}

pub(super) fn of3(what: Of3, is_wide: bool, [to, left, right]: [u8; 3]) -> u32 {
    sized(what as u32, is_wide) | registers(to, left, right)
}

/// `number` is below [`IMMEDIATE`].
pub(super) fn with(what: WithNumber, is_wide: bool, to: u8, left: u8, number: u32) -> u32 {
    sized(what as u32, is_wide) | registers(to, left, 0) | number << 10
}

/// `to = plus - left * right`
pub(super) fn msub(to: u8, left: u8, right: u8, plus: u8) -> u32 {
    0x1b00_8000 | registers(to, left, right) | u32::from(plus) << 10
}

/// `number`, of 16 bits, and zeros above.
pub(super) fn movz(to: u8, number: u32) -> u32 {
    0x5280_0000 | registers(to, 0, 0) | number << 5
}

/// `number`, of 16 bits, to the upper half.
pub(super) fn movk_upper(to: u8, number: u32) -> u32 {
    0x72a0_0000 | registers(to, 0, 0) | number << 5
}

/// By less than 32.
pub(super) fn lsl(to: u8, from: u8, by: u32) -> u32 {
    0x5300_0000 | registers(to, from, 0) | ((32 - by) % 32) << 16 | (31 - by) << 10
}

/// By less than 32.
pub(super) fn lsr(to: u8, from: u8, by: u32) -> u32 {
    0x5300_7c00 | registers(to, from, 0) | by << 16
}

/// The lowest bits, between 1 and 32 of them.
pub(super) fn lowest(to: u8, from: u8, bits: u32) -> u32 {
    0x5300_0000 | registers(to, from, 0) | (bits - 1) << 10
}

/// Turns the four bytes round.
pub(super) fn rev(to: u8, from: u8) -> u32 {
    0x5ac0_0800 | registers(to, from, 0)
}

/// Turns the bytes of both halves round.
pub(super) fn rev16(to: u8, from: u8) -> u32 {
    0x5ac0_0400 | registers(to, from, 0)
}

/// `to = if condition { then } else { otherwise }`
pub(super) fn csel(condition: Condition, to: u8, then: u8, otherwise: u8) -> u32 {
    0x1a80_0000 | registers(to, then, otherwise) | code(condition) << 12
}

/// 1 if it is so, else 0.
pub(super) fn cset(condition: Condition, to: u8) -> u32 {
    0x1a80_0400 | registers(to, ZERO, ZERO) | code(condition.opposite()) << 12
}

/// Compares unless what was compared before was equal; then it stays equal.
pub(super) fn ccmp_ne(left: u8, right: u8) -> u32 {
    const EQUAL: u32 = 0b0100;
    0x7a40_0000 | registers(0, left, right) | code(Condition::NotEqual) << 12 | EQUAL
}

/// Bits of loads and stores that say how many bytes go.
fn size(width: Width) -> u32 {
    match width {
        Width::Byte => 0,
        Width::Half => 1 << 30,
        Width::Word => 2 << 30,
    }
}

/// Bytes at an offset from a register; `None` for one that the instruction cannot name.
pub(super) fn ldr(width: Width, to: u8, base: u8, offset: u32) -> Option<u32> {
    let bytes = width.bytes() as u32;
    let instruction = size(width) | registers(to, base, 0);
    if offset.is_multiple_of(bytes) && offset / bytes < IMMEDIATE {
        return Some(0x3940_0000 | instruction | (offset / bytes) << 10);
    }
    (offset < 256).then_some(0x3840_0000 | instruction | offset << 12)
}

/// Bytes at the sum of two registers.
pub(super) fn ldr_at(width: Width, to: u8, base: u8, index: u8) -> u32 {
    0x3860_6800 | size(width) | registers(to, base, index)
}

/// The word number `index`, of 32 bits, of those at `base`.
pub(super) fn ldr_word_of(to: u8, base: u8, index: u8) -> u32 {
    0xb860_5800 | registers(to, base, index)
}

/// The word at `offset`, a multiple of 4.
pub(super) fn str_word(from: u8, base: u8, offset: u32) -> u32 {
    0xb900_0000 | registers(from, base, 0) | (offset / 4) << 10
}

pub(super) fn strb(from: u8, base: u8) -> u32 {
    0x3900_0000 | registers(from, base, 0)
}

/// Puts two registers of 64 bits on the stack.
pub(super) fn push([first, second]: [u8; 2]) -> u32 {
    0xa9bf_0000 | registers(first, SP, 0) | u32::from(second) << 10
}

/// And takes them from it.
pub(super) fn pop([first, second]: [u8; 2]) -> u32 {
    0xa8c1_0000 | registers(first, SP, 0) | u32::from(second) << 10
}

/// Begins to load the line that the sum of two registers is in.
pub(super) fn prfm(base: u8, index: u8) -> u32 {
    0xf8a0_6800 | registers(0, base, index)
}

pub(super) const RET: u32 = 0xd65f_03c0;

/// Code that comes into being.
#[derive(Default)]
pub(super) struct Assembler {
    words: Vec<u32>,
    /// For each label, the word that it is before.
    places: Vec<Option<usize>>,
    references: Vec<Reference>,
}

/// A distance to a label that is left open, in the instruction of this number.
struct Reference {
    at: usize,
    to: Label,
    field: Field,
}

/// Where in an instruction the distance goes, and how many bits it has.
#[derive(Clone, Copy)]
enum Field {
    /// 26 bits of words.
    Jump,
    /// 19 bits of words.
    JumpIf,
    /// 21 bits of bytes.
    Address,
}

impl Field {
    /// The bits of a distance in words; `None` where it is too far.
    fn bits(self, distance: i64) -> Option<u32> {
        let (bits, distance) = match self {
            Self::Jump => (26, distance),
            Self::JumpIf => (19, distance),
            Self::Address => (21, 4 * distance),
        };
        let half = 1 << (bits - 1);
        let field =
            (-half..half).contains(&distance).then_some(distance as u32 & (2 * half - 1) as u32)?;
        Some(match self {
            Self::Jump => field,
            Self::JumpIf => field << 5,
            Self::Address => (field & 3) << 29 | field >> 2 << 5,
        })
    }
}

impl Assembler {
    pub(super) fn label(&mut self) -> Label {
        self.places.push(None);
        Label(self.places.len() - 1)
    }

    /// The label is here.
    pub(super) fn bind(&mut self, label: Label) {
        self.places[label.0] = Some(self.words.len());
    }

    /// Where the next instruction goes, in bytes.
    pub(super) fn place(&self) -> usize {
        4 * self.words.len()
    }

    pub(super) fn push(&mut self, instruction: u32) {
        self.words.push(instruction);
    }

    /// Puts words here, which nobody must come to.
    pub(super) fn words(&mut self, words: &[u32]) {
        self.words.extend_from_slice(words);
    }

    fn refer(&mut self, instruction: u32, to: Label, field: Field) {
        self.references.push(Reference { at: self.words.len(), to, field });
        self.words.push(instruction);
    }

    pub(super) fn jump(&mut self, to: Label) {
        self.refer(0x1400_0000, to, Field::Jump);
    }

    /// Calls a function.
    pub(super) fn call(&mut self, to: Label) {
        self.refer(0x9400_0000, to, Field::Jump);
    }

    pub(super) fn jump_if(&mut self, condition: Condition, to: Label) {
        self.refer(0x5400_0000 | code(condition), to, Field::JumpIf);
    }

    /// Brings the address of a label to a register.
    pub(super) fn locate(&mut self, register: u8, label: Label) {
        self.refer(0x1000_0000 | registers(register, 0, 0), label, Field::Address);
    }

    /// Brings a number to a register.
    pub(super) fn constant(&mut self, to: u8, number: u32) {
        self.push(movz(to, number & 0xffff));
        if number > 0xffff {
            self.push(movk_upper(to, number >> 16));
        }
    }

    /// `to = left what number`, by way of `scratch` if the number is large.
    pub(super) fn with_number(
        &mut self,
        what: WithNumber,
        is_wide: bool,
        to: u8,
        left: u8,
        number: u32,
        scratch: u8,
    ) {
        if number < IMMEDIATE {
            return self.push(with(what, is_wide, to, left, number));
        }
        let what = match what {
            WithNumber::Add => Of3::Add,
            WithNumber::Sub => Of3::Sub,
            WithNumber::Subs => Of3::Subs,
        };
        self.constant(scratch, number);
        self.push(of3(what, is_wide, [to, left, scratch]));
    }

    /// Compares 32 bits with a number, by way of `scratch` if it is large.
    pub(super) fn compare(&mut self, left: u8, number: u32, scratch: u8) {
        self.with_number(WithNumber::Subs, false, ZERO, left, number, scratch);
    }

    /// Finds whether 32 bits are one of some numbers: then the last comparison was of what is equal.
    pub(super) fn compare_all(
        &mut self,
        left: &[u8],
        numbers: impl Iterator<Item = u32>,
        scratch: u8,
    ) {
        let mut is_first = true;
        for number in numbers {
            self.constant(scratch, number);
            for left in left {
                self.push(match is_first {
                    true => of3(Of3::Subs, false, [ZERO, *left, scratch]),
                    false => ccmp_ne(*left, scratch),
                });
                is_first = false;
            }
        }
    }

    /// Loads bytes as they are, by way of `scratch` if the offset is large.
    pub(super) fn load(&mut self, width: Width, to: u8, base: u8, offset: u32, scratch: u8) {
        match ldr(width, to, base, offset) {
            Some(instruction) => self.push(instruction),
            None => {
                self.constant(scratch, offset);
                self.push(ldr_at(width, to, base, scratch));
            }
        }
    }

    /// Turns bytes round that were loaded as they are.
    pub(super) fn turn(&mut self, width: Width, to: u8, from: u8) {
        match width {
            Width::Byte => self.push(lowest(to, from, 8)),
            Width::Half => self.push(rev16(to, from)),
            Width::Word => self.push(rev(to, from)),
        }
    }

    /// The bits of a mask, by way of `scratch` if they are not the lowest.
    pub(super) fn mask(&mut self, to: u8, from: u8, mask: u32, scratch: u8) {
        if mask != 0 && mask & mask.wrapping_add(1) == 0 {
            return self.push(lowest(to, from, mask.count_ones()));
        }
        self.constant(scratch, mask);
        self.push(of3(Of3::And, false, [to, from, scratch]));
    }

    /// The code, with its references; `None` where one is too far.
    ///
    /// # Panics
    /// When something refers to a label that is nowhere.
    pub(super) fn finish(mut self) -> Option<Vec<u8>> {
        for Reference { at, to: Label(label), field } in self.references {
            let place = self.places[label].expect("labels that are referred to are bound");
            self.words[at] |= field.bits(place as i64 - at as i64)?;
        }
        Some(self.words.iter().flat_map(|word| word.to_le_bytes()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_lab::need;
    use std::io::Write;
    use std::process::{Command, Stdio};

    /// The words that GNU's assembler makes of a text.
    fn assembled(text: &str) -> Vec<u32> {
        let folder = tempfile::tempdir().unwrap();
        let [object, binary] = ["object", "binary"].map(|name| folder.path().join(name));
        let mut assembler = Command::new("aarch64-linux-gnu-as")
            .args(["-o".as_ref(), object.as_os_str(), "-".as_ref()])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        assembler.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        assert!(assembler.wait().unwrap().success(), "{text}");
        let status = Command::new("aarch64-linux-gnu-objcopy")
            .args(["-O", "binary"])
            .args([&object, &binary])
            .status()
            .unwrap();
        assert!(status.success());
        let bytes = std::fs::read(binary).unwrap();
        bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
    }

    #[test]
    fn instructions_are_what_another_assembler_makes_of_their_text() {
        use Condition::{Above, AboveOrEqual, Below, BelowOrEqual, Equal, NotEqual};
        if !need::program("aarch64-linux-gnu-as", "binutils-aarch64-linux-gnu") {
            return;
        }
        let cases = [
            ("add w1, w2, w30", of3(Of3::Add, false, [1, 2, 30])),
            ("add x1, x2, x30", of3(Of3::Add, true, [1, 2, 30])),
            ("sub w1, w2, w3", of3(Of3::Sub, false, [1, 2, 3])),
            ("neg w1, w3", of3(Of3::Sub, false, [1, ZERO, 3])),
            ("cmp w2, w3", of3(Of3::Subs, false, [ZERO, 2, 3])),
            ("cmp x2, x3", of3(Of3::Subs, true, [ZERO, 2, 3])),
            ("and w1, w2, w3", of3(Of3::And, false, [1, 2, 3])),
            ("tst w2, w3", of3(Of3::Ands, false, [ZERO, 2, 3])),
            ("orr w1, w2, w3", of3(Of3::Orr, false, [1, 2, 3])),
            ("mov w1, w3", of3(Of3::Orr, false, [1, ZERO, 3])),
            ("mov x1, x3", of3(Of3::Orr, true, [1, ZERO, 3])),
            ("eor w1, w2, w3", of3(Of3::Eor, false, [1, 2, 3])),
            ("mul w1, w2, w3", of3(Of3::Mul, false, [1, 2, 3])),
            ("udiv w1, w2, w3", of3(Of3::Udiv, false, [1, 2, 3])),
            ("lsl w1, w2, w3", of3(Of3::Lsl, false, [1, 2, 3])),
            ("lsr w1, w2, w3", of3(Of3::Lsr, false, [1, 2, 3])),
            ("add w1, w2, 4095", with(WithNumber::Add, false, 1, 2, 4095)),
            ("add x1, sp, 16", with(WithNumber::Add, true, 1, SP, 16)),
            ("sub sp, sp, 128", with(WithNumber::Sub, true, SP, SP, 128)),
            ("cmp w2, 1", with(WithNumber::Subs, false, ZERO, 2, 1)),
            ("msub w1, w2, w3, w4", msub(1, 2, 3, 4)),
            ("movz w1, 65535", movz(1, 65535)),
            ("movk w1, 1, lsl 16", movk_upper(1, 1)),
            ("lsl w1, w2, 0", lsl(1, 2, 0)),
            ("lsl w1, w2, 31", lsl(1, 2, 31)),
            ("lsr w1, w2, 0", lsr(1, 2, 0)),
            ("lsr w1, w2, 31", lsr(1, 2, 31)),
            ("ubfx w1, w2, 0, 13", lowest(1, 2, 13)),
            ("ubfx w1, w2, 0, 32", lowest(1, 2, 32)),
            ("rev w1, w2", rev(1, 2)),
            ("rev16 w1, w2", rev16(1, 2)),
            ("csel w1, w2, w3, ne", csel(NotEqual, 1, 2, 3)),
            ("cset w1, eq", cset(Equal, 1)),
            ("cset w1, hi", cset(Above, 1)),
            ("cset w1, hs", cset(AboveOrEqual, 1)),
            ("cset w1, lo", cset(Below, 1)),
            ("cset w1, ls", cset(BelowOrEqual, 1)),
            ("ccmp w1, w2, 4, ne", ccmp_ne(1, 2)),
            ("ldrb w1, [x2, 4095]", ldr(Width::Byte, 1, 2, 4095).unwrap()),
            ("ldrh w1, [x2, 8190]", ldr(Width::Half, 1, 2, 8190).unwrap()),
            ("ldur w1, [x2, 255]", ldr(Width::Word, 1, 2, 255).unwrap()),
            ("ldurh w1, [x2, 13]", ldr(Width::Half, 1, 2, 13).unwrap()),
            ("ldr w1, [sp, 16380]", ldr(Width::Word, 1, SP, 16380).unwrap()),
            ("ldrb w1, [x2, x3]", ldr_at(Width::Byte, 1, 2, 3)),
            ("ldrh w1, [x2, x3]", ldr_at(Width::Half, 1, 2, 3)),
            ("ldr w1, [x2, x3]", ldr_at(Width::Word, 1, 2, 3)),
            ("ldr w1, [x2, w3, uxtw 2]", ldr_word_of(1, 2, 3)),
            ("str w1, [sp, 124]", str_word(1, SP, 124)),
            ("strb w1, [x2]", strb(1, 2)),
            ("stp x29, x30, [sp, -16]!", push([29, 30])),
            ("ldp x29, x30, [sp], 16", pop([29, 30])),
            ("prfm pldl1keep, [x2, x3]", prfm(2, 3)),
            ("ret", RET),
        ];
        let text: String = cases.iter().map(|(text, _)| format!("{text}\n")).collect();
        for ((text, ours), theirs) in cases.iter().zip(assembled(&text)) {
            assert_eq!(*ours, theirs, "{text}: {ours:08x}, not {theirs:08x}");
        }
        assert!(ldr(Width::Half, 1, 2, 8192).or(ldr(Width::Word, 1, 2, 257)).is_none());
    }

    #[test]
    fn labels_lead_forward_and_back() {
        if !need::program("aarch64-linux-gnu-as", "binutils-aarch64-linux-gnu") {
            return;
        }
        let mut code = Assembler::default();
        let [before, behind] = [code.label(), code.label()];
        code.bind(before);
        code.jump_if(Condition::Above, behind);
        code.jump(before);
        code.call(behind);
        code.locate(3, before);
        code.locate(3, behind);
        code.jump_if(Condition::Equal, before);
        code.bind(behind);
        code.words(&[1]);
        let theirs =
            assembled("b: b.hi 1f\n b b\n bl 1f\n adr x3, b\n adr x3, 1f\n b.eq b\n 1: .word 1\n");
        let theirs: Vec<_> = theirs.iter().flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!(code.finish(), Some(theirs));
    }

    #[test]
    fn what_is_too_far_is_no_code() {
        let mut code = Assembler::default();
        let far = code.label();
        code.jump_if(Condition::Equal, far);
        code.words(&[0; 1 << 18]);
        code.bind(far);
        assert_eq!(code.finish(), None);
    }
}
