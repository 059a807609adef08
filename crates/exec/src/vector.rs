//! The evaluation of a block: each step once, for the packets that come to it.
//!
//! Where a step would gather a field of chunks that are mostly empty of packets that want it, these packets go
//! on in a *stream* of their own, side by side: in mixed traffic a field of one protocol costs as many chunks
//! as that protocol has packets for.

use linerate_base::Descriptor;

use crate::columns::{Block, Columns, Memory};
use crate::kernels::{Level, prefetch};
use crate::lanes::{Arrivals, CHUNKS, Fork, Lanes, Mask};
use crate::program::{Place, Program, Step};

/// Up to [`LANES`](crate::lanes::LANES) packets.
#[derive(Clone, Copy)]
pub(crate) struct Packets<'a> {
    /// What they are in; at most 2 GiB.
    pub(crate) region: &'a [u8],
    pub(crate) descriptors: &'a [Descriptor],
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

/// What an evaluation writes to. A thread has one for all its engines.
pub(crate) struct Workspace {
    /// Of the block that comes next.
    ahead: Box<Rows>,
    streams: [Stream; STREAMS],
}

/// Each has at most half of the chunks of the one before, and one chunk is never split.
const STREAMS: usize = CHUNKS.ilog2() as usize;

#[derive(Default)]
struct Stream {
    rows: Box<Rows>,
    memory: Memory,
    /// Who comes to each place. Empty between evaluations.
    places: Vec<Arrivals>,
}

impl Default for Workspace {
    fn default() -> Self {
        Self { ahead: Box::default(), streams: std::array::from_fn(|_| Stream::default()) }
    }
}

impl Workspace {
    /// Notes where the packets of a block are, which begin `from` bytes into their region, and begins to load
    /// what a filter will look at first.
    pub(crate) fn note(
        &mut self,
        program: &Program,
        memory: &[u8],
        from: u32,
        block: &[Descriptor],
    ) {
        self.ahead.fill(block, from, |offset| prefetch(memory, offset as usize + program.reach));
    }

    /// Goes on to the block that was noted last.
    pub(crate) fn advance(&mut self) {
        std::mem::swap(&mut self.ahead, &mut self.streams[0].rows);
    }

    /// The packets of the block that the filter keeps.
    pub(crate) fn evaluate(
        &mut self,
        program: &Program,
        level: Level,
        packets: Packets<'_>,
    ) -> Mask {
        let coming = Arrivals::first(packets.descriptors.len());
        let evaluation = Evaluation { program, level, packets };
        evaluation.run(&mut self.streams, &mut Vec::new(), program.entry, coming)
    }
}

impl Rows {
    /// Notes where the packets of a block are, and shows each one's offset.
    pub(crate) fn fill(&mut self, block: &[Descriptor], from: u32, seen: impl Fn(u32)) {
        let Self { starts, captured, shortest } = self;
        let (starts, captured) = (starts.0.as_flattened_mut(), captured.0.as_flattened_mut());
        *shortest = u32::MAX;
        for ((start, bytes), packet) in starts.iter_mut().zip(captured.iter_mut()).zip(block) {
            (*start, *bytes) = (packet.offset.wrapping_sub(from), packet.captured);
            *shortest = packet.captured.min(*shortest);
            seen(packet.offset);
        }
        starts[block.len()..].fill(0);
        captured[block.len()..].fill(0);
    }

    /// Some packets of another's, side by side.
    fn pick(&mut self, level: Level, other: &Self, chosen: &Arrivals) {
        level.compress(&other.starts, chosen, &mut self.starts);
        level.compress(&other.captured, chosen, &mut self.captured);
        self.shortest = other.shortest;
    }
}

/// What is the same for all streams of a block.
struct Evaluation<'a> {
    program: &'a Program,
    level: Level,
    packets: Packets<'a>,
}

impl Evaluation<'_> {
    /// Those of the packets that come to a place of the first stream that are accepted. `way` says who was picked
    /// for each stream on the way from the whole block to this one.
    fn run(
        &self,
        streams: &mut [Stream],
        way: &mut Vec<Mask>,
        entry: Place,
        coming: Arrivals,
    ) -> Mask {
        let Some((Stream { rows, memory, places }, deeper)) = streams.split_first_mut() else {
            return Mask::default();
        };
        let Self { program, level, packets } = *self;
        let steps = program.steps.len();
        places.clear();
        places.resize(program.places(), Arrivals::default());
        places[entry] = coming;
        memory.begin(program);
        for id in entry..steps {
            let active = places[id];
            if active.chunks == 0 {
                continue;
            }
            let block = Block { packets, rows, way };
            let mut columns = Columns::new(program, level, block, memory);
            if !deeper.is_empty() && columns.is_sparse(&program.steps[id], &active) {
                deeper[0].rows.pick(level, rows, &active);
                way.push(active.packets);
                let count = active.packets.count();
                let kept = self.run(deeper, way, id, Arrivals::first(count));
                way.pop();
                accept(&mut places[program.accepted()], &level.spread(&kept, &active));
                continue;
            }
            take(&program.steps[id], level, &active, &mut columns, places);
        }
        places[program.accepted()].packets
    }
}

fn accept(accepted: &mut Arrivals, kept: &Mask) {
    kept.0.iter().enumerate().for_each(|(chunk, packets)| accepted.add(chunk, *packets));
}

fn take(
    step: &Step,
    level: Level,
    active: &Arrivals,
    columns: &mut Columns<'_>,
    places: &mut [Arrivals],
) {
    let chunks = active.chunks;
    match step {
        Step::Bind { slot, value, next } => {
            let bound = columns.bind(*slot, *value, active);
            accept(&mut places[*next], &bound);
        }
        Step::Test { operand, lookup, then, otherwise } => {
            let (lanes, present) = columns.get(*operand, chunks);
            fork(places, *then, *otherwise, |fork| {
                level.test(lookup, lanes, present, active, fork);
            });
        }
        Step::Either { either, then, otherwise } => {
            let [(lanes, first), (_, second)] = columns.get_both(either.operands, chunks);
            fork(places, *then, *otherwise, |fork| {
                level.either(either, lanes, [first, second], active, fork);
            });
        }
        Step::Compare { how, left, right, then, otherwise } => {
            let both = columns.get_both([*left, *right], chunks);
            fork(places, *then, *otherwise, |fork| level.compare(*how, both, active, fork));
        }
    }
}

/// Has packets sent to two places, which may be one.
fn fork(places: &mut [Arrivals], then: Place, otherwise: Place, send: impl FnOnce(&mut Fork<'_>)) {
    if let Ok([then, otherwise]) = places.get_disjoint_mut([then, otherwise]) {
        return send(&mut Fork { then, otherwise });
    }
    let mut fails = Arrivals::default();
    send(&mut Fork { then: &mut places[then], otherwise: &mut fails });
    accept(&mut places[otherwise], &fails.packets);
}
