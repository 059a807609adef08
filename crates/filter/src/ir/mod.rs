//! The intermediate representation: a filter without names, qualifiers or machine.
//!
//! - [`value`]: 32-bit numbers taken from the packet, its metadata and arithmetic
//! - [`place`]: the symbolic bases that loads are relative to: link, type, network, transport
//! - [`predicate`]: what is true or false of a packet
//! - [`graph`]: predicates as one decision graph, which is what emitters consume
//! - [`lower`]: predicates to graph
//! - [`rewrite`]: what passes over the arenas have in common
//! - [`display`]: text, for people and test cases
//! - [`evaluate`]: the reference evaluator, the oracle of every back end
//!
//! Three values: a predicate is true, false, or *rejects*. A load past the captured bytes, a question
//! to metadata without an answer and a division by zero reject the packet as a whole, even under
//! `not`. Operands of `and` and `or` are evaluated from left to right and no further than needed, so
//! which loads happen is part of the meaning, and no pass may move one to where it did not happen.
//!
//! Hash-consed: equal values, places and predicates have equal ids, and operands have smaller ids
//! than what is made of them. There is no accumulator and no scratch memory here; the only thing
//! that is ever set is a [`SlotId`], a position found at run time, and [`predicate::Predicate::Bind`]
//! sets it before anything reads it, or else it is 0.

pub(crate) mod display;
pub(crate) mod evaluate;
pub(crate) mod graph;
pub(crate) mod intern;
pub(crate) mod lower;
pub(crate) mod place;
pub(crate) mod predicate;
pub(crate) mod rewrite;
pub(crate) mod value;

use intern::Interner;
use place::{Place, PlaceId};
use predicate::{Predicate, PredicateId};
use value::{SlotId, Value, ValueId};

/// The arenas.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ir {
    values: Interner<Value>,
    places: Interner<Place>,
    predicates: Interner<Predicate>,
    /// What each slot is the position of.
    slots: Vec<&'static str>,
}

impl Ir {
    pub(crate) fn value(&mut self, value: Value) -> ValueId {
        ValueId(self.values.intern(value))
    }

    /// True when somebody has asked for this value.
    pub(crate) fn has_value(&self, value: Value) -> bool {
        self.values.number(value).is_some()
    }

    pub(crate) fn place(&mut self, place: Place) -> PlaceId {
        PlaceId(self.places.intern(place))
    }

    pub(crate) fn predicate(&mut self, predicate: Predicate) -> PredicateId {
        PredicateId(self.predicates.intern(predicate))
    }

    pub(crate) fn slot(&mut self, name: &'static str) -> SlotId {
        self.slots.push(name);
        SlotId(self.slots.len() as u32 - 1)
    }

    pub(crate) fn get_value(&self, id: ValueId) -> Value {
        *self.values.get(id.0)
    }

    pub(crate) fn get_place(&self, id: PlaceId) -> Place {
        *self.places.get(id.0)
    }

    pub(crate) fn get_predicate(&self, id: PredicateId) -> Predicate {
        *self.predicates.get(id.0)
    }

    pub(crate) fn slot_name(&self, id: SlotId) -> &'static str {
        self.slots[id.0 as usize]
    }

    pub(crate) fn slot_count(&self) -> usize {
        self.slots.len()
    }

    /// Every value, operands before what is made of them.
    pub(crate) fn values(&self) -> impl ExactSizeIterator<Item = Value> {
        self.values.iter().copied()
    }
}
