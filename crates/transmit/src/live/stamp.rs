//! The frame of a number, made by a program.

use linerate_bpf::extended::Register::{R0, R1, R2, R3, R4, R6, R8, R10};
use linerate_bpf::extended::{Alu, Assembler, Instruction, Label, Register, Size, Test};

use super::code::{load, modulo, piece, shift, with, write};
use super::index::{can_choose, index, permute};
use super::program::{DATA, DATA_END};
use crate::space::Span;
use crate::template::{Checksum, Template, Varying, Write};

/// The longest frame of a live run: with the structures that belong to it, it fills a page.
pub(super) const LONGEST: usize = 3072;

/// So many spans of values a program looks through, one after the other.
const SPANS: usize = 64;

/// Bytes that hold all headers. On a virtual wire the other end has the very page that was sent, writes other addresses into
/// it and counts hops down, and the page comes back for a later frame.
const HEADERS: usize = 128;

/// A template as a part of a program.
///
/// Calling convention: R6 = the context of an XDP program, R9 = the frame's number; both are preserved. R0 to
/// R5 and R8 are destroyed, and the stack's highest 128 bytes.
#[derive(Clone, Debug)]
pub struct Stamp {
    template: Template,
    /// The frame with all that does not vary, the upper halves of IPv6 addresses included.
    frame: Vec<u8>,
    bases: Vec<u64>,
}

impl Stamp {
    /// The template's.
    ///
    /// # Errors
    /// With the reason, for templates that no program can fill in: of varying size, too long, with more than 64 bits
    /// of an address varying, with too many spans of values.
    pub fn new(template: &Template) -> Result<Self, &'static str> {
        check(template)?;
        let mut frame = template.frame().to_vec();
        let mut bases: Vec<_> = template.checksums().iter().map(|c| u64::from(c.base)).collect();
        for varying in template.varying() {
            let upper = varying.values.at(0) & !u128::from(u64::MAX);
            for write in &varying.writes {
                write.apply(upper, &mut frame);
                write.sums.iter().for_each(|checksum| bases[*checksum] += write.sum(upper));
            }
        }
        Ok(Self { template: template.clone(), frame, bases })
    }

    /// The frame to begin with: the program writes its headers and what varies.
    pub fn frame(&self) -> &[u8] {
        &self.frame
    }

    /// Appends the instructions, which jump to `give_up` where a frame is too short, or no value is found.
    pub fn emit(&self, p: &mut Assembler, give_up: Label) {
        p.push(Instruction::load(Size::Word, R8, R6, DATA));
        p.push(Instruction::load(Size::Word, R1, R6, DATA_END));
        p.push(Instruction::mov(R2, R8));
        p.push(Instruction::alu(Alu::Add, R2, self.frame.len() as i32));
        p.jump_if(Test::Greater, R2, R1, give_up);
        write(p, R8, &self.frame[..self.rewritten()]);
        for (checksum, base) in self.bases.iter().enumerate() {
            load(p, R1, *base);
            p.push(Instruction::store(Size::Double, R10, slot(checksum), R1));
        }
        let walks = self.template.walks();
        permute(p, walks.permutation(), give_up);
        for (varying, step) in self.template.varying().iter().zip(walks.steps()) {
            index(p, step);
            value(p, varying);
            varying.writes.iter().for_each(|write| self.write(p, write));
        }
        // Those that others cover come first.
        for (index, checksum) in self.template.checksums().iter().enumerate().rev() {
            finish(p, index, checksum);
        }
    }

    /// How many bytes from the first on are written in every frame: those that hosts on a frame's way rewrite, and all that a
    /// field of few bits shares with others.
    fn rewritten(&self) -> usize {
        let ends = self.writes().map(|write| write.at + write.width);
        ends.max().unwrap_or(0).max(HEADERS).min(self.frame.len())
    }

    fn writes(&self) -> impl Iterator<Item = &Write> {
        self.template.varying().iter().flat_map(|varying| &varying.writes)
    }

    /// True when other bits of the bytes must be kept.
    fn is_shared(&self, write: &Write) -> bool {
        let bytes = low_half(write);
        let overlaps = |other: &Write| {
            let others = low_half(other);
            bytes.start < others.end && others.start < bytes.end
        };
        self.frame[bytes.clone()].iter().any(|byte| *byte != 0)
            || self.writes().filter(|other| overlaps(other)).count() > 1
    }

    /// Puts the value in R1 to where it belongs. Destroys R0 and R2 to R4.
    fn write(&self, p: &mut Assembler, write: &Write) {
        p.push(Instruction::mov(R2, R1));
        shift(p, Alu::Lsh, R2, write.shift);
        self.store(p, write);
        if !write.sums.is_empty() {
            add_up(p, write);
        }
    }

    /// Stores R2 in network byte order, in pieces of 8, 4, 2 and 1 bytes. Destroys R3 and R4.
    fn store(&self, p: &mut Assembler, write: &Write) {
        let bytes = low_half(write);
        let is_shared = self.is_shared(write);
        let mut at = bytes.start;
        while at < bytes.end {
            let left = bytes.end - at;
            let (size, length) = piece(left);
            p.push(Instruction::mov(R3, R2));
            shift(p, Alu::Rsh, R3, 8 * (left - length) as u32);
            to_network(p, size);
            if is_shared {
                p.push(Instruction::load(size, R4, R8, at as i16));
                p.push(Instruction::alu(Alu::Or, R3, R4));
            }
            p.push(Instruction::store(size, R8, at as i16, R3));
            at += length;
        }
    }
}

