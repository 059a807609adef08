//! Programs in the style of the kernel's verifier (`kernel/bpf/disasm.c`, Linux 6.18).

use std::fmt;

use super::instruction::{
    CALL, END, EXIT, FETCH, FROM_REGISTER, JA, KERNEL_FUNCTION, LD_WIDE, MAP_FD, MAP_VALUE, NEG,
    class, mode,
};
use super::{Instruction, Register, Size, functions};

/// Signs of the operations, by the upper four bits of the code.
const ALU: [&str; 16] =
    ["+=", "-=", "*=", "/=", "|=", "&=", "<<=", ">>=", "?", "%=", "^=", "=", "s>>=", "?", "?", "?"];
const TESTS: [&str; 16] =
    ["?", "==", ">", ">=", "&", "!=", "s>", "s>=", "?", "?", "<", "<=", "s<", "s<=", "?", "?"];

/// Displays a program, one line per instruction: index, operation code, meaning.
///
/// Names of helper functions and of maps, which the kernel prints where it knows them, are
/// numbers here. An instruction that linerate does not make shows as its bytes.
pub fn disassemble(program: &[Instruction]) -> impl fmt::Display + '_ {
    fmt::from_fn(move |f| {
        let mut instructions = program.iter().enumerate();
        while let Some((index, instruction)) = instructions.next() {
            write!(f, "{index}: ({:02x}) ", instruction.code)?;
            if instruction.code == LD_WIDE {
                // The second slot is no instruction.
                let second = instructions.next().map_or(0, |(_, second)| second.constant);
                instruction.fmt_wide(second, f)?;
                writeln!(f)?;
            } else {
                writeln!(f, "{instruction}")?;
            }
        }
        Ok(())
    })
}

impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code & 0x07 {
            class::ALU | class::ALU64 => self.fmt_alu(f),
            class::JMP | class::JMP32 => self.fmt_jump(f),
            _ => self.fmt_memory(f),
        }
    }
}

impl Instruction {
    fn fmt_alu(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = if self.code & 0x07 == class::ALU { 'w' } else { 'r' };
        let dst = self.dst as u8;
        match self.code & 0xf0 {
            NEG => write!(f, "{width}{dst} = -{width}{dst}"),
            END => write!(f, "r{dst} = be{} r{dst}", self.constant),
            op => write!(
                f,
                "{width}{dst} {} {}",
                ALU[usize::from(op >> 4)],
                self.operand(width, false)
            ),
        }
    }

    fn fmt_jump(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = if self.code & 0x07 == class::JMP32 { 'w' } else { 'r' };
        let (dst, offset) = (self.dst as u8, self.offset);
        match self.code & 0xf0 {
            JA if width == 'w' => write!(f, "gotol pc{:+}", self.constant),
            JA => write!(f, "goto pc{offset:+}"),
            CALL if self.src == KERNEL_FUNCTION => write!(f, "call kernel#{}", self.constant),
            CALL => write!(f, "call {}", helper_name(self.constant)),
            EXIT => f.write_str("exit"),
            test => {
                let (symbol, operand) = (TESTS[usize::from(test >> 4)], self.operand(width, true));
                write!(f, "if {width}{dst} {symbol} {operand} goto pc{offset:+}")
            }
        }
    }

    fn fmt_memory(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { dst, src, offset, constant, .. } = *self;
        let (dst, source, size) = (dst as u8, src as u8, self.size_name());
        match (self.code & 0x07, self.code & 0xe0) {
            (class::LDX, mode::MEM) => write!(f, "r{dst} = *({size} *)(r{source} {offset:+})"),
            (class::ST, mode::MEM) => write!(f, "*({size} *)(r{dst} {offset:+}) = {constant}"),
            (class::STX, mode::MEM) => write!(f, "*({size} *)(r{dst} {offset:+}) = r{source}"),
            (class::STX, mode::ATOMIC) if constant == FETCH => {
                let width = if size == "u64" { "64" } else { "" };
                let place = format_args!("({size} *)(r{dst} {offset:+})");
                write!(f, "r{source} = atomic{width}_fetch_add({place}, r{source})")
            }
            (class::STX, mode::ATOMIC) => {
                write!(f, "lock *({size} *)(r{dst} {offset:+}) += r{source}")
            }
            (class::LD, mode::ABS) => write!(f, "r0 = *({size} *)skb[{constant}]"),
            (class::LD, mode::IND) => write!(f, "r0 = *({size} *)skb[r{source} + {constant}]"),
            _ => write!(f, "{:#018x}", self.encode()),
        }
    }

    /// An instruction of two slots, given the other slot's constant.
    fn fmt_wide(&self, second: i32, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { dst, src, constant, .. } = *self;
        let dst = dst as u8;
        match src {
            MAP_FD => write!(f, "r{dst} = map[fd:{constant}]"),
            MAP_VALUE => write!(f, "r{dst} = map[fd:{constant}][0]{second:+}"),
            Register::R0 => {
                let [low, high] = [constant, second].map(|half| u64::from(half.cast_unsigned()));
                write!(f, "r{dst} = {:#x}", high << 32 | low)
            }
            _ => write!(f, "{:#018x}", self.encode()),
        }
    }

