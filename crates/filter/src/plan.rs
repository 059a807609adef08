//! Compiled filters as plans: what engines in user space run.
//!
//! A [`Plan`] is the optimised decision graph in a form that needs nothing else to be understood: numbers
//! ([`Value`]) and decisions about them ([`Node`]). Symbolic bases are resolved: a load is at a constant
//! offset, to which at most one number found at run time is added.
//!
//! Three things may befall a packet at a node: it goes one way, or the other, or it is *rejected*, which ends
//! its evaluation and drops it. It is rejected where a value that the node needs is not to be had: a load
//! past the captured bytes, a question to metadata without an answer, a division by zero, or anything
//! computed of such a value. What the node does not need cannot reject. So an engine may compute values
//! ahead of time, if it notes where there were none and tests that only at the node.
//!
//! Nodes are in topological order, edges lead forward only, and operands come before what is made of
//! them: one walk from the first to the last evaluates any number of packets side by side.

mod text;

/// Index of a [`Value`] in [`Plan::values`].
pub type ValueId = usize;

/// Index of a [`Node`] in [`Plan::nodes`].
pub type NodeId = usize;

pub use crate::ir::predicate::Comparison;
pub use crate::ir::value::{Metadata, Width, apply};
pub use crate::syntax::ast::BinaryOperator;

/// A filter as numbers and decisions. Its text has a line for each node: `0: u16[12] == 0x800 ? 1 : drop`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub(crate) values: Vec<Value>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) entry: Target,
    pub(crate) slots: usize,
}

impl Plan {
    /// The most operations between a value and what it is made of: values may be evaluated by recursion.
    pub const DEPTH: usize = 64;

    /// Every value that a node needs, operands before what is made of them.
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// The decisions; edges lead to greater numbers only.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Where evaluation begins.
    pub fn entry(&self) -> Target {
        self.entry
    }

    /// How many slots there are.
    pub fn slots(&self) -> usize {
        self.slots
    }
}

/// A 32-bit number. All arithmetic wraps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    /// A number known beforehand.
    Constant(u32),
    /// The packet's length on the wire, in bytes.
    Length,
    /// Bytes of the packet.
    Load(Load),
    /// What the slot of this number was bound to by the last [`Node::Bind`] on the packet's way; 0 if there was none.
    Slot(usize),
    /// What the bytes do not say.
    Metadata(Metadata),
    /// Zero minus a value.
    Negate(ValueId),
    /// An operation on two values. A division or remainder by zero rejects; a shift by 32 and more gives 0.
    Binary(BinaryOperator, ValueId, ValueId),
}

/// Bytes in network order at `base + offset`, where the sum is not cut to 32 bits: what lies past 2^32 is
/// past the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Load {
    /// What is added to the offset, if anything.
    pub base: Option<ValueId>,
    /// Bytes from the packet's first byte.
    pub offset: u32,
    /// How many bytes.
    pub width: Width,
}

impl Load {
    /// Where its last byte ends, without the base.
    pub fn end(&self) -> u64 {
        u64::from(self.offset) + self.width.bytes() as u64
    }
}

/// Where an edge leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// The filter keeps the packet.
    Accept,
    /// It does not.
    Drop,
    /// To the node of this number.
    Node(NodeId),
}

/// A decision, or an assignment on the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// Whether `value & mask` passes a check.
    Test {
        /// What is looked at.
        value: ValueId,
        /// The bits of it that count.
        mask: u32,
        /// What they are held to.
        check: Check,
        /// Where packets go that pass.
        then: Target,
        /// Where the others go.
        otherwise: Target,
    },
    /// How two values of the packet compare, unsigned.
    Compare {
        /// How.
        how: Comparison,
        /// The value on the left.
        left: ValueId,
        /// The value on the right.
        right: ValueId,
        /// Where packets go of which it is true.
        then: Target,
        /// Where the others go.
        otherwise: Target,
    },
    /// From here on the slot reads as the value.
    Bind {
        /// Number of the slot.
        slot: usize,
        /// What it reads as.
        value: ValueId,
        /// Where all packets go that have the value.
        next: Target,
    },
}

/// What a number is held to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Check {
    /// It is this one.
    Equal(u32),
    /// It is not below the first and not above the second. The first is at most the second.
    Within(u32, u32),
    /// It is one of these: at least two, in ascending order, each once.
    Among(Box<[u32]>),
}

impl Check {
    /// Whether `number` passes.
    pub fn holds(&self, number: u32) -> bool {
        match self {
            Self::Equal(constant) => number == *constant,
            Self::Within(low, high) => (*low..=*high).contains(&number),
            Self::Among(constants) => constants.binary_search(&number).is_ok(),
        }
    }
}

impl Node {
    /// Where it can lead.
    pub fn targets(&self) -> impl Iterator<Item = Target> + use<> {
        let (first, second) = match *self {
            Self::Test { then, otherwise, .. } | Self::Compare { then, otherwise, .. } => {
                (then, Some(otherwise))
            }
            Self::Bind { next, .. } => (next, None),
        };
        std::iter::once(first).chain(second)
    }

    pub(crate) fn targets_mut(&mut self) -> impl Iterator<Item = &mut Target> {
        let (first, second) = match self {
            Self::Test { then, otherwise, .. } | Self::Compare { then, otherwise, .. } => {
                (then, Some(otherwise))
            }
            Self::Bind { next, .. } => (next, None),
        };
        std::iter::once(first).chain(second)
    }
}
