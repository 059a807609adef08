//! The evaluation of a block: each step once, for the packets that come to it.

use linerate_base::Descriptor;

use crate::columns::{Columns, Memory};
use crate::kernels::{Level, prefetch};
use crate::lanes::{Chunks, Lanes, Mask};
use crate::program::{Program, Step};

/// Up to [`LANES`](crate::lanes::LANES) packets.
#[derive(Clone, Copy)]
pub(crate) struct Packets<'a> {
    /// What they are in; at most 2 GiB.
    pub(crate) region: &'a [u8],
    pub(crate) descriptors: &'a [Descriptor],
    /// What is to be taken off their offsets.
    pub(crate) from: u32,
    /// The number of the interface that they came by.
    pub(crate) interface: Option<u32>,
}

/// Where packets are.
#[derive(Default)]
pub(crate) struct Rows {
    /// Where each begins in the region; 0 in lanes without a packet.
    pub(crate) starts: Lanes,
    /// How many bytes of each there are; 0 in lanes without a packet.
    pub(crate) captured: Lanes,
    /// No packet has fewer.
    pub(crate) shortest: u32,
}

/// Packets that come next, of which a part begins to be loaded at each step: so memory works while steps do.
pub(crate) struct Ahead<'a> {
    region: &'a [u8],
    packets: &'a [Descriptor],
    reach: usize,
    /// So many at a step.
    part: usize,
}

impl<'a> Ahead<'a> {
    pub(crate) fn new(
        program: &Program,
        region: &'a [u8],
        packets: Option<&&'a [Descriptor]>,
    ) -> Self {
        let packets = packets.copied().unwrap_or_default();
        let part = packets.len().div_ceil(program.steps.len().max(1));
        Self { region, packets, reach: program.reach, part }
    }

    fn step(&mut self) {
        let (next, rest) = self.packets.split_at(self.part.min(self.packets.len()));
        prefetch(self.region, next, self.reach);
        self.packets = rest;
    }

    /// Begins to load what is left.
    pub(crate) fn finish(self) {
        prefetch(self.region, self.packets, self.reach);
    }
}

/// What an evaluation writes to. A thread has one for all its engines.
#[derive(Default)]
pub(crate) struct Workspace {
    rows: Box<Rows>,
    memory: Memory,
    /// Who comes to each place.
    places: Vec<Mask>,
}

impl Workspace {
    /// Those of a block's packets that the filter keeps.
    pub(crate) fn evaluate(
        &mut self,
        program: &Program,
        level: Level,
        packets: Packets<'_>,
        ahead: &mut Ahead<'_>,
    ) -> Mask {
        let Self { rows, memory, places } = self;
        level.note(packets.descriptors, packets.from, rows);
        places.clear();
        places.resize(program.places(), Mask::default());
        places[program.entry] = Mask::first(packets.descriptors.len());
        let mut columns = Columns::new(program, level, packets, rows, memory);
        for (id, step) in program.steps.iter().enumerate() {
            let active = places[id];
            let chunks = active.chunks();
            if chunks != 0 {
                ahead.step();
                take(step, level, active, chunks, &mut columns, places);
            }
        }
        places[program.accepted()]
    }
}

fn take(
    step: &Step,
    level: Level,
    active: Mask,
    chunks: Chunks,
    columns: &mut Columns<'_>,
    places: &mut [Mask],
) {
    let of = |there: Option<&Mask>| there.map_or(active, |there| active & *there);
    match step {
        Step::Bind { slot, value, next } => places[*next] |= columns.bind(*slot, *value, active),
        Step::Pass { choices, next } => {
            columns.pass(choices, active);
            places[*next] |= active;
        }
        Step::Test { operand, lookup, then, otherwise } => {
            let (lanes, there) = columns.get(*operand, chunks);
            let (holds, there) = (level.test(lookup, lanes, chunks), of(there));
            places[*then] |= there & holds;
            places[*otherwise] |= there & !holds;
        }
        Step::Either { either, then, otherwise } => {
            let (lanes, lower) = columns.get(either.lower(), chunks);
            let found = level.halves(&either.constants, lanes, chunks);
            let [holds, fails] = if of(lower) == active {
                let any = found[0] | found[1];
                [active & any, active & !any]
            } else {
                let [(lanes, first), (_, second)] = columns.get_both(either.operands, chunks);
                either.judge(lanes, found, [of(first), of(second)])
            };
            places[*then] |= holds;
            places[*otherwise] |= fails;
        }
        Step::Compare { how, left, right, then, otherwise } => {
            let [(left, first), (right, second)] = columns.get_both([*left, *right], chunks);
            let there = of(first) & of(second);
            let holds = level.compare(*how, [left, right], chunks);
            places[*then] |= there & holds;
            places[*otherwise] |= there & !holds;
        }
    }
}
