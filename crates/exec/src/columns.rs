//! Fields and numbers of a block, made when they are first needed.

use linerate_base::Descriptor;
use linerate_bpf::classic::ancillary::packet_type;
use linerate_filter::plan::BinaryOperator;

use crate::kernels::Level;
use crate::lanes::{CHUNK, Chunks, Lanes, Mask, each};
use crate::lookup::Lookup;
use crate::portable::{Choice, Windows};
use crate::program::{Column, ColumnId, Distance, Operand, Program};
use crate::vector::{Packets, Rows};

/// A column and who has a number in it; `None` stands for all.
pub(crate) type Known<'a> = (&'a Lanes, Option<&'a Mask>);

/// The memory of columns.
#[derive(Default)]
pub(crate) struct Memory {
    lanes: Vec<Lanes>,
    /// Which packets have a number in each column. Of chunks that are not made it says nothing. Of choices: who has passed.
    present: Vec<Mask>,
    made: Vec<Chunks>,
}

impl Memory {
    /// Forgets all columns, and has room for so many.
    fn begin(&mut self, count: usize) {
        if self.made.len() < count {
            self.lanes.resize(count, Lanes::default());
            self.present.resize(count, Mask::default());
            self.made.resize(count, 0);
        }
        self.made[..count].fill(0);
        self.present[..count].fill(Mask::default());
    }
}

/// The columns of one block.
pub(crate) struct Columns<'a> {
    program: &'a Program,
    level: Level,
    packets: Packets<'a>,
    rows: &'a Rows,
    memory: &'a mut Memory,
}

impl<'a> Columns<'a> {
    /// Of packets that are noted in `rows`.
    pub(crate) fn new(
        program: &'a Program,
        level: Level,
        packets: Packets<'a>,
        rows: &'a Rows,
        memory: &'a mut Memory,
    ) -> Self {
        memory.begin(program.columns.len());
        Self { program, level, packets, rows, memory }
    }

    /// The instructions that they are made by.
    pub(crate) fn level(&self) -> Level {
        self.level
    }

    /// All packets of the block.
    pub(crate) fn packets(&self) -> Mask {
        Mask::first(self.packets.descriptors.len())
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

    /// Makes an operand for some packets, and says which of them have it.
    pub(crate) fn who_has(&mut self, operand: Operand, packets: Mask) -> Mask {
        let (_, present) = self.get(operand, packets.chunks());
        present.map_or(packets, |present| packets & *present)
    }

    /// Makes `slot` hold `value` for those of the packets that have it, which it gives.
    pub(crate) fn bind(&mut self, slot: ColumnId, value: Operand, active: Mask) -> Mask {
        let chunks = active.chunks();
        self.make(value, chunks);
        self.make_column(slot, chunks);
        let present = self.presence_of(value.present);
        let bound = present.map_or(active, |present| active & *present);
        for packet in bound.iter() {
            let (chunk, lane) = (packet / CHUNK, packet % CHUNK);
            self.memory.lanes[slot][chunk][lane] = self.memory.lanes[value.lanes][chunk][lane];
        }
        for dependant in &self.program.dependants[slot] {
            self.memory.made[*dependant] &= !chunks;
        }
        bound
    }

    /// Notes who has passed where choices are made.
    pub(crate) fn pass(&mut self, choices: &[ColumnId], passed: Mask) {
        choices.iter().for_each(|choice| self.memory.present[*choice] = passed);
    }

    /// The same, of an operand that is made for the chunks that are looked at.
    pub(crate) fn known(&self, operand: Operand) -> Known<'_> {
        (&self.memory.lanes[operand.lanes], self.presence_of(operand.present))
    }

    /// The lane of a packet, of an operand that is made for its chunk; `None` where the packet has no number.
    pub(crate) fn at(&self, operand: Operand, packet: usize) -> Option<u32> {
        let (lanes, present) = self.known(operand);
        present.is_none_or(|present| present.has(packet)).then(|| lanes.of(packet))
    }

    /// Who has a number in a column; `None` where all have.
    fn presence_of(&self, id: ColumnId) -> Option<&Mask> {
        (!self.all_have(id)).then(|| &self.memory.present[id])
    }

    fn all_have(&self, id: ColumnId) -> bool {
        self.program.enough[id].is_some_and(|bytes| bytes <= self.rows.shortest)
    }

    fn make(&mut self, operand: Operand, chunks: Chunks) {
        self.make_column(operand.lanes, chunks);
        if operand.present != operand.lanes && !self.all_have(operand.present) {
            self.make_column(operand.present, chunks);
        }
    }

    #[inline(always)]
    fn make_column(&mut self, id: ColumnId, chunks: Chunks) {
        let missing = chunks & !self.memory.made[id];
        if missing != 0 {
            self.make_missing(id, missing);
        }
    }

