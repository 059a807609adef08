//! Programs run on single packets.

use std::cell::RefCell;
use std::ffi::c_int;
use std::slice;

use linerate::bpf::classic::{Input, Instruction, Program, opcode};

use super::instructions;
use crate::abi::{BpfProgram, PacketHeader};
use crate::entry::entry;
use crate::pointer;

thread_local! {
    /// The program that the thread ran last: checking it anew for each packet would cost more than running it.
    static LAST: RefCell<Option<Program>> = const { RefCell::new(None) };
}

/// The verdict of instructions on a packet; 0 where they are no program.
fn verdict(instructions: &[Instruction], data: &[u8], length: u32) -> u32 {
    LAST.with_borrow_mut(|last| {
        if last.as_ref().is_none_or(|program| program.instructions() != instructions) {
            *last = Program::new(instructions).ok();
        }
        let input = Input { data, length, ..Input::default() };
        last.as_ref().map_or(0, |program| program.run(&input))
    })
}

/// How many instructions there are from `first` on: up to the last one that can be reached.
///
/// # Safety
/// All instructions that can be reached from the first one are there.
unsafe fn reach(first: *const Instruction) -> usize {
    let (mut at, mut last) = (0, 0);
    while at <= last {
        // SAFETY: some jump leads here, or the instruction before.
        let Instruction { code, jt, jf, k } = unsafe { *first.add(at) };
        let farthest = match code {
            opcode::RET_K | opcode::RET_A => at,
            opcode::JA => at.saturating_add_signed(k.cast_signed() as isize + 1),
            code if opcode::is_conditional_jump(code) => at + 1 + usize::from(jt.max(jf)),
            _ => at + 1,
        };
        last = last.max(farthest);
        at += 1;
    }
    at
}

entry! {
    /// What a program says of a packet: how many of its bytes to keep, 0 for none of it.
    fn pcap_offline_filter(
        program: *const BpfProgram,
        header: *const PacketHeader,
        data: *const u8
    ) -> c_int, 0 => {
        let Some(header) = header.as_ref() else { return 0 };
        let data = pointer::values(data, header.caplen as usize);
        verdict(instructions(program), data, header.len).cast_signed()
    }

    /// The same for bare instructions; null keeps all.
    fn bpf_filter(
        first: *const Instruction,
        data: *const u8,
        length: u32,
        captured: u32
    ) -> u32, 0 => {
        if first.is_null() {
            return u32::MAX;
        }
        let instructions = slice::from_raw_parts(first, reach(first));
        verdict(instructions, pointer::values(data, captured as usize), length)
    }

    /// 1 where instructions are a program that is safe to run, else 0.
    fn bpf_validate(first: *const Instruction, count: c_int) -> c_int, 0 => {
        let count = usize::try_from(count).unwrap_or(0);
        Program::new(pointer::values(first, count)).is_ok().into()
    }
}
