//! Pieces of programs: arithmetic with constants, as few instructions as they allow; what does not vary; and the end.

use linerate_bpf::extended::Register::{R0, R1, R2, R3};
use linerate_bpf::extended::{Alu, Assembler, Instruction, Register, Size, helper};

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

/// Writes bytes to where `to` points. Destroys R0.
pub(super) fn write(p: &mut Assembler, to: Register, bytes: &[u8]) {
    let mut at = 0;
    while at < bytes.len() {
        let (size, length) = piece(bytes.len() - at);
        load(p, R0, number(&bytes[at..at + length]));
        p.push(Instruction::store(size, to, at as i16, R0));
        at += length;
    }
}

/// The largest piece of so many bytes that an instruction loads or stores, and its length: 8, 4, 2 or 1.
pub(super) fn piece(bytes: usize) -> (Size, usize) {
    match bytes {
        8.. => (Size::Double, 8),
        4.. => (Size::Word, 4),
        2.. => (Size::Half, 2),
        _ => (Size::Byte, 1),
    }
}

/// The number that is stored as these bytes.
fn number(bytes: &[u8]) -> u64 {
    match *bytes {
        [one] => one.into(),
        [a, b] => u16::from_ne_bytes([a, b]).into(),
        [a, b, c, d] => u32::from_ne_bytes([a, b, c, d]).into(),
        _ => bytes.try_into().map_or(0, u64::from_ne_bytes),
    }
}

/// Ends the program with the verdict that sends the frame to the first interface of the map `wire`.
pub(super) fn redirect(p: &mut Assembler, wire: i32) {
    p.extend(Instruction::load_map(R1, wire));
    p.extend([R2, R3].map(|register| Instruction::mov(register, 0)));
    p.push(Instruction::call(helper::REDIRECT_MAP));
    p.push(Instruction::exit());
}
