//! The syntax tree.
//!
//! Nodes live in two arenas and name each other by index, so that dropping or walking a tree needs
//! no recursion however long the expression. Qualifiers are as written: what an operand inherits
//! from its left neighbour (`port 80 or 443`) is found out in [`crate::sema`].

use super::Span;
use super::token::{Atm, Field, Mtp2, Pf, Protocol, WlanAddress};
use std::net::Ipv6Addr;

/// Index of a [`Node`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodeId(u32);

/// Index of an [`Arithmetic`] node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ArithmeticId(u32);

/// A whole expression.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ast<'a> {
    nodes: Vec<Node<'a>>,
    arithmetic: Vec<(Arithmetic, Span)>,
    heights: Vec<u32>,
    /// `None` for the empty expression, which every packet matches.
    pub(crate) root: Option<NodeId>,
}

/// Something that is true or false of a packet.
#[derive(Clone, Debug)]
pub(crate) enum Node<'a> {
    /// `a and b or c`: one precedence, from left to right.
    Chain { first: NodeId, rest: Vec<(Connective, NodeId)> },
    /// `not a`
    Not(NodeId),
    /// `( a )`, which hands its own inherited qualifiers on.
    Group(NodeId),
    /// `tcp port 80`: qualifiers and the operand (or operands, in a chain) they are for.
    Qualified(Qualifiers, NodeId),
    /// An operand whose qualifiers stand before it.
    Operand(Operand<'a>, Span),
    /// `tcp`
    Protocol(Protocol, Span),
    /// `tcp[13] & 2 != 0`
    Relation { relation: Relation, left: ArithmeticId, right: ArithmeticId },
    /// Everything that is a keyword of its own.
    Primitive(Primitive<'a>, Span),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Connective {
    And,
    Or,
}

/// What qualifies an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Qualifiers {
    pub(crate) protocol: Option<Protocol>,
    pub(crate) direction: Option<Direction>,
    pub(crate) kind: Option<OperandKind>,
    pub(crate) span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Source,
    Destination,
    Either,
    Both,
    /// One address of an 802.11 frame.
    Wlan(WlanAddress),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OperandKind {
    Host,
    Net,
    Port,
    PortRange,
    Protocol,
    ProtocolChain,
    Gateway,
}

impl OperandKind {
    pub(crate) fn keyword(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Net => "net",
            Self::Port => "port",
            Self::PortRange => "portrange",
            Self::Protocol => "proto",
            Self::ProtocolChain => "protochain",
            Self::Gateway => "gateway",
        }
    }
}

/// What stands after qualifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operand<'a> {
    Number(u32),
    Name(&'a str),
    Dotted(&'a str),
    Prefix(&'a str, u32),
    Masked(&'a str, &'a str),
    Ipv6(Ipv6Addr),
    Ipv6Prefix(Ipv6Addr, u32),
    Ethernet([u8; 6]),
    Arcnet(u8),
}

/// A comparison sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relation {
    Equal,
    NotEqual,
    Greater,
    GreaterEqual,
    Less,
    LessEqual,
}

/// Keywords that are tests of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Primitive<'a> {
    Broadcast(Option<Protocol>),
    Multicast(Option<Protocol>),
    /// `less 100` means 100 and less.
    Less(u32),
    Greater(u32),
    Byte(u32, ByteTest, u32),
    Inbound,
    Outbound,
    IfIndex(u32),
    Vlan(Option<u32>),
    Mpls(Option<u32>),
    PppoeDiscovery,
    PppoeSession(Option<u32>),
    Geneve(Option<u32>),
    Vxlan(Option<u32>),
    Llc(Option<&'a str>),
    WlanType(Word<'a>, Option<Word<'a>>),
    WlanSubtype(&'a str),
    WlanDirection(Word<'a>),
    Atm(Atm),
    Mtp2(Mtp2),
    Field(Field, Relation, u32),
    Pf(Pf, Word<'a>),
}

/// A name, or its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word<'a> {
    Name(&'a str),
    Number(u32),
}

/// The sign of `byte N sign V`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ByteTest {
    Equal,
    Less,
    Greater,
    And,
    Or,
}

/// An operand of a relation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arithmetic {
    Number(u32),
    Length,
    /// `proto[index:size]`
    Load {
        protocol: Protocol,
        index: ArithmeticId,
        size: u32,
    },
    Negate(ArithmeticId),
    Binary(BinaryOperator, ArithmeticId, ArithmeticId),
}

/// 32-bit unsigned arithmetic, wrapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOperator {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Modulo,
    /// `&`
    And,
    /// `|`
    Or,
    /// `^`
    Xor,
    /// `<<`
    ShiftLeft,
    /// `>>`
    ShiftRight,
}

impl<'a> Ast<'a> {
    pub(crate) fn push(&mut self, node: Node<'a>) -> NodeId {
        self.nodes.push(node);
        NodeId(self.nodes.len() as u32 - 1)
    }

    pub(crate) fn node(&self, id: NodeId) -> &Node<'a> {
        &self.nodes[id.0 as usize]
    }

    pub(crate) fn push_arithmetic(&mut self, node: Arithmetic, span: Span) -> ArithmeticId {
        let height = match node {
            Arithmetic::Number(_) | Arithmetic::Length => 0,
            Arithmetic::Load { index, .. } => self.height(index),
            Arithmetic::Negate(operand) => self.height(operand),
            Arithmetic::Binary(_, left, right) => self.height(left).max(self.height(right)),
        };
        self.heights.push(height + 1);
        self.arithmetic.push((node, span));
        ArithmeticId(self.arithmetic.len() as u32 - 1)
    }

    pub(crate) fn arithmetic(&self, id: ArithmeticId) -> Arithmetic {
        self.arithmetic[id.0 as usize].0
    }

    /// How many operations are stacked on each other.
    pub(crate) fn height(&self, id: ArithmeticId) -> u32 {
        self.heights[id.0 as usize]
    }

    pub(crate) fn arithmetic_span(&self, id: ArithmeticId) -> Span {
        self.arithmetic[id.0 as usize].1
    }
}
