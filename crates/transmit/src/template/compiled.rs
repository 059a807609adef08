//! The compiled form: one frame, the fields that vary in it, the checksums that follow them.

use super::values::{Values, Walk};
use crate::space::Space;

/// A field that varies, or the packet's size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Varying {
    /// Its name in the expression, `TCP.dport`.
    pub name: String,
    /// The values that it takes.
    pub values: Space,
    /// In which order.
    pub walk: Walk,
    /// What follows from a value.
    pub writes: Vec<Write>,
}

impl Varying {
    pub(super) fn new(name: String, values: &Values) -> Self {
        Self { name, values: values.space.clone(), walk: values.walk, writes: Vec::new() }
    }
}

/// A number that depends on a field's value: `(value + add) << shift`, put into the frame in network byte
/// order over bits that are zero, and added to checksums.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// The first byte.
    pub at: usize,
    /// How many bytes, at most 16; with 0 it is added to checksums only.
    pub width: usize,
    /// How many bits below it belong to other fields.
    pub shift: u32,
    /// What is to be added to the value: of a length, the headers.
    pub add: u64,
    /// The checksums that it counts in, as indexes of [`Template::checksums`](super::Template::checksums).
    pub sums: Vec<usize>,
}

impl Write {
    #[inline]
    fn number(&self, value: u128) -> u128 {
        (value + u128::from(self.add)) << self.shift
    }

    /// Puts a value's number into `frame`.
    #[inline]
    pub(crate) fn apply(&self, value: u128, frame: &mut [u8]) {
        let bytes = self.number(value).to_be_bytes();
        let target = &mut frame[self.at..self.at + self.width];
        match self.width {
            // Ports and addresses, in one step: most of what varies is one of them.
            2 => add_bits::<2>(target, &bytes),
            4 => add_bits::<4>(target, &bytes),
            _ => target.iter_mut().zip(&bytes[16 - self.width..]).for_each(|(to, new)| *to |= new),
        }
    }

    /// What a value adds to a checksum. Checksums begin at even bytes of the frame, so that a number that
    /// ends behind an odd one counts with its bytes exchanged (RFC 1071, 2 B).
    #[inline]
    pub(crate) fn sum(&self, value: u128) -> u64 {
        let number = self.number(value);
        let folded = fold((number >> 64) as u64) + fold(number as u64);
        if (self.at + self.width).is_multiple_of(2) { folded } else { fold(folded << 8) }
    }
}

/// The last bits of `number` over the zeroes of `target`.
#[inline]
fn add_bits<const N: usize>(target: &mut [u8], number: &[u8; 16]) {
    if let (Some(target), Some(new)) = (target.first_chunk_mut::<N>(), number.last_chunk::<N>()) {
        target.iter_mut().zip(new).for_each(|(to, new)| *to |= new);
    }
}

/// The size of what follows the headers, which varies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Size {
    /// Which of the varying it is.
    pub(super) varying: usize,
    /// Bytes in front of it.
    pub(super) headers: usize,
    /// What follows, by the value; none: so many zeroes as the value says, or the beginning of what is there.
    pub(super) tails: Vec<Tail>,
    /// The checksums that a tail counts in.
    pub(super) sums: Vec<usize>,
}

/// One of the endings that packets take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tail {
    pub(super) bytes: Vec<u8>,
    /// What it adds to a checksum.
    pub(super) sum: u64,
}

impl Size {
    /// How many bytes `value` stands for.
    pub(super) fn length(&self, value: u128) -> usize {
        self.tails.get(value as usize).map_or(value as usize, |tail| tail.bytes.len())
    }

    /// Puts what `value` stands for into `frame`, and returns how many bytes it has.
    #[inline]
    pub(super) fn put(&self, value: u128, frame: &mut [u8], sums: &mut [u64]) -> u128 {
        let Some(tail) = self.tails.get(value as usize) else { return value };
        frame[self.headers..][..tail.bytes.len()].copy_from_slice(&tail.bytes);
        self.sums.iter().for_each(|checksum| sums[*checksum] += tail.sum);
        tail.bytes.len() as u128
    }
}

/// A checksum of the Internet (RFC 1071). As in RFC 1624 only what varies is added up: the sum of the rest is
/// known beforehand. Unlike there it does not follow from that of the packet before, so that packets can
/// be made in any order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checksum {
    /// Where it stands in the frame, two bytes.
    pub at: usize,
    /// The sum of all that does not vary.
    pub base: u16,
    /// A sum of zero is sent as all ones (RFC 768).
    pub zero_as_ones: bool,
    /// It is the sum of the pseudo-header, and a network card adds the rest and complements it.
    pub is_partial: bool,
    /// The checksums that cover this one, as indexes of [`Template::checksums`](super::Template::checksums): those of
    /// layers further out, such as that of an ICMP message about a packet.
    pub within: Vec<usize>,
}

impl Checksum {
    /// Puts the checksum into `frame`, `sum` being what the varying fields add, and returns it.
    #[inline]
    pub(super) fn put(&self, sum: u64, frame: &mut [u8]) -> u16 {
        let sum = fold(sum + u64::from(self.base)) as u16;
        let checksum = match !sum {
            _ if self.is_partial => sum,
            0 if self.zero_as_ones => u16::MAX,
            checksum => checksum,
        };
        frame[self.at..self.at + 2].copy_from_slice(&checksum.to_be_bytes());
        checksum
    }
}

/// The number's 16-bit words added up with end-around carry: at most 16 bits.
#[inline]
pub(super) fn fold(number: u64) -> u64 {
    let number = (number >> 32) + (number & 0xffff_ffff);
    let number = (number >> 16) + (number & 0xffff);
    let number = (number >> 16) + (number & 0xffff);
    (number >> 16) + (number & 0xffff)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn folding_is_the_remainder_by_ffff(number: u64) {
            prop_assert!(fold(number) <= 0xffff);
            prop_assert_eq!(fold(number) % 0xffff, number % 0xffff);
        }
    }
}
