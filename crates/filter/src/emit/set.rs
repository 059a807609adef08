//! Filters for sets in the kernel: a plan's rules over numbers that programs there find.

use linerate_bpf::extended::Alu;
use linerate_bpf::extended::set::{Condition, Field, Number, Rule};

use super::ebpf::load::size;
use super::ebpf::value::{alu, word};
use crate::plan::{BinaryOperator, Load, Plan, Value, ValueId};
use crate::rules;

/// The rules of a plan; `None` where it has none, or asks for numbers that such programs do not find: of other
/// operations than with a constant.
pub(crate) fn emit(plan: &Plan) -> Option<Vec<Rule>> {
    plan.rules()?.iter().map(|rule| self::rule(plan.values(), rule)).collect()
}

fn rule(values: &[Value], rule: &rules::Rule) -> Option<Rule> {
    let asked = rule.conditions.iter().map(|condition| {
        let field = Field { number: number(values, condition.value)?, mask: condition.mask };
        Some(Condition { field, ranges: condition.ranges.iter().collect() })
    });
    let needed = rule.untold_needs(values).map(|need| {
        let field = Field { number: number(values, need)?, mask: u32::MAX };
        Some(Condition { field, ranges: vec![(0, u32::MAX)] })
    });
    Some(Rule { conditions: asked.chain(needed).collect::<Option<_>>()? })
}

fn number(values: &[Value], id: ValueId) -> Option<Number> {
    Some(match values[id] {
        Value::Length => Number::Length,
        Value::Metadata(metadata) => Number::Metadata(word(metadata)),
        Value::Load(Load { base, offset, width }) => {
            let base = base.map(|base| number(values, base).map(Box::new));
            let base = match base {
                Some(base) => Some(base?),
                None => None,
            };
            Number::Load { base, offset, size: size(width) }
        }
        Value::Binary(operator, left, right) => {
            let Value::Constant(constant) = values[right] else { return None };
            Number::Operation(
                operation(operator, constant)?,
                Box::new(number(values, left)?),
                constant,
            )
        }
        Value::Constant(_) | Value::Slot(_) | Value::Negate(_) => return None,
    })
}

/// The instruction that does what an operator does with a constant, if one does.
fn operation(operator: BinaryOperator, constant: u32) -> Option<Alu> {
    use BinaryOperator::{Divide, Modulo, ShiftLeft, ShiftRight};
    let is_odd = match operator {
        Divide | Modulo => constant == 0,
        ShiftLeft | ShiftRight => constant >= u32::BITS,
        _ => false,
    };
    (!is_odd).then(|| alu(operator))
}
