//! Blocks to one program.
//!
//! Written from its end to its beginning, so that wherever a jump leads is there already and its
//! distance known. A conditional jump reaches 255 instructions; what is farther is reached by way of
//! a trampoline, an unconditional jump or a second return right behind the conditional one, which
//! other jumps nearby use too.

use super::{Block, End};
use crate::ir::graph::{Graph, NodeId, Target};
use linerate_bpf::classic::{Instruction, opcode};

/// The farthest that a conditional jump is made to go: its reach, less two trampolines of its own.
const REACH: usize = u8::MAX as usize - 2;

/// The program: `prologue`, then the graph from its entry on. `blocks` are by node.
pub(super) fn assemble(
    graph: &Graph,
    blocks: &[Block],
    prologue: Vec<Instruction>,
    accepted: u32,
) -> Vec<Instruction> {
    let mut assembler = Assembler {
        reversed: Vec::new(),
        nodes: vec![Place::default(); blocks.len()],
        accept: Place::default(),
        drop: Place::default(),
        accepted,
    };
    assembler.verdicts(graph);
    for id in graph.ids().rev() {
        assembler.block(id, &blocks[id.index()]);
    }
    assembler.goto(graph.entry);
    let mut program = prologue;
    program.extend(assembler.reversed.into_iter().rev());
    program
}

/// Where something is, in instructions from the program's end up to and including its first.
#[derive(Clone, Copy, Default)]
struct Place {
    /// The thing itself; 0 if it is not there yet.
    own: usize,
    /// The nearest to the program's beginning of itself and the trampolines to it.
    nearest: usize,
}

struct Assembler {
    /// Last instruction first.
    reversed: Vec<Instruction>,
    nodes: Vec<Place>,
    accept: Place,
    drop: Place,
    accepted: u32,
}

impl Assembler {
    /// The returns that are needed, at the program's end.
    fn verdicts(&mut self, graph: &Graph) {
        let edges = graph.ids().flat_map(|id| graph.node(id).targets()).chain([graph.entry]);
        let (mut accepts, mut drops) = (false, false);
        for edge in edges {
            accepts |= edge == Target::Accept;
            drops |= edge == Target::Drop;
        }
        for verdict in [(Target::Drop, drops), (Target::Accept, accepts)] {
            if let (verdict, true) = verdict {
                self.push(Instruction::new(opcode::RET_K, self.verdict(verdict)));
                *self.place(verdict) =
                    Place { own: self.reversed.len(), nearest: self.reversed.len() };
            }
        }
    }

    fn verdict(&self, target: Target) -> u32 {
        if target == Target::Accept { self.accepted } else { 0 }
    }

    fn block(&mut self, id: NodeId, block: &Block) {
        match block.end {
            End::Branch { code, k, then, otherwise } => self.branch(code, k, then, otherwise),
            End::Goto(target) => self.goto(target),
        }
        self.reversed.extend(block.body.iter().rev());
        let here = self.reversed.len();
        self.nodes[id.index()] = Place { own: here, nearest: here };
    }

    fn branch(&mut self, code: u16, k: u32, then: Target, otherwise: Target) {
        self.bring_near(then);
        self.bring_near(otherwise);
        let here = self.reversed.len();
        let distance = |place: &Place| (here - place.nearest) as u8;
        let (jt, jf) = (distance(self.place(then)), distance(self.place(otherwise)));
        self.push(Instruction::jump(code, k, jt, jf));
    }

    /// Sees to it that `target` can be jumped to from here.
    fn bring_near(&mut self, target: Target) {
        let Place { own, nearest } = *self.place(target);
        let here = self.reversed.len();
        if here - nearest <= REACH {
            return;
        }
        self.push(match target {
            Target::Node(_) => Instruction::new(opcode::JA, (here - own) as u32),
            verdict => Instruction::new(opcode::RET_K, self.verdict(verdict)),
        });
        self.place(target).nearest = self.reversed.len();
    }

    /// Falls through where that leads to `target`.
    fn goto(&mut self, target: Target) {
        let distance = self.reversed.len() - self.place(target).own;
        if distance > 0 {
            self.push(Instruction::new(opcode::JA, distance as u32));
        }
    }

    fn push(&mut self, instruction: Instruction) {
        self.reversed.push(instruction);
    }

    fn place(&mut self, target: Target) -> &mut Place {
        match target {
            Target::Accept => &mut self.accept,
            Target::Drop => &mut self.drop,
            Target::Node(id) => &mut self.nodes[id.index()],
        }
    }
}
