//! Which value each field has in the packet of a number.
//!
//! The fields that are walked, in sequence or as a permutation, take every combination of their values
//! once. Those permuted are permuted together, as one field, and change fastest; of those in sequence the last
//! in the packet does, as in Scapy. A size in sequence changes faster than all, so that sizes mix whatever else
//! varies. Random fields take any value at any time, whatever the others do.

use super::compiled::Varying;
use super::values::Walk;
use crate::permutation::{Permutation, Random, below};

/// How many fields a template may vary at most.
const FIELDS: usize = 16;

#[derive(Clone, Debug)]
pub(crate) struct Walks {
    fields: Vec<Step>,
    permutation: Permutation,
    /// Packets that have the same permuted number: as many as there are sizes in sequence.
    repeats: u64,
    /// Combinations of walked values.
    count: u128,
}

/// How the index of a field's value follows from a packet's number.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// The packet's number divided by one number, the remainder by another.
    Sequence(u64, u128),
    /// The same of the permuted number.
    Permuted(u64, u128),
    Random(Random, u128),
}

/// Why fields cannot be walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Excess {
    /// More fields vary than [`FIELDS`].
    Fields,
    /// There are more than 2^64 combinations.
    Combinations,
}

impl Walks {
    /// `size` is which of `varying` is the packet's size.
    pub(super) fn new(varying: &[Varying], size: Option<usize>, seed: u64) -> Result<Self, Excess> {
        if varying.len() > FIELDS {
            return Err(Excess::Fields);
        }
        let mut random = Random::new(seed);
        let seed = random.next();
        let permuted = product(varying, Walk::Permutation)?;
        let sizes = size.map(|size| &varying[size]).filter(|size| size.walk == Walk::Sequence);
        let sizes = sizes.map_or(1, |size| size.values.count());
        let mut count = permuted.saturating_mul(sizes);
        let mut divisor = 1;
        let mut fields = Vec::new();
        for (place, field) in varying.iter().enumerate().rev() {
            let values = field.values.count();
            fields.push(match field.walk {
                Walk::Random => Step::Random(Random::new(random.next()), values),
                Walk::Permutation => Step::Permuted(digit(&mut divisor, values), values),
                Walk::Sequence if size == Some(place) => Step::Sequence(1, values),
                Walk::Sequence => Step::Sequence(digit(&mut count, values), values),
            });
        }
        if count > 1 << 64 {
            return Err(Excess::Combinations);
        }
        fields.reverse();
        // A size is the length of what follows, which is no longer than a packet.
        let repeats = sizes as u64;
        Ok(Self { fields, permutation: Permutation::new(permuted, seed), repeats, count })
    }

    /// Combinations of walked values.
    pub(super) fn count(&self) -> u128 {
        self.count
    }

    /// The permutation that permuted fields share.
    pub(crate) fn permutation(&self) -> &Permutation {
        &self.permutation
    }

    /// What holds for each field.
    pub(crate) fn steps(&self) -> &[Step] {
        &self.fields
    }

    /// The permuted number that belongs to the packet `number`.
    #[inline]
    pub(super) fn permuted(&self, number: u64) -> u64 {
        match self.permutation.count() {
            1 => 0,
            _ => self.permutation.at(quotient(number, self.repeats)),
        }
    }
}

impl Step {
    /// The index of the value in the packet `number`, to which the `permuted` one belongs.
    #[inline]
    pub(super) fn index(&self, number: u64, permuted: u64) -> u64 {
        match self {
            Self::Sequence(divisor, values) => remainder(quotient(number, *divisor), *values),
            Self::Permuted(divisor, values) => remainder(quotient(permuted, *divisor), *values),
            Self::Random(random, values) => below(random.at(number), *values),
        }
    }
}

fn product(varying: &[Varying], walk: Walk) -> Result<u128, Excess> {
    let counts = varying.iter().filter(|field| field.walk == walk).map(|f| f.values.count());
    let product = counts.fold(1_u128, u128::saturating_mul);
    if product > 1 << 64 { Err(Excess::Combinations) } else { Ok(product) }
}

/// Moves `divisor` past a digit of `values`, and returns that of this digit. (Only that of the digit after the
/// last can need more than 64 bits: none counts less than two.)
fn digit(divisor: &mut u128, values: u128) -> u64 {
    let of_this = u64::try_from(*divisor).unwrap_or(u64::MAX);
    *divisor = divisor.saturating_mul(values);
    of_this
}

/// `number / divisor`. One field alone has 1, and a division is dear.
#[inline]
fn quotient(number: u64, divisor: u64) -> u64 {
    if divisor == 1 { number } else { number / divisor }
}

/// `number % values`, likewise: the last digit is below it anyway.
#[inline]
fn remainder(number: u64, values: u128) -> u64 {
    match u64::try_from(values) {
        Ok(values) if number >= values => number % values,
        _ => number,
    }
}
