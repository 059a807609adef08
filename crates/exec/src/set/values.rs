//! Numbers that filters have in common: equal ones have one number in a set, whichever filter they are from.

use std::collections::HashMap;

use linerate_filter::Filter;
use linerate_filter::plan::{Load, Plan, Value, ValueId};
use linerate_filter::rules::Rule;

#[derive(Debug, Default)]
pub(super) struct Values {
    all: Vec<Value>,
    numbers: HashMap<Value, ValueId>,
}

impl Values {
    pub(super) fn all(&self) -> &[Value] {
        &self.all
    }

    /// The rules of a filter over these values, if it has any.
    pub(super) fn rules(&mut self, filter: &Filter) -> Option<Vec<Rule>> {
        let plan = filter.plan()?;
        let mut rules = plan.rules()?;
        let numbers = self.adopt(&plan);
        for rule in &mut rules {
            rule.needs.iter_mut().for_each(|value| *value = numbers[*value]);
            rule.conditions.iter_mut().for_each(|c| c.value = numbers[c.value]);
        }
        Some(rules)
    }

    /// The numbers here of a plan's values.
    fn adopt(&mut self, plan: &Plan) -> Vec<ValueId> {
        let mut numbers: Vec<ValueId> = Vec::with_capacity(plan.values().len());
        for value in plan.values() {
            let value = match *value {
                Value::Load(Load { base, offset, width }) => {
                    Value::Load(Load { base: base.map(|base| numbers[base]), offset, width })
                }
                Value::Negate(operand) => Value::Negate(numbers[operand]),
                Value::Binary(operator, left, right) => {
                    Value::Binary(operator, numbers[left], numbers[right])
                }
                other => other,
            };
            let next = self.all.len();
            let number = *self.numbers.entry(value).or_insert(next);
            if number == next {
                self.all.push(value);
            }
            numbers.push(number);
        }
        numbers
    }
}
