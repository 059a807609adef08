//! Filters: expressions compiled by our compiler, programs run by our engines.

pub mod compile;
pub mod print;
pub mod run;

use std::ffi::c_int;
use std::slice;

use linerate::base::{Batch, Matches};
use linerate::bpf::classic::{Input, Instruction, Program};
use linerate::exec::Engine;

use crate::abi::{BpfProgram, ERROR};
use crate::entry::entry;
use crate::handle::{self, Handle, Inner};

/// What `pcap_compile` has made, kept to be run by an engine when the caller sets it.
#[derive(Clone)]
pub(crate) struct Compiled {
    pub(crate) program: Box<[Instruction]>,
    pub(crate) engine: Engine,
}

/// A filter that is set.
pub(crate) enum Chosen {
    /// Our own program: the engine says what it would.
    Engine(Engine),
    /// A program from elsewhere.
    Program(Program),
}

impl Chosen {
    /// Marks which packets of a batch to keep.
    pub(crate) fn select(&self, batch: &Batch<'_>, matches: &mut Matches) {
        match self {
            Self::Engine(engine) => engine.run(batch, None, matches),
            Self::Program(program) => {
                matches.reset(batch.len());
                for (index, packet) in batch.iter().enumerate() {
                    if program.run(&Input::of(&packet, None)) != 0 {
                        matches.insert(index);
                    }
                }
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
    let own = inner.compiled.as_ref().filter(|own| *own.program == *instructions);
    inner.chosen = Some(match own {
        Some(own) => Chosen::Engine(own.engine.clone()),
        None => match Program::new(instructions) {
            Ok(program) => Chosen::Program(program),
            Err(error) => {
                inner.fail(&format!("BPF program is not valid: {error}"));
                return ERROR;
            }
        },
    });
    inner.select();
    0
}

entry! {
    /// Makes a program, of `pcap_compile` or made by hand, the filter of a handle. The handle keeps a copy.
    fn pcap_setfilter(handle: *mut Handle, program: *const BpfProgram) -> c_int, ERROR => {
        handle::inner_or(handle, |inner| set(inner, instructions(program)))
    }
}
