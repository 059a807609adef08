//! Classic BPF, the filter machine of `SO_ATTACH_FILTER` and of libpcap.
//!
//! Two 32-bit registers, the accumulator A and the index X; sixteen 32-bit words of scratch memory;
//! loads from the packet in network byte order; a verdict: how many bytes of the packet to keep, 0
//! for none of it. A load past the end of the packet ends the program with verdict 0.
//!
//! - [`opcode`]: every operation code
//! - [`Program`]: instructions that passed the checks, so that running them cannot go wrong
//! - [`Program::run`]: the reference interpreter, which is also what filters in user space
//! - [`Ancillary`]: what a packet's bytes do not say, for the loads from [`ancillary`] offsets
//! - [`Format`]: the text forms that tcpdump prints for `-d`, `-dd` and `-ddd`
//!
//! Sources: S. McCanne and V. Jacobson, "The BSD Packet Filter", USENIX Winter 1993;
//! `linux/filter.h` and `linux/bpf_common.h` (Linux 6.1); the kernel's
//! `Documentation/networking/filter.rst`.

pub mod ancillary;
mod check;
mod fuse;
mod interpreter;
pub mod opcode;
mod program;
mod select;
mod text;

pub use ancillary::Ancillary;
pub use check::{CheckError, KernelRefusal};
pub use interpreter::Input;
pub use program::Program;
pub use text::{Format, Text};

/// Words of scratch memory, `BPF_MEMWORDS`.
pub const SCRATCH_WORDS: u32 = 16;

/// The most instructions that the kernel takes, `BPF_MAXINSNS`.
pub const KERNEL_MAX_INSTRUCTIONS: usize = 4096;

/// One instruction, laid out as the kernel's `struct sock_filter` (and libpcap's `bpf_insn`).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Instruction {
    /// What to do: a constant of [`opcode`].
    pub code: u16,
    /// Instructions to skip when a conditional jump's test holds.
    pub jt: u8,
    /// Instructions to skip when it does not hold.
    pub jf: u8,
    /// The constant operand: a number, a packet offset, a scratch index or a jump distance.
    pub k: u32,
}

impl Instruction {
    /// Anything but a conditional jump.
    pub const fn new(code: u16, k: u32) -> Self {
        Self { code, jt: 0, jf: 0, k }
    }

    /// A conditional jump over `jt` instructions if the test holds, else over `jf`.
    pub const fn jump(code: u16, k: u32, jt: u8, jf: u8) -> Self {
        Self { code, jt, jf, k }
    }
}

// struct sock_filter, linux/filter.h (Linux 6.1).
const _: () = assert!(size_of::<Instruction>() == 8 && align_of::<Instruction>() == 4);