    fn make_missing(&mut self, id: ColumnId, missing: Chunks) {
        let program = self.program;
        match &program.columns[id] {
            Column::Window { base, offset } => self.window(id, *base, *offset, missing),
            Column::Present { base, end } => self.presence(id, *base, *end, missing),
            Column::Missing => self.set_present(id, missing, Mask::default()),
            Column::Constant(constant) => self.constant(id, missing, *constant),
            Column::Slot => self.constant(id, missing, 0),
            Column::Length => self.fill(id, missing, |packet| Some(packet.length)),
            Column::PacketType => {
                self.fill(id, missing, |packet| packet_type(packet.direction).map(u32::from));
            }
            Column::Interface => {
                let interface = self.packets.interface;
                self.fill(id, missing, |_| interface);
            }
            Column::Extract { from, bits } => {
                self.make(*from, missing);
                let (operands, this) = self.memory.lanes.split_at_mut(id);
                self.level.extract(*bits, &operands[from.lanes], missing, &mut this[0]);
                self.set_present(id, missing, self.having(from.present));
            }
            Column::Combine { operator, left, right } => {
                self.combination(id, *operator, [*left, *right], missing);
            }
            Column::Choice { passed, others } => self.choice(id, [*passed, *others], missing),
        }
        self.memory.made[id] |= missing;
    }

    fn combination(
        &mut self,
        id: ColumnId,
        operator: BinaryOperator,
        both: [Operand; 2],
        chunks: Chunks,
    ) {
        both.iter().for_each(|operand| self.make(*operand, chunks));
        let (operands, this) = self.memory.lanes.split_at_mut(id);
        let numbers = both.map(|operand| &operands[operand.lanes]);
        self.level.combine(operator, numbers, chunks, &mut this[0]);
        let mut there = self.having(both[0].present) & self.having(both[1].present);
        if matches!(operator, BinaryOperator::Divide | BinaryOperator::Modulo) {
            let none = Lookup::Equal { mask: u32::MAX, constant: 0 };
            let divisors = &self.memory.lanes[both[1].lanes];
            there = there & !self.level.test(&none, divisors, chunks);
        }
        self.set_present(id, chunks, there);
    }

    fn constant(&mut self, id: ColumnId, chunks: Chunks, constant: u32) {
        each(chunks).for_each(|chunk| self.memory.lanes[id][chunk] = [constant; CHUNK]);
        self.set_present(id, chunks, Mask::ALL);
    }

    fn choice(&mut self, id: ColumnId, distances: [Distance; 2], chunks: Chunks) {
        for base in distances.iter().filter_map(|distance| distance.base) {
            self.make_column(base.lanes, chunks);
        }
        let (operands, this) = self.memory.lanes.split_at_mut(id);
        let [passed, others] =
            distances.map(|Distance { base, plus }| (base.map(|base| &operands[base.lanes]), plus));
        let who = &self.memory.present[id];
        self.level.choose(&Choice { passed, others }, who, chunks, &mut this[0]);
    }

    fn window(&mut self, id: ColumnId, base: Option<Operand>, offset: u32, chunks: Chunks) {
        if let Some(base) = base {
            self.make_column(base.lanes, chunks);
        }
        let (region, starts) = (self.packets.region, &self.rows.starts);
        let Some(quad) = self.program.quads[id] else {
            let (operands, this) = self.memory.lanes.split_at_mut(id);
            let base = base.map(|base| &operands[base.lanes]);
            let windows = Windows { region, starts, base, offset };
            return self.level.gather(&windows, chunks, &mut this[0]);
        };
        // What windows are made of has a smaller number than any of them.
        let first = quad.windows.into_iter().flatten().fold(id, usize::min);
        let (operands, these) = self.memory.lanes.split_at_mut(first);
        let base = quad.base.map(|base| &operands[base.lanes]);
        let windows = Windows { region, starts, base, offset: quad.offset };
        let columns = quad.windows.map(|window| Some(window? - first));
        self.level.gather_quad(&windows, &columns, chunks, these);
        for window in quad.windows.into_iter().flatten() {
            self.memory.made[window] |= chunks;
        }
    }

    fn presence(&mut self, id: ColumnId, base: Option<Operand>, end: u32, chunks: Chunks) {
        if let Some(base) = base {
            self.make(base, chunks);
        }
        let before = base.map(|base| &self.memory.lanes[base.lanes]);
        let within = self.level.within(&self.rows.captured, before, end, chunks);
        let before = base.map_or(Mask::ALL, |base| self.having(base.present));
        self.set_present(id, chunks, within & before);
    }

    fn having(&self, id: ColumnId) -> Mask {
        self.presence_of(id).copied().unwrap_or(Mask::ALL)
    }

    fn set_present(&mut self, id: ColumnId, chunks: Chunks, present: Mask) {
        if self.all_have(id) {
            return;
        }
        let (asked, known) = (Mask::of_chunks(chunks), &mut self.memory.present[id]);
        *known = *known & !asked | present & asked;
    }

    fn fill(&mut self, id: ColumnId, chunks: Chunks, number: impl Fn(&Descriptor) -> Option<u32>) {
        let mut present = Mask::default();
        for chunk in each(chunks) {
            let packets = self.packets.descriptors.iter().skip(chunk * CHUNK).take(CHUNK);
            for (lane, packet) in packets.enumerate() {
                let number = number(packet);
                present.insert(chunk, u16::from(number.is_some()) << lane);
                self.memory.lanes[id][chunk][lane] = number.unwrap_or(0);
            }
        }
        self.set_present(id, chunks, present);
    }
}
