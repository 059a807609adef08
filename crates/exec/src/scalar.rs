//! Plans over single packets.
//!
//! A field is loaded, masked, compared and branched on in one step, where it is at a constant offset or
//! behind an IPv4 header; both ports are one field ([`Pair`]). The rest goes by way of [`Number`]s.

use std::hint;

use linerate_bpf::classic::Input;
use linerate_filter::plan::{
    BinaryOperator, Check, Comparison, Load, Metadata, Node, Plan, Target, Value, ValueId, Width,
    apply,
};

use crate::bits::Bits;
use crate::lookup::Lookup;
use crate::pair::{self, Pair};

/// Slots that there are at most; every filter that we know of has fewer.
const SLOTS: usize = 16;

/// A plan for one packet after the other.
#[derive(Clone, Debug)]
pub(crate) struct Scalar {
    numbers: Box<[Number]>,
    steps: Box<[Step]>,
    entry: usize,
    slots: usize,
}

/// A value, with as much as goes together in one piece.
#[derive(Clone, Copy, Debug)]
enum Number {
    /// Bytes at a constant offset.
    At { at: u32, width: Width },
    /// Bytes at an offset from the end of the IPv4 header whose first byte is at `header`.
    Behind { header: u32, at: u32, width: Width },
    /// Bytes at an offset from a number.
    From { base: ValueId, at: u32, width: Width },
    /// The length of the IPv4 header whose first byte is there.
    Header(u32),
    /// An operation whose right side is a constant.
    With { operator: BinaryOperator, left: ValueId, constant: u32 },
    /// Any other.
    Value(Value),
}

/// Where accepted packets go, instead of a step's number.
const ACCEPTED: u32 = u32::MAX;
const DROPPED: u32 = u32::MAX - 1;

/// Where a test leads: numbers of steps, or one of the ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ways {
    pub(crate) then: u32,
    pub(crate) otherwise: u32,
}

#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// `field & mask == constant`, of a byte at a constant offset.
    Byte {
        at: u32,
        mask: u8,
        constant: u8,
        ways: Ways,
    },
    /// The same of two bytes.
    Half {
        at: u32,
        mask: u16,
        constant: u16,
        ways: Ways,
    },
    /// The same of four.
    Word {
        at: u32,
        mask: u32,
        constant: u32,
        ways: Ways,
    },
    /// The same of two bytes at an offset from the end of the IPv4 header whose first byte is at `header`.
    HalfBehind {
        header: u32,
        at: u32,
        mask: u16,
        constant: u16,
        ways: Ways,
    },
    /// The same of one byte there.
    ByteBehind {
        header: u32,
        at: u32,
        mask: u8,
        constant: u8,
        ways: Ways,
    },
    /// Two bytes at a constant offset looked up.
    HalfAmong {
        at: u32,
        lookup: Box<Lookup>,
        ways: Ways,
    },
    /// Two bytes behind an IPv4 header looked up.
    HalfBehindAmong {
        header: u32,
        at: u32,
        lookup: Box<Lookup>,
        ways: Ways,
    },
    /// Two bytes and the next two looked up.
    Pair(Box<Pair>),
    /// Any value looked up.
    Value {
        value: ValueId,
        lookup: Box<Lookup>,
        ways: Ways,
    },
    Compare {
        how: Comparison,
        left: ValueId,
        right: ValueId,
        ways: Ways,
    },
    Bind {
        slot: usize,
        value: ValueId,
        next: u32,
    },
}

impl Scalar {
    /// `None` where there are too many slots.
    pub(crate) fn new(plan: &Plan) -> Option<Self> {
        let mut steps = plan.nodes().iter().map(|node| step(plan, node)).collect();
        pair::join(&mut steps);
        let steps = steps.into();
        let numbers = (0..plan.values().len()).map(|value| Number::new(plan, value)).collect();
        let (entry, slots) = (place(plan.entry()) as usize, plan.slots());
        (slots <= SLOTS).then_some(Self { numbers, steps, entry, slots })
    }

    /// Whether the filter keeps the packet.
    pub(crate) fn keeps(&self, input: &Input<'_>) -> bool {
        // Hardly a filter has slots, and to clear them takes as long as a step.
        let kept = if self.slots == 0 { self.run::<0>(input) } else { self.run::<SLOTS>(input) };
        kept.unwrap_or(false)
    }

