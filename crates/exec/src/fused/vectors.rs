//! Instructions of AVX-512, as the assembler has no masks: how they are written is in the Intel 64 and IA-32
//! Architectures Software Developer's Manual, volume 2, 2.3 (VEX) and 2.7 (EVEX).

use crate::assembler::{Assembler, Label};

/// A vector instruction.
#[derive(Clone, Copy)]
pub(super) struct Operation {
    prefix: u8,
    map: u8,
    is_wide: bool,
    code: u8,
}

/// Which instructions an opcode's byte is of, and what is before it.
const MAP_0F: u8 = 1;
const MAP_0F38: u8 = 2;
const MAP_0F3A: u8 = 3;
const PREFIX_66: u8 = 1;
const PREFIX_F3: u8 = 2;
const PREFIX_F2: u8 = 3;

const fn plain(map: u8, code: u8) -> Operation {
    Operation { prefix: PREFIX_66, map, is_wide: false, code }
}

const fn wide(map: u8, code: u8) -> Operation {
    Operation { is_wide: true, ..plain(map, code) }
}

/// Lanes are 32 bits wide unless the name says otherwise.
pub(super) const MOVE: Operation = Operation { prefix: PREFIX_F3, ..wide(MAP_0F, 0x6f) };
/// The same by lanes, as masks count them.
pub(super) const MOVE_32: Operation = plain(MAP_0F, 0x6f);
pub(super) const BROADCAST: Operation = plain(MAP_0F38, 0x58);
/// Of a general register.
pub(super) const BROADCAST_REGISTER: Operation = plain(MAP_0F38, 0x7c);
pub(super) const ADD: Operation = plain(MAP_0F, 0xfe);
pub(super) const SUBTRACT: Operation = plain(MAP_0F, 0xfa);
pub(super) const MULTIPLY: Operation = plain(MAP_0F38, 0x40);
pub(super) const AND: Operation = plain(MAP_0F, 0xdb);
pub(super) const OR: Operation = plain(MAP_0F, 0xeb);
pub(super) const XOR: Operation = plain(MAP_0F, 0xef);
/// By distances of 32 and more they give 0.
pub(super) const SHIFT_LEFT: Operation = plain(MAP_0F38, 0x47);
pub(super) const SHIFT_RIGHT: Operation = plain(MAP_0F38, 0x45);
pub(super) const SHUFFLE_BYTES: Operation = plain(MAP_0F38, 0x00);
/// Lanes of the first and the last operand, by the numbers in the second.
pub(super) const PERMUTE: Operation = plain(MAP_0F38, 0x7e);
pub(super) const PERMUTE_64: Operation = wide(MAP_0F38, 0x7e);
/// 16 bytes of memory to each quarter, or to one.
pub(super) const BROADCAST_QUARTER: Operation = plain(MAP_0F38, 0x5a);
pub(super) const INSERT_QUARTER: Operation = plain(MAP_0F3A, 0x38);
/// In each quarter, lanes of both operands in turn.
pub(super) const INTERLEAVE_LOW: Operation = plain(MAP_0F, 0x62);
pub(super) const INTERLEAVE_HIGH: Operation = plain(MAP_0F, 0x6a);
pub(super) const INTERLEAVE_LOW_64: Operation = wide(MAP_0F, 0x6c);
pub(super) const INTERLEAVE_HIGH_64: Operation = wide(MAP_0F, 0x6d);
pub(super) const INSERT_HALF: Operation = wide(MAP_0F3A, 0x3a);
/// These give masks.
pub(super) const EQUAL: Operation = plain(MAP_0F, 0x76);
pub(super) const COMPARE: Operation = plain(MAP_0F3A, 0x1e);
/// Signed.
pub(super) const COMPARE_SIGNED: Operation = plain(MAP_0F3A, 0x1f);
pub(super) const COMPARE_16: Operation = wide(MAP_0F3A, 0x3e);
pub(super) const INTERSECTS: Operation = plain(MAP_0F38, 0x27);
pub(super) const DISJOINT: Operation = Operation { prefix: PREFIX_F3, ..INTERSECTS };

/// How [`COMPARE`] and its like compare.
#[derive(Clone, Copy)]
#[repr(u8)]
pub(super) enum How {
    AtMost = 2,
    NotEqual = 4,
    AtLeast = 5,
    Above = 6,
}

