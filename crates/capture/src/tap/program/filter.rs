//! The parts of the program that ask the filter, and those about what is beside a packet's bytes.

use linerate_bpf::extended::{Alu, Hook, Instruction, Metadata, Predicate, Size, Test};
use linerate_sys::tap_ring::layout;

use super::{R0, R1, R2, R3, R5, R6, R8, R10, Writer, field, sk_buff, xdp_md};

/// On the stack: the VLAN tag that the driver took off, its control information and its protocol, u16
/// each.
const DRIVER_TCI: i16 = -36;
const DRIVER_PROTOCOL: i16 = -34;

/// `PACKET_OUTGOING` of `linux/if_packet.h`.
const PACKET_OUTGOING: i32 = 4;

impl Writer<'_> {
    /// Has the driver tell the tag that it took off; 0 and 0 for none.
    pub(super) fn ask_for_tag(&mut self) {
        let Some(function) = self.plan.driver.vlan_tag else { return };
        self.push(Instruction::store(Size::Word, R10, DRIVER_TCI, 0));
        self.push(Instruction::mov(R1, R6));
        self.stack_address(R2, DRIVER_PROTOCOL);
        self.stack_address(R3, DRIVER_TCI);
        self.push(Instruction::call_kernel(function));
    }

    /// R8 = verdict.
    pub(super) fn filter(&mut self) {
        let Some(predicate) = self.plan.predicate else { return };
        let (start, end) = match self.plan.hook {
            Hook::Xdp => (xdp_md::DATA, xdp_md::DATA_END),
            Hook::Ingress | Hook::Egress => (sk_buff::DATA, sk_buff::DATA_END),
        };
        self.load(Size::Word, Predicate::START, R6, start);
        self.load(Size::Word, Predicate::END, R6, end);
        for word in predicate.needs() {
            self.tell(*word);
        }
        self.code.extend(predicate.instructions(self.plan.hook));
        self.push(Instruction::mov(R8, R0));
        if self.plan.owned.is_some() {
            self.keep_question();
        }
    }

    /// Writes what the filter needs to know beside the packet's bytes.
    fn tell(&mut self, word: Metadata) {
        let slot = word.slot();
        let known = match word {
            Metadata::InterfaceIndex => Some(self.plan.interface.cast_signed()),
            Metadata::PacketType if self.plan.hook == Hook::Egress => Some(PACKET_OUTGOING),
            Metadata::PacketType => Some(0),
            Metadata::VlanTag | Metadata::VlanPresent if self.has_no_tags() => Some(0),
            _ => None,
        };
        if let Some(known) = known {
            return self.push(Instruction::store(Size::Word, R10, slot, known));
        }
        match word {
            Metadata::VlanTag if self.is_xdp() => self.load(Size::Half, R1, R10, DRIVER_TCI),
            Metadata::VlanPresent if self.is_xdp() => self.driver_took_a_tag(),
            Metadata::VlanTag => self.load(Size::Word, R1, R6, sk_buff::VLAN_TCI),
            Metadata::VlanPresent => self.load(Size::Word, R1, R6, sk_buff::VLAN_PRESENT),
            _ => self.ether_type(),
        }
        self.push(Instruction::store(Size::Word, R10, slot, R1));
    }

    /// R1 = 1 if it did, else 0.
    fn driver_took_a_tag(&mut self) {
        self.load(Size::Half, R1, R10, DRIVER_PROTOCOL);
        self.push(Instruction::neg(R1));
        self.push(Instruction::alu(Alu::Rsh, R1, 63));
    }

    /// R1 = the packet's EtherType; 0 where a frame is too short to have one.
    fn ether_type(&mut self) {
        if !self.is_xdp() {
            self.load(Size::Word, R1, R6, sk_buff::PROTOCOL);
            return self.push(Instruction::big_endian16(R1));
        }
        let short = self.code.label();
        self.push(Instruction::mov(R1, 0));
        self.push(Instruction::mov(R2, Predicate::START));
        self.push(Instruction::alu(Alu::Add, R2, 14));
        self.code.jump_if(Test::Greater, R2, Predicate::END, short);
        self.load(Size::Half, R1, Predicate::START, 12);
        self.push(Instruction::big_endian16(R1));
        self.code.place(short);
    }

    /// At the XDP hook, where all tags are among the bytes.
    fn has_no_tags(&self) -> bool {
        self.is_xdp() && self.plan.driver.vlan_tag.is_none()
    }

    /// The tag beside the packet's bytes goes into the record's header, control information first.
    pub(super) fn describe_tag(&mut self) {
        if self.has_no_tags() {
            return self.push(Instruction::store(Size::Word, R5, field(layout::VLAN_TCI), 0));
        }
        if self.is_xdp() {
            self.load(Size::Word, R1, R10, DRIVER_TCI);
            return self.push(Instruction::store(Size::Word, R5, field(layout::VLAN_TCI), R1));
        }
        self.load(Size::Word, R1, R6, sk_buff::VLAN_TCI);
        self.push(Instruction::store(Size::Half, R5, field(layout::VLAN_TCI), R1));
        // Without a tag the kernel keeps 0 here (`__vlan_hwaccel_clear_tag`, Linux 6.6).
        self.load(Size::Word, R1, R6, sk_buff::VLAN_PROTO);
        self.push(Instruction::store(Size::Half, R5, field(layout::VLAN_PROTOCOL), R1));
    }
}
