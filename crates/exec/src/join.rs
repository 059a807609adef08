//! Steps in a row made one.
//!
//! - tests for equality that both look at the same window and both must hold
//! - looks at both halves of a window for the same numbers, of which one must hold, as `port 80` asks of both ports. Of
//!   several numbers, the first half may be looked at for some, then the second for all, then the first for the rest

use crate::lanes::{CHUNK, Lanes, Mask};
use crate::lookup::Lookup;
use crate::program::{Column, Operand, Place, Step};

/// Whether one half of a window is one of some numbers, or the other half is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Either {
    /// The halves, in the order in which they are looked at.
    pub(crate) operands: [Operand; 2],
    /// In ascending order.
    pub(crate) constants: Box<[u16]>,
    /// Those that the first half is looked at for before the second, too, has to be there.
    early: Box<[u16]>,
    /// The upper half comes first.
    upper_first: bool,
}

impl Either {
    /// Whether the upper half is looked at first.
    pub(crate) fn upper_first(&self) -> bool {
        self.upper_first
    }

    /// The half that ends the window: who has it has the other one, too.
    pub(crate) fn lower(&self) -> Operand {
        self.operands[usize::from(self.upper_first)]
    }

    /// The numbers that suffice without the second half.
    pub(crate) fn early(&self) -> &[u16] {
        &self.early
    }

    /// Of whom it holds, and of whom it does not, as the halves of lanes hold of `found` and those in `there` have the
    /// operands. Who has no second half is neither, unless the first is one of the early numbers.
    pub(crate) fn judge(&self, lanes: &Lanes, found: [Mask; 2], there: [Mask; 2]) -> [Mask; 2] {
        let (any, both) = (found[0] | found[1], there[0] & there[1]);
        let mut holds = both & any;
        let right = if self.upper_first { 16 } else { 0 };
        for packet in (there[0] & !there[1]).iter() {
            if self.early.contains(&((lanes.of(packet) >> right) as u16)) {
                holds.insert(packet / CHUNK, 1 << (packet % CHUNK));
            }
        }
        [holds, both & !any]
    }
}

/// Joins what can be. All but the first are left without a way to them.
pub(crate) fn join(steps: &mut [Step], columns: &[Column], entry: Place) {
    let (entrances, dropped) = (entrances(steps, entry), steps.len() + 1);
    for id in (0..steps.len()).rev() {
        let Step::Test { then, otherwise, .. } = steps[id] else { continue };
        let follower = |next: Place| steps.get(next).filter(|_| entrances[next] == 1);
        let both = follower(then).and_then(|next| steps[id].and(next, columns, dropped));
        let joined = both.or_else(|| {
            let second = follower(otherwise)?;
            let third = second.otherwise().and_then(follower);
            steps[id].or(second, None).or_else(|| steps[id].or(second, Some(third?)))
        });
        if let Some(joined) = joined {
            steps[id] = joined;
        }
    }
}

/// How many ways there are to each place, from steps that there are ways to.
pub(crate) fn entrances(steps: &[Step], entry: Place) -> Vec<usize> {
    let mut entrances = vec![0; steps.len() + 2];
    entrances[entry] += 1;
    for (place, step) in steps.iter().enumerate() {
        if entrances[place] > 0 {
            step.ways().for_each(|next| entrances[next] += 1);
        }
    }
    entrances
}

/// Leaves out the steps that there is no way to.
pub(crate) fn retain_reached(steps: &mut Vec<Step>, entry: &mut Place) {
    let entrances = entrances(steps, *entry);
    let is_reached = |place: Place| place >= steps.len() || entrances[place] > 0;
    let new = |next: &mut Place, place| {
        let here = *next;
        *next += usize::from(is_reached(place));
        Some(here)
    };
    let places: Vec<_> = (0..steps.len() + 2).scan(0, new).collect();
    let mut place = 0..;
    steps.retain(|_| place.next().is_some_and(|place| entrances[place] > 0));
    for way in steps.iter_mut().flat_map(Step::ways_mut).chain([entry]) {
        *way = places[*way];
    }
}

impl Step {
    /// Where it can lead.
    pub(crate) fn ways(&self) -> impl Iterator<Item = Place> + use<> {
        let (first, second) = match *self {
            Self::Test { then, otherwise, .. }
            | Self::Either { then, otherwise, .. }
            | Self::Compare { then, otherwise, .. } => (then, Some(otherwise)),
            Self::Bind { next, .. } | Self::Pass { next, .. } => (next, None),
        };
        std::iter::once(first).chain(second)
    }

    fn ways_mut(&mut self) -> impl Iterator<Item = &mut Place> {
        let (first, second) = match self {
            Self::Test { then, otherwise, .. }
            | Self::Either { then, otherwise, .. }
            | Self::Compare { then, otherwise, .. } => (then, Some(otherwise)),
            Self::Bind { next, .. } | Self::Pass { next, .. } => (next, None),
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

    /// Where those go of whom a test does not hold.
    fn otherwise(&self) -> Option<Place> {
        match self {
            Self::Test { otherwise, .. } => Some(*otherwise),
            _ => None,
        }
    }

    /// All as one, where the second is only asked if the first does not hold, for the same numbers in the other half, if the
    /// third is asked for what the first has not been.
    fn or(&self, second: &Self, third: Option<&Self>) -> Option<Self> {
        let [first, second] = [self.half()?, second.half()?];
        let third = match third {
            Some(third) => Some(third.half()?),
            None => None,
        };
        let mut constants = first.constants.clone();
        let mut otherwise = second.otherwise;
        if let Some(third) = third {
            if third.mask != first.mask
                || third.operand != first.operand
                || third.then != first.then
            {
                return None;
            }
            constants.extend(third.constants);
            otherwise = third.otherwise;
        }
        constants.sort_unstable();
        let is_same = first.operand.lanes == second.operand.lanes
            && first.then == second.then
            && constants == second.constants;
        (is_same && first.mask != second.mask).then_some(Self::Either {
            either: Either {
                operands: [first.operand, second.operand],
                constants: constants.into(),
                early: first.constants.into(),
                upper_first: first.mask > second.mask,
            },
            then: first.then,
            otherwise,
        })
    }

    /// A look at one half of a window for some numbers.
    fn half(&self) -> Option<Half> {
        let Self::Test { operand, lookup, then, otherwise } = self else { return None };
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
        let mut constants: Vec<_> = constants.iter().map(|c| (c >> right) as u16).collect();
        constants.sort_unstable();
        let (operand, then, otherwise) = (*operand, *then, *otherwise);
        Some(Half { operand, mask, constants, then, otherwise })
    }
}

struct Half {
    operand: Operand,
    mask: u32,
    /// In ascending order.
    constants: Vec<u16>,
    then: Place,
    otherwise: Place,
}
