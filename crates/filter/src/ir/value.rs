//! 32-bit numbers.

use super::Ir;
use super::place::PlaceId;
use crate::syntax::ast::BinaryOperator;

/// Index of a [`Value`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ValueId(pub(super) u32);

impl ValueId {
    /// For tables beside the arena.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Index of a position found at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SlotId(pub(super) u32);

impl SlotId {
    /// For tables beside the arena.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A number. All arithmetic wraps; all comparisons are unsigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Value {
    Constant(u32),
    /// The packet's length on the wire.
    Length,
    /// Bytes in network order, at `place + index + offset`. The place's and the index's variable
    /// parts are added with wrapping, everything else is not: what lies past 2^32 is past the end.
    Load(Load),
    /// What a slot was bound to, 0 if it was not.
    Slot(SlotId),
    Metadata(Metadata),
    Negate(ValueId),
    /// A division or remainder by zero rejects; a shift by 32 and more gives 0.
    Binary(BinaryOperator, ValueId, ValueId),
}

/// See [`Value::Load`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Load {
    pub(crate) place: PlaceId,
    pub(crate) index: Option<ValueId>,
    pub(crate) offset: u32,
    pub(crate) width: Width,
}

/// How many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Width {
    /// One.
    Byte,
    /// Two.
    Half,
    /// Four.
    Word,
}

impl Width {
    /// The number of bytes.
    pub fn bytes(self) -> usize {
        match self {
            Self::Byte => 1,
            Self::Half => 2,
            Self::Word => 4,
        }
    }
}

/// What a packet's bytes do not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Metadata {
    /// A `PACKET_` number of `linux/if_packet.h`.
    PacketType,
    /// The index of the interface.
    InterfaceIndex,
    /// The EtherType.
    Protocol,
    /// 1 if a VLAN tag was taken off.
    VlanPresent,
    /// The tag control information of that tag.
    VlanTag,
}

impl Ir {
    pub(crate) fn constant(&mut self, value: u32) -> ValueId {
        self.value(Value::Constant(value))
    }

    pub(crate) fn binary(&mut self, op: BinaryOperator, left: ValueId, right: ValueId) -> ValueId {
        self.value(Value::Binary(op, left, right))
    }

    /// `left op constant`
    pub(crate) fn with_constant(&mut self, op: BinaryOperator, left: ValueId, k: u32) -> ValueId {
        let right = self.constant(k);
        self.binary(op, left, right)
    }

    pub(crate) fn as_constant(&self, id: ValueId) -> Option<u32> {
        match self.get_value(id) {
            Value::Constant(constant) => Some(constant),
            _ => None,
        }
    }

    /// The load of the byte whose low nibble times four is `id`: an IPv4 header's length.
    pub(crate) fn as_ipv4_header_length(&self, id: ValueId) -> Option<Load> {
        match self.get_value(self.ipv4_header_byte(id)?) {
            Value::Load(load) => Some(load),
            _ => None,
        }
    }

    /// The same load as a value.
    pub(crate) fn ipv4_header_byte(&self, id: ValueId) -> Option<ValueId> {
        let Value::Binary(BinaryOperator::ShiftLeft, masked, two) = self.get_value(id) else {
            return None;
        };
        let Value::Binary(BinaryOperator::And, byte, nibble) = self.get_value(masked) else {
            return None;
        };
        let (Some(2), Some(0xf)) = (self.as_constant(two), self.as_constant(nibble)) else {
            return None;
        };
        let is_byte = |load: Load| load.width == Width::Byte;
        matches!(self.get_value(byte), Value::Load(load) if is_byte(load)).then_some(byte)
    }
}

/// `left op right`; `None` for a division by zero.
pub fn apply(operator: BinaryOperator, left: u32, right: u32) -> Option<u32> {
    Some(match operator {
        BinaryOperator::Add => left.wrapping_add(right),
        BinaryOperator::Subtract => left.wrapping_sub(right),
        BinaryOperator::Multiply => left.wrapping_mul(right),
        BinaryOperator::Divide => left.checked_div(right)?,
        BinaryOperator::Modulo => left.checked_rem(right)?,
        BinaryOperator::And => left & right,
        BinaryOperator::Or => left | right,
        BinaryOperator::Xor => left ^ right,
        BinaryOperator::ShiftLeft => left.checked_shl(right).unwrap_or(0),
        BinaryOperator::ShiftRight => left.checked_shr(right).unwrap_or(0),
    })
}
