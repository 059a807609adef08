//! Filters as fragments of a larger program.

use std::ops::Range;

use super::{Instruction, Register, helper};

/// Where in the kernel a program looks at packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Hook {
    /// Before the kernel makes a socket buffer of a received frame (`BPF_PROG_TYPE_XDP`). VLAN
    /// tags are among the bytes.
    Xdp,
    /// Received packets (`BPF_TCX_INGRESS`). The outermost VLAN tag is beside the bytes.
    Ingress,
    /// Packets to be sent (`BPF_TCX_EGRESS`). A VLAN tag that the driver is to add is beside the
    /// bytes.
    Egress,
}

impl Hook {
    /// The helper function that copies a packet's bytes: its arguments are the context, the offset,
    /// the destination and the number of bytes; it gives 0, or a negative number past the end.
    pub fn load_bytes(self) -> i32 {
        match self {
            Self::Xdp => helper::XDP_LOAD_BYTES,
            Self::Ingress | Self::Egress => helper::SKB_LOAD_BYTES,
        }
    }
}

/// What a packet's bytes do not say: a 32-bit word on the stack, in the machine's byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Metadata {
    /// Index of the interface that the packet was received on or is sent by.
    InterfaceIndex,
    /// A `PACKET_` number of `linux/if_packet.h`.
    PacketType,
    /// Tag control information of the VLAN tag beside the bytes, 0 without one.
    VlanTag,
    /// 1 if there is a VLAN tag beside the bytes, else 0.
    VlanPresent,
    /// The EtherType.
    Protocol,
}

impl Metadata {
    /// Where the word is, relative to R10.
    pub fn slot(self) -> i16 {
        match self {
            Self::InterfaceIndex => -4,
            Self::PacketType => -8,
            Self::VlanTag => -12,
            Self::VlanPresent => -16,
            Self::Protocol => -20,
        }
    }
}

/// A filter as a piece of a program, wherever in it.
///
/// The program around it puts into [`Predicate::CONTEXT`], [`Predicate::START`],
/// [`Predicate::END`] and [`Predicate::LENGTH`] what they say, and into the [`Metadata::slot`]s
/// what the fragment [`Predicate::needs`]. The fragment leaves all of these as they are, destroys
/// R0 to R5, and writes to no other part of the stack than [`Predicate::STACK`]. Control enters at its
/// first instruction and leaves it only past its last, with R0 = 1 for a packet to keep, else 0.
/// It makes no assumption about how much of the packet is directly accessible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Predicate {
    instructions: Vec<Instruction>,
    needs: Vec<Metadata>,
}

impl Predicate {
    /// The context: `struct xdp_md` or `struct __sk_buff`.
    pub const CONTEXT: Register = Register::R6;
    /// The packet's first byte.
    pub const START: Register = Register::R7;
    /// Behind the last byte that is directly accessible.
    pub const END: Register = Register::R8;
    /// The packet's length on the wire in bytes, without a VLAN tag that is beside the bytes.
    pub const LENGTH: Register = Register::R9;
    /// The fragment's part of the stack, relative to R10; the rest is the surrounding program's.
    pub const STACK: Range<i16> = -512..-128;

    /// A fragment for [`Hook::Ingress`] as written: it reads what is not directly accessible by
    /// [`helper::SKB_LOAD_BYTES`]. Duplicates in `needs` do not matter.
    pub fn new(instructions: Vec<Instruction>, mut needs: Vec<Metadata>) -> Self {
        needs.sort_unstable();
        needs.dedup();
        Self { instructions, needs }
    }

    /// The metadata that the surrounding program must have written.
    pub fn needs(&self) -> &[Metadata] {
        &self.needs
    }

    /// How many instructions there are, the same number for every hook.
    #[expect(clippy::len_without_is_empty, reason = "there is at least the one that sets R0")]
    pub fn len(&self) -> usize {
        self.instructions.len()
    }

    /// The fragment for a hook.
    pub fn instructions(&self, hook: Hook) -> impl Iterator<Item = Instruction> + '_ {
        let loads = Instruction::call(Hook::Ingress.load_bytes());
        let here = Instruction::call(hook.load_bytes());
        self.instructions.iter().map(move |&i| if i == loads { here } else { i })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Size;
    use super::*;

    #[test]
    fn each_hook_has_its_load_helper() {
        let other = Instruction::call(helper::KTIME_GET_NS);
        let predicate =
            Predicate::new(vec![Instruction::call(helper::SKB_LOAD_BYTES), other], Vec::new());
        let of = |hook| predicate.instructions(hook).collect::<Vec<_>>();
        assert_eq!(of(Hook::Xdp), [Instruction::call(helper::XDP_LOAD_BYTES), other]);
        assert_eq!(of(Hook::Ingress), [Instruction::call(helper::SKB_LOAD_BYTES), other]);
        assert_eq!(of(Hook::Egress), of(Hook::Ingress));
    }

    #[test]
    fn needs_are_each_named_once() {
        use Metadata::*;
        let keep = Instruction::load(Size::Word, Register::R0, Register::R10, VlanPresent.slot());
        let predicate = Predicate::new(vec![keep], vec![VlanPresent, VlanTag, VlanPresent]);
        assert_eq!(predicate.needs(), [VlanTag, VlanPresent]);
    }

    #[test]
    fn metadata_lie_in_the_surrounding_programs_part() {
        use Metadata::*;
        let all = [InterfaceIndex, PacketType, VlanTag, VlanPresent, Protocol];
        assert!(all.iter().all(|word| word.slot() >= Predicate::STACK.end));
    }
}
