//! What the programs at an interface's hooks have in common: the context, and what a filter in such a
//! program must find around it.

use linerate_bpf::extended::Register::{R0, R1, R2, R3, R6, R10};
use linerate_bpf::extended::{
    Alu, Assembler, Hook, Instruction, Metadata, Predicate, Register, Size, Test, helper,
};

/// Offsets in `struct xdp_md` of `linux/bpf.h`.
pub(crate) mod xdp_md {
    pub(crate) const DATA: i16 = 0;
    pub(crate) const DATA_END: i16 = 4;
    pub(crate) const DATA_META: i16 = 8;
    pub(crate) const INGRESS_IFINDEX: i16 = 12;
    pub(crate) const RX_QUEUE_INDEX: i16 = 16;
}

/// Offsets in `struct __sk_buff` of `linux/bpf.h`.
pub(crate) mod sk_buff {
    pub(crate) const LEN: i16 = 0;
    pub(crate) const MARK: i16 = 8;
    pub(crate) const PROTOCOL: i16 = 16;
    pub(crate) const VLAN_PRESENT: i16 = 20;
    pub(crate) const VLAN_TCI: i16 = 24;
    pub(crate) const VLAN_PROTO: i16 = 28;
    pub(crate) const IFINDEX: i16 = 40;
    pub(crate) const DATA: i16 = 76;
    pub(crate) const DATA_END: i16 = 80;
    pub(crate) const HWTSTAMP: i16 = 184;
}

/// `PACKET_OUTGOING` of `linux/if_packet.h`.
const PACKET_OUTGOING: i32 = 4;

/// On the stack: the VLAN tag that the driver took off, its control information and its protocol, u16
/// each, the second in network byte order; 0 and 0 for none. Written by [`Site::ask_for_tag`].
pub(crate) const DRIVER_TAG: i16 = -36;
const DRIVER_TCI: i16 = DRIVER_TAG;
const DRIVER_PROTOCOL: i16 = DRIVER_TAG + 2;

/// Where a program runs. The context is in R6.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Site {
    pub(crate) hook: Hook,
    /// The number of the kernel's function that tells which VLAN tag the driver took off, for programs
    /// in the driver.
    pub(crate) vlan_tag: Option<u32>,
}

impl Site {
    fn is_xdp(self) -> bool {
        self.hook == Hook::Xdp
    }

    /// [`Predicate::LENGTH`] = the packet's length. Of an XDP frame the kernel is asked: to subtract the
    /// frame's ends would take CAP_PERFMON, and leave out further buffers.
    pub(crate) fn measure(self, code: &mut Assembler) {
        if !self.is_xdp() {
            return code.push(field(Predicate::LENGTH, sk_buff::LEN));
        }
        code.extend([
            Instruction::mov(R1, R6),
            Instruction::call(helper::XDP_GET_BUFF_LEN),
            Instruction::mov32(Predicate::LENGTH, R0),
        ]);
    }

    /// Has the driver tell the tag that it took off, where it can.
    pub(crate) fn ask_for_tag(self, code: &mut Assembler) {
        let Some(function) = self.vlan_tag else { return };
        code.extend([
            Instruction::store(Size::Word, R10, DRIVER_TAG, 0),
            Instruction::mov(R1, R6),
            Instruction::mov(R2, R10),
            Instruction::alu(Alu::Add, R2, i32::from(DRIVER_PROTOCOL)),
            Instruction::mov(R3, R10),
            Instruction::alu(Alu::Add, R3, i32::from(DRIVER_TCI)),
            Instruction::call_kernel(function),
        ]);
    }

    /// [`Predicate::START`] and [`Predicate::END`].
    pub(crate) fn find_bounds(self, code: &mut Assembler) {
        let (start, end) = match self.hook {
            Hook::Xdp => (xdp_md::DATA, xdp_md::DATA_END),
            Hook::Ingress | Hook::Egress => (sk_buff::DATA, sk_buff::DATA_END),
        };
        code.extend([field(Predicate::START, start), field(Predicate::END, end)]);
    }

    /// Writes what filters want to know beside the packet's bytes, by R1 and R2, with the bounds found.
    /// At the XDP hook VLAN tags are among the bytes, but for one that the driver took off.
    pub(crate) fn describe(self, code: &mut Assembler, word: Metadata) {
        match word {
            Metadata::InterfaceIndex if self.is_xdp() => {
                code.push(field(R1, xdp_md::INGRESS_IFINDEX));
            }
            Metadata::InterfaceIndex => code.push(field(R1, sk_buff::IFINDEX)),
            Metadata::PacketType if self.hook == Hook::Egress => {
                code.push(Instruction::mov(R1, PACKET_OUTGOING));
            }
            Metadata::PacketType => code.push(Instruction::mov(R1, 0)),
            Metadata::VlanTag | Metadata::VlanPresent if self.is_xdp() => {
                self.describe_driver_tag(code, word);
            }
            Metadata::VlanTag => code.push(field(R1, sk_buff::VLAN_TCI)),
            Metadata::VlanPresent => code.push(field(R1, sk_buff::VLAN_PRESENT)),
            Metadata::Protocol if self.is_xdp() => read_ether_type(code),
            Metadata::Protocol => {
                code.extend([field(R1, sk_buff::PROTOCOL), Instruction::big_endian16(R1)]);
            }
        }
        code.push(Instruction::store(Size::Word, R10, word.slot(), R1));
    }

    /// R1 = its control information, or 1 if there is one.
    fn describe_driver_tag(self, code: &mut Assembler, word: Metadata) {
        match (self.vlan_tag, word) {
            (None, _) => code.push(Instruction::mov(R1, 0)),
            (Some(_), Metadata::VlanTag) => {
                code.push(Instruction::load(Size::Half, R1, R10, DRIVER_TCI));
            }
            (Some(_), _) => code.extend([
                Instruction::load(Size::Half, R1, R10, DRIVER_PROTOCOL),
                Instruction::neg(R1),
                Instruction::alu(Alu::Rsh, R1, 63),
            ]),
        }
    }
}

/// R1 = the EtherType of a frame; 0 where it is too short to have one.
fn read_ether_type(code: &mut Assembler) {
    let short = code.label();
    code.extend([
        Instruction::mov(R1, 0),
        Instruction::mov(R2, Predicate::START),
        Instruction::alu(Alu::Add, R2, 14),
    ]);
    code.jump_if(Test::Greater, R2, Predicate::END, short);
    code.extend([
        Instruction::load(Size::Half, R1, Predicate::START, 12),
        Instruction::big_endian16(R1),
    ]);
    code.place(short);
}

/// `dst` = a field of the context.
fn field(dst: Register, offset: i16) -> Instruction {
    Instruction::load(Size::Word, dst, R6, offset)
}