    /// The second operand: a register of `width`, or a constant.
    fn operand(&self, width: char, in_hex: bool) -> String {
        match (self.code & FROM_REGISTER != 0, in_hex) {
            (true, _) => format!("{width}{}", self.src as u8),
            (false, true) => format!("{:#x}", self.constant),
            (false, false) => self.constant.to_string(),
        }
    }

    fn size_name(&self) -> &'static str {
        const BYTE: u8 = Size::Byte as u8;
        const HALF: u8 = Size::Half as u8;
        const WORD: u8 = Size::Word as u8;
        match self.code & 0x18 {
            BYTE => "u8",
            HALF => "u16",
            WORD => "u32",
            _ => "u64",
        }
    }
}

fn helper_name(number: i32) -> String {
    format!("{}#{number}", functions::name(number).unwrap_or("helper"))
}

#[cfg(test)]
mod tests {
    use super::super::Register::*;
    use super::super::{Alu, Assembler, Test, helper};
    use super::*;

    #[test]
    fn text_is_the_verifiers() {
        let mut assembler = Assembler::new();
        let end = assembler.label();
        assembler.extend(Instruction::load_map(R1, 5));
        assembler.push(Instruction::call(helper::MAP_LOOKUP_ELEM));
        assembler.jump_if(Test::Equal, R0, 0, end);
        assembler.jump_if32(Test::CommonBits, R0, 0x1fff_u32, end);
        assembler.jump_if32(Test::Less, R0, R7, end);
        assembler.extend([
            Instruction::mov(R6, R1),
            Instruction::alu32(Alu::Rsh, R0, 2),
            Instruction::neg32(R0),
            Instruction::big_endian16(R0),
            Instruction::load(Size::Word, R0, R6, 16),
            Instruction::store(Size::Word, R10, -4, 0),
            Instruction::store(Size::Byte, R10, -1, R0),
            Instruction::atomic_add(Size::Double, R0, 0, R1),
            Instruction::packet_load(Size::Half, 12),
            Instruction::packet_load_indexed(Size::Byte, R7, 14),
        ]);
        assembler.place(end);
        assembler.push(Instruction::exit());
        let program = assembler.finish().expect("assembled");
        let expected = "\
            0: (18) r1 = map[fd:5]\n\
            2: (85) call bpf_map_lookup_elem#1\n\
            3: (15) if r0 == 0x0 goto pc+12\n\
            4: (46) if w0 & 0x1fff goto pc+11\n\
            5: (ae) if w0 < w7 goto pc+10\n\
            6: (bf) r6 = r1\n\
            7: (74) w0 >>= 2\n\
            8: (84) w0 = -w0\n\
            9: (dc) r0 = be16 r0\n\
            10: (61) r0 = *(u32 *)(r6 +16)\n\
            11: (62) *(u32 *)(r10 -4) = 0\n\
            12: (73) *(u8 *)(r10 -1) = r0\n\
            13: (db) lock *(u64 *)(r0 +0) += r1\n\
            14: (28) r0 = *(u16 *)skb[12]\n\
            15: (50) r0 = *(u8 *)skb[r7 + 14]\n\
            16: (95) exit\n";
        assert_eq!(disassemble(&program).to_string(), expected);
    }

    #[test]
    fn every_kind_of_instruction_has_a_text() {
        let one = |i: Instruction| i.to_string();
        assert_eq!(one(Instruction::big_endian32(R3)), "r3 = be32 r3");
        assert_eq!(one(Instruction::big_endian64(R3)), "r3 = be64 r3");
        assert_eq!(one(Instruction::neg(R3)), "r3 = -r3");
        assert_eq!(one(Instruction::alu(Alu::SignedRsh, R3, R4)), "r3 s>>= r4");
        assert_eq!(one(Instruction::far_jump(70_000)), "gotol pc+70000");
        assert_eq!(one(Instruction::call_kernel(7)), "call kernel#7");
        assert_eq!(one(Instruction::call(helper::XDP_LOAD_BYTES)), "call bpf_xdp_load_bytes#189");
        assert_eq!(one(Instruction::call(9999)), "call helper#9999");
        let fetch_add = |size| one(Instruction::atomic_fetch_add(size, R0, 8, R1));
        assert_eq!(fetch_add(Size::Double), "r1 = atomic64_fetch_add((u64 *)(r0 +8), r1)");
        assert_eq!(fetch_add(Size::Word), "r1 = atomic_fetch_add((u32 *)(r0 +8), r1)");
        let wide = [Instruction::load_map_value(R1, 5, 16), Instruction::load_number(R2, 1 << 33)];
        let expected = "0: (18) r1 = map[fd:5][0]+16\n2: (18) r2 = 0x200000000\n";
        assert_eq!(disassemble(&wide.concat()).to_string(), expected);
    }
}
