//! Which value each field has in the frame of a number: the instructions for what
//! `template::walks`, [`Permutation`] and [`Random`](crate::permutation::Random) do.

use linerate_bpf::extended::Register::{R0, R1, R2, R3, R4, R5, R9, R10};
use linerate_bpf::extended::{Alu, Assembler, Instruction, Label, Register, Size, Test};

use super::code::{divide, load, modulo, shift, with};
use crate::permutation::{MULTIPLIERS, Permutation, random};
use crate::template::Step;

/// Where on the stack the permuted number is kept.
const PERMUTED: i16 = -72;

/// How often a number is sent through the network before the program gives up on it. A time falls outside in less
/// than half of all cases, so of 2^64 numbers that many times happen to one.
const PASSES: i32 = 64;

/// Leaves the permuted number of R9 on the stack. Destroys R0 to R5.
pub(super) fn permute(p: &mut Assembler, permutation: &Permutation, give_up: Label) {
    if permutation.count() == 1 {
        return;
    }
    let [again, done] = [p.label(), p.label()];
    p.push(Instruction::mov(R1, R9));
    modulo(p, R1, permutation.count());
    p.push(Instruction::mov(R5, 0));
    p.place(again);
    mix(p, permutation);
    if let Ok(count) = u64::try_from(permutation.count()) {
        load(p, R0, count);
        p.jump_if(Test::Less, R1, R0, done);
        p.push(Instruction::alu(Alu::Add, R5, 1));
        p.jump_if(Test::Less, R5, PASSES, again);
        p.jump(give_up);
    }
    p.place(done);
    p.push(Instruction::store(Size::Double, R10, PERMUTED, R1));
}

/// R1 = R1 after a pass through the network. Destroys R0 and R2 to R4.
fn mix(p: &mut Assembler, permutation: &Permutation) {
    let (low_bits, high_bits) = permutation.bits();
    p.push(Instruction::mov(R2, R1));
    with(p, Alu::And, R2, (1 << low_bits) - 1);
    p.push(Instruction::mov(R3, R1));
    shift(p, Alu::Rsh, R3, low_bits);
    for pair in permutation.keys().chunks_exact(2) {
        round(p, R2, R3, pair[0], high_bits);
        round(p, R3, R2, pair[1], low_bits);
    }
    p.push(Instruction::mov(R1, R3));
    shift(p, Alu::Lsh, R1, low_bits);
    p.push(Instruction::alu(Alu::Or, R1, R2));
}

/// `to ^= hash(from, key) >> (64 - bits)`. Destroys R0 and R4.
fn round(p: &mut Assembler, from: Register, to: Register, key: u64, bits: u32) {
    p.push(Instruction::mov(R4, from));
    with(p, Alu::Xor, R4, key);
    with(p, Alu::Mul, R4, MULTIPLIERS[0]);
    fold(p, R4, 32);
    with(p, Alu::Mul, R4, MULTIPLIERS[1]);
    shift(p, Alu::Rsh, R4, 64 - bits);
    p.push(Instruction::alu(Alu::Xor, to, R4));
}

/// `to ^= to >> bits`. Destroys R0.
fn fold(p: &mut Assembler, to: Register, bits: i32) {
    p.push(Instruction::mov(R0, to));
    p.push(Instruction::alu(Alu::Rsh, R0, bits));
    p.push(Instruction::alu(Alu::Xor, to, R0));
}

/// R1 = the index of the field's value. Destroys R0.
pub(super) fn index(p: &mut Assembler, step: &Step) {
    match step {
        Step::Sequence(divisor, values) => {
            p.push(Instruction::mov(R1, R9));
            divide(p, R1, *divisor);
            modulo(p, R1, *values);
        }
        Step::Permuted(divisor, values) => {
            p.push(Instruction::load(Size::Double, R1, R10, PERMUTED));
            divide(p, R1, *divisor);
            modulo(p, R1, *values);
        }
        Step::Random(sequence, values) => {
            p.push(Instruction::mov(R1, R9));
            with(p, Alu::Add, R1, 1);
            with(p, Alu::Mul, R1, random::STEP);
            with(p, Alu::Add, R1, sequence.state());
            finalise(p);
            below(p, *values);
        }
    }
}

/// splitmix64's, of R1. Destroys R0.
fn finalise(p: &mut Assembler) {
    for (bits, multiplier) in random::FINALISER {
        fold(p, R1, bits);
        with(p, Alu::Mul, R1, multiplier);
    }
    fold(p, R1, random::LAST_SHIFT);
}

/// True when [`below`] can choose among so many values: up to 2^32, and larger powers of two.
pub(super) fn can_choose(values: u128) -> bool {
    values <= 1 << 32 || values.is_power_of_two()
}

/// R1 = the number below `values` that R1 stands for. Destroys R0.
fn below(p: &mut Assembler, values: u128) {
    if values <= 1 << 32 {
        shift(p, Alu::Rsh, R1, 32);
        with(p, Alu::Mul, R1, values as u64);
        shift(p, Alu::Rsh, R1, 32);
    } else {
        shift(p, Alu::Rsh, R1, 64 - values.trailing_zeros());
    }
}
