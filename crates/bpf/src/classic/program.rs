use std::fmt;

use super::check::{self, CheckError, KernelRefusal};
use super::fuse::fuse;
use super::text::{Format, Text};
use super::{Input, Instruction, interpreter};

/// A checked program: running it stays inside it, ends, and never fails.
///
/// There is no limit on its length; see [`Program::fits_kernel`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    instructions: Box<[Instruction]>,
    /// What is run.
    fused: Box<[Instruction]>,
}

impl Program {
    /// Checks `instructions` by the rules that libpcap and the kernel share: every code known,
    /// every jump inside the program, scratch indices below 16, no constant division by zero, no
    /// constant shift by 32 or more, a return at the end. Backward jumps by [`super::opcode::JA`]
    /// pass, as `protochain` needs them in user space.
    pub fn new(instructions: impl Into<Box<[Instruction]>>) -> Result<Self, CheckError> {
        let instructions = instructions.into();
        check::check(&instructions)?;
        let fused = fuse(&instructions);
        Ok(Self { instructions, fused })
    }

    /// The instructions in order.
    pub fn instructions(&self) -> &[Instruction] {
        &self.instructions
    }

    /// True when the kernel takes this program as a socket filter.
    pub fn fits_kernel(&self) -> bool {
        self.check_kernel().is_ok()
    }

    /// Why the kernel would refuse this program as a socket filter, if it would.
    pub fn check_kernel(&self) -> Result<(), KernelRefusal> {
        check::check_kernel(&self.instructions)
    }

    /// Runs the program on a packet: how many of its bytes to keep, 0 for none of it.
    ///
    /// A load past the captured bytes, a division by X = 0 and more backward jumps than the packet
    /// has bytes (a loop that walks through the packet makes fewer) all give 0.
    pub fn run(&self, input: &Input<'_>) -> u32 {
        interpreter::execute(&self.fused, input).unwrap_or(0)
    }

    /// The program as text, one line per instruction, byte for byte as tcpdump prints it.
    pub fn text(&self, format: Format) -> Text<'_> {
        Text::new(&self.instructions, format)
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text(Format::Listing).fmt(f)
    }
}
