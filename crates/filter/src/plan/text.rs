//! Plans as text, as decision graphs are written: for people and for test cases.

use std::fmt::{self, Display, Formatter};

use super::{Check, Load, Node, Plan, Target, Value, ValueId};
use crate::ir::display::{Number, comparison_sign, metadata_name, sign};

impl Display for Plan {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.nodes.is_empty() {
            return writeln!(f, "{}", self.entry);
        }
        for (id, node) in self.nodes.iter().enumerate() {
            write!(f, "{id}: ")?;
            match node {
                Node::Test { value, mask, check, then, otherwise } => {
                    match mask {
                        &u32::MAX => write!(f, "{}", Text(self, *value))?,
                        mask => write!(f, "({} & {})", Text(self, *value), Number(*mask))?,
                    }
                    writeln!(f, " {check} ? {then} : {otherwise}")?;
                }
                Node::Compare { how, left, right, then, otherwise } => {
                    let (left, right) = (Text(self, *left), Text(self, *right));
                    let how = comparison_sign(*how);
                    writeln!(f, "{left} {how} {right} ? {then} : {otherwise}")?;
                }
                Node::Bind { slot, value, next } => {
                    writeln!(f, "slot {slot} := {} -> {next}", Text(self, *value))?;
                }
            }
        }
        Ok(())
    }
}

impl Display for Target {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Accept => f.write_str("accept"),
            Self::Drop => f.write_str("drop"),
            Self::Node(id) => write!(f, "{id}"),
        }
    }
}

impl Display for Check {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Equal(number) => write!(f, "== {}", Number(*number)),
            Self::Within(low, high) => write!(f, "in {}..={}", Number(*low), Number(*high)),
            Self::Among(numbers) => {
                let numbers: Vec<_> = numbers.iter().map(|n| Number(*n).to_string()).collect();
                write!(f, "in {{{}}}", numbers.join(", "))
            }
        }
    }
}

struct Text<'a>(&'a Plan, ValueId);

impl Display for Text<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self(plan, id) = *self;
        match plan.values[id] {
            Value::Constant(number) => Number(number).fmt(f),
            Value::Length => f.write_str("length"),
            Value::Load(Load { base, offset, width }) => {
                write!(f, "u{}[", 8 * width.bytes())?;
                if let Some(base) = base {
                    write!(f, "{} + ", Self(plan, base))?;
                }
                write!(f, "{offset}]")
            }
            Value::Slot(slot) => write!(f, "slot {slot}"),
            Value::Metadata(metadata) => f.write_str(metadata_name(metadata)),
            Value::Negate(operand) => write!(f, "-{}", Self(plan, operand)),
            Value::Binary(operator, left, right) => {
                write!(f, "({} {} {})", Self(plan, left), sign(operator), Self(plan, right))
            }
        }
    }
}