    /// `None` when the packet is rejected.
    fn run<const SLOTS: usize>(&self, input: &Input<'_>) -> Option<bool> {
        let data = input.data;
        let mut slots = [0; SLOTS];
        let mut at_step = self.entry;
        while let Some(step) = self.steps.get(at_step) {
            at_step = match step {
                Step::Byte { at, mask, constant, ways } => {
                    ways.choose(data.get(*at as usize)? & mask == *constant)
                }
                Step::Half { at, mask, constant, ways } => {
                    ways.choose(half(data, *at as usize)? & mask == *constant)
                }
                Step::Word { at, mask, constant, ways } => {
                    ways.choose(word(data, *at as usize)? & mask == *constant)
                }
                Step::HalfBehind { header, at, mask, constant, ways } => {
                    ways.choose(half(data, behind(data, *header, *at)?)? & mask == *constant)
                }
                Step::ByteBehind { header, at, mask, constant, ways } => {
                    ways.choose(data.get(behind(data, *header, *at)?)? & mask == *constant)
                }
                Step::HalfAmong { at, lookup, ways } => {
                    ways.choose(lookup.holds(half(data, *at as usize)?.into()))
                }
                Step::HalfBehindAmong { header, at, lookup, ways } => {
                    ways.choose(lookup.holds(half(data, behind(data, *header, *at)?)?.into()))
                }
                Step::Pair(pair) => match pair.load(data) {
                    Some(halves) => pair.ways.choose(pair.holds(halves)),
                    None => pair.alone as usize,
                },
                Step::Value { value, lookup, ways } => {
                    ways.choose(lookup.holds(self.value(*value, input, &slots)?))
                }
                Step::Compare { how, left, right, ways } => {
                    let left = self.value(*left, input, &slots)?;
                    ways.choose(how.holds(left, self.value(*right, input, &slots)?))
                }
                Step::Bind { slot, value, next } => {
                    slots[*slot] = self.value(*value, input, &slots)?;
                    *next as usize
                }
            };
        }
        Some(at_step == ACCEPTED as usize)
    }

    fn value(&self, id: ValueId, input: &Input<'_>, slots: &[u32]) -> Option<u32> {
        let data = input.data;
        match self.numbers[id] {
            Number::At { at, width } => load(data, at as usize, width),
            Number::Behind { header, at, width } => load(data, behind(data, header, at)?, width),
            Number::From { base, at, width } => {
                let base = self.value(base, input, slots)? as usize;
                load(data, base.checked_add(at as usize)?, width)
            }
            Number::Header(at) => header_length(data, at),
            Number::With { operator, left, constant } => {
                apply(operator, self.value(left, input, slots)?, constant)
            }
            Number::Value(value) => self.other(value, input, slots),
        }
    }

    fn other(&self, value: Value, input: &Input<'_>, slots: &[u32]) -> Option<u32> {
        match value {
            Value::Constant(constant) => Some(constant),
            Value::Length => Some(input.length),
            Value::Slot(slot) => slots.get(slot).copied(),
            Value::Metadata(metadata) => known(metadata, input),
            Value::Negate(operand) => self.value(operand, input, slots).map(u32::wrapping_neg),
            Value::Binary(operator, left, right) => {
                apply(operator, self.value(left, input, slots)?, self.value(right, input, slots)?)
            }
            // Bytes are numbers of their own kind.
            Value::Load(_) => None,
        }
    }
}

impl Number {
    fn new(plan: &Plan, id: ValueId) -> Self {
        if let Some(header) = ipv4_header(plan, id) {
            return Self::Header(header);
        }
        let value = plan.values()[id];
        match value {
            Value::Load(Load { base: None, offset: at, width }) => Self::At { at, width },
            Value::Load(Load { base: Some(base), offset: at, width }) => {
                match ipv4_header(plan, base) {
                    Some(header) => Self::Behind { header, at, width },
                    None => Self::From { base, at, width },
                }
            }
            Value::Binary(operator, left, right) => match plan.values()[right] {
                Value::Constant(constant) => Self::With { operator, left, constant },
                _ => Self::Value(value),
            },
            _ => Self::Value(value),
        }
    }
}

impl Ways {
    /// The hint makes a branch of it, which is predicted: the next step need not wait for this one.
    fn choose(self, holds: bool) -> usize {
        if holds {
            hint::cold_path();
            self.then as usize
        } else {
            self.otherwise as usize
        }
    }
}

/// What is `at` bytes behind the IPv4 header at `header`.
pub(crate) fn behind(data: &[u8], header: u32, at: u32) -> Option<usize> {
    (header_length(data, header)? as usize).checked_add(at as usize)
}

