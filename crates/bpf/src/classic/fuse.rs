//! Pairs of instructions that are run as one.
//!
//! Most of a filter loads a field and compares it. Such a load gets a code of its own, which tells the
//! interpreter to do the jump behind it as well: one dispatch less for each field. The jump stays where
//! it is, so that distances hold, and so do jumps to it.

use super::Instruction;
use super::opcode::*;

/// Added to a load's code when [`JEQ_K`] follows; the sum is no code of BPF.
const THEN_JEQ: u16 = 0x100;
/// The same for [`JSET_K`].
const THEN_JSET: u16 = 0x200;

pub(super) const LDW_ABS_JEQ: u16 = LDW_ABS | THEN_JEQ;
pub(super) const LDH_ABS_JEQ: u16 = LDH_ABS | THEN_JEQ;
pub(super) const LDB_ABS_JEQ: u16 = LDB_ABS | THEN_JEQ;
pub(super) const LDH_IND_JEQ: u16 = LDH_IND | THEN_JEQ;
pub(super) const LDH_ABS_JSET: u16 = LDH_ABS | THEN_JSET;

/// The same program with its pairs marked.
pub(super) fn fuse(program: &[Instruction]) -> Box<[Instruction]> {
    let mut fused: Box<[_]> = program.into();
    for (instruction, next) in fused.iter_mut().zip(program.iter().skip(1)) {
        instruction.code = fused_code(instruction.code, next.code);
    }
    fused
}

fn fused_code(code: u16, next: u16) -> u16 {
    match (code, next) {
        (LDW_ABS | LDH_ABS | LDB_ABS | LDH_IND, JEQ_K) => code | THEN_JEQ,
        (LDH_ABS, JSET_K) => code | THEN_JSET,
        _ => code,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_load_with_its_jump_behind_it_is_fused() {
        let program = [LDH_ABS, JEQ_K, LDB_ABS, LDH_ABS, JSET_K, LDH_IND, RET_K]
            .map(|code| Instruction { code, ..Instruction::default() });
        let codes: Vec<_> = fuse(&program).iter().map(|instruction| instruction.code).collect();
        let expected = [LDH_ABS_JEQ, JEQ_K, LDB_ABS, LDH_ABS_JSET, JSET_K, LDH_IND, RET_K];
        assert_eq!(codes, expected);
    }

    #[test]
    fn fused_codes_are_no_codes_of_bpf() {
        for code in [LDW_ABS_JEQ, LDH_ABS_JEQ, LDB_ABS_JEQ, LDH_IND_JEQ, LDH_ABS_JSET] {
            assert!(!is_valid(code));
        }
    }
}
