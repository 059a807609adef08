use Register::R0;

/// A register. R0 holds results, R1 to R5 arguments, which calls destroy, R10 the stack's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
#[expect(missing_docs, reason = "a register's name says all")]
pub enum Register {
    R0,
    R1,
    R2,
    R3,
    R4,
    R5,
    R6,
    R7,
    R8,
    R9,
    R10,
}

/// The second operand: a constant, sign-extended where 64 bits are computed, or a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A constant.
    Constant(i32),
    /// A register.
    Register(Register),
}

impl From<i32> for Operand {
    fn from(constant: i32) -> Self {
        Self::Constant(constant)
    }
}

impl From<u32> for Operand {
    /// The constant with these 32 bits.
    fn from(bits: u32) -> Self {
        Self::Constant(bits.cast_signed())
    }
}

impl From<Register> for Operand {
    fn from(register: Register) -> Self {
        Self::Register(register)
    }
}

/// Width of a load or store. Values as encoded (RFC 9669, 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Size {
    /// 1 byte.
    Byte = 0x10,
    /// 2 bytes.
    Half = 0x08,
    /// 4 bytes.
    Word = 0x00,
    /// 8 bytes.
    Double = 0x18,
}

/// Arithmetic. Values as encoded (RFC 9669, 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[expect(missing_docs, reason = "the names say all")]
pub enum Alu {
    Add = 0x00,
    Sub = 0x10,
    Mul = 0x20,
    /// Unsigned; a division by zero gives 0.
    Div = 0x30,
    Or = 0x40,
    And = 0x50,
    /// Takes the distance modulo the width, as does [`Alu::Rsh`].
    Lsh = 0x60,
    Rsh = 0x70,
    /// Unsigned; a remainder by zero leaves the first operand.
    Mod = 0x90,
    Xor = 0xa0,
    Mov = 0xb0,
    /// Shifts in copies of the sign.
    SignedRsh = 0xc0,
}

/// What a conditional jump tests; comparisons are unsigned unless they say otherwise. Values as
/// encoded (RFC 9669, 4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[expect(missing_docs, reason = "the names say all")]
pub enum Test {
    Equal = 0x10,
    Greater = 0x20,
    GreaterOrEqual = 0x30,
    /// The operands have a set bit in common.
    CommonBits = 0x40,
    NotEqual = 0x50,
    SignedGreater = 0x60,
    SignedGreaterOrEqual = 0x70,
    Less = 0xa0,
    LessOrEqual = 0xb0,
    SignedLess = 0xc0,
    SignedLessOrEqual = 0xd0,
}

impl Test {
    /// The test that holds when this one does not, if there is one.
    pub fn opposite(self) -> Option<Self> {
        Some(match self {
            Self::Equal => Self::NotEqual,
            Self::NotEqual => Self::Equal,
            Self::Greater => Self::LessOrEqual,
            Self::LessOrEqual => Self::Greater,
            Self::GreaterOrEqual => Self::Less,
            Self::Less => Self::GreaterOrEqual,
            Self::SignedGreater => Self::SignedLessOrEqual,
            Self::SignedLessOrEqual => Self::SignedGreater,
            Self::SignedGreaterOrEqual => Self::SignedLess,
            Self::SignedLess => Self::SignedGreaterOrEqual,
            Self::CommonBits => return None,
        })
    }
}

/// One 8-byte instruction, `struct bpf_insn`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Class, operation and operand kind.
    pub code: u8,
    /// Destination register.
    pub dst: Register,
    /// Source register; in wide loads a number that says what the constant is.
    pub src: Register,
    /// Jump distance in instructions, or displacement in bytes.
    pub offset: i16,
    /// Constant operand.
    pub constant: i32,
}

/// Instruction classes, RFC 9669, 3.1.
pub(super) mod class {
    pub(crate) const LD: u8 = 0x00;
    pub(crate) const LDX: u8 = 0x01;
    pub(crate) const ST: u8 = 0x02;
    pub(crate) const STX: u8 = 0x03;
    pub(crate) const ALU: u8 = 0x04;
    pub(crate) const JMP: u8 = 0x05;
    pub(crate) const JMP32: u8 = 0x06;
    pub(crate) const ALU64: u8 = 0x07;
}

