//! Extended BPF: a fragment for programs at XDP and traffic-control hooks.
//!
//! The graph is written twice. The *fast* copy reads the packet directly, which the verifier allows
//! for bytes that a comparison with the packet's end has proven to be there. Where such a comparison
//! fails, the packet may be too short for what comes later only, or part of it lies elsewhere; so it
//! is gone on with at the same node of the *slow* copy, which loads by a helper function and knows the
//! packet's true end. The same where an IPv4 header has options, so that all offsets behind it are
//! known in the fast copy. Nothing leads back.
//!
//! - [`facts`]: what is known of values beforehand
//! - [`widen`]: how much of the packet to prove at once
//! - [`registers`]: what the registers hold
//! - [`node`]: tests and assignments, and where they lead
//! - [`set`]: runs of tests for equality
//! - [`compare`]: fields beside constants
//! - [`value`]: values to registers
//! - [`load`]: loads, fast and slow

mod compare;
mod facts;
pub(in crate::emit) mod load;
mod node;
mod registers;
mod set;
pub(in crate::emit) mod value;
mod widen;

use crate::emit::unbound;
use crate::error::{Error, ErrorKind, Result};
use crate::ir::Ir;
use crate::ir::graph::{Graph, Node, NodeId, Target};
use crate::ir::predicate::Test;
use facts::Fact;
use linerate_bpf::extended::{
    Alu, Assembler, Instruction, Label, Metadata, Predicate, Register, Size,
};
use registers::{KEPT, Registers};

/// The fragment of a graph whose loads are all relative to the packet.
///
/// # Errors
/// When the graph loops (`protochain`), or computes with too many intermediate results.
pub(crate) fn emit(ir: &Ir, graph: &Graph) -> Result<Predicate> {
    let loops = |id| matches!(graph.node(id), Node::Test { test: Test::Chain(_), .. });
    if graph.ids().any(loops) {
        let reason = "'protochain' needs a loop, and it takes none";
        return Err(Error::kernel(ErrorKind::Loop, reason));
    }
    let mut emitter = Emitter::new(ir, graph);
    emitter.zero_unbound_slots();
    emitter.enter();
    emitter.copy(Way::Fast)?;
    emitter.copy(Way::Slow)?;
    emitter.finish()
}

/// How the packet is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Fast,
    Slow,
}

/// A node in one of the copies.
struct Place {
    label: Label,
    /// What holds on all ways there, as far as seen; `None` while there is none.
    registers: Option<Registers>,
}

struct Emitter<'a> {
    ir: &'a Ir,
    graph: &'a Graph,
    facts: Vec<Fact>,
    /// How much of the packet to prove at once, by node.
    widths: Vec<u32>,
    /// How many edges lead to each node.
    entrances: Vec<u32>,
    assembler: Assembler,
    fast: Vec<Place>,
    slow: Vec<Place>,
    accept: Verdict,
    drop: Verdict,
    way: Way,
    /// The verifier follows a jump that is not taken first and remembers the other way, 8,192 at once at
    /// most (`BPF_COMPLEXITY_LIMIT_JMP_SEQ` of `kernel/bpf/verifier.c`, Linux 6.18). Where there may be as
    /// many, the way that ends sooner is the one that is not taken, at the cost of another jump.
    spares_verifier: bool,
    /// The node being written.
    node: NodeId,
    registers: Registers,
    /// Words of the stack in use for intermediate results.
    in_use: i16,
    needs: Vec<Metadata>,
}

/// Where a verdict is given.
struct Verdict {
    label: Label,
    reached: bool,
}

/// Graphs with more nodes than this are written so that the verifier gets through.
const LARGE: usize = 2048;

/// Where the load helper puts bytes: words, of which each keeps what it got for a while.
const LOADED: i16 = Predicate::STACK.start;
/// Where slots begin, and behind them intermediate results.
const SLOTS: i16 = LOADED + 4 * KEPT as i16;

/// `to = from + offset`
fn address(to: Register, from: Register, offset: u32) -> [Instruction; 2] {
    let sum = Instruction::alu(Alu::Add, to, offset);
    [Instruction::mov(to, from), sum]
}