/// The last operand.
#[derive(Clone, Copy)]
pub(super) enum Source {
    Register(u8),
    /// A vector so many bytes behind where a general register points.
    Memory(u8, i32),
    /// What is at two general registers' sum and a distance; registers below the eighth.
    Indexed(u8, u8, i32),
    /// What is at a label, as wide as the instruction takes it.
    At(Label),
    /// A number at a label, for all lanes.
    Number(Label),
}

/// No mask: all lanes.
pub(super) const ALL: u8 = 0;

impl Assembler {
    /// `to = left operation right`; `left` is 0 where there is none.
    pub(super) fn vector(&mut self, operation: Operation, to: u8, left: u8, right: Source) {
        self.masked(operation, to, left, right, ALL, None);
    }

    /// The same with a number behind it.
    pub(super) fn vector_with(
        &mut self,
        operation: Operation,
        to: u8,
        left: u8,
        right: Source,
        number: u8,
    ) {
        self.masked(operation, to, left, right, ALL, Some(number));
    }

    /// `to = from << by`, or to the right.
    pub(super) fn shift(&mut self, left: bool, to: u8, from: u8, by: u8) {
        let direction = if left { 6 } else { 2 };
        self.masked(plain(MAP_0F, 0x72), direction, to, Source::Register(from), ALL, Some(by));
    }

    /// The mask `to` of where `left` and `right` compare so, among the lanes of another.
    pub(super) fn compare(&mut self, how: How, to: u8, left: u8, right: Source, among: u8) {
        self.masked(COMPARE, to, left, right, among, Some(how as u8));
    }

    /// The same of signed numbers, of all lanes.
    pub(super) fn compare_signed(&mut self, how: How, to: u8, left: u8, right: Source) {
        self.masked(COMPARE_SIGNED, to, left, right, ALL, Some(how as u8));
    }

    /// The same for lanes of 16 bits.
    pub(super) fn compare_16(&mut self, how: How, to: u8, left: u8, right: Source, among: u8) {
        self.masked(COMPARE_16, to, left, right, among, Some(how as u8));
    }

    fn masked(
        &mut self,
        operation: Operation,
        to: u8,
        left: u8,
        right: Source,
        mask: u8,
        number: Option<u8>,
    ) {
        let (register, is_number) = match right {
            Source::Register(register) => (register, false),
            Source::Memory(base, _) | Source::Indexed(base, ..) => (base, false),
            Source::At(_) => (0, false),
            Source::Number(_) => (0, true),
        };
        let extension = if matches!(right, Source::Register(_)) { register & 16 } else { 0 };
        let control = u8::from(is_number) << 4 | mask;
        self.evex(operation, to, left, register & 15 | extension, control);
        let reg = (to & 7) << 3;
        match right {
            Source::Register(register) => self.bytes(&[0xc0 | reg | register & 7]),
            Source::Memory(base, offset) => {
                self.bytes(&[0x80 | reg | base & 7]);
                if base & 7 == 4 {
                    self.bytes(&[0x24]);
                }
                self.bytes(&offset.to_le_bytes());
            }
            Source::Indexed(base, index, offset) => {
                debug_assert!(base < 8 && index < 8, "registers that need no prefix");
                self.bytes(&[0x84 | reg, index << 3 | base]);
                self.bytes(&offset.to_le_bytes());
            }
            Source::At(label) | Source::Number(label) => {
                self.bytes(&[reg | 5, 0, 0, 0, 0]);
                self.refer(label, usize::from(number.is_some()));
            }
        }
        self.bytes(number.as_slice());
    }

    /// The lanes of a mask, which is empty afterwards, from `base + index * scale + offset`.
    pub(super) fn gather(&mut self, to: u8, mask: u8, base: u8, index: Index, offset: i32) {
        let Index { lanes, scale } = index;
        // The index' upper bits are where a register's as last operand are, and where those of a second are.
        self.evex(plain(MAP_0F38, 0x90), to, lanes & 16, base & 15 | (lanes & 8) << 1, mask);
        let sib = scale.trailing_zeros() as u8 & 3;
        self.bytes(&[0x84 | (to & 7) << 3, sib << 6 | (lanes & 7) << 3 | base & 7]);
        self.bytes(&offset.to_le_bytes());
    }

