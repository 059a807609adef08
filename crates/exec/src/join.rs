//! Two steps in a row made one.
//!
//! - tests for equality that both look at the same window and both must hold
//! - looks at both halves of a window for the same numbers, of which one must hold, as `port 80` asks of both ports

use crate::lanes::Mask;
use crate::lookup::Lookup;
use crate::program::{Column, Operand, Place, Step};

/// Whether one half of a window is one of some numbers, or the other half is.
#[derive(Clone, Debug)]
pub(crate) struct Either {
    /// The halves, in the order in which they are looked at.
    pub(crate) operands: [Operand; 2],
    pub(crate) constants: Box<[u16]>,
    /// The upper half comes first.
    upper_first: bool,
}

impl Either {
    /// Whether the upper half is looked at first.
    pub(crate) fn upper_first(&self) -> bool {
        self.upper_first
    }

    /// Of whom it holds, and of whom it does not, as the upper and lower halves hold of `found` and those in `there`
    /// have the operands. Who has no second half is neither, unless the first holds.
    pub(crate) fn judge(&self, found: [Mask; 2], there: [Mask; 2]) -> [Mask; 2] {
        let [upper, lower] = found;
        let (first, second) = if self.upper_first { (upper, lower) } else { (lower, upper) };
        let rest = there[0] & !first & there[1];
        [there[0] & first | rest & second, rest & !second]
    }
}

/// Joins what can be. The second of two is left without a way to it.
pub(crate) fn join(steps: &mut [Step], columns: &[Column], entry: Place) {
    let mut entrances = vec![0; steps.len() + 2];
    let dropped = steps.len() + 1;
    entrances[entry] += 1;
    steps.iter().flat_map(Step::ways).for_each(|place| entrances[place] += 1);
    for id in (0..steps.len()).rev() {
        let Step::Test { then, otherwise, .. } = steps[id] else { continue };
        let follower = |next: Place| steps.get(next).filter(|_| entrances[next] == 1);
        let both = follower(then).and_then(|next| steps[id].and(next, columns, dropped));
        let joined = both.or_else(|| follower(otherwise).and_then(|next| steps[id].or(next)));
        if let Some(joined) = joined {
            steps[id] = joined;
        }
    }
}

impl Step {
    /// Where it can lead.
    fn ways(&self) -> impl Iterator<Item = Place> + use<> {
        let (first, second) = match *self {
            Self::Test { then, otherwise, .. }
            | Self::Either { then, otherwise, .. }
            | Self::Compare { then, otherwise, .. } => (then, Some(otherwise)),
            Self::Bind { next, .. } => (next, None),
        };
        std::iter::once(first).chain(second)
    }

    /// Both as one, where the second is only asked if the first holds, and the others part in one place.
    fn and(&self, second: &Self, columns: &[Column], dropped: Place) -> Option<Self> {
        let (a, one, _, out) = self.equality()?;
        let (b, other, then, otherwise) = second.equality()?;
        let agree = (one.0 & other.0) & (one.1 ^ other.1) == 0;
        if a.lanes != b.lanes || out != otherwise || !agree {
            return None;
        }
        let ends = [a, b].map(|operand| match &columns[operand.present] {
            Column::Present { base, end } => Some((*base, *end)),
            _ => None,
        });
        let [(base, first_end), (other_base, second_end)] = [ends[0]?, ends[1]?];
        // Who has not what the second looks at is rejected, and might here go on instead.
        let is_there = first_end >= second_end || out == dropped;
        (base == other_base && is_there).then_some(Self::Test {
            operand: if first_end >= second_end { a } else { b },
            lookup: Lookup::Equal { mask: one.0 | other.0, constant: one.1 | other.1 },
            then,
            otherwise,
        })
    }

    /// The operand, mask and constant of a test for equality, and where it leads.
    fn equality(&self) -> Option<(Operand, (u32, u32), Place, Place)> {
        match self {
            Self::Test { operand, lookup: Lookup::Equal { mask, constant }, then, otherwise } => {
                Some((*operand, (*mask, *constant), *then, *otherwise))
            }
            _ => None,
        }
    }

    /// Both as one, where the second is only asked if the first does not hold, for the same numbers in the other half.
    fn or(&self, second: &Self) -> Option<Self> {
        let (
            Self::Test { operand: a, then, .. },
            Self::Test { operand: b, then: to, otherwise, .. },
        ) = (self, second)
        else {
            return None;
        };
        let (mask, constants) = self.half()?;
        let (other_mask, others) = second.half()?;
        let is_same = a.lanes == b.lanes && then == to && constants == others;
        (is_same && mask != other_mask).then_some(Self::Either {
            either: Either { operands: [*a, *b], constants, upper_first: mask > other_mask },
            then: *then,
            otherwise: *otherwise,
        })
    }

    /// Of a look at one half of a window, the half's mask and the numbers.
    fn half(&self) -> Option<(u32, Box<[u16]>)> {
        let Self::Test { lookup, .. } = self else { return None };
        let (mask, constants) = match lookup {
            Lookup::Equal { mask, constant } => (*mask, std::slice::from_ref(constant)),
            Lookup::Few { mask, constants } => (*mask, &constants[..]),
            _ => return None,
        };
        let right = match mask {
            0xffff_0000 => 16,
            0xffff => 0,
            _ => return None,
        };
        let halves = constants.iter().map(|constant| (constant >> right) as u16).collect();
        Some((mask, halves))
    }
}