impl<'a> Emitter<'a> {
    fn new(ir: &'a Ir, graph: &'a Graph) -> Self {
        let mut assembler = Assembler::new();
        let mut places = || {
            let place = |_| Place { label: assembler.label(), registers: None };
            (0..graph.len()).map(place).collect()
        };
        let (fast, slow) = (places(), places());
        let [accept, drop] = [(); 2].map(|()| Verdict { label: assembler.label(), reached: false });
        Self {
            ir,
            graph,
            facts: facts::facts(ir, graph),
            widths: widen::widths(ir, graph),
            entrances: entrances(graph),
            assembler,
            fast,
            slow,
            accept,
            drop,
            way: Way::Fast,
            spares_verifier: false,
            node: NodeId(graph.len() as u32),
            registers: Registers::default(),
            in_use: 0,
            needs: Vec::new(),
        }
    }

    fn push(&mut self, instruction: Instruction) {
        self.assembler.push(instruction);
    }

    fn slot(slot: u32) -> i16 {
        SLOTS + 4 * slot as i16
    }

    fn zero_unbound_slots(&mut self) {
        for slot in unbound::read_unbound(self.ir, self.graph) {
            self.push(Instruction::store(Size::Word, Register::R10, Self::slot(slot), 0));
        }
    }

    fn places(&mut self) -> &mut Vec<Place> {
        match self.way {
            Way::Fast => &mut self.fast,
            Way::Slow => &mut self.slow,
        }
    }

    /// Notes that the code written so far leads to `target`.
    fn arrive(&mut self, target: Target) -> Label {
        let registers = self.registers.clone();
        match target {
            Target::Accept => self.accept.reach(),
            Target::Drop => self.drop.reach(),
            Target::Node(id) => {
                let place = &mut self.places()[id.index()];
                place.registers = Some(match &place.registers {
                    None => registers,
                    Some(others) => others.agreed(&registers),
                });
                place.label
            }
        }
    }

    fn enter(&mut self) {
        match self.graph.entry {
            Target::Node(_) => self.go(self.graph.entry),
            // The verdict is all that there is.
            verdict => drop(self.arrive(verdict)),
        }
    }

    /// The label of the node being written in the slow copy.
    fn slow_way(&mut self) -> Label {
        let place = &mut self.slow[self.node.index()];
        place.registers = Some(Registers::default());
        place.label
    }

    /// The label where packets are rejected.
    fn reject(&mut self) -> Label {
        self.drop.reach()
    }

    /// Writes all nodes of one copy that anything leads to.
    fn copy(&mut self, way: Way) -> Result<()> {
        self.way = way;
        self.spares_verifier = way == Way::Slow || self.graph.len() > LARGE;
        for id in self.graph.ids() {
            let place = &mut self.places()[id.index()];
            let label = place.label;
            let Some(registers) = place.registers.take() else { continue };
            self.assembler.place(label);
            self.registers = registers;
            self.node = id;
            self.write_node()?;
        }
        Ok(())
    }

    /// Whether `target` is what will be written next; acceptance follows the last node.
    fn is_next(&mut self, target: Target) -> bool {
        let first = match target {
            Target::Node(id) => id.index() + 1,
            Target::Accept => 0,
            Target::Drop => return false,
        };
        let between = first..self.node.index();
        let unreached = |place: &Place| place.registers.is_none();
        self.places()[between].iter().rev().all(unreached)
            && (target != Target::Accept
                || self.way == Way::Slow
                || self.slow.iter().all(unreached))
    }

    fn finish(mut self) -> Result<Predicate> {
        let end = self.assembler.label();
        if self.accept.reached {
            self.assembler.place(self.accept.label);
            self.push(Instruction::mov32(Register::R0, 1));
            if self.drop.reached {
                self.assembler.jump(end);
            }
        }
        if self.drop.reached {
            self.assembler.place(self.drop.label);
            self.push(Instruction::mov32(Register::R0, 0));
        }
        self.assembler.place(end);
        let instructions = self.assembler.finish().map_err(|error| {
            Error::new(ErrorKind::Limit, format!("cannot make a program: {error}"))
        })?;
        Ok(Predicate::new(instructions, self.needs))
    }
}

fn entrances(graph: &Graph) -> Vec<u32> {
    let mut entrances = vec![0; graph.len()];
    for target in graph.ids().flat_map(|id| graph.node(id).targets()) {
        if let Target::Node(id) = target {
            entrances[id.index()] += 1;
        }
    }
    entrances
}

impl Verdict {
    fn reach(&mut self) -> Label {
        self.reached = true;
        self.label
    }
}