    /// The four bytes before an instruction on 64 bytes, and its opcode; `control` are broadcast and mask.
    fn evex(&mut self, operation: Operation, to: u8, left: u8, right: u8, control: u8) {
        let Operation { prefix, map, is_wide, code } = operation;
        let unless = |bit: u8, of: u8, at: u8| u8::from(of & bit == 0) << at;
        let first =
            unless(8, to, 7) | unless(16, right, 6) | unless(8, right, 5) | unless(16, to, 4);
        let second = u8::from(is_wide) << 7 | (!left & 15) << 3 | 4 | prefix;
        let third = 0x40 | unless(16, left, 3) | control;
        self.bytes(&[0x62, first | map, second, third, code]);
    }

    /// An instruction on masks and general registers.
    fn vex(&mut self, operation: Operation, is_long: bool, to: u8, left: u8, right: u8) {
        let Operation { prefix, map, is_wide, code } = operation;
        let first = u8::from(to & 8 == 0) << 7 | 0x40 | u8::from(right & 8 == 0) << 5 | map;
        let wide = u8::from(is_wide) << 7;
        let second = wide | (!left & 15) << 3 | u8::from(is_long) << 2 | prefix;
        self.bytes(&[0xc4, first, second, code, 0xc0 | (to & 7) << 3 | right & 7]);
    }

    /// A mask of 16 bits to a general register.
    pub(super) fn take_mask(&mut self, to: u8, mask: u8) {
        self.vex(Operation { prefix: 0, ..plain(MAP_0F, 0x93) }, false, to, 0, mask);
    }

    /// A mask of 32 bits to a general register.
    pub(super) fn take_mask_32(&mut self, to: u8, mask: u8) {
        self.vex(Operation { prefix: PREFIX_F2, ..plain(MAP_0F, 0x93) }, false, to, 0, mask);
    }

    /// The 16 lanes of a general register to a mask.
    pub(super) fn give_mask(&mut self, mask: u8, from: u8) {
        self.vex(Operation { prefix: 0, ..plain(MAP_0F, 0x92) }, false, mask, 0, from);
    }

    /// `to = left operation right` in the lanes of a mask; the others stay.
    pub(super) fn vector_among(
        &mut self,
        operation: Operation,
        to: u8,
        left: u8,
        right: Source,
        mask: u8,
    ) {
        self.masked(operation, to, left, right, mask, None);
    }

    /// All 16 lanes to a mask.
    pub(super) fn fill_mask(&mut self, mask: u8) {
        self.vex(Operation { prefix: 0, ..plain(MAP_0F, 0x46) }, true, mask, mask, mask);
    }

    /// Sets the carry if all 16 lanes are in a mask.
    pub(super) fn test_mask(&mut self, mask: u8) {
        self.vex(Operation { prefix: 0, ..plain(MAP_0F, 0x98) }, false, mask, 0, mask);
    }

    /// The 16 lanes that are in either mask.
    pub(super) fn join_masks(&mut self, to: u8, one: u8, other: u8) {
        self.vex(Operation { prefix: 0, ..plain(MAP_0F, 0x45) }, true, to, one, other);
    }

    /// The 32 lanes that are in both masks.
    pub(super) fn meet_masks(&mut self, to: u8, one: u8, other: u8) {
        self.vex(wide(MAP_0F, 0x41), true, to, one, other);
    }

    /// The bits of `from` that stand where `places` has ones, side by side.
    pub(super) fn extract_bits(&mut self, to: u8, from: u8, places: u8) {
        self.vex(Operation { prefix: PREFIX_F3, ..plain(MAP_0F38, 0xf5) }, false, to, from, places);
    }

    /// So that what comes after need not keep the vectors' upper parts.
    pub(super) fn forget_vectors(&mut self) {
        self.bytes(&[0xc5, 0xf8, 0x77]);
    }
}

