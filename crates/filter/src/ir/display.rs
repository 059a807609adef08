//! The IR as text, for people and for test cases.
//!
//! Predicates are trees by indentation; a run of the same connective is one level. Loads read
//! `u16[network + 6]`: width in bits, place, offset.

use super::Ir;
use super::graph::{Graph, Node, Target};
use super::place::Header;
use super::predicate::{Comparison, IpVersion, Predicate, PredicateId, Test};
use super::value::{Load, Metadata, Value, ValueId};
use crate::syntax::ast::BinaryOperator;
use std::fmt::{self, Formatter};

/// Beyond this depth indentation stays as it is.
const DEEPEST: usize = 40;

/// The predicates under a root.
pub(crate) struct PredicateText<'a>(pub(crate) &'a Ir, pub(crate) PredicateId);

/// A decision graph.
pub(crate) struct GraphText<'a>(pub(crate) &'a Ir, pub(crate) &'a Graph);

impl fmt::Display for PredicateText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self(ir, root) = self;
        let mut stack = vec![(*root, 0)];
        while let Some((id, depth)) = stack.pop() {
            write!(f, "{:1$}", "", 2 * depth.min(DEEPEST))?;
            match ir.get_predicate(id) {
                Predicate::Constant(value) => writeln!(f, "{value}")?,
                Predicate::Test(test) => writeln!(f, "{}", TestText(ir, test))?,
                Predicate::Bind(slot, value) => {
                    writeln!(
                        f,
                        "{}.{} := {}",
                        ir.slot_name(slot),
                        slot.index(),
                        ValueText(ir, value)
                    )?;
                }
                Predicate::Not(operand) => {
                    writeln!(f, "not")?;
                    stack.push((operand, depth + 1));
                }
                Predicate::And(..) => {
                    writeln!(f, "and")?;
                    stack.extend(run(ir, id).map(|part| (part, depth + 1)));
                }
                Predicate::Or(..) => {
                    writeln!(f, "or")?;
                    stack.extend(run(ir, id).map(|part| (part, depth + 1)));
                }
            }
        }
        Ok(())
    }
}

/// The operands of a run of one connective, from the last to the first.
fn run(ir: &Ir, id: PredicateId) -> impl Iterator<Item = PredicateId> {
    let kind = std::mem::discriminant(&ir.get_predicate(id));
    let mut next = Some(id);
    std::iter::from_fn(move || {
        let id = next.take()?;
        let predicate = ir.get_predicate(id);
        let (Predicate::And(left, right) | Predicate::Or(left, right)) = predicate else {
            return Some(id);
        };
        if std::mem::discriminant(&predicate) != kind {
            return Some(id);
        }
        next = Some(left);
        Some(right)
    })
}

impl fmt::Display for GraphText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self(ir, graph) = self;
        if graph.len() == 0 {
            return writeln!(f, "{}", TargetText(graph, graph.entry));
        }
        for id in graph.ids() {
            write!(f, "{}: ", TargetText(graph, Target::Node(id)))?;
            match graph.node(id) {
                Node::Test { test, then, otherwise } => {
                    let (then, otherwise) = (TargetText(graph, then), TargetText(graph, otherwise));
                    writeln!(f, "{} ? {then} : {otherwise}", TestText(ir, test))?;
                }
                Node::Bind { slot, value, next } => {
                    let (value, next) = (ValueText(ir, value), TargetText(graph, next));
                    writeln!(f, "{}.{} := {value} -> {next}", ir.slot_name(slot), slot.index())?;
                }
            }
        }
        Ok(())
    }
}

/// Nodes are numbered in topological order, from 0.
struct TargetText<'a>(&'a Graph, Target);

impl fmt::Display for TargetText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.1 {
            Target::Accept => f.write_str("accept"),
            Target::Drop => f.write_str("drop"),
            Target::Node(id) => write!(f, "{}", self.0.len() - 1 - id.index()),
        }
    }
}

struct TestText<'a>(&'a Ir, Test);

impl fmt::Display for TestText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self(ir, test) = *self;
        match test {
            Test::Compare(how, left, right) => {
                let sign = comparison_sign(how);
                write!(f, "{} {sign} {}", ValueText(ir, left), ValueText(ir, right))
            }
            Test::Chain(chain) => {
                let place = ir.get_place(chain.network);
                let version = match chain.version {
                    IpVersion::V4 => 4,
                    IpVersion::V6 => 6,
                };
                let start = place.header.name();
                write!(f, "chain of ipv{version} headers at {start} has {}", chain.protocol)
            }
        }
    }
}

struct ValueText<'a>(&'a Ir, ValueId);

impl fmt::Display for ValueText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self(ir, id) = *self;
        match ir.get_value(id) {
            Value::Constant(number) => Number(number).fmt(f),
            Value::Length => f.write_str("length"),
            Value::Load(load) => self.load(f, load),
            Value::Slot(slot) => write!(f, "{}.{}", ir.slot_name(slot), slot.index()),
            Value::Metadata(metadata) => f.write_str(metadata_name(metadata)),
            Value::Negate(operand) => write!(f, "-{}", Self(ir, operand)),
            Value::Binary(op, left, right) => {
                write!(f, "({} {} {})", Self(ir, left), sign(op), Self(ir, right))
            }
        }
    }
}

impl ValueText<'_> {
    fn load(&self, f: &mut Formatter<'_>, load: Load) -> fmt::Result {
        let place = self.0.get_place(load.place);
        write!(f, "u{}[", 8 * load.width.bytes())?;
        let mut parts = Vec::new();
        if place.header != Header::Packet {
            parts.push(place.header.name().to_owned());
        }
        parts.extend(load.index.map(|index| Self(self.0, index).to_string()));
        if load.offset != 0 || parts.is_empty() {
            parts.push(load.offset.cast_signed().to_string());
        }
        write!(f, "{}]", parts.join(" + ").replace("+ -", "- "))
    }
}

/// A constant: decimal while that is the same.
pub(crate) struct Number(pub(crate) u32);

impl fmt::Display for Number {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            number @ 0..10 => write!(f, "{number}"),
            number => write!(f, "{number:#x}"),
        }
    }
}

pub(crate) fn metadata_name(metadata: Metadata) -> &'static str {
    match metadata {
        Metadata::PacketType => "packet type",
        Metadata::InterfaceIndex => "interface",
        Metadata::Protocol => "protocol",
        Metadata::VlanPresent => "vlan present",
        Metadata::VlanTag => "vlan tag",
    }
}

pub(crate) fn comparison_sign(how: Comparison) -> &'static str {
    match how {
        Comparison::Equal => "==",
        Comparison::Greater => ">",
        Comparison::GreaterEqual => ">=",
        Comparison::Intersects => "intersects",
    }
}

pub(crate) fn sign(operator: BinaryOperator) -> &'static str {
    match operator {
        BinaryOperator::Add => "+",
        BinaryOperator::Subtract => "-",
        BinaryOperator::Multiply => "*",
        BinaryOperator::Divide => "/",
        BinaryOperator::Modulo => "%",
        BinaryOperator::And => "&",
        BinaryOperator::Or => "|",
        BinaryOperator::Xor => "^",
        BinaryOperator::ShiftLeft => "<<",
        BinaryOperator::ShiftRight => ">>",
    }
}
