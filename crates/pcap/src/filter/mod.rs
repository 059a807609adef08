//! Filters: expressions compiled by our compiler, programs run by our engines.

pub mod compile;
pub mod print;
pub mod run;

use std::ffi::c_int;
use std::slice;
use std::sync::Arc;

use linerate::base::{Batch, Matches, Select};
use linerate::bpf::classic::{Input, Instruction, Program};
use linerate::exec::Engine;

pub(crate) use compile::Request;

use crate::abi::{BpfProgram, ERROR};
use crate::entry::entry;
use crate::handle::{self, Handle, Inner, Kind};

/// What `pcap_compile` has made, kept to be run by an engine when the caller sets it.
#[derive(Clone)]
pub(crate) struct Compiled {
    pub(crate) program: Box<[Instruction]>,
    pub(crate) engine: Engine,
    pub(crate) request: Request,
}

/// A program from elsewhere, run on each packet.
#[derive(Debug)]
pub(crate) struct ByProgram(pub(crate) Program);

impl Select for ByProgram {
    fn select(&self, batch: &Batch<'_>, interface: Option<u32>, matches: &mut Matches) {
        matches.reset(batch.len());
        for (index, packet) in batch.iter().enumerate() {
            if self.0.run(&Input::of(&packet, interface)) != 0 {
                matches.insert(index);
            }
        }
    }
}

/// The instructions of a caller's program; none for null.
///
/// # Safety
/// The program is null or has as many instructions as it says.
unsafe fn instructions<'a>(program: *const BpfProgram) -> &'a [Instruction] {
    // SAFETY: null or a program.
    let Some(program) = (unsafe { program.as_ref() }) else { return &[] };
    match program.bf_insns.is_null() {
        true => &[],
        // SAFETY: so many are there.
        false => unsafe { slice::from_raw_parts(program.bf_insns, program.bf_len as usize) },
    }
}

/// Makes a program the filter, from the next packet on.
fn set(inner: &mut Inner, instructions: &[Instruction]) -> c_int {
    let program = match Program::new(instructions) {
        Ok(program) => program,
        Err(error) => {
            inner.fail(&format!("BPF program is not valid: {error}"));
            return ERROR;
        }
    };
    let own = inner.compiled.as_ref().filter(|own| *own.program == *instructions).cloned();
    if let Kind::Live(_) = &inner.kind {
        return inner.filter_live(own.as_ref(), program);
    }
    if let Err(text) = inner.leave_large() {
        inner.fail(&text);
        return ERROR;
    }
    inner.chosen = Some(match own {
        Some(own) => Arc::new(own.engine),
        None => Arc::new(ByProgram(program)),
    });
    inner.select();
    0
}

entry! {
    /// Makes a program, of `pcap_compile` or made by hand, the filter of a handle. The handle keeps a copy.
    fn pcap_setfilter(handle: *mut Handle, program: *mut BpfProgram) -> c_int, ERROR => {
        handle::active_or(handle, |inner| set(inner, instructions(program)))
    }
}
