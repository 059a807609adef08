//! From batches to blocks, and who evaluates them.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;

use linerate_base::{Batch, Descriptor, Matches, Select};
use linerate_bpf::classic::{self, Input};
use linerate_filter::Filter;

use crate::fused::Fused;
use crate::kernels::{self, Level};
use crate::lanes::{CHUNK, LANES, Mask, QUAD, WORD};
use crate::native::Native;
use crate::program::Program;
use crate::scalar::Scalar;
use crate::vector::{Ahead, Packets, Workspace};

/// A filter that is ready to run. Cheap to clone, and shared by as many threads as like.
///
/// ```
/// use linerate_base::{Batch, Descriptor, Interface, LinkType, Matches};
/// use linerate_exec::Engine;
/// use linerate_filter::{Hermetic, Options, compile};
///
/// let filter = compile("ether[0] = 2", &Options::new(LinkType::ETHERNET, &Hermetic))?;
/// let interfaces = [Interface::default()];
/// let table = [0, 1].map(|offset| Descriptor { offset, captured: 1, length: 1, ..Descriptor::default() });
/// let batch = Batch::new(&[2, 3], &table, &interfaces);
/// let mut matches = Matches::new();
/// Engine::new(&filter).run(&batch, None, &mut matches);
/// assert_eq!(matches.iter().collect::<Vec<_>>(), [0]);
/// # Ok::<(), linerate_filter::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Engine {
    level: Level,
    /// For blocks; `None` where the filter has no plan, or a huge one.
    program: Option<Arc<Program>>,
    /// The same as code.
    fused: Option<Fused>,
    single: Single,
}

/// Who evaluates single packets.
#[derive(Clone, Debug)]
enum Single {
    Native(Native),
    Plan(Arc<Scalar>),
    /// Where there is no plan.
    Program(Arc<classic::Program>),
}

/// With fewer packets than this a block is not worth its beginning.
const FEW: usize = 8;

/// Packets that fused code is called for at once.
const STRIP: usize = 1024;

/// The largest region whose offsets vector instructions can name.
pub(crate) const REGION: usize = i32::MAX as usize;

thread_local! {
    static WORKSPACE: RefCell<Workspace> = RefCell::default();
}

impl Engine {
    /// An engine by the best instructions that the processor has: vectors for batches, and for single packets
    /// code made for the filter, where the system permits that.
    pub fn new(filter: &Filter) -> Self {
        Self::at_level(filter, Level::best())
    }

    /// An engine by the instructions of a level; at the portable one, single packets go by an interpreter.
    pub fn at_level(filter: &Filter, level: Level) -> Self {
        let plan = filter.plan();
        let program = plan.as_ref().and_then(Program::new).map(Arc::new);
        let is_fused = Level::fused() == Some(level);
        let fused = program.as_deref().filter(|_| is_fused).and_then(Fused::new);
        let swept = program.as_deref().filter(|_| level == Level::NATIVE);
        let native = || Native::new(plan.as_ref()?, swept).filter(|_| level != Level::PORTABLE);
        let scalar = || Some(Single::Plan(Arc::new(Scalar::new(plan.as_ref()?)?)));
        let single = native().map(Single::Native).or_else(scalar);
        let reference = || Single::Program(Arc::new(filter.program().clone()));
        Self { level, program, fused, single: single.unwrap_or_else(reference) }
    }

    /// Marks in `matches` which packets of the batch the filter keeps; what it said before is gone.
    /// `interface` is the number that the system gave to the interface, for filters that ask for it.
    ///
    /// The filter must be for the packets' link type: on others its verdicts are of no meaning.
    pub fn run(&self, batch: &Batch<'_>, interface: Option<u32>, matches: &mut Matches) {
        matches.reset(batch.len());
        if let Single::Native(native) = &self.single
            && (self.level == Level::NATIVE || batch.len() < FEW)
        {
            return native.select(batch, matches);
        }
        match &self.program {
            _ if batch.len() < FEW => self.one_by_one(batch, 0..batch.len(), interface, matches),
            Some(program) if program.steps.is_empty() => {
                let keeps = program.entry == program.accepted();
                let words = (0..batch.len()).step_by(WORD).filter(|_| keeps);
                words.for_each(|first| {
                    matches.insert_word(first, Mask::first(batch.len() - first).0[0]);
                });
            }
            Some(program) => match &self.fused {
                Some(fused) if batch.region().len() <= REGION => {
                    self.strips(fused, batch, interface, matches);
                }
                _ => WORKSPACE.with_borrow_mut(|workspace| {
                    self.blocks(program, workspace, batch, interface, matches);
                }),
            },
            None => self.one_by_one(batch, 0..batch.len(), interface, matches),
        }
    }

