//! The part of the program that copies a packet's bytes.
//!
//! The kernel's helper function for this costs more than the rest of the program. So short packets, of
//! which there are the most in a second, are copied by the program itself, eight bytes at a time; all others
//! by the helper, which knows packets in several buffers, too.

use linerate_bpf::extended::Alu::{Add, Sub};
use linerate_bpf::extended::{Hook, Instruction, Label, Size, Test};
use linerate_sys::tap_ring::layout;

use super::{R0, R1, R2, R3, R4, R5, R6, R8, Writer, field};
use crate::hook::{sk_buff, xdp_md};

/// The longest packet that the program copies itself, in bytes; a multiple of 8.
const SHORT: i16 = 128;

impl Writer<'_> {
    /// R8 bytes of the packet behind the header at R5.
    pub(super) fn copy(&mut self) {
        let (whole, copied) = (self.code.label(), self.code.label());
        // Then what is kept of a short packet is all of it, and its end is where the copy ends.
        if self.plan.snaplen >= SHORT as u32 {
            self.copy_short(whole, copied);
        }
        self.code.place(whole);
        self.push(Instruction::mov(R1, R6));
        self.push(Instruction::mov(R2, 0));
        self.push(Instruction::mov(R3, R5));
        self.push(Instruction::alu(Add, R3, i32::from(field(layout::PACKET))));
        self.push(Instruction::mov(R4, R8));
        self.push(Instruction::call(self.plan.hook.load_bytes()));
        // Some packets' bytes are in the memory of a device, and only there.
        self.code.jump_if(Test::NotEqual, R0, 0, self.ends.dropped);
        self.code.place(copied);
    }

    /// Copies word after word up to the one that reaches past the end of what is directly accessible:
    /// what is left of the packet there decides how it goes on.
    fn copy_short(&mut self, whole: Label, copied: Label) {
        let (start, end) = match self.plan.hook {
            Hook::Xdp => (xdp_md::DATA, xdp_md::DATA_END),
            Hook::Ingress | Hook::Egress => (sk_buff::DATA, sk_buff::DATA_END),
        };
        self.code.jump_if(Test::Greater, R8, i32::from(SHORT), whole);
        self.load(Size::Word, R1, R6, start);
        self.load(Size::Word, R2, R6, end);
        let rests: Vec<_> = (0..SHORT).step_by(8).map(|at| (at, self.code.label())).collect();
        for &(at, rest) in &rests {
            self.check_end(at + 8, rest);
            self.copy_piece(Size::Double, at);
        }
        self.code.jump(copied);
        for (at, rest) in rests {
            self.code.place(rest);
            self.copy_rest(at, whole, copied);
        }
    }

    /// What is left from `at` on, if it is an even number of bytes below 8; otherwise all is copied by the
    /// helper.
    fn copy_rest(&mut self, at: i16, whole: Label, copied: Label) {
        let [four, two, six] = [(); 3].map(|()| self.code.label());
        self.push(Instruction::mov(R3, R8));
        self.push(Instruction::alu(Sub, R3, i32::from(at)));
        self.code.jump_if(Test::Equal, R3, 4, four);
        self.code.jump_if(Test::Equal, R3, 0, copied);
        self.code.jump_if(Test::Equal, R3, 2, two);
        self.code.jump_if(Test::Equal, R3, 6, six);
        self.code.jump(whole);
        for (label, bytes) in [(four, 4), (two, 2), (six, 6)] {
            self.code.place(label);
            self.check_end(at + bytes, whole);
            if bytes != 2 {
                self.copy_piece(Size::Word, at);
            }
            if bytes != 4 {
                self.copy_piece(Size::Half, at + bytes - 2);
            }
            self.code.jump(copied);
        }
    }

    /// Goes on only if the first `bytes` bytes of the packet are directly accessible.
    fn check_end(&mut self, bytes: i16, otherwise: Label) {
        self.push(Instruction::mov(R3, R1));
        self.push(Instruction::alu(Add, R3, i32::from(bytes)));
        self.code.jump_if(Test::Greater, R3, R2, otherwise);
    }

    fn copy_piece(&mut self, size: Size, at: i16) {
        self.load(size, R0, R1, at);
        self.push(Instruction::store(size, R5, field(layout::PACKET) + at, R0));
    }
}