/// What lanes are gathered by.
#[derive(Clone, Copy)]
pub(super) struct Index {
    pub(super) lanes: u8,
    /// 1, 2, 4 or 8.
    pub(super) scale: u8,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the GNU assembler makes of the same.
    #[test]
    fn instructions_are_those_of_another_assembler() {
        use Source::{Memory, Register};
        type Case = (fn(&mut Assembler), &'static [u8]);
        let cases: [Case; 20] = [
            (
                |a| a.vector(BROADCAST_QUARTER, 9, 0, Source::Indexed(7, 0, 12)),
                &[0x62, 0x72, 0x7d, 0x48, 0x5a, 0x8c, 0x07, 12, 0, 0, 0],
            ),
            (
                |a| a.vector_with(INSERT_QUARTER, 9, 9, Source::Indexed(7, 0, 12), 3),
                &[0x62, 0x73, 0x35, 0x48, 0x38, 0x8c, 0x07, 12, 0, 0, 0, 3],
            ),
            (|a| a.meet_masks(1, 1, 2), &[0xc4, 0xe1, 0xf5, 0x41, 0xca]),
            (|a| a.vector(PERMUTE, 3, 2, Register(1)), &[0x62, 0xf2, 0x6d, 0x48, 0x7e, 0xd9]),
            (|a| a.vector(XOR, 24, 24, Register(24)), &[0x62, 0x01, 0x3d, 0x40, 0xef, 0xc0]),
            (|a| a.vector(SHUFFLE_BYTES, 8, 7, Register(6)), &[0x62, 0x72, 0x45, 0x48, 0x00, 0xc6]),
            (|a| a.vector(EQUAL, 4, 19, Register(3)), &[0x62, 0xf1, 0x65, 0x40, 0x76, 0xe3]),
            (
                |a| a.vector(MOVE, 14, 0, Memory(6, 0x1234_5678)),
                &[0x62, 0x71, 0xfe, 0x48, 0x6f, 0xb6, 0x78, 0x56, 0x34, 0x12],
            ),
            (
                |a| a.vector(BROADCAST, 14, 0, Memory(6, 0x1234_5678)),
                &[0x62, 0x72, 0x7d, 0x48, 0x58, 0xb6, 0x78, 0x56, 0x34, 0x12],
            ),
            (
                |a| a.vector(BROADCAST_REGISTER, 2, 0, Register(8)),
                &[0x62, 0xd2, 0x7d, 0x48, 0x7c, 0xd0],
            ),
            (
                |a| a.vector_with(INSERT_HALF, 29, 11, Register(12), 1),
                &[0x62, 0x43, 0xa5, 0x48, 0x3a, 0xec, 1],
            ),
            (
                |a| a.compare_16(How::NotEqual, 1, 17, Memory(7, 0x1234_5678), 1),
                &[0x62, 0xf3, 0xf5, 0x41, 0x3e, 0x8f, 0x78, 0x56, 0x34, 0x12, 4],
            ),
            (|a| a.shift(false, 13, 26, 12), &[0x62, 0x91, 0x15, 0x48, 0x72, 0xd2, 12]),
            (|a| a.shift(true, 13, 26, 3), &[0x62, 0x91, 0x15, 0x48, 0x72, 0xf2, 3]),
            (
                |a| a.gather(30, 1, 7, Index { lanes: 21, scale: 1 }, 0x1234),
                &[0x62, 0x62, 0x7d, 0x41, 0x90, 0xb4, 0x2f, 0x34, 0x12, 0, 0],
            ),
            (
                |a| a.gather(7, 3, 9, Index { lanes: 8, scale: 4 }, 0),
                &[0x62, 0x92, 0x7d, 0x4b, 0x90, 0xbc, 0x81, 0, 0, 0, 0],
            ),
            (|a| a.take_mask(13, 1), &[0xc4, 0x61, 0x78, 0x93, 0xe9]),
            (|a| a.fill_mask(1), &[0xc4, 0xe1, 0x74, 0x46, 0xc9]),
            (|a| a.extract_bits(3, 12, 9), &[0xc4, 0xc2, 0x1a, 0xf5, 0xd9]),
            (|a| a.prefetch(7, 0, 0x1234_5678), &[0x0f, 0x18, 0x8c, 0x07, 0x78, 0x56, 0x34, 0x12]),
        ];
        for (number, (write, expected)) in cases.into_iter().enumerate() {
            let mut assembler = Assembler::default();
            write(&mut assembler);
            assert_eq!(assembler.finish(), expected, "{number}");
        }
    }
}
