//! The evaluation of a block: each step once, for the packets that come to it.

use linerate_base::Descriptor;
use linerate_filter::plan::Target;

use crate::columns::{Block, Columns, Memory};
use crate::kernels::{Level, prefetch};
use crate::lanes::{LANES, Lanes, Mask};
use crate::portable;
use crate::program::{Program, Step};

/// Up to [`LANES`] packets.
#[derive(Clone, Copy)]
pub(crate) struct Packets<'a> {
    /// What they are in; at most 2 GiB.
    pub(crate) region: &'a [u8],
    /// Where the region begins in that of the descriptors.
    pub(crate) from: u32,
    pub(crate) descriptors: &'a [Descriptor],
    /// The number of the interface that they came by.
    pub(crate) interface: Option<u32>,
}

/// What an evaluation writes to. A thread has one for all its engines.
#[derive(Default)]
pub(crate) struct Workspace {
    starts: Lanes,
    captured: Lanes,
    memory: Memory,
    coming: Coming,
}

/// The packets that come to each step, and those that are accepted.
#[derive(Default)]
struct Coming {
    /// Empty between evaluations.
    steps: Vec<Mask>,
    accepted: Mask,
}

impl Workspace {
    /// The packets that the filter keeps.
    pub(crate) fn evaluate(
        &mut self,
        program: &Program,
        level: Level,
        packets: Packets<'_>,
    ) -> Mask {
        let shortest = self.fill(packets);
        let Self { starts, captured, memory, coming } = self;
        let block = Block { packets, starts, captured, shortest };
        let mut columns = Columns::new(program, level, block, memory);
        coming.begin(program.steps.len());
        coming.send(program.entry, &Mask::first(packets.descriptors.len()));
        for (id, step) in program.steps.iter().enumerate() {
            let active = std::mem::take(&mut coming.steps[id]);
            if !active.is_empty() {
                take(step, level, &active, &mut columns, coming);
            }
        }
        coming.accepted
    }

    /// Notes where packets are, and gives the least captured length.
    fn fill(&mut self, Packets { descriptors, from, .. }: Packets<'_>) -> u32 {
        let (starts, captured) = (self.starts.as_flattened_mut(), self.captured.as_flattened_mut());
        for ((start, length), packet) in starts.iter_mut().zip(captured.iter_mut()).zip(descriptors)
        {
            (*start, *length) = (packet.offset - from, packet.captured);
        }
        starts[descriptors.len()..].fill(0);
        captured[descriptors.len()..].fill(0);
        captured[..descriptors.len()].iter().copied().min().unwrap_or(0)
    }
}

fn take(step: &Step, level: Level, active: &Mask, columns: &mut Columns<'_>, coming: &mut Coming) {
    let chunks = active.chunks();
    let (there, holds, then, otherwise) = match step {
        Step::Bind { slot, value, next } => {
            let bound = columns.bind(*slot, *value, active);
            return coming.send(*next, &bound);
        }
        Step::Test { operand, lookup, then, otherwise } => {
            let (lanes, present) = columns.get(*operand, chunks);
            let there = active.and(present);
            (there, level.test(lookup, lanes, &there), then, otherwise)
        }
        Step::Compare { how, left, right, then, otherwise } => {
            let [(left, one), (right, other)] = columns.get_both(*left, *right, chunks);
            let there = active.and(one).and(other);
            (there, portable::compare(*how, left, right, &there), then, otherwise)
        }
    };
    coming.send(*then, &holds);
    coming.send(*otherwise, &there.without(&holds));
}

impl Coming {
    fn begin(&mut self, steps: usize) {
        self.accepted = Mask::default();
        if self.steps.len() < steps {
            self.steps.resize(steps, Mask::default());
        }
    }

    fn send(&mut self, target: Target, packets: &Mask) {
        match target {
            Target::Accept => self.accepted.add(packets),
            Target::Drop => {}
            Target::Node(id) => self.steps[id].add(packets),
        }
    }
}

/// Begins to load what a filter will look at of the packets of the next block: the cache line of the last
/// byte at a constant offset, which is mostly that of the others as well, or its neighbour.
pub(crate) fn prefetch_all(program: &Program, region: &[u8], descriptors: &[Descriptor]) {
    for packet in descriptors.iter().take(LANES) {
        prefetch(region, packet.offset as usize + program.reach as usize);
    }
}
