//! Fields and numbers of a block, made when they are first needed.

use linerate_base::Descriptor;
use linerate_bpf::classic::ancillary::packet_type;
use linerate_filter::plan::BinaryOperator;

use crate::kernels::Level;
use crate::lanes::{Arrivals, CHUNK, Chunks, LANES, Lanes, Mask, each, ones};
use crate::portable::{Known, Windows, of};
use crate::program::{Column, ColumnId, Operand, Program, Step};
use crate::vector::{Packets, Rows};

/// Packets to be evaluated side by side.
#[derive(Clone, Copy)]
pub(crate) struct Block<'a> {
    pub(crate) packets: Packets<'a>,
    pub(crate) rows: &'a Rows,
    /// Who of the block, and who of these, and so on, was picked to be here.
    pub(crate) way: &'a [Mask],
}

/// The memory of columns.
#[derive(Default)]
pub(crate) struct Memory {
    lanes: Vec<Lanes>,
    /// Which packets have a number in each column. Of chunks that are not made it says nothing.
    present: Vec<Mask>,
    made: Vec<Chunks>,
}

impl Memory {
    /// Forgets all columns, and has room for those of a program.
    pub(crate) fn begin(&mut self, program: &Program) {
        let count = program.columns.len();
        if self.lanes.len() < count {
            self.lanes.resize(count, Lanes::default());
            self.present.resize(count, Mask::default());
        }
        self.made.clear();
        self.made.resize(count, 0);
    }
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
        Self { program, level, block, memory }
    }

    /// Whether a step would have to make numbers for chunks of which most packets do not come to it.
    pub(crate) fn is_sparse(&self, step: &Step, active: &Arrivals) -> bool {
        let Step::Test { operand: Operand { lanes, .. }, .. } = *step else { return false };
        active.chunks & !self.memory.made[lanes] != 0 && self.program.splits && active.is_sparse()
    }

    /// Makes an operand for some chunks, and says which packets have it.
    pub(crate) fn get(&mut self, operand: Operand, chunks: Chunks) -> Known<'_> {
        self.make(operand, chunks);
        self.known(operand)
    }

    /// The same for two.
    pub(crate) fn get_both(&mut self, operands: [Operand; 2], chunks: Chunks) -> [Known<'_>; 2] {
        operands.iter().for_each(|operand| self.make(*operand, chunks));
        let this = &*self;
        operands.map(|operand| this.known(operand))
    }

    /// Makes `slot` hold `value` for those of the packets that have it, which it gives.
    pub(crate) fn bind(&mut self, slot: ColumnId, value: Operand, active: &Arrivals) -> Mask {
        let chunks = active.chunks;
        self.make(value, chunks);
        self.make_column(slot, chunks);
        let present = self.presence_of(value.present);
        let bound = present.map_or(active.packets, |present| active.packets.and(present));
        for chunk in each(chunks) {
            for lane in ones(bound.0[chunk]) {
                self.memory.lanes[slot][chunk][lane] = self.memory.lanes[value.lanes][chunk][lane];
            }
        }
        for dependant in &self.program.dependants[slot] {
            self.memory.made[*dependant] &= !chunks;
        }
        bound
    }

    fn known(&self, operand: Operand) -> Known<'_> {
        (&self.memory.lanes[operand.lanes], self.presence_of(operand.present))
    }

    /// The lane of a packet, of an operand that is made for its chunk; `None` where the packet has no number.
    pub(crate) fn at(&self, operand: Operand, chunk: usize, lane: usize) -> Option<u32> {
        let (lanes, present) = self.known(operand);
        (of(present, chunk) >> lane & 1 == 1).then(|| lanes[chunk][lane])
    }

    /// Who has a number in a column; `None` where all have.
    fn presence_of(&self, id: ColumnId) -> Option<&Mask> {
        (!self.all_have(id)).then(|| &self.memory.present[id])
    }

    fn all_have(&self, id: ColumnId) -> bool {
        self.program.enough[id].is_some_and(|bytes| bytes <= self.block.rows.shortest)
    }

    fn make(&mut self, operand: Operand, chunks: Chunks) {
        self.make_column(operand.lanes, chunks);
        if operand.present != operand.lanes && !self.all_have(operand.present) {
            self.make_column(operand.present, chunks);
        }
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
            Column::Constant(constant) => self.constant(id, missing, *constant),
            Column::Slot => self.constant(id, missing, 0),
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
                self.set_present(id, missing, |_| u16::MAX);
                self.restrict(id, missing, from.present);
            }
            Column::Combine { operator, left, right } => {
                self.make(*left, missing);
                self.make(*right, missing);
                let (operands, this) = self.memory.lanes.split_at_mut(id);
                let both = [&operands[left.lanes], &operands[right.lanes]];
                self.level.combine(*operator, both, missing, &mut this[0]);
                self.combined(id, *operator, right.lanes, missing);
                self.restrict(id, missing, left.present);
                self.restrict(id, missing, right.present);
            }
        }
        self.memory.made[id] |= missing;
    }

    /// Notes of whom a combination can be made: only division wants something of its right side.
    fn combined(
        &mut self,
        id: ColumnId,
        operator: BinaryOperator,
        right: ColumnId,
        chunks: Chunks,
    ) {
        if !matches!(operator, BinaryOperator::Divide | BinaryOperator::Modulo) {
            return self.set_present(id, chunks, |_| u16::MAX);
        }
        for chunk in each(chunks) {
            let divisors = self.memory.lanes[right][chunk].iter().enumerate();
            let made = divisors.fold(0, |made, (lane, by)| made | u16::from(*by != 0) << lane);
            self.memory.present[id].0[chunk] = made;
        }
    }

    fn constant(&mut self, id: ColumnId, chunks: Chunks, constant: u32) {
        each(chunks).for_each(|chunk| self.memory.lanes[id][chunk] = [constant; CHUNK]);
        self.set_present(id, chunks, |_| u16::MAX);
    }

    fn window(&mut self, id: ColumnId, base: Option<Operand>, offset: u32, chunks: Chunks) {
        if let Some(base) = base {
            self.make_column(base.lanes, chunks);
        }
        let (operands, this) = self.memory.lanes.split_at_mut(id);
        let base = base.map(|base| &operands[base.lanes]);
        let Block { packets: Packets { region, .. }, rows, .. } = self.block;
        let windows = Windows { region, starts: &rows.starts, base, offset };
        self.level.gather(&windows, chunks, &mut this[0]);
    }

    fn presence(&mut self, id: ColumnId, base: Option<Operand>, end: u32, chunks: Chunks) {
        let captured = &self.block.rows.captured;
        let Some(base) = base else {
            return self.level.within(captured, None, end, chunks, &mut self.memory.present[id]);
        };
        self.make(base, chunks);
        let before = Some(&self.memory.lanes[base.lanes]);
        self.level.within(captured, before, end, chunks, &mut self.memory.present[id]);
        self.restrict(id, chunks, base.present);
    }

    fn set_present(&mut self, id: ColumnId, chunks: Chunks, bits: impl Fn(usize) -> u16) {
        each(chunks).for_each(|chunk| self.memory.present[id].0[chunk] = bits(chunk));
    }

    /// Only who has a number in the other column has one in this.
    fn restrict(&mut self, id: ColumnId, chunks: Chunks, other: ColumnId) {
        if !self.all_have(other) {
            let [own, other] = [id, other].map(|id| self.memory.present[id]);
            self.set_present(id, chunks, |chunk| own.0[chunk] & other.0[chunk]);
        }
    }

    fn fill(&mut self, id: ColumnId, chunks: Chunks, number: impl Fn(&Descriptor) -> Option<u32>) {
        let origins = self.block.origins();
        for chunk in each(chunks) {
            let mut present = 0;
            let origins = origins.iter().skip(chunk * CHUNK).take(CHUNK);
            for (lane, packet) in origins.enumerate() {
                let number = self.block.packets.descriptors.get(*packet).and_then(&number);
                present |= u16::from(number.is_some()) << lane;
                self.memory.lanes[id][chunk][lane] = number.unwrap_or(0);
            }
            self.memory.present[id].0[chunk] = present;
        }
    }
}

impl Block<'_> {
    /// Which packet of the whole block is in each lane.
    fn origins(&self) -> [usize; LANES] {
        let mut origins = std::array::from_fn(|lane| lane);
        for picked in self.way {
            // They only move down: who is read was not yet written to.
            picked.iter().enumerate().for_each(|(to, from)| origins[to] = origins[from]);
        }
        origins
    }
}
