//! Pieces of programs: arithmetic with constants, as few instructions as they allow, and the end.

use linerate_bpf::extended::Register::{R0, R1, R2, R3};
use linerate_bpf::extended::{Alu, Assembler, Instruction, Register, helper};

/// Puts a number of up to 64 bits into a register.
pub(super) fn load(p: &mut Assembler, to: Register, number: u64) {
    match i32::try_from(number) {
        Ok(small) => p.push(Instruction::mov(to, small)),
        Err(_) => p.extend(Instruction::load_number(to, number)),
    }
}

/// `to = to op number`. Destroys R0.
pub(super) fn with(p: &mut Assembler, op: Alu, to: Register, number: u64) {
    match i32::try_from(number) {
        Ok(small) => p.push(Instruction::alu(op, to, small)),
        Err(_) => {
            load(p, R0, number);
            p.push(Instruction::alu(op, to, R0));
        }
    }
}

/// `to = to / number`. Destroys R0.
pub(super) fn divide(p: &mut Assembler, to: Register, number: u64) {
    if number.is_power_of_two() {
        shift(p, Alu::Rsh, to, number.trailing_zeros());
    } else {
        with(p, Alu::Div, to, number);
    }
}

/// `to = to modulo number`, of which 2^64 leaves it as it is. Destroys R0.
pub(super) fn modulo(p: &mut Assembler, to: Register, number: u128) {
    let Ok(number) = u64::try_from(number) else { return };
    if number.is_power_of_two() {
        with(p, Alu::And, to, number - 1);
    } else {
        with(p, Alu::Mod, to, number);
    }
}

/// Shifts, where there is anything to shift.
pub(super) fn shift(p: &mut Assembler, op: Alu, to: Register, bits: u32) {
    if bits > 0 {
        p.push(Instruction::alu(op, to, bits as i32));
    }
}

/// Ends the program with the verdict that sends the frame to the first interface of the map `wire`.
pub(super) fn redirect(p: &mut Assembler, wire: i32) {
    p.extend(Instruction::load_map(R1, wire));
    p.extend([R2, R3].map(|register| Instruction::mov(register, 0)));
    p.push(Instruction::call(helper::REDIRECT_MAP));
    p.push(Instruction::exit());
}
