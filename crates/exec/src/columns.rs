//! Fields and numbers of a block, made when they are first needed.

use linerate_base::Descriptor;
use linerate_bpf::classic::ancillary::packet_type;

use crate::kernels::Level;
use crate::lanes::{CHUNK, Chunks, Lanes, Mask, each};
use crate::portable::{self, Windows};
use crate::program::{Column, ColumnId, Operand, Program};
use crate::vector::Packets;

/// Packets to be evaluated side by side.
#[derive(Clone, Copy)]
pub(crate) struct Block<'a> {
    pub(crate) packets: Packets<'a>,
    /// Where each begins in the region; 0 in lanes without a packet.
    pub(crate) starts: &'a Lanes,
    /// How many bytes of each there are; 0 in lanes without a packet.
    pub(crate) captured: &'a Lanes,
    /// The least of these.
    pub(crate) shortest: u32,
}

/// The memory of columns.
#[derive(Default)]
pub(crate) struct Memory {
    lanes: Vec<Lanes>,
    /// Which packets have a number in each column. Of chunks that are not made it says nothing.
    present: Vec<Mask>,
    made: Vec<Chunks>,
}

/// The columns of one block.
pub(crate) struct Columns<'a> {
    program: &'a Program,
    level: Level,
    block: Block<'a>,
    memory: &'a mut Memory,
}

impl<'a> Columns<'a> {
    pub(crate) fn new(
        program: &'a Program,
        level: Level,
        block: Block<'a>,
        memory: &'a mut Memory,
    ) -> Self {
        let count = program.columns.len();
        if memory.lanes.len() < count {
            memory.lanes.resize(count, Lanes::default());
            memory.present.resize(count, Mask::default());
        }
        memory.made.clear();
        memory.made.resize(count, 0);
        Self { program, level, block, memory }
    }

    /// Makes an operand for some chunks, and says which packets have it.
    pub(crate) fn get(&mut self, operand: Operand, chunks: Chunks) -> (&Lanes, &Mask) {
        self.make(operand, chunks);
        (&self.memory.lanes[operand.lanes], &self.memory.present[operand.present])
    }

    /// The same for two.
    pub(crate) fn get_both(
        &mut self,
        left: Operand,
        right: Operand,
        chunks: Chunks,
    ) -> [(&Lanes, &Mask); 2] {
        self.make(left, chunks);
        self.make(right, chunks);
        let memory = &*self.memory;
        [left, right].map(|o| (&memory.lanes[o.lanes], &memory.present[o.present]))
    }

    /// Makes `slot` hold `value` for those of the packets that have it, which it gives.
    pub(crate) fn bind(&mut self, slot: ColumnId, value: Operand, active: &Mask) -> Mask {
        let chunks = active.chunks();
        self.make(value, chunks);
        self.make_column(slot, chunks);
        let bound = active.and(&self.memory.present[value.present]);
        for chunk in each(chunks) {
            for lane in (0..CHUNK).filter(|lane| bound.0[chunk] >> lane & 1 == 1) {
                self.memory.lanes[slot][chunk][lane] = self.memory.lanes[value.lanes][chunk][lane];
            }
        }
        for dependant in &self.program.dependants[slot] {
            self.memory.made[*dependant] &= !chunks;
        }
        bound
    }

    fn make(&mut self, operand: Operand, chunks: Chunks) {
        self.make_column(operand.lanes, chunks);
        self.make_column(operand.present, chunks);
    }

    fn make_column(&mut self, id: ColumnId, chunks: Chunks) {
        let missing = chunks & !self.memory.made[id];
        if missing == 0 {
            return;
        }
        let program = self.program;
        match &program.columns[id] {
            Column::Window { base, offset } => self.window(id, *base, *offset, missing),
            Column::Present { base, end } => self.presence(id, *base, *end, missing),
            Column::Missing => self.set_present(id, missing, |_| 0),
            Column::Constant(constant) => self.fill(id, missing, |_| Some(*constant)),
            Column::Slot => self.fill(id, missing, |_| Some(0)),
            Column::Length => self.fill(id, missing, |packet| Some(packet.length)),
            Column::PacketType => {
                self.fill(id, missing, |packet| packet_type(packet.direction).map(u32::from));
            }
            Column::Interface => {
                let interface = self.block.packets.interface;
                self.fill(id, missing, |_| interface);
            }
            Column::Extract { from, bits } => {
                self.make(*from, missing);
                let (operands, this) = self.memory.lanes.split_at_mut(id);
                self.level.extract(*bits, &operands[from.lanes], missing, &mut this[0]);
                let present = self.memory.present[from.present];
                self.set_present(id, missing, |chunk| present.0[chunk]);
            }
            Column::Combine { operator, left, right } => {
                self.make(*left, missing);
                self.make(*right, missing);
                let (operands, this) = self.memory.lanes.split_at_mut(id);
                let out = (&mut this[0], &mut self.memory.present[id]);
                let (one, other) = (&operands[left.lanes], &operands[right.lanes]);
                portable::combine(*operator, one, other, missing, out);
                let present =
                    self.memory.present[left.present].and(&self.memory.present[right.present]);
                self.restrict(id, missing, &present);
            }
        }
        self.memory.made[id] |= missing;
    }

    fn window(&mut self, id: ColumnId, base: Option<Operand>, offset: u32, chunks: Chunks) {
        if let Some(base) = base {
            self.make_column(base.lanes, chunks);
        }
        let (operands, this) = self.memory.lanes.split_at_mut(id);
        let base = base.map(|base| &operands[base.lanes]);
        let Block { packets: Packets { region, .. }, starts, .. } = self.block;
        self.level.gather(&Windows { region, starts, base, offset }, chunks, &mut this[0]);
    }

    fn presence(&mut self, id: ColumnId, base: Option<Operand>, end: u32, chunks: Chunks) {
        let captured = self.block.captured;
        let Some(base) = base else {
            if self.block.shortest >= end {
                return self.set_present(id, chunks, |_| u16::MAX);
            }
            return self.level.within(captured, None, end, chunks, &mut self.memory.present[id]);
        };
        self.make(base, chunks);
        let before = Some(&self.memory.lanes[base.lanes]);
        self.level.within(captured, before, end, chunks, &mut self.memory.present[id]);
        let present = self.memory.present[base.present];
        self.restrict(id, chunks, &present);
    }

    fn set_present(&mut self, id: ColumnId, chunks: Chunks, bits: impl Fn(usize) -> u16) {
        each(chunks).for_each(|chunk| self.memory.present[id].0[chunk] = bits(chunk));
    }

    fn restrict(&mut self, id: ColumnId, chunks: Chunks, present: &Mask) {
        let own = self.memory.present[id];
        self.set_present(id, chunks, |chunk| own.0[chunk] & present.0[chunk]);
    }

    fn fill(&mut self, id: ColumnId, chunks: Chunks, number: impl Fn(&Descriptor) -> Option<u32>) {
        for chunk in each(chunks) {
            let mut present = 0;
            let packets = self.block.packets.descriptors.iter().skip(chunk * CHUNK).take(CHUNK);
            for (lane, packet) in packets.enumerate() {
                let number = number(packet);
                present |= u16::from(number.is_some()) << lane;
                self.memory.lanes[id][chunk][lane] = number.unwrap_or(0);
            }
            self.memory.present[id].0[chunk] = present;
        }
    }
}
