//! What is true or false of a packet.

use super::Ir;
use super::place::PlaceId;
use super::value::{SlotId, ValueId};
use crate::syntax::ast::Relation;

/// Index of a [`Predicate`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PredicateId(pub(super) u32);

/// A predicate: true, false, or rejecting (see [`crate::ir`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Predicate {
    Constant(bool),
    Test(Test),
    Not(PredicateId),
    And(PredicateId, PredicateId),
    Or(PredicateId, PredicateId),
    /// Always true; from here on the slot reads as the value.
    Bind(SlotId, ValueId),
}

/// A predicate that looks at the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Test {
    Compare(Comparison, ValueId, ValueId),
    Chain(Chain),
}

/// How two numbers are compared, unsigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// They are the same.
    Equal,
    /// The left one is greater.
    Greater,
    /// The right one is not greater.
    GreaterEqual,
    /// They have a set bit in common.
    Intersects,
}

impl Comparison {
    /// The comparison that says `relation`, or its negation.
    pub(crate) fn of(relation: Relation) -> (Self, bool) {
        match relation {
            Relation::Equal => (Self::Equal, false),
            Relation::NotEqual => (Self::Equal, true),
            Relation::Greater => (Self::Greater, false),
            Relation::LessEqual => (Self::Greater, true),
            Relation::GreaterEqual => (Self::GreaterEqual, false),
            Relation::Less => (Self::GreaterEqual, true),
        }
    }

    /// Whether it is true of two numbers.
    pub fn holds(self, left: u32, right: u32) -> bool {
        match self {
            Self::Equal => left == right,
            Self::Greater => left > right,
            Self::GreaterEqual => left >= right,
            Self::Intersects => left & right != 0,
        }
    }
}

/// Whether `protocol` is anywhere in the chain of headers behind the IP header at `network`.
///
/// Followed are authentication headers (RFC 4302), and in IPv6 also the hop-by-hop, routing,
/// fragment and destination options headers (RFC 8200). A loop, so the kernel's classic BPF
/// cannot do it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Chain {
    pub(crate) network: PlaceId,
    pub(crate) version: IpVersion,
    pub(crate) protocol: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum IpVersion {
    V4,
    V6,
}

impl Ir {
    pub(crate) fn compare(
        &mut self,
        how: Comparison,
        left: ValueId,
        right: ValueId,
    ) -> PredicateId {
        self.predicate(Predicate::Test(Test::Compare(how, left, right)))
    }

    pub(crate) fn truth(&mut self, value: bool) -> PredicateId {
        self.predicate(Predicate::Constant(value))
    }

    pub(crate) fn not(&mut self, operand: PredicateId) -> PredicateId {
        self.predicate(Predicate::Not(operand))
    }

    pub(crate) fn and(&mut self, left: PredicateId, right: PredicateId) -> PredicateId {
        self.predicate(Predicate::And(left, right))
    }

    pub(crate) fn or(&mut self, left: PredicateId, right: PredicateId) -> PredicateId {
        self.predicate(Predicate::Or(left, right))
    }

    /// All of them, from left to right; true if there are none.
    pub(crate) fn all(&mut self, operands: impl IntoIterator<Item = PredicateId>) -> PredicateId {
        let joined = operands.into_iter().reduce(|left, right| self.and(left, right));
        joined.unwrap_or_else(|| self.truth(true))
    }

    /// Any of them, from left to right; false if there are none.
    pub(crate) fn any(&mut self, operands: impl IntoIterator<Item = PredicateId>) -> PredicateId {
        let joined = operands.into_iter().reduce(|left, right| self.or(left, right));
        joined.unwrap_or_else(|| self.truth(false))
    }
}
