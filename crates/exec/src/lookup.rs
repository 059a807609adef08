//! Ways to see whether a number is in a set.

use linerate_filter::plan::Check;

use crate::bits::Bits;

/// How a test looks at `lane >> right & mask`. Where a shift can be spared, constants are shifted instead.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Lookup {
    /// `lane & mask == constant`
    Equal { mask: u32, constant: u32 },
    /// `(lane & mask) - low <= span`
    Within { mask: u32, low: u32, span: u32 },
    /// `lane & mask` is one of the constants; never if there are none.
    Few { mask: u32, constants: Box<[u32]> },
    /// The bit of number `lane >> right & mask` is set.
    Bitmap { right: u32, mask: u32, bitmap: Box<Bitmap> },
    /// `lane & mask` is in a table.
    Hashed { mask: u32, table: Table },
}

/// One bit for each number of 16 bits.
pub(crate) type Bitmap = [u32; 1 << 11];

/// What a comparison costs a chunk is 1. A bitmap costs a gather from nearby memory besides shifts.
const BITMAP_COST: usize = 14;
/// Two gathers and two multiplications.
const HASHED_COST: usize = 36;

impl Lookup {
    /// The cheapest way to do a check of bits.
    pub(crate) fn new(bits: Bits, check: Option<Check>) -> Self {
        let (right, mask) = (bits.right, bits.mask << bits.right);
        match check {
            None => Self::Few { mask, constants: [].into() },
            Some(Check::Equal(constant)) => Self::Equal { mask, constant: constant << right },
            Some(Check::Within(low, high)) => {
                Self::Within { mask, low: low << right, span: (high - low) << right }
            }
            Some(Check::Among(constants)) if constants.len() <= BITMAP_COST => {
                Self::few(bits, &constants)
            }
            Some(Check::Among(constants)) if bits.mask <= 0xffff => {
                let mut bitmap = Box::new([0; 1 << 11]);
                constants.iter().for_each(|c| bitmap[*c as usize / 32] |= 1 << (c % 32));
                Self::Bitmap { right, mask: bits.mask, bitmap }
            }
            Some(Check::Among(constants)) if constants.len() <= HASHED_COST => {
                Self::few(bits, &constants)
            }
            Some(Check::Among(constants)) => {
                let keys: Vec<_> = constants.iter().map(|constant| constant << right).collect();
                Self::Hashed { mask, table: Table::new(&keys) }
            }
        }
    }

    fn few(bits: Bits, constants: &[u32]) -> Self {
        let constants = constants.iter().map(|constant| constant << bits.right).collect();
        Self::Few { mask: bits.mask << bits.right, constants }
    }

    /// Whether a lane passes.
    pub(crate) fn holds(&self, lane: u32) -> bool {
        match self {
            Self::Equal { mask, constant } => lane & mask == *constant,
            Self::Within { mask, low, span } => (lane & mask).wrapping_sub(*low) <= *span,
            // All are compared, so that there is nothing to guess.
            Self::Few { mask, constants } => {
                let number = lane & mask;
                constants.iter().fold(false, |found, constant| found | (*constant == number))
            }
            Self::Bitmap { right, mask, bitmap } => {
                let number = lane >> right & mask & 0xffff;
                bitmap[number as usize / 32] >> (number % 32) & 1 == 1
            }
            Self::Hashed { mask, table } => table.contains(lane & mask),
        }
    }
}

/// A cuckoo hash table: a number is at one of two places, or not there (R. Pagh and F. F. Rodler, "Cuckoo
/// Hashing", ESA 2001). Places that are free hold some number of the set, which does no harm there.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Table {
    /// As many as a power of two, at least 2.
    places: Box<[u32]>,
    shift: u32,
    factors: [u32; 2],
}

impl Table {
    /// `keys` are not empty.
    pub(crate) fn new(keys: &[u32]) -> Self {
        let bits = (4 * keys.len().max(1)).next_power_of_two().trailing_zeros();
        // An odd number, and another at each attempt; larger when luck is out.
        let mut seed = 0x9e37_79b9_u32;
        let mut attempts = 0;
        loop {
            let mut factor = || {
                seed = seed.wrapping_mul(0x915f_77f5).wrapping_add(0x6a09_e667);
                seed | 1
            };
            let factors = [factor(), factor()];
            let shift = 32 - (bits + attempts / 8);
            if let Some(places) = Self::place(keys, shift, factors) {
                return Self { places, shift, factors };
            }
            attempts += 1;
        }
    }

    fn place(keys: &[u32], shift: u32, factors: [u32; 2]) -> Option<Box<[u32]>> {
        let mut places = vec![None; 1 << (32 - shift)];
        for key in keys {
            let (mut key, mut way) = (*key, 0);
            let mut moves = 0;
            while let Some(other) = places[at(key, factors[way], shift)].replace(key) {
                if moves == 32 {
                    return None;
                }
                moves += 1;
                // Who is driven out goes to its other place.
                way = usize::from(at(other, factors[0], shift) == at(key, factors[way], shift));
                key = other;
            }
        }
        Some(places.into_iter().map(|place| place.unwrap_or(keys[0])).collect())
    }

    pub(crate) fn contains(&self, key: u32) -> bool {
        self.places_of(key).next().is_some()
    }

    /// The places that hold a number: one or both of its own, or none.
    pub(crate) fn places_of(&self, key: u32) -> impl Iterator<Item = usize> {
        let places = self.factors.map(|factor| at(key, factor, self.shift));
        places.into_iter().filter(move |place| self.places[*place] == key)
    }

    /// One of the places of a number that the table holds, found without a branch that would have to be guessed.
    pub(crate) fn place_of(&self, member: u32) -> usize {
        let [first, second] = self.factors.map(|factor| at(member, factor, self.shift));
        let is_first = usize::from(self.places[first] == member);
        second ^ ((first ^ second) & is_first.wrapping_neg())
    }

    /// The places, of which there are `1 << 32 - shift`.
    pub(crate) fn places(&self) -> (&[u32], u32) {
        (&self.places, self.shift)
    }

    pub(crate) fn factors(&self) -> [u32; 2] {
        self.factors
    }
}

fn at(key: u32, factor: u32, shift: u32) -> usize {
    (key.wrapping_mul(factor) >> shift) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sets() -> impl Strategy<Value = Vec<u32>> {
        let number = prop_oneof![0..70_u32, 0..0x1_0000_u32, any::<u32>()];
        prop::collection::btree_set(number, 2..300).prop_map(|set| set.into_iter().collect())
    }

    proptest! {
        #[test]
        fn every_way_knows_the_members_and_nobody_else(
            set in sets(),
            right in 0..8_u32,
            mask in prop_oneof![Just(0xff_u32), Just(0xffff), Just(0xff_ffff)],
            others in prop::collection::vec(any::<u32>(), 50),
        ) {
            let (bits, check) = Bits { right, mask, left: 0 }.check(u32::MAX, &Check::Among(set.clone().into()));
            let lookup = Lookup::new(bits, check);
            let lanes = set.iter().map(|member| member << right).chain(others);
            for lane in lanes {
                prop_assert_eq!(lookup.holds(lane), set.contains(&(lane >> right & mask)), "{:x}", lane);
            }
        }
    }

    #[test]
    fn ten_thousand_neighbours_have_places() {
        let keys: Vec<_> = (0..10_000).map(|i| 0x0a00_0000 + i).collect();
        let table = Table::new(&keys);
        assert!(keys.iter().all(|key| table.contains(*key)));
        assert!(!(0..100_000).any(|key| table.contains(key)));
    }
}