/// Of the IPv4 header at `header`, in bytes.
fn header_length(data: &[u8], header: u32) -> Option<u32> {
    data.get(header as usize).map(|first| 4 * u32::from(first & 0xf))
}

fn load(data: &[u8], at: usize, width: Width) -> Option<u32> {
    match width {
        Width::Byte => data.get(at).copied().map(u32::from),
        Width::Half => half(data, at).map(u32::from),
        Width::Word => word(data, at),
    }
}

fn half(data: &[u8], at: usize) -> Option<u16> {
    data.get(at..at.checked_add(2)?)?.first_chunk().copied().map(u16::from_be_bytes)
}

pub(crate) fn word(data: &[u8], at: usize) -> Option<u32> {
    data.get(at..at.checked_add(4)?)?.first_chunk().copied().map(u32::from_be_bytes)
}

fn known(metadata: Metadata, input: &Input<'_>) -> Option<u32> {
    let known = &input.ancillary;
    match metadata {
        Metadata::PacketType => known.packet_type.map(u32::from),
        Metadata::InterfaceIndex => known.interface_index,
        Metadata::Protocol => known.protocol.map(u32::from),
        Metadata::VlanPresent => Some(known.vlan_tci.is_some().into()),
        Metadata::VlanTag => Some(known.vlan_tci.map_or(0, u32::from)),
    }
}

fn place(target: Target) -> u32 {
    match target {
        Target::Node(id) => id as u32,
        Target::Accept => ACCEPTED,
        Target::Drop => DROPPED,
    }
}

fn step(plan: &Plan, node: &Node) -> Step {
    let ways = |then, otherwise| Ways { then: place(then), otherwise: place(otherwise) };
    match *node {
        Node::Bind { slot, value, next } => Step::Bind { slot, value, next: place(next) },
        Node::Compare { how, left, right, then, otherwise } => {
            Step::Compare { how, left, right, ways: ways(then, otherwise) }
        }
        Node::Test { value, mask, ref check, then, otherwise } => {
            test(plan, value, mask, check, ways(then, otherwise))
        }
    }
}

fn test(plan: &Plan, value: ValueId, mask: u32, check: &Check, ways: Ways) -> Step {
    let (bits, moved) = Bits::ALL.check(mask, check);
    let lookup = || Box::new(Lookup::new(bits, moved));
    let Value::Load(load) = plan.values()[value] else {
        return Step::Value { value, lookup: lookup(), ways };
    };
    let header = load.base.map(|base| ipv4_header(plan, base));
    let (at, constant) =
        (load.offset, if let Check::Equal(constant) = check { Some(*constant) } else { None });
    match (load.width, header, constant) {
        (Width::Byte, None, Some(constant)) if constant <= 0xff => {
            Step::Byte { at, mask: mask as u8, constant: constant as u8, ways }
        }
        (Width::Half, None, Some(constant)) if constant <= 0xffff => {
            Step::Half { at, mask: mask as u16, constant: constant as u16, ways }
        }
        (Width::Word, None, Some(constant)) => Step::Word { at, mask, constant, ways },
        (Width::Half, Some(Some(header)), Some(constant)) if constant <= 0xffff => {
            Step::HalfBehind { header, at, mask: mask as u16, constant: constant as u16, ways }
        }
        (Width::Byte, Some(Some(header)), Some(constant)) if constant <= 0xff => {
            Step::ByteBehind { header, at, mask: mask as u8, constant: constant as u8, ways }
        }
        (Width::Half, None, None) => Step::HalfAmong { at, lookup: lookup(), ways },
        (Width::Half, Some(Some(header)), None) => {
            Step::HalfBehindAmong { header, at, lookup: lookup(), ways }
        }
        _ => Step::Value { value, lookup: lookup(), ways },
    }
}

/// Where the IPv4 header begins whose length is `value`, if that is what it is.
fn ipv4_header(plan: &Plan, value: ValueId) -> Option<u32> {
    let values = plan.values();
    let Value::Binary(BinaryOperator::ShiftLeft, words, two) = values[value] else { return None };
    let Value::Binary(BinaryOperator::And, byte, nibble) = values[words] else { return None };
    match (values[byte], values[nibble], values[two]) {
        (
            Value::Load(Load { base: None, offset, width: Width::Byte }),
            Value::Constant(0xf),
            Value::Constant(2),
        ) => Some(offset),
        _ => None,
    }
}