    fn strips(
        &self,
        fused: &Fused,
        batch: &Batch<'_>,
        interface: Option<u32>,
        matches: &mut Matches,
    ) {
        for first in (0..batch.len()).step_by(STRIP) {
            let mut kept = [0_u16; STRIP / CHUNK];
            let strip = batch.slice(first..batch.len().min(first + STRIP));
            let one_by_one = |chunk: usize, matches: &mut Matches| {
                let begin = first + CHUNK * chunk;
                let range = begin..batch.len().min(begin + CHUNK);
                self.one_by_one(batch, range, interface, matches);
            };
            let (whole, mut done) = (strip.len() / CHUNK, 0);
            while done < whole {
                let rest = strip.slice(CHUNK * done..CHUNK * whole);
                done += kernels::sweep(fused, &rest, &mut kept[done..]);
                if done < whole {
                    one_by_one(done, matches);
                    done += 1;
                }
            }
            let rest = &strip.descriptors()[CHUNK * whole..];
            if !rest.is_empty() {
                let mut filled = [Descriptor::default(); CHUNK];
                filled[..rest.len()].copy_from_slice(rest);
                let filled = Batch::new(batch.region(), &filled, batch.interfaces());
                match kernels::sweep(fused, &filled, &mut kept[whole..]) {
                    0 => one_by_one(whole, matches),
                    _ => kept[whole] &= (1 << rest.len()) - 1,
                }
            }
            for (word, chunks) in kept.as_chunks::<QUAD>().0.iter().enumerate() {
                let [a, b, c, d] = chunks.map(u64::from);
                let bits = a | b << CHUNK | c << (2 * CHUNK) | d << (3 * CHUNK);
                matches.insert_word(first + WORD * word, bits);
            }
        }
    }

    fn blocks(
        &self,
        program: &Program,
        workspace: &mut Workspace,
        batch: &Batch<'_>,
        interface: Option<u32>,
        matches: &mut Matches,
    ) {
        let region = batch.region();
        let mut rest = batch.descriptors().chunks(LANES).peekable();
        let mut coming = Ahead::new(program, region, rest.peek());
        let mut first = 0;
        while let Some(descriptors) = rest.next() {
            coming.finish();
            coming = Ahead::new(program, region, rest.peek());
            match near(region, descriptors) {
                Some((region, from)) => {
                    let packets = Packets { region, descriptors, from, interface };
                    let kept = workspace.evaluate(program, self.level, packets, &mut coming);
                    for (word, bits) in kept.0.into_iter().enumerate() {
                        matches.insert_word(first + WORD * word, bits);
                    }
                }
                None => {
                    let range = first..first + descriptors.len();
                    self.one_by_one(batch, range, interface, matches);
                }
            }
            first += descriptors.len();
        }
    }

    fn one_by_one(
        &self,
        batch: &Batch<'_>,
        range: Range<usize>,
        interface: Option<u32>,
        matches: &mut Matches,
    ) {
        for (at, packet) in range.clone().zip(batch.slice(range).iter()) {
            if self.keeps(&Input::of(&packet, interface)) {
                matches.insert(at);
            }
        }
    }

    /// Whether the filter keeps a single packet.
    pub fn keeps(&self, input: &Input<'_>) -> bool {
        match &self.single {
            Single::Native(native) => native.keeps(input.data, input.length),
            Single::Plan(scalar) => scalar.keeps(input),
            Single::Program(program) => program.run(input) != 0,
        }
    }
}

impl Select for Engine {
    fn select(&self, batch: &Batch<'_>, interface: Option<u32>, matches: &mut Matches) {
        self.run(batch, interface, matches);
    }
}

/// A part of the region that the packets are in and vector instructions can name, and where it begins.
pub(crate) fn near<'a>(region: &'a [u8], packets: &[Descriptor]) -> Option<(&'a [u8], u32)> {
    if region.len() <= REGION {
        return Some((region, 0));
    }
    let from = packets.iter().map(|packet| packet.offset).min()?;
    let to =
        packets.iter().map(|packet| packet.offset as usize + packet.captured as usize).max()?;
    (to - from as usize <= REGION).then(|| (&region[from as usize..to], from))
}
