//! The part of the program that puts a packet into the ring.

use std::os::fd::AsRawFd;

use linerate_bpf::extended::{Alu, Hook, Instruction, Size, Test, helper};
use linerate_sys::tap_ring::layout;

use super::{
    FLAGS, OUTGOING, R0, R1, R2, R3, R4, R5, R7, R8, R9, R10, RING_NUMBER, Stamps, Writer, field,
};

/// `BPF_RB_FORCE_WAKEUP` of `linux/bpf.h`.
const FORCE_WAKEUP: i32 = 2;

impl Writer<'_> {
    /// R5 = the record's place in the ring, its header written.
    pub(super) fn describe(&mut self) {
        self.load(Size::Double, R5, R7, layout::OFFSET as i16);
        // Never so; but the verifier does not know.
        self.code.jump_if(Test::GreaterOrEqual, R5, self.plan.geometry.data, self.ends.dropped);
        self.push(Instruction::alu(Alu::Add, R5, R7));
        self.push(Instruction::store(Size::Double, R5, field(layout::TIME), R0));
        self.push(Instruction::store(Size::Word, R5, field(layout::CAPTURED_BYTES), R8));
        self.push(Instruction::store(Size::Word, R5, field(layout::LENGTH), R9));
        self.write_flags();
        self.describe_tag();
    }

    /// What the record's flags say of every packet.
    pub(super) fn flags(&self) -> u32 {
        if self.plan.hook == Hook::Egress { OUTGOING } else { 0 }
    }

    fn write_flags(&mut self) {
        if self.plan.owned.is_some() || self.plan.stamps == Stamps::Card {
            self.load(Size::Word, R1, R10, FLAGS);
            return self.push(Instruction::store(Size::Word, R5, field(layout::FLAGS), R1));
        }
        self.push(Instruction::store(Size::Word, R5, field(layout::FLAGS), self.flags()));
    }

    /// R1 = new head. What comes before it is there for who sees the head: in what order another
    /// processor sees plain stores, x86 promises; elsewhere an atomic operation does.
    pub(super) fn publish(&mut self) {
        let inside = self.code.label();
        self.record_size(R3);
        self.load(Size::Double, R1, R7, layout::OFFSET as i16);
        self.push(Instruction::alu(Alu::Add, R1, R3));
        self.code.jump_if(Test::Less, R1, self.plan.geometry.data, inside);
        self.push(Instruction::mov(R1, 0));
        self.code.place(inside);
        self.push(Instruction::store(Size::Double, R7, layout::OFFSET as i16, R1));
        self.count(layout::CAPTURED);
        if cfg!(target_arch = "x86_64") {
            self.load(Size::Double, R1, R7, layout::HEAD as i16);
            self.push(Instruction::alu(Alu::Add, R1, R3));
            self.push(Instruction::store(Size::Double, R7, layout::HEAD as i16, R1));
        } else {
            self.push(Instruction::mov(R1, R3));
            self.push(Instruction::atomic_fetch_add(Size::Double, R7, layout::HEAD as i16, R1));
            self.push(Instruction::alu(Alu::Add, R1, R3));
        }
    }

    /// Wakes the consumer if it asked to be woken at a head that is reached now, once.
    pub(super) fn ring_doorbell(&mut self) {
        self.load(Size::Double, R2, R7, layout::WAKE_AT as i16);
        self.code.jump_if(Test::Less, R1, R2, self.ends.done);
        self.load(Size::Double, R1, R7, layout::RUNG as i16);
        self.code.jump_if(Test::Equal, R1, R2, self.ends.done);
        self.push(Instruction::store(Size::Double, R7, layout::RUNG as i16, R2));
        // There may be more consumers than rings.
        let consumers = self.plan.doorbells.len().min(self.plan.geometry.rings as usize);
        if consumers > 1 {
            self.load(Size::Word, R5, R10, RING_NUMBER);
            self.push(Instruction::alu(Alu::Mod, R5, consumers as i32));
        }
        for (consumer, doorbell) in self.plan.doorbells[..consumers].iter().enumerate() {
            let other = self.code.label();
            if consumer + 1 < consumers {
                self.code.jump_if(Test::NotEqual, R5, consumer as i32, other);
            }
            self.code.extend(Instruction::load_map(R1, doorbell.as_raw_fd()));
            self.push(Instruction::mov(R2, R7));
            self.push(Instruction::mov(R3, size_of::<u64>() as i32));
            self.push(Instruction::mov(R4, FORCE_WAKEUP));
            self.push(Instruction::call(helper::RINGBUF_OUTPUT));
            self.code.jump(self.ends.done);
            self.code.place(other);
        }
    }
}