/// The second operand is a register.
pub(super) const FROM_REGISTER: u8 = 0x08;
/// Addressing modes, RFC 9669, 5.
pub(super) mod mode {
    pub(crate) const ABS: u8 = 0x20;
    pub(crate) const IND: u8 = 0x40;
    pub(crate) const MEM: u8 = 0x60;
    pub(crate) const ATOMIC: u8 = 0xc0;
}
/// Operations outside [`Alu`] and [`Test`], RFC 9669, 4.1 to 4.3.
pub(super) const NEG: u8 = 0x80;
pub(super) const END: u8 = 0xd0;
pub(super) const JA: u8 = 0x00;
pub(super) const CALL: u8 = 0x80;
pub(super) const EXIT: u8 = 0x90;
/// The first half of a load of 64 bits.
pub(super) const LD_WIDE: u8 = class::LD | Size::Double as u8;
/// `src` of a wide load whose constant is a map's file descriptor, `BPF_PSEUDO_MAP_FD`.
pub(super) const MAP_FD: Register = Register::R1;
/// The same, for the address of the map's first value, `BPF_PSEUDO_MAP_VALUE`.
pub(super) const MAP_VALUE: Register = Register::R2;
/// `src` of a call whose constant is a type of the kernel's BTF, `BPF_PSEUDO_KFUNC_CALL`.
pub(super) const KERNEL_FUNCTION: Register = Register::R2;
/// Constant of an atomic operation that gives the value from before, `BPF_FETCH`.
pub(super) const FETCH: i32 = 0x01;

impl Instruction {
    const fn new(code: u8) -> Self {
        Self { code, dst: R0, src: R0, offset: 0, constant: 0 }
    }

    fn with_operand(mut self, operand: Operand) -> Self {
        match operand {
            Operand::Constant(constant) => self.constant = constant,
            Operand::Register(src) => {
                self.code |= FROM_REGISTER;
                self.src = src;
            }
        }
        self
    }

    /// `dst = dst op operand` over 64 bits.
    pub fn alu(op: Alu, dst: Register, operand: impl Into<Operand>) -> Self {
        Self { dst, ..Self::new(class::ALU64 | op as u8) }.with_operand(operand.into())
    }

    /// `dst = dst op operand` over the lower 32 bits; the upper 32 become 0.
    pub fn alu32(op: Alu, dst: Register, operand: impl Into<Operand>) -> Self {
        Self { dst, ..Self::new(class::ALU | op as u8) }.with_operand(operand.into())
    }

    /// `dst = operand` over 64 bits.
    pub fn mov(dst: Register, operand: impl Into<Operand>) -> Self {
        Self::alu(Alu::Mov, dst, operand)
    }

    /// `dst = operand`, its lower 32 bits; the upper 32 become 0.
    pub fn mov32(dst: Register, operand: impl Into<Operand>) -> Self {
        Self::alu32(Alu::Mov, dst, operand)
    }

    /// `dst = -dst` over the lower 32 bits; the upper 32 become 0.
    pub fn neg32(dst: Register) -> Self {
        Self { dst, ..Self::new(class::ALU | NEG) }
    }

    /// `dst = -dst` over 64 bits.
    pub fn neg(dst: Register) -> Self {
        Self { dst, ..Self::new(class::ALU64 | NEG) }
    }

    /// The lower 16 bits of `dst` from network to host byte order, or back; the others become 0.
    pub fn big_endian16(dst: Register) -> Self {
        Self::big_endian(dst, 16)
    }

    /// The lower 32 bits of `dst` from network to host byte order, or back; the others become 0.
    pub fn big_endian32(dst: Register) -> Self {
        Self::big_endian(dst, 32)
    }

    /// All of `dst` from network to host byte order, or back.
    pub fn big_endian64(dst: Register) -> Self {
        Self::big_endian(dst, 64)
    }

