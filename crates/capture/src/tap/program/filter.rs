//! The parts of the program that ask the filter, and those about what is beside a packet's bytes.

use linerate_bpf::extended::{Alu, Instruction, Metadata, Size};
use linerate_sys::tap_ring::layout;

use super::{R0, R1, R2, R3, R5, R6, R8, R10, Writer, field};
use crate::hook::{self, sk_buff};

/// On the stack: the VLAN tag that the driver took off, its control information and its protocol, u16
/// each.
const DRIVER_TCI: i16 = -36;
const DRIVER_PROTOCOL: i16 = -34;

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
        let (hook, driver) = (self.plan.hook, self.plan.driver);
        let Some(predicate) = self.plan.predicate else { return };
        hook::find_bounds(&mut self.code, hook);
        for word in predicate.needs() {
            match word {
                Metadata::VlanTag | Metadata::VlanPresent if driver.vlan_tag.is_some() => {
                    self.tell_drivers_tag(*word);
                }
                _ => hook::describe(&mut self.code, hook, *word),
            }
        }
        self.code.extend(predicate.instructions(hook));
        self.push(Instruction::mov(R8, R0));
        if self.plan.owned.is_some() {
            self.keep_question();
        }
    }

    /// Has the filter see the tag that the driver took off as one beside the packet's bytes, which it is.
    fn tell_drivers_tag(&mut self, word: Metadata) {
        if word == Metadata::VlanTag {
            self.load(Size::Half, R1, R10, DRIVER_TCI);
        } else {
            // No protocol is 0: 1 for one, else 0.
            self.load(Size::Half, R1, R10, DRIVER_PROTOCOL);
            self.push(Instruction::neg(R1));
            self.push(Instruction::alu(Alu::Rsh, R1, 63));
        }
        self.push(Instruction::store(Size::Word, R10, word.slot(), R1));
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
