//! A new IR made from an old one, operands before what is made of them.

use super::Ir;
use super::place::{Place, PlaceId};
use super::predicate::{Chain, Predicate, PredicateId, Test};
use super::value::{Load, Value, ValueId};

/// How a pass changes an IR. Operands have been rewritten before; the default changes nothing.
pub(crate) trait Rewrite {
    fn value(&self, ir: &mut Ir, value: Value) -> ValueId {
        ir.value(value)
    }

    fn predicate(&self, ir: &mut Ir, predicate: Predicate) -> PredicateId {
        ir.predicate(predicate)
    }
}

/// `old` and its `root`, rewritten.
pub(crate) fn rewrite(old: &Ir, root: PredicateId, pass: &impl Rewrite) -> (Ir, PredicateId) {
    let mut new = Ir { slots: old.slots.clone(), ..Ir::default() };
    new.values.reserve_as(&old.values);
    new.predicates.reserve_as(&old.predicates);
    let mut values = Vec::with_capacity(old.values.len());
    for value in old.values.iter() {
        let value = with_operands(&mut new, old, &values, *value);
        values.push(pass.value(&mut new, value));
    }
    let mut predicates = Vec::with_capacity(old.predicates.len());
    for predicate in old.predicates.iter() {
        let predicate = with_parts(&mut new, old, &values, &predicates, *predicate);
        predicates.push(pass.predicate(&mut new, predicate));
    }
    let root = predicates[root.0 as usize];
    (new, root)
}

fn with_operands(new: &mut Ir, old: &Ir, values: &[ValueId], value: Value) -> Value {
    let moved = |id: ValueId| values[id.index()];
    match value {
        Value::Load(load) => Value::Load(Load {
            place: moved_place(new, old, values, load.place),
            index: load.index.map(moved),
            ..load
        }),
        Value::Negate(operand) => Value::Negate(moved(operand)),
        Value::Binary(op, left, right) => Value::Binary(op, moved(left), moved(right)),
        Value::Constant(_) | Value::Length | Value::Slot(_) | Value::Metadata(_) => value,
    }
}

fn moved_place(new: &mut Ir, old: &Ir, values: &[ValueId], id: PlaceId) -> PlaceId {
    let place = old.get_place(id);
    new.place(Place { variable: place.variable.map(|id| values[id.index()]), ..place })
}

fn with_parts(
    new: &mut Ir,
    old: &Ir,
    values: &[ValueId],
    predicates: &[PredicateId],
    predicate: Predicate,
) -> Predicate {
    let value = |id: ValueId| values[id.index()];
    let part = |id: PredicateId| predicates[id.0 as usize];
    match predicate {
        Predicate::Constant(_) => predicate,
        Predicate::Test(Test::Compare(how, left, right)) => {
            Predicate::Test(Test::Compare(how, value(left), value(right)))
        }
        Predicate::Test(Test::Chain(chain)) => {
            let network = moved_place(new, old, values, chain.network);
            Predicate::Test(Test::Chain(Chain { network, ..chain }))
        }
        Predicate::Not(operand) => Predicate::Not(part(operand)),
        Predicate::And(left, right) => Predicate::And(part(left), part(right)),
        Predicate::Or(left, right) => Predicate::Or(part(left), part(right)),
        Predicate::Bind(slot, id) => Predicate::Bind(slot, value(id)),
    }
}
