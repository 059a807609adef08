//! Programs as tcpdump prints them, byte for byte (libpcap 1.10's `bpf_image` and `bpf_dump`).

use std::fmt;

use super::opcode::*;
use super::{Instruction, ancillary};

/// How to write a program down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// For people: `tcpdump -d`.
    Listing,
    /// The body of a C array: `tcpdump -dd`.
    CArray,
    /// Decimal numbers after a line with their count: `tcpdump -ddd`.
    Decimal,
}

/// Displays a program in one of the formats; every line ends in a newline.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a> {
    instructions: &'a [Instruction],
    format: Format,
}

impl<'a> Text<'a> {
    /// Instructions in a format; they need not be a program.
    pub fn new(instructions: &'a [Instruction], format: Format) -> Self {
        Self { instructions, format }
    }
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.format == Format::Decimal {
            writeln!(f, "{}", self.instructions.len())?;
        }
        for (index, instruction) in self.instructions.iter().enumerate() {
            let Instruction { code, jt, jf, k } = instruction;
            match self.format {
                Format::Listing => writeln!(f, "{}", Line { index, instruction })?,
                Format::CArray => writeln!(f, "{{ 0x{code:x}, {jt}, {jf}, 0x{k:08x} }},")?,
                Format::Decimal => writeln!(f, "{code} {jt} {jf} {k}")?,
            }
        }
        Ok(())
    }
}

impl Instruction {
    /// The line of a [`Format::Listing`] for this instruction as number `index` of its program, without the
    /// line's end.
    pub fn line(&self, index: usize) -> impl fmt::Display + '_ {
        Line { index, instruction: self }
    }
}

/// One line of a listing. Jump targets are absolute, so it needs its place in the program.
struct Line<'a> {
    index: usize,
    instruction: &'a Instruction,
}

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { index, instruction } = self;
        let next = index + 1;
        write!(f, "({index:03}) {:<8} ", mnemonic(instruction.code))?;
        if !is_conditional_jump(instruction.code) {
            return f.write_str(&operand(instruction, next));
        }
        let (jt, jf) = (next + usize::from(instruction.jt), next + usize::from(instruction.jf));
        write!(f, "{:<16} jt {jt}\tjf {jf}", operand(instruction, next))
    }
}

fn mnemonic(code: u16) -> &'static str {
    match code {
        LD_IMM | LDW_ABS | LDW_IND | LD_MEM | LD_LEN => "ld",
        LDH_ABS | LDH_IND => "ldh",
        LDB_ABS | LDB_IND => "ldb",
        LDX_IMM | LDX_MEM => "ldx",
        LDX_MSH => "ldxb",
        ST => "st",
        STX => "stx",
        ADD_K | ADD_X => "add",
        SUB_K | SUB_X => "sub",
        MUL_K | MUL_X => "mul",
        DIV_K | DIV_X => "div",
        MOD_K | MOD_X => "mod",
        OR_K | OR_X => "or",
        AND_K | AND_X => "and",
        XOR_K | XOR_X => "xor",
        LSH_K | LSH_X => "lsh",
        RSH_K | RSH_X => "rsh",
        NEG => "neg",
        JA => "ja",
        JEQ_K | JEQ_X => "jeq",
        JGT_K | JGT_X => "jgt",
        JGE_K | JGE_X => "jge",
        JSET_K | JSET_X => "jset",
        RET_K | RET_A => "ret",
        TAX => "tax",
        TXA => "txa",
        // libpcap has no name for LDX_LEN either.
        _ => "unimp",
    }
}

fn operand(instruction: &Instruction, next: usize) -> String {
    let k = instruction.k;
    let signed = k.cast_signed();
    match instruction.code {
        LDW_ABS | LDH_ABS | LDB_ABS => match ancillary::name(k) {
            Some(name) => format!("[{name}]"),
            None => format!("[{signed}]"),
        },
        LDW_IND | LDH_IND | LDB_IND => format!("[x + {signed}]"),
        LDX_MSH => format!("4*([{signed}]&0xf)"),
        LD_MEM | LDX_MEM | ST | STX => format!("M[{signed}]"),
        LD_LEN => "#pktlen".into(),
        LD_IMM | LDX_IMM | AND_K | OR_K | XOR_K | JEQ_K | JGT_K | JGE_K | JSET_K => {
            format!("#0x{k:x}")
        }
        ADD_K | SUB_K | MUL_K | DIV_K | MOD_K | LSH_K | RSH_K | RET_K => format!("#{signed}"),
        ADD_X | SUB_X | MUL_X | DIV_X | MOD_X | LSH_X | RSH_X | AND_X | OR_X | XOR_X | JEQ_X
        | JGT_X | JGE_X | JSET_X => "x".into(),
        JA => (next as i64 + i64::from(signed)).to_string(),
        RET_A | NEG | TAX | TXA => String::new(),
        code => format!("0x{code:x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Program;
    use super::*;

    fn program() -> Program {
        let instructions = [
            Instruction::new(LDH_ABS, 12),
            Instruction::jump(JEQ_K, 0x800, 0, 2),
            Instruction::new(LDB_ABS, ancillary::VLAN_PRESENT),
            Instruction::new(RET_K, 262_144),
            Instruction::new(RET_K, 0),
        ];
        Program::new(instructions).expect("a valid program")
    }

    #[test]
    fn a_listing_is_for_people() {
        let expected = "(000) ldh      [12]\n\
                        (001) jeq      #0x800           jt 2\tjf 4\n\
                        (002) ldb      [vlanp]\n\
                        (003) ret      #262144\n\
                        (004) ret      #0\n";
        assert_eq!(program().to_string(), expected);
    }

    #[test]
    fn the_other_forms_are_for_programs() {
        let array = "{ 0x28, 0, 0, 0x0000000c },\n\
                     { 0x15, 0, 2, 0x00000800 },\n\
                     { 0x30, 0, 0, 0xfffff030 },\n\
                     { 0x6, 0, 0, 0x00040000 },\n\
                     { 0x6, 0, 0, 0x00000000 },\n";
        assert_eq!(program().text(Format::CArray).to_string(), array);
        let decimal = "5\n40 0 0 12\n21 0 2 2048\n48 0 0 4294963248\n6 0 0 262144\n6 0 0 0\n";
        assert_eq!(program().text(Format::Decimal).to_string(), decimal);
    }
}
