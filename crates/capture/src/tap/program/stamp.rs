//! The part of the program that stamps packets.

use linerate_bpf::extended::{Alu, Instruction, Size, Test, helper};
use linerate_sys::tap_ring::layout;

use super::{BY_KERNEL, FLAGS, R0, R1, R2, R4, R6, R7, R10, Stamps, Writer};
use crate::hook::sk_buff;

/// On the stack: the card's time, u64.
const CARD_TIME: i16 = -48;

/// Of how many packets in a row one is stamped by [`Stamps::Sampled`]: a power of two.
const SAMPLED_OF: i32 = 16;

impl Writer<'_> {
    /// R0 = time.
    pub(super) fn stamp(&mut self) {
        match self.plan.stamps {
            Stamps::None => self.push(Instruction::mov(R0, 0)),
            Stamps::Each => self.push(Instruction::call(helper::KTIME_GET_NS)),
            Stamps::Card => self.take_cards_time(),
            Stamps::Sampled => self.sample(),
        }
    }

    /// Without a time of the card's, the record's flags say so.
    fn take_cards_time(&mut self) {
        let stamped = self.code.label();
        if self.plan.owned.is_none() {
            self.push(Instruction::store(Size::Word, R10, FLAGS, self.flags()));
        }
        if let Some(function) = self.plan.driver.timestamp {
            self.push(Instruction::store(Size::Double, R10, CARD_TIME, 0));
            self.push(Instruction::mov(R1, R6));
            self.stack_address(R2, CARD_TIME);
            self.push(Instruction::call_kernel(function));
            self.load(Size::Double, R0, R10, CARD_TIME);
        } else {
            self.load(Size::Double, R0, R6, sk_buff::HWTSTAMP);
        }
        self.code.jump_if(Test::NotEqual, R0, 0, stamped);
        self.load(Size::Word, R1, R10, FLAGS);
        self.push(Instruction::alu(Alu::Or, R1, BY_KERNEL));
        self.push(Instruction::store(Size::Word, R10, FLAGS, R1));
        self.push(Instruction::call(helper::KTIME_GET_NS));
        self.code.place(stamped);
    }

    fn sample(&mut self) {
        let (read, stamped) = (self.code.label(), self.code.label());
        self.code.jump_if(Test::Equal, R4, 0, read);
        self.load(Size::Double, R1, R7, layout::CAPTURED as i16);
        self.push(Instruction::alu(Alu::And, R1, SAMPLED_OF - 1));
        self.code.jump_if(Test::Equal, R1, 0, read);
        // The kernel replaces this call by a load.
        self.push(Instruction::call(helper::JIFFIES64));
        self.load(Size::Double, R1, R7, layout::TICK as i16);
        self.code.jump_if(Test::NotEqual, R0, R1, read);
        self.load(Size::Double, R0, R7, layout::STAMP as i16);
        self.code.jump(stamped);
        self.code.place(read);
        self.push(Instruction::call(helper::JIFFIES64));
        self.push(Instruction::store(Size::Double, R7, layout::TICK as i16, R0));
        self.push(Instruction::call(helper::KTIME_GET_NS));
        self.push(Instruction::store(Size::Double, R7, layout::STAMP as i16, R0));
        self.code.place(stamped);
    }
}
