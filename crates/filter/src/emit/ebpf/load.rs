//! Loads: from the packet where it lies, and by the load helper.

use super::facts::{IPV4_HEADER, direct_end, header_length};
use super::registers::Held;
use super::{Emitter, LOADED, Way, address};
use crate::error::Result;
use crate::ir::value::{Load, ValueId, Width};
use linerate_bpf::extended::{Alu, Instruction, Predicate, Register, Size, Test, helper};

/// No packet is longer than a signed number of 32 bits says.
const LARGEST_PACKET: u32 = i32::MAX as u32;

impl Emitter<'_> {
    /// A number of the packet, in the machine's order.
    pub(super) fn load(&mut self, id: ValueId, load: Load) -> Result<Register> {
        let raw = self.raw(id, load)?;
        let swap = match load.width {
            Width::Byte => return Ok(raw),
            Width::Half => Instruction::big_endian16,
            Width::Word => Instruction::big_endian32,
        };
        self.registers.hold(raw, None);
        self.push(swap(raw));
        Ok(raw)
    }

    /// The bytes of a number of the packet as they lie there.
    pub(super) fn raw(&mut self, id: ValueId, load: Load) -> Result<Register> {
        if let Some(register) = self.registers.find(Held::Raw(id)) {
            return Ok(register);
        }
        let (base, offset) = match direct_end(self.ir, load).filter(|_| self.way == Way::Fast) {
            Some(end) => {
                self.make_sure(load)?;
                (Predicate::START, end as i16 - load.width.bytes() as i16)
            }
            None => (Register::R10, self.by_helper(id, load)?),
        };
        let register = self.registers.take()?;
        self.push(Instruction::load(size(load.width), register, base, offset));
        self.registers.hold(register, Some(Held::Raw(id)));
        Ok(register)
    }

    /// Goes the slow way unless what is to be loaded directly is there.
    pub(super) fn make_sure(&mut self, load: Load) -> Result<()> {
        self.assume_no_options(load)?;
        direct_end(self.ir, load).map_or(Ok(()), |end| self.prove(end))
    }

    /// Goes the slow way unless the IPv4 header before what is loaded has the usual length.
    fn assume_no_options(&mut self, load: Load) -> Result<()> {
        let Some(index) = load.index else { return Ok(()) };
        let Some(byte) = header_length(self.ir, index) else { return Ok(()) };
        if self.registers.is_usual(index) {
            return Ok(());
        }
        let words = self.value(byte)?;
        let words = self.copy_of(words)?;
        self.push(Instruction::alu32(Alu::And, words, 0xf_u32));
        let slow = self.slow_way();
        self.assembler.jump_if32(Test::NotEqual, words, IPV4_HEADER / 4, slow);
        self.registers.release(words);
        self.registers.note_usual(index);
        Ok(())
    }

    /// Sees to it that the packet's first `end` bytes are there; if that takes a check, then as many as
    /// will be needed.
    fn prove(&mut self, end: u32) -> Result<()> {
        if self.registers.packet >= end {
            return Ok(());
        }
        let bytes = self.widths[self.node.index()].max(end);
        let behind = self.registers.take()?;
        self.assembler.extend(address(behind, Predicate::START, bytes));
        let slow = self.slow_way();
        self.assembler.jump_if(Test::Greater, behind, Predicate::END, slow);
        self.registers.release(behind);
        self.registers.packet = bytes;
        Ok(())
    }

    /// Where on the stack the bytes are, which are got there unless they are kept from before.
    fn by_helper(&mut self, id: ValueId, load: Load) -> Result<i16> {
        let at = |word: usize| LOADED + 4 * word as i16;
        if let Some(word) = self.registers.kept(id) {
            return Ok(at(word));
        }
        self.offset(load)?;
        let at = at(self.registers.keep(id));
        self.call_helper(at, load.width);
        Ok(at)
    }

    /// The load's offset into R2.
    fn offset(&mut self, load: Load) -> Result<()> {
        let Some(index) = load.index else {
            self.push(Instruction::mov32(Register::R2, load.offset));
            return Ok(());
        };
        let number = self.value(index)?;
        // Otherwise the sum might be past 2^32, where the helper begins anew.
        let room = LARGEST_PACKET.saturating_sub(load.offset);
        let reject = self.reject();
        self.assembler.jump_if32(Test::Greater, number, room, reject);
        self.push(Instruction::mov32(Register::R2, number));
        self.push(Instruction::alu32(Alu::Add, Register::R2, load.offset));
        Ok(())
    }

    /// Copies what is at the offset in R2 to the stack. To reject is what the verifier is shown first, see
    /// [`Emitter::spares_verifier`].
    fn call_helper(&mut self, to: i16, width: Width) {
        self.push(Instruction::mov(Register::R1, Predicate::CONTEXT));
        let to = i32::from(to).cast_unsigned();
        self.assembler.extend(address(Register::R3, Register::R10, to));
        self.push(Instruction::mov32(Register::R4, width.bytes() as u32));
        self.push(Instruction::call(helper::SKB_LOAD_BYTES));
        self.registers.forget();
        let (reject, there) = (self.reject(), self.assembler.label());
        self.assembler.jump_if(Test::Equal, Register::R0, 0, there);
        self.assembler.jump(reject);
        self.assembler.place(there);
    }
}

/// The size of a load instruction.
pub(in crate::emit) fn size(width: Width) -> Size {
    match width {
        Width::Byte => Size::Byte,
        Width::Half => Size::Half,
        Width::Word => Size::Word,
    }
}
