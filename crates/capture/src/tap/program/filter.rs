//! The parts of the program that ask the filter, and those about what is beside a packet's bytes.

use linerate_bpf::extended::{Instruction, Size};
use linerate_sys::tap_ring::layout;

use super::{R0, R1, R5, R6, R8, R10, Writer, field};
use crate::hook::{DRIVER_TAG, sk_buff};

impl Writer<'_> {
    /// R8 = verdict.
    pub(super) fn filter(&mut self) {
        let Some(predicate) = self.plan.predicate else { return };
        self.site().find_bounds(&mut self.code);
        for word in predicate.needs() {
            self.site().describe(&mut self.code, *word);
        }
        self.code.extend(predicate.instructions(self.plan.hook));
        self.push(Instruction::mov(R8, R0));
        if self.plan.owned.is_some() {
            self.keep_question();
        }
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
            self.load(Size::Word, R1, R10, DRIVER_TAG);
            return self.push(Instruction::store(Size::Word, R5, field(layout::VLAN_TCI), R1));
        }
        self.load(Size::Word, R1, R6, sk_buff::VLAN_TCI);
        self.push(Instruction::store(Size::Half, R5, field(layout::VLAN_TCI), R1));
        // Without a tag the kernel keeps 0 here (`__vlan_hwaccel_clear_tag`, Linux 6.6).
        self.load(Size::Word, R1, R6, sk_buff::VLAN_PROTO);
        self.push(Instruction::store(Size::Half, R5, field(layout::VLAN_PROTOCOL), R1));
    }
}
