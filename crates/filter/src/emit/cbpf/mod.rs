//! Classic BPF.
//!
//! - [`select`]: values and tests to instructions, with what the registers already hold
//! - [`chain`]: the loop of `protochain`
//! - [`assemble`]: blocks to one program, far jumps by way of trampolines

mod assemble;
mod chain;
mod select;

use super::unbound::read_unbound;
use crate::error::{Error, ErrorKind, Result};
use crate::ir::Ir;
use crate::ir::graph::{Graph, Target as Edge};
use crate::options::{Options, Target};
use linerate_bpf::classic::{Instruction, KERNEL_MAX_INSTRUCTIONS, Program, opcode};

/// Instructions and how they end. Control enters at the first.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    body: Vec<Instruction>,
    end: End,
}

/// Where a block leads.
#[derive(Clone, Copy, Debug)]
pub(crate) enum End {
    Branch { code: u16, k: u32, then: Edge, otherwise: Edge },
    Goto(Edge),
}

/// The program of a graph whose loads are all relative to the packet.
pub(crate) fn emit(ir: &Ir, graph: &Graph, options: &Options<'_>) -> Result<Program> {
    let blocks = select::select(ir, graph, options.optimise)?;
    if options.target == Target::Kernel && blocks.loops {
        let reason = "'protochain' needs a loop, and it takes none";
        return Err(Error::kernel(ErrorKind::Loop, reason));
    }
    let prologue = zeroes(ir, graph);
    let instructions = assemble::assemble(graph, &blocks.blocks, prologue, options.snaplen);
    if options.target == Target::Kernel && instructions.len() > KERNEL_MAX_INSTRUCTIONS {
        let length = instructions.len();
        let reason = format!("{length} instructions, more than its {KERNEL_MAX_INSTRUCTIONS}");
        return Err(Error::kernel(ErrorKind::TooLarge, reason));
    }
    Program::new(instructions)
        .map_err(|error| Error::new(ErrorKind::Limit, format!("cannot make a program: {error}")))
}

/// Instructions that zero the words of scratch memory that may be read unbound.
fn zeroes(ir: &Ir, graph: &Graph) -> Vec<Instruction> {
    let mut words = read_unbound(ir, graph).peekable();
    let zero = words.peek().map(|_| Instruction::new(opcode::LD_IMM, 0));
    zero.into_iter().chain(words.map(|word| Instruction::new(opcode::ST, word))).collect()
}