fn check(template: &Template) -> Result<(), &'static str> {
    if template.is_of_varying_size() {
        return Err("its size varies");
    }
    if template.longest() > LONGEST {
        return Err("it is longer than 3072 bytes");
    }
    for varying in template.varying() {
        let spans = varying.values.spans();
        let upper = |number: u128| number >> 64;
        let first = upper(spans[0].first);
        if spans.iter().any(|span| upper(span.first) != first || upper(span.last) != first) {
            return Err("more than 64 bits of an address vary");
        }
        if spans.len() > SPANS {
            return Err("a field has values in more than 64 places");
        }
        if varying.walk == crate::template::Walk::Random && !can_choose(varying.values.count()) {
            return Err("a field takes more than 2^32 values at random");
        }
    }
    Ok(())
}

/// The bytes that a program writes: of an IPv6 address the lower half.
fn low_half(write: &Write) -> std::ops::Range<usize> {
    let end = write.at + write.width;
    end - write.width.min(8)..end
}

/// R3 in network byte order.
fn to_network(p: &mut Assembler, size: Size) {
    match size {
        Size::Double => p.push(Instruction::big_endian64(R3)),
        Size::Word => p.push(Instruction::big_endian32(R3)),
        Size::Half => p.push(Instruction::big_endian16(R3)),
        Size::Byte => {}
    }
}

/// Where on the stack a checksum's sum is kept.
fn slot(checksum: usize) -> i16 {
    -8 * (checksum as i16 + 1)
}

/// R1 = the lower half of the value at index R1. Destroys R0.
fn value(p: &mut Assembler, varying: &Varying) {
    let done = p.label();
    let spans = varying.values.spans();
    let mut before = 0_u64;
    for (place, span) in spans.iter().enumerate() {
        let next = p.label();
        let count = count(span);
        let is_last = place + 1 == spans.len();
        if !is_last {
            load(p, R0, before + count);
            p.jump_if(Test::GreaterOrEqual, R1, R0, next);
        }
        let add = (span.first as u64).wrapping_sub(before);
        if add != 0 {
            with(p, Alu::Add, R1, add);
        }
        if !is_last {
            p.jump(done);
            before += count;
        }
        p.place(next);
    }
    p.place(done);
}

/// How many numbers; never asked of one that has all of 64 bits, as no other then follows.
fn count(span: &Span) -> u64 {
    ((span.last - span.first) as u64).wrapping_add(1)
}

/// Adds R2 to the sums. Destroys R0, R2 and R3.
fn add_up(p: &mut Assembler, write: &Write) {
    // Halves are added up first where the sum could else exceed 64 bits.
    if write.width > 4 {
        fold_once(p, R2, 32);
    }
    if !(write.at + write.width).is_multiple_of(2) {
        shift(p, Alu::Lsh, R2, 8);
    }
    for checksum in &write.sums {
        add_to(p, *checksum, R2);
    }
}

/// `to = (to >> bits) + (to & (2^bits - 1))`. Destroys R0 and R4.
fn fold_once(p: &mut Assembler, to: Register, bits: u32) {
    p.push(Instruction::mov(R4, to));
    shift(p, Alu::Rsh, R4, bits);
    modulo(p, to, 1 << bits);
    p.push(Instruction::alu(Alu::Add, to, R4));
}

/// Stores a checksum, and adds it to those that cover it. Destroys R0, R1, R3 and R4.
fn finish(p: &mut Assembler, index: usize, checksum: &Checksum) {
    p.push(Instruction::load(Size::Double, R1, R10, slot(index)));
    fold_once(p, R1, 32);
    (0..3).for_each(|_| fold_once(p, R1, 16));
    if !checksum.is_partial {
        with(p, Alu::Xor, R1, 0xffff);
    }
    if checksum.zero_as_ones {
        let some = p.label();
        p.jump_if(Test::NotEqual, R1, 0, some);
        p.push(Instruction::mov(R1, 0xffff));
        p.place(some);
    }
    for outer in &checksum.within {
        add_to(p, *outer, R1);
    }
    p.push(Instruction::big_endian16(R1));
    p.push(Instruction::store(Size::Half, R8, checksum.at as i16, R1));
}

/// Adds a number to the sum of a checksum. Destroys R3.
fn add_to(p: &mut Assembler, checksum: usize, number: Register) {
    p.push(Instruction::load(Size::Double, R3, R10, slot(checksum)));
    p.push(Instruction::alu(Alu::Add, R3, number));
    p.push(Instruction::store(Size::Double, R10, slot(checksum), R3));
}
