//! Internet checksums (RFC 1071), computed only when somebody asks.

use etherparse::checksum::Sum16BitWords;
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use super::address::Addresses;

/// A checksum field and the bytes it covers.
///
/// Serialises as `{"value": 4660, "correct": true}`; `correct` is null when the packet was cut
/// off, is a fragment, or carries no checksum.
#[derive(Clone, Copy, Debug)]
pub struct Checksum<'a> {
    value: u16,
    covered: Option<&'a [u8]>,
    pseudo: Option<(Addresses, u8)>,
}

impl<'a> Checksum<'a> {
    /// The field `value` over `covered`, which includes the field itself; `None` when not all of
    /// it is there.
    pub(crate) fn new(value: u16, covered: Option<&'a [u8]>) -> Self {
        Self { value, covered, pseudo: None }
    }

    /// The same, with the pseudo-header of an upper-layer `protocol` (RFC 9293 3.1, RFC 8200 8.1).
    pub(crate) fn with_pseudo(mut self, addresses: Addresses, protocol: u8) -> Self {
        self.pseudo = Some((addresses, protocol));
        self
    }

    /// The field as it was on the wire.
    pub fn value(&self) -> u16 {
        self.value
    }

    /// Whether the field is right, or `None` when that cannot be known.
    pub fn correct(&self) -> Option<bool> {
        self.sum().map(|sum| sum.ones_complement() == 0)
    }

    /// What the field should be, or `None` when that cannot be known.
    pub fn expected(&self) -> Option<u16> {
        // Adding the complement of the field takes it out of the sum (RFC 1624 3).
        let sum = self.sum()?.add_2bytes((!self.value).to_be_bytes());
        Some(u16::from_be(sum.ones_complement()))
    }

    fn sum(&self) -> Option<Sum16BitWords> {
        let covered = self.covered?;
        let sum = Sum16BitWords::new().add_slice(covered);
        Some(match self.pseudo {
            Some((addresses, protocol)) => add_pseudo(sum, addresses, protocol, covered.len()),
            None => sum,
        })
    }
}

fn add_pseudo(
    mut sum: Sum16BitWords,
    addresses: Addresses,
    protocol: u8,
    length: usize,
) -> Sum16BitWords {
    let sum = match addresses {
        Addresses::V4(source, destination) => {
            sum.add_4bytes(source.octets()).add_4bytes(destination.octets())
        }
        Addresses::V6(source, destination) => {
            sum.add_16bytes(source.octets()).add_16bytes(destination.octets())
        }
    };
    let mut sum = sum.add_2bytes([0, protocol]);
    sum.add_4bytes((length as u32).to_be_bytes())
}

impl Serialize for Checksum<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Checksum", 2)?;
        object.serialize_field("value", &self.value)?;
        object.serialize_field("correct", &self.correct())?;
        object.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 1071 3: these words sum to 0xddf2.
    const WORDS: [u8; 8] = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];

    #[test]
    fn the_complement_of_the_sum_is_correct_and_expected() {
        let mut covered = WORDS.to_vec();
        covered.extend((!0xddf2u16).to_be_bytes());
        let checksum = Checksum::new(!0xddf2, Some(&covered));
        assert_eq!((checksum.correct(), checksum.expected()), (Some(true), Some(!0xddf2)));
    }

    #[test]
    fn a_wrong_field_tells_what_it_should_be() {
        let mut covered = WORDS.to_vec();
        covered.extend([0x12, 0x34]);
        let checksum = Checksum::new(0x1234, Some(&covered));
        assert_eq!((checksum.correct(), checksum.expected()), (Some(false), Some(!0xddf2)));
    }

    #[test]
    fn without_all_bytes_there_is_no_verdict() {
        assert_eq!(Checksum::new(7, None).correct(), None);
    }
}