    fn big_endian(dst: Register, bits: i32) -> Self {
        Self { dst, constant: bits, ..Self::new(class::ALU | END | FROM_REGISTER) }
    }

    /// `dst = *(base + offset)`; upper bits become 0.
    pub fn load(size: Size, dst: Register, base: Register, offset: i16) -> Self {
        Self { dst, src: base, offset, ..Self::new(class::LDX | mode::MEM | size as u8) }
    }

    /// `*(base + offset) = operand`.
    pub fn store(size: Size, base: Register, offset: i16, operand: impl Into<Operand>) -> Self {
        let (class, src, constant) = match operand.into() {
            Operand::Constant(constant) => (class::ST, R0, constant),
            Operand::Register(src) => (class::STX, src, 0),
        };
        Self { code: class | mode::MEM | size as u8, dst: base, src, offset, constant }
    }

    /// `*(base + offset) += src` in one step, over 4 or 8 bytes.
    pub fn atomic_add(size: Size, base: Register, offset: i16, src: Register) -> Self {
        Self { dst: base, src, offset, ..Self::new(class::STX | mode::ATOMIC | size as u8) }
    }

    /// `src = *(base + offset)`, and `*(base + offset) +=` the former `src`, in one step, over 4 or
    /// 8 bytes. Unlike [`Instruction::atomic_add`] it orders memory: everything before it is seen
    /// before it, everything behind it behind it.
    pub fn atomic_fetch_add(size: Size, base: Register, offset: i16, src: Register) -> Self {
        Self { constant: FETCH, ..Self::atomic_add(size, base, offset, src) }
    }

    /// `R0 =` bytes of the packet at `offset`, in network byte order; past its end the program
    /// returns 0. Only where R6 is the context of a socket filter or a traffic-control program;
    /// destroys R1 to R5.
    pub fn packet_load(size: Size, offset: u32) -> Self {
        let constant = offset.cast_signed();
        Self { constant, ..Self::new(class::LD | mode::ABS | size as u8) }
    }

    /// As [`Instruction::packet_load`], at `index + offset`.
    pub fn packet_load_indexed(size: Size, index: Register, offset: u32) -> Self {
        let constant = offset.cast_signed();
        Self { src: index, constant, ..Self::new(class::LD | mode::IND | size as u8) }
    }

    /// `dst =` address of the map with this file descriptor: an instruction of two slots.
    pub fn load_map(dst: Register, file_descriptor: i32) -> [Self; 2] {
        let first = Self { dst, src: MAP_FD, constant: file_descriptor, ..Self::new(LD_WIDE) };
        [first, Self::new(0)]
    }

    /// `dst =` address of a byte of the first value of the array map with this file descriptor, an
    /// instruction of two slots: no lookup and no check is needed.
    pub fn load_map_value(dst: Register, file_descriptor: i32, offset: u32) -> [Self; 2] {
        let constant = file_descriptor;
        let first = Self { dst, src: MAP_VALUE, constant, ..Self::new(LD_WIDE) };
        [first, Self { constant: offset.cast_signed(), ..Self::new(0) }]
    }

    /// `dst = number`, an instruction of two slots.
    pub fn load_number(dst: Register, number: u64) -> [Self; 2] {
        let [low, high] = [number as u32, (number >> 32) as u32].map(u32::cast_signed);
        let first = Self { dst, constant: low, ..Self::new(LD_WIDE) };
        [first, Self { constant: high, ..Self::new(0) }]
    }

    /// Calls a helper function by its number in [`helper`](super::helper); destroys R1 to R5.
    pub fn call(helper: i32) -> Self {
        Self { constant: helper, ..Self::new(class::JMP | CALL) }
    }

    /// Calls a function of the kernel itself by its type in the kernel's BTF; destroys R1 to R5.
    pub fn call_kernel(type_id: u32) -> Self {
        Self { src: KERNEL_FUNCTION, ..Self::call(type_id.cast_signed()) }
    }

    /// Returns R0.
    pub fn exit() -> Self {
        Self::new(class::JMP | EXIT)
    }

    /// A jump without a distance yet: [`super::Assembler`] sets it.
    pub(super) fn jump() -> Self {
        Self::new(class::JMP | JA)
    }

