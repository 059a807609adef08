//! The checks: what makes a program safe to run, and what the kernel asks for besides.

use linerate_base::{Error, ErrorKind};

use super::opcode::*;
use super::{Instruction, KERNEL_MAX_INSTRUCTIONS, SCRATCH_WORDS, ancillary};

/// Why instructions are not a program. `at` counts instructions from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckError {
    /// There is no instruction.
    #[error("the program is empty")]
    Empty,
    /// No instruction has this code.
    #[error("instruction {at}: unknown operation code {code:#x}")]
    Opcode {
        /// Where.
        at: usize,
        /// The code.
        code: u16,
    },
    /// A jump leads out of the program.
    #[error("instruction {at}: jump out of the program")]
    Jump {
        /// Where.
        at: usize,
    },
    /// There are sixteen words of scratch memory, and this is not one of them.
    #[error("instruction {at}: scratch index {index} is not below 16")]
    Scratch {
        /// Where.
        at: usize,
        /// The index.
        index: u32,
    },
    /// A division or remainder by the constant zero.
    #[error("instruction {at}: division by zero")]
    DivisionByZero {
        /// Where.
        at: usize,
    },
    /// A shift by a constant of 32 bits or more.
    #[error("instruction {at}: shift by {bits} bits")]
    Shift {
        /// Where.
        at: usize,
        /// How far.
        bits: u32,
    },
    /// The last instruction is not a return, so that the program could run off its end.
    #[error("the last instruction is not a return")]
    Unterminated,
}

impl From<CheckError> for Error {
    fn from(error: CheckError) -> Self {
        Self::new(ErrorKind::Invalid, "check a BPF program", error.to_string())
    }
}

/// Why the kernel would not take a valid program as a socket filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KernelRefusal {
    /// It takes 4096 instructions at most.
    #[error("the program has {length} instructions, the kernel takes {KERNEL_MAX_INSTRUCTIONS}")]
    TooLong {
        /// How many instructions there are.
        length: usize,
    },
    /// It takes no loops.
    #[error("instruction {at} jumps backward, which the kernel does not take")]
    BackwardJump {
        /// Where.
        at: usize,
    },
    /// It wants scratch words written, on every way, before they are read.
    #[error("instruction {at} reads a scratch word that may not have been written")]
    UnwrittenScratch {
        /// Where.
        at: usize,
    },
    /// It knows no such ancillary offset.
    #[error("instruction {at} loads from {offset:#x}, which the kernel does not know")]
    Ancillary {
        /// Where.
        at: usize,
        /// The offset.
        offset: u32,
    },
}

impl From<KernelRefusal> for Error {
    fn from(refusal: KernelRefusal) -> Self {
        Self::new(ErrorKind::Unsupported, "filter in the kernel", refusal.to_string())
    }
}

pub(super) fn check(program: &[Instruction]) -> Result<(), CheckError> {
    let last = program.last().ok_or(CheckError::Empty)?;
    if !matches!(last.code, RET_K | RET_A) {
        return Err(CheckError::Unterminated);
    }
    for (at, instruction) in program.iter().enumerate() {
        check_operand(at, instruction)?;
        if targets(at, instruction).any(|target| !(0..program.len() as i64).contains(&target)) {
            return Err(CheckError::Jump { at });
        }
    }
    Ok(())
}

fn check_operand(at: usize, &Instruction { code, k, .. }: &Instruction) -> Result<(), CheckError> {
    match code {
        LD_MEM | LDX_MEM | ST | STX if k >= SCRATCH_WORDS => {
            Err(CheckError::Scratch { at, index: k })
        }
        DIV_K | MOD_K if k == 0 => Err(CheckError::DivisionByZero { at }),
        LSH_K | RSH_K if k >= u32::BITS => Err(CheckError::Shift { at, bits: k }),
        code if !is_valid(code) => Err(CheckError::Opcode { at, code }),
        _ => Ok(()),
    }
}

/// Where the jump at `at` can lead; nothing for other instructions.
fn targets(at: usize, instruction: &Instruction) -> impl Iterator<Item = i64> + use<> {
    let (first, second) = match instruction.code {
        JA => (Some(i64::from(instruction.k.cast_signed())), None),
        code if is_conditional_jump(code) => {
            (Some(instruction.jt.into()), Some(instruction.jf.into()))
        }
        _ => (None, None),
    };
    first.into_iter().chain(second).map(move |distance| at as i64 + 1 + distance)
}

