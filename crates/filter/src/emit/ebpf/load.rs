//! Loads: from the packet where it lies, and by the load helper.

use super::facts::{FARTHEST, end};
use super::registers::Held;
use super::{Emitter, LOADED, Way, address};
use crate::error::Result;
use crate::ir::value::{Load, ValueId, Width};
use linerate_bpf::extended::{Alu, Instruction, Predicate, Register, Size, Test, helper};

/// The verifier follows offsets into a packet up to here, `MAX_PACKET_OFF` of `kernel/bpf/verifier.c`
/// (Linux 6.18).
const LARGEST_OFFSET: u32 = 0xffff;
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
        let register = match self.way {
            Way::Fast => self.fast(load)?,
            Way::Slow => self.slow(id, load)?,
        };
        self.registers.hold(register, Some(Held::Raw(id)));
        Ok(register)
    }

    fn fast(&mut self, load: Load) -> Result<Register> {
        let bytes = self.widths.at(self.node, load.index, end(load)).min(FARTHEST);
        let base = match load.index {
            None => self.packet_start(end(load), bytes)?,
            Some(index) => self.pointer(index, end(load), bytes)?,
        };
        let register = self.registers.take()?;
        self.push(Instruction::load(size(load.width), register, base, load.offset as i16));
        self.registers.release(base);
        Ok(register)
    }

    /// The packet's beginning, from which on `needed` bytes are proven to be there; if that takes a
    /// check, then `checked` bytes.
    fn packet_start(&mut self, needed: u32, checked: u32) -> Result<Register> {
        if self.registers.packet < needed {
            self.check_end(Predicate::START, checked)?;
            self.registers.packet = checked;
        }
        Ok(Predicate::START)
    }

    /// The same for the byte whose number is `index`.
    fn pointer(&mut self, index: ValueId, needed: u32, checked: u32) -> Result<Register> {
        let pointer = match self.registers.find(Held::Pointer(index)) {
            Some(pointer) => pointer,
            None => self.point(index)?,
        };
        if self.registers.proven(pointer) < needed {
            self.check_end(pointer, checked)?;
            self.registers.prove(pointer, checked);
        }
        Ok(pointer)
    }

    fn point(&mut self, index: ValueId) -> Result<Register> {
        let number = self.value(index)?;
        // Room for whatever check comes to be made.
        let limit = LARGEST_OFFSET - FARTHEST;
        if self.facts[index.index()].largest > limit {
            let slow = self.slow_way();
            self.assembler.jump_if32(Test::Greater, number, limit, slow);
        }
        let pointer = self.registers.take()?;
        self.push(Instruction::mov32(pointer, number));
        self.push(Instruction::alu(Alu::Add, pointer, Predicate::START));
        self.registers.release(number);
        self.registers.hold(pointer, Some(Held::Pointer(index)));
        Ok(pointer)
    }

    /// Goes the slow way unless there are `bytes` from `pointer` on.
    fn check_end(&mut self, pointer: Register, bytes: u32) -> Result<()> {
        let behind = self.registers.take()?;
        self.assembler.extend(address(behind, pointer, bytes));
        let slow = self.slow_way();
        self.assembler.jump_if(Test::Greater, behind, Predicate::END, slow);
        self.registers.release(behind);
        Ok(())
    }

    fn slow(&mut self, id: ValueId, load: Load) -> Result<Register> {
        let at = |word: usize| LOADED + 4 * word as i16;
        let at = match self.registers.kept(id) {
            Some(word) => at(word),
            None => {
                self.offset(load)?;
                let at = at(self.registers.keep(id));
                self.call_helper(at, load.width);
                at
            }
        };
        let register = self.registers.take()?;
        self.push(Instruction::load(size(load.width), register, Register::R10, at));
        Ok(register)
    }

    /// The load's offset into R2.
    fn offset(&mut self, load: Load) -> Result<()> {
        let room = LARGEST_PACKET.checked_sub(load.offset);
        match load.index {
            None => self.push(Instruction::mov32(Register::R2, load.offset)),
            Some(index) => {
                let number = self.value(index)?;
                let reject = self.reject();
                // Otherwise the sum might be past 2^32, where the helper begins anew.
                self.assembler.jump_if32(Test::Greater, number, room.unwrap_or(0), reject);
                self.push(Instruction::mov32(Register::R2, number));
                self.push(Instruction::alu32(Alu::Add, Register::R2, load.offset));
            }
        }
        Ok(())
    }

    /// Copies what is at the offset in R2 to the stack.
    fn call_helper(&mut self, to: i16, width: Width) {
        self.push(Instruction::mov(Register::R1, Predicate::CONTEXT));
        let to = i32::from(to).cast_unsigned();
        self.assembler.extend(address(Register::R3, Register::R10, to));
        self.push(Instruction::mov32(Register::R4, width.bytes() as u32));
        self.push(Instruction::call(helper::SKB_LOAD_BYTES));
        self.registers.forget();
        let reject = self.reject();
        self.assembler.jump_if(Test::NotEqual, Register::R0, 0, reject);
    }
}

fn size(width: Width) -> Size {
    match width {
        Width::Byte => Size::Byte,
        Width::Half => Size::Half,
        Width::Word => Size::Word,
    }
}
