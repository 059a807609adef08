//! Runs of tests for equality as searches in sets.
//!
//! `host a or host b or ...` tests two addresses for one constant after the other, and all that hold
//! lead to the same place. Once both addresses are sure to be there, no order matters: each is
//! looked for by halves, which takes the logarithm of the time and of the verifier's patience.

use super::{Emitter, Way};
use crate::error::Result;
use crate::ir::graph::{Node, NodeId, Target};
use crate::ir::predicate::{Comparison, Test as IrTest};
use crate::ir::value::ValueId;
use linerate_bpf::extended::{Label, Register, Test};

/// So many constants are as quickly tested one after the other.
const FEW: usize = 3;
/// The most different values of a run, so that each has a register.
const VALUES: usize = 4;

/// Tests for equality with constants that all lead to the same place.
pub(super) struct Run {
    values: Vec<(ValueId, Vec<u32>)>,
    then: Target,
    otherwise: Target,
}

/// One of its tests.
struct Link {
    value: ValueId,
    constant: u32,
    then: Target,
    otherwise: Target,
}

impl Emitter<'_> {
    /// The run that begins with the node being written, if it is long enough.
    pub(super) fn run(&self) -> Option<Run> {
        let first = self.link(self.node)?;
        let (then, mut otherwise) = (first.then, first.otherwise);
        let mut values = vec![(first.value, vec![first.constant])];
        while let Some(link) = self.next_link(then, otherwise) {
            match values.iter().position(|(value, _)| *value == link.value) {
                Some(at) => values[at].1.push(link.constant),
                None if values.len() < VALUES => values.push((link.value, vec![link.constant])),
                None => break,
            }
            otherwise = link.otherwise;
        }
        let is_long = values.iter().any(|(_, constants)| constants.len() > FEW);
        is_long.then_some(Run { values, then, otherwise })
    }

    /// What goes on with the run at `target`: nothing else may lead there.
    fn next_link(&self, then: Target, target: Target) -> Option<Link> {
        let Target::Node(id) = target else { return None };
        let link = self.link(id).filter(|link| link.then == then)?;
        (self.entrances[id.index()] == 1).then_some(link)
    }

    fn link(&self, id: NodeId) -> Option<Link> {
        let Node::Test { test, then, otherwise } = self.graph.node(id) else { return None };
        let IrTest::Compare(Comparison::Equal, value, right) = test else { return None };
        let constant = self.ir.as_constant(right)?;
        self.is_sure(value).then_some(Link { value, constant, then, otherwise })
    }

    /// The value can be made sure to be there before any test: nothing can reject a packet later.
    fn is_sure(&self, value: ValueId) -> bool {
        let fact = self.facts[value.index()];
        let field = self.field(value);
        field.is_some_and(|field| match self.way {
            Way::Fast => !fact.calls,
            Way::Slow => self.registers.kept(field.value).is_some(),
        })
    }

    pub(super) fn write_run(&mut self, run: Run) -> Result<()> {
        for (value, _) in &run.values {
            if let (Way::Fast, Some(field)) = (self.way, self.field(*value)) {
                self.make_sure(field.load)?;
            }
        }
        for (value, mut constants) in run.values {
            let bits = constants.iter().fold(0, |bits, constant| bits | constant);
            let (register, order) = self.comparable(value, bits)?;
            self.registers.release(register);
            constants.iter_mut().for_each(|constant| *constant = order.of(*constant));
            constants.sort_unstable();
            constants.dedup();
            let (found, missing) = (self.arrive(run.then), self.assembler.label());
            self.search(register, &constants, found, missing);
            self.assembler.place(missing);
        }
        self.go(run.otherwise);
        Ok(())
    }

    /// Falls through, or jumps to `missing`, if none of the constants is in the register.
    fn search(&mut self, register: Register, constants: &[u32], found: Label, missing: Label) {
        let (lower, upper) = constants.split_at(constants.len() / 2);
        match lower.last() {
            Some(middle) if constants.len() > FEW => {
                let above = self.assembler.label();
                self.assembler.jump_if32(Test::Greater, register, *middle, above);
                self.search(register, lower, found, missing);
                self.assembler.jump(missing);
                self.assembler.place(above);
                self.search(register, upper, found, missing);
            }
            _ => {
                for constant in constants {
                    self.assembler.jump_if32(Test::Equal, register, *constant, found);
                }
            }
        }
    }
}