/// The kernel's own checks of a program that passed [`check`]: `bpf_check_classic` in
/// `net/core/filter.c` (Linux 6.18).
pub(super) fn check_kernel(program: &[Instruction]) -> Result<(), KernelRefusal> {
    if program.len() > KERNEL_MAX_INSTRUCTIONS {
        return Err(KernelRefusal::TooLong { length: program.len() });
    }
    for (at, &Instruction { code, k, .. }) in program.iter().enumerate() {
        match code {
            JA if k.cast_signed() < 0 => return Err(KernelRefusal::BackwardJump { at }),
            LDW_ABS | LDH_ABS | LDB_ABS if k >= ancillary::BASE && ancillary::name(k).is_none() => {
                return Err(KernelRefusal::Ancillary { at, offset: k });
            }
            _ => {}
        }
    }
    check_scratch(program)
}

/// As the kernel does it: one pass, with the set of words written on every way to each
/// instruction. A return does not end a way there, so that a few sound programs are refused.
fn check_scratch(program: &[Instruction]) -> Result<(), KernelRefusal> {
    let mut written_before = vec![u16::MAX; program.len()];
    let mut written = 0_u16;
    for (at, instruction) in program.iter().enumerate() {
        written &= written_before[at];
        match instruction.code {
            ST | STX => written |= 1 << instruction.k,
            LD_MEM | LDX_MEM if written & (1 << instruction.k) == 0 => {
                return Err(KernelRefusal::UnwrittenScratch { at });
            }
            _ => {}
        }
        let mut jumps = false;
        for target in targets(at, instruction) {
            written_before[target as usize] &= written;
            jumps = true;
        }
        if jumps {
            written = u16::MAX;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(program: &[Instruction]) -> Result<(), KernelRefusal> {
        check(program).expect("a valid program");
        check_kernel(program)
    }

    const KEEP: Instruction = Instruction::new(RET_K, 1);

    #[test]
    fn every_fault_is_named_with_its_place() {
        let second = |i| check(&[Instruction::new(TAX, 0), i, KEEP]);
        let new = Instruction::new;
        assert_eq!(check(&[]), Err(CheckError::Empty));
        assert_eq!(check(&[new(TAX, 0)]), Err(CheckError::Unterminated));
        assert_eq!(second(new(0xff, 0)), Err(CheckError::Opcode { at: 1, code: 0xff }));
        assert_eq!(second(new(ST, 16)), Err(CheckError::Scratch { at: 1, index: 16 }));
        assert_eq!(second(new(MOD_K, 0)), Err(CheckError::DivisionByZero { at: 1 }));
        assert_eq!(second(new(LSH_K, 32)), Err(CheckError::Shift { at: 1, bits: 32 }));
        assert_eq!(second(new(JA, 1)), Err(CheckError::Jump { at: 1 }));
        assert_eq!(second(new(JA, -3_i32 as u32)), Err(CheckError::Jump { at: 1 }));
        assert_eq!(second(Instruction::jump(JEQ_K, 0, 0, 1)), Err(CheckError::Jump { at: 1 }));
        assert_eq!(second(Instruction::jump(JEQ_K, 0, 0, 0)), Ok(()));
        assert_eq!(second(new(JA, -2_i32 as u32)), Ok(()));
    }

    #[test]
    fn the_kernel_asks_for_more() {
        let new = Instruction::new;
        assert_eq!(kernel(&vec![KEEP; 4097]), Err(KernelRefusal::TooLong { length: 4097 }));
        assert_eq!(kernel(&vec![KEEP; 4096]), Ok(()));
        assert_eq!(
            kernel(&[new(TAX, 0), new(JA, -2_i32 as u32), KEEP]),
            Err(KernelRefusal::BackwardJump { at: 1 })
        );
        assert_eq!(
            kernel(&[new(LDW_ABS, 0xffff_f001), KEEP]),
            Err(KernelRefusal::Ancillary { at: 0, offset: 0xffff_f001 })
        );
        assert_eq!(kernel(&[new(LDW_ABS, ancillary::VLAN_TCI), KEEP]), Ok(()));
    }

    #[test]
    fn scratch_words_must_be_written_on_every_way() {
        let new = Instruction::new;
        let skip = |jf| Instruction::jump(JEQ_K, 0, 0, jf);
        let read = new(LD_MEM, 3);
        let unwritten = |at| Err(KernelRefusal::UnwrittenScratch { at });
        assert_eq!(kernel(&[read, KEEP]), unwritten(0));
        assert_eq!(kernel(&[new(ST, 3), read, KEEP]), Ok(()));
        assert_eq!(kernel(&[skip(1), new(ST, 3), read, KEEP]), unwritten(2));
        assert_eq!(kernel(&[skip(2), new(ST, 3), new(JA, 1), new(STX, 3), read, KEEP]), Ok(()));
    }
}
