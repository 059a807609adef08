//! The reference evaluator: what a filter means, with nothing between.
//!
//! Slow and plain. Every back end is checked against it.

use super::Ir;
use super::predicate::{Chain, IpVersion, Predicate, PredicateId, Test};
use super::value::{Load, Metadata, Value, ValueId, Width, apply};
use linerate_bpf::classic::Input;

/// What a predicate says of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is true of it.
    True,
    /// It is false of it.
    False,
    /// It asked for bytes or answers that are not there: the packet is dropped, even under `not`.
    Reject,
}

/// Evaluates `root` on a packet.
pub(crate) fn evaluate(ir: &Ir, root: PredicateId, input: &Input<'_>) -> Verdict {
    let mut evaluation = Evaluation { ir, input, slots: vec![0; ir.slot_count()] };
    match evaluation.predicate(root) {
        Some(true) => Verdict::True,
        Some(false) => Verdict::False,
        None => Verdict::Reject,
    }
}

/// `None` is a rejection.
struct Evaluation<'a> {
    ir: &'a Ir,
    input: &'a Input<'a>,
    slots: Vec<u32>,
}

/// What to do with an operand's outcome.
enum Pending {
    Negate,
    AndThen(PredicateId),
    OrElse(PredicateId),
}

impl Evaluation<'_> {
    fn predicate(&mut self, root: PredicateId) -> Option<bool> {
        let mut pending = Vec::new();
        let mut outcome = self.descend(root, &mut pending)?;
        while let Some(next) = pending.pop() {
            outcome = match next {
                Pending::Negate => !outcome,
                Pending::AndThen(right) if outcome => self.descend(right, &mut pending)?,
                Pending::OrElse(right) if !outcome => self.descend(right, &mut pending)?,
                Pending::AndThen(_) | Pending::OrElse(_) => outcome,
            };
        }
        Some(outcome)
    }

    /// The outcome of the leftmost leaf, everything on the way to it pending.
    fn descend(&mut self, mut id: PredicateId, pending: &mut Vec<Pending>) -> Option<bool> {
        loop {
            match self.ir.get_predicate(id) {
                Predicate::Constant(value) => return Some(value),
                Predicate::Test(test) => return self.test(test),
                Predicate::Bind(slot, value) => {
                    self.slots[slot.index()] = self.value(value)?;
                    return Some(true);
                }
                Predicate::Not(operand) => {
                    pending.push(Pending::Negate);
                    id = operand;
                }
                Predicate::And(left, right) => {
                    pending.push(Pending::AndThen(right));
                    id = left;
                }
                Predicate::Or(left, right) => {
                    pending.push(Pending::OrElse(right));
                    id = left;
                }
            }
        }
    }

    fn test(&self, test: Test) -> Option<bool> {
        match test {
            Test::Compare(how, left, right) => {
                Some(how.holds(self.value(left)?, self.value(right)?))
            }
            Test::Chain(chain) => self.chain(chain),
        }
    }

    fn value(&self, id: ValueId) -> Option<u32> {
        match self.ir.get_value(id) {
            Value::Constant(constant) => Some(constant),
            Value::Length => Some(self.input.length),
            Value::Load(load) => self.load(load),
            Value::Slot(slot) => Some(self.slots[slot.index()]),
            Value::Metadata(metadata) => self.metadata(metadata),
            Value::Negate(operand) => self.value(operand).map(u32::wrapping_neg),
            Value::Binary(op, left, right) => apply(op, self.value(left)?, self.value(right)?),
        }
    }

    fn load(&self, load: Load) -> Option<u32> {
        let place = self.ir.get_place(load.place);
        let variable = self.optional(place.variable)?.wrapping_add(self.optional(load.index)?);
        let constant = place.constant.wrapping_add(load.offset);
        self.bytes(u64::from(variable) + u64::from(constant), load.width)
    }

    fn optional(&self, value: Option<ValueId>) -> Option<u32> {
        value.map_or(Some(0), |value| self.value(value))
    }

    fn bytes(&self, at: u64, width: Width) -> Option<u32> {
        let start = usize::try_from(at).ok()?;
        let bytes = self.input.data.get(start..start.checked_add(width.bytes())?)?;
        Some(bytes.iter().fold(0, |value, byte| value << 8 | u32::from(*byte)))
    }

    fn metadata(&self, metadata: Metadata) -> Option<u32> {
        let known = &self.input.ancillary;
        match metadata {
            Metadata::PacketType => known.packet_type.map(u32::from),
            Metadata::InterfaceIndex => known.interface_index,
            Metadata::Protocol => known.protocol.map(u32::from),
            Metadata::VlanPresent => Some(known.vlan_tci.is_some().into()),
            Metadata::VlanTag => Some(known.vlan_tci.map_or(0, u32::from)),
        }
    }

    /// Offsets from the network header wrap, as those of any place do.
    fn chain(&self, chain: Chain) -> Option<bool> {
        let network = self.ir.get_place(chain.network).constant;
        let byte = |behind: u64, offset: u32| {
            self.bytes(behind + u64::from(network.wrapping_add(offset)), Width::Byte)
        };
        let (mut protocol, mut at) = match chain.version {
            IpVersion::V4 => (byte(0, 9)?, u64::from(byte(0, 0)? & 0xf) * 4),
            IpVersion::V6 => (byte(0, 6)?, 40),
        };
        while protocol != chain.protocol {
            let Some((unit, extra)) = header_length(chain.version, protocol) else {
                return Some(false);
            };
            protocol = byte(at, 0)?;
            at += (u64::from(byte(at, 1)?) + extra) * unit;
        }
        Some(true)
    }
}

/// How the length field of a header of `protocol` counts: `(field + extra) * unit` bytes; `None` for
/// protocols that end a chain.
fn header_length(version: IpVersion, protocol: u32) -> Option<(u64, u64)> {
    match (version, protocol) {
        // RFC 8200 4.3 to 4.6; the fragment header's length byte is reserved and zero.
        (IpVersion::V6, 0 | 43 | 44 | 60) => Some((8, 1)),
        // RFC 4302 2.2
        (_, 51) => Some((4, 2)),
        _ => None,
    }
}
