//! The parts of the program that there are for owned addresses only.

use linerate_bpf::extended::{Instruction, Size, Test};

use super::{ASIDE, FLAGS, QUESTION, R0, R1, R8, R10, Writer, XDP_DROP};
use crate::own::program as own;

/// On the stack, below the number of the ring: what is known of the frame by its address, u32.
const BELONGING: i16 = -28;

/// `TCX_DROP` of `enum tcx_action_base`.
const TCX_DROP: i32 = 2;

impl Writer<'_> {
    /// Finds out whether the frame is to an owned address or port; if not, it is turned away. R8 = verdict of
    /// a filter that there is not.
    pub(super) fn tell_owned(&mut self) {
        let Some(owned) = self.plan.owned else { return };
        own::write(&mut self.code, self.plan.hook, owned.maps());
        self.push(Instruction::store(Size::Word, R10, BELONGING, R0));
        self.push(Instruction::mov(R8, R0));
        self.code.jump_if(Test::Equal, R0, own::FOREIGN, self.ends.foreign);
        let flagged = self.code.label();
        self.push(Instruction::mov(R1, 0));
        self.code.jump_if(Test::NotEqual, R0, own::QUESTION, flagged);
        self.push(Instruction::mov(R1, QUESTION));
        self.code.place(flagged);
        self.push(Instruction::store(Size::Word, R10, FLAGS, R1));
    }

    /// Questions are to be answered whatever the filter says.
    pub(super) fn keep_question(&mut self) {
        let decided = self.code.label();
        self.code.jump_if(Test::NotEqual, R8, 0, decided);
        self.load(Size::Word, R1, R10, FLAGS);
        self.code.jump_if(Test::Equal, R1, 0, decided);
        self.push(Instruction::store(Size::Word, R10, FLAGS, (QUESTION | ASIDE).cast_signed()));
        self.push(Instruction::mov(R8, 1));
        self.code.place(decided);
    }

    /// What is sent to an owned address or port the host does not get, captured or not.
    pub(super) fn take_away_owned(&mut self) {
        let kept = self.code.label();
        self.load(Size::Word, R1, R10, BELONGING);
        self.code.jump_if(Test::LessOrEqual, R1, own::SHARED, kept);
        let drop = if self.is_xdp() { XDP_DROP } else { TCX_DROP };
        self.push(Instruction::mov(R0, drop));
        self.push(Instruction::exit());
        self.code.place(kept);
    }
}