    /// A jump over a distance of 32 bits, since Linux 6.6 (RFC 9669, 4.3).
    pub(super) fn far_jump(distance: i32) -> Self {
        Self { constant: distance, ..Self::new(class::JMP32 | JA) }
    }

    /// A jump, without a distance yet, if `dst test operand` over 64 bits.
    pub(super) fn jump_if(test: Test, dst: Register, operand: Operand) -> Self {
        Self { dst, ..Self::new(class::JMP | test as u8) }.with_operand(operand)
    }

    /// A jump, without a distance yet, if `dst test operand` over the lower 32 bits.
    pub(super) fn jump_if32(test: Test, dst: Register, operand: Operand) -> Self {
        Self { dst, ..Self::new(class::JMP32 | test as u8) }.with_operand(operand)
    }

    /// The 8 bytes of the kernel's `struct bpf_insn` in this machine's byte order, as one number.
    pub fn encode(&self) -> u64 {
        let (dst, src) = (self.dst as u8, self.src as u8);
        let registers =
            if cfg!(target_endian = "little") { src << 4 | dst } else { dst << 4 | src };
        let [o0, o1] = self.offset.to_ne_bytes();
        let [c0, c1, c2, c3] = self.constant.to_ne_bytes();
        u64::from_ne_bytes([self.code, registers, o0, o1, c0, c1, c2, c3])
    }
}

#[cfg(test)]
mod tests {
    use super::Register::*;
    use super::*;

    #[cfg(target_endian = "little")]
    #[test]
    fn encodings_are_those_of_the_standard() {
        let hex = |i: Instruction| format!("{:016x}", i.encode().swap_bytes());
        assert_eq!(hex(Instruction::mov(R6, R1)), "bf16000000000000");
        assert_eq!(hex(Instruction::mov32(R0, -1)), "b4000000ffffffff");
        assert_eq!(hex(Instruction::load(Size::Word, R0, R6, 4)), "6160040000000000");
        assert_eq!(hex(Instruction::store(Size::Word, R10, -4, 7)), "620afcff07000000");
        assert_eq!(hex(Instruction::store(Size::Double, R10, -8, R7)), "7b7af8ff00000000");
        assert_eq!(hex(Instruction::atomic_add(Size::Double, R0, 0, R1)), "db10000000000000");
        assert_eq!(hex(Instruction::packet_load(Size::Half, 12)), "280000000c000000");
        assert_eq!(hex(Instruction::packet_load_indexed(Size::Byte, R7, 14)), "507000000e000000");
        assert_eq!(hex(Instruction::load_map(R1, 5)[0]), "1811000005000000");
        assert_eq!(hex(Instruction::call(1)), "8500000001000000");
        assert_eq!(hex(Instruction::call_kernel(0x1234)), "8520000034120000");
        assert_eq!(hex(Instruction::load_map_value(R1, 5, 16)[0]), "1821000005000000");
        assert_eq!(hex(Instruction::load_map_value(R1, 5, 16)[1]), "0000000010000000");
        assert_eq!(hex(Instruction::load_number(R3, 1 << 33)[0]), "1803000000000000");
        assert_eq!(hex(Instruction::load_number(R3, 1 << 33)[1]), "0000000002000000");
        assert_eq!(hex(Instruction::atomic_fetch_add(Size::Word, R0, 4, R1)), "c310040001000000");
        assert_eq!(hex(Instruction::alu(Alu::SignedRsh, R1, 3)), "c701000003000000");
        assert_eq!(hex(Instruction::neg(R4)), "8704000000000000");
        assert_eq!(hex(Instruction::big_endian32(R0)), "dc00000020000000");
        assert_eq!(hex(Instruction::big_endian64(R0)), "dc00000040000000");
        assert_eq!(hex(Instruction::far_jump(-2)), "06000000feffffff");
        assert_eq!(hex(Instruction::big_endian16(R0)), "dc00000010000000");
        assert_eq!(hex(Instruction::exit()), "9500000000000000");
    }
}
