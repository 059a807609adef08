//! What is asked.

use std::fmt::Display;

use domain::base::Name;
use domain::base::iana::{Class, Rtype};
use domain::dep::octseq::Array;

/// The records of a name and a type that somebody wants, of the class IN (RFC 1035 4.1.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// Labels with their lengths, the root's among them.
    name: Box<[u8]>,
    rtype: u16,
}

impl Question {
    /// The question for a name as people write it (RFC 1035 5.1), with or without the final dot. `None` for what is no name.
    pub fn new(name: &str, rtype: u16) -> Option<Self> {
        let name: Name<Array<{ Name::MAX_LEN }>> = name.parse().ok()?;
        Some(Self { name: name.as_slice().into(), rtype })
    }

    /// The name, without the final dot.
    pub fn name(&self) -> impl Display + '_ {
        Name::from_octets(&self.name[..]).expect("it was a name when it was made")
    }

    /// The number of the type.
    pub fn rtype(&self) -> u16 {
        self.rtype
    }

    /// As it is in messages.
    pub(crate) fn write(&self, slot: &mut [u8]) -> usize {
        let length = self.name.len();
        slot[..length].copy_from_slice(&self.name);
        slot[length..length + 2].copy_from_slice(&self.rtype.to_be_bytes());
        slot[length + 2..length + 4].copy_from_slice(&Class::IN.to_int().to_be_bytes());
        length + 4
    }

    /// By what it is known.
    pub(crate) fn canonical(&self) -> Canonical {
        Canonical::new(labels(&self.name), self.rtype)
    }
}

/// The labels of a name without pointers, without the root's.
fn labels(mut name: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (length, rest) = name.split_first()?;
        let (label, rest) = rest.split_at_checked(usize::from(*length))?;
        name = rest;
        (!label.is_empty()).then_some(label)
    })
}

/// A question by which others are known to be the same, whatever the case of their letters (RFC 4343 3).
pub(crate) struct Canonical {
    bytes: [u8; Name::MAX_LEN + 2],
    length: usize,
}

impl Canonical {
    /// # Panics
    /// When the labels make no name.
    pub(crate) fn new<'a>(labels: impl Iterator<Item = &'a [u8]>, rtype: u16) -> Self {
        let (mut bytes, mut length) = ([0; Name::MAX_LEN + 2], 2);
        bytes[..2].copy_from_slice(&rtype.to_be_bytes());
        for label in labels {
            let (size, place) = bytes[length..].split_first_mut().expect("a name has an end");
            *size = label.len() as u8;
            place[..label.len()].copy_from_slice(label);
            place[..label.len()].make_ascii_lowercase();
            length += 1 + label.len();
        }
        Self { bytes, length }
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// The number of a type of records: `A`, `TYPE65`. `None` for what is none, and for those that ask for more than records
/// (transfers of zones).
pub fn type_number(name: &str) -> Option<u16> {
    let rtype: Rtype = name.parse().ok()?;
    let is_question = !matches!(rtype, Rtype::AXFR | Rtype::IXFR | Rtype::OPT);
    is_question.then(|| rtype.to_int())
}

/// The name of a type of records.
pub fn type_name(number: u16) -> impl Display {
    Rtype::from_int(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_are_read_and_told() {
        let long = format!("{}.example", "x".repeat(63));
        for name in ["example.com", "a.b.c.d.example", "_dmarc.example.com", "*.x", &long] {
            assert_eq!(Question::new(name, 1).unwrap().name().to_string(), name);
        }
        assert_eq!(Question::new("Example.COM.", 1).unwrap().name().to_string(), "Example.COM");
        assert_eq!(Question::new(".", 2).unwrap().name().to_string(), ".");
        let label = format!("{}.example", "x".repeat(64));
        let name = ["x"; 128].join(".");
        for bad in ["", "a..b", &label, &name, "a b\n", "bücher.example"] {
            assert_eq!(Question::new(bad, 1), None, "{bad}");
        }
    }

    #[test]
    fn types_have_names_and_numbers() {
        assert_eq!(["A", "aaaa", "TYPE65", "HTTPS"].map(type_number), [1, 28, 65, 65].map(Some));
        assert_eq!(["AXFR", "nonsense", "TYPE65536"].map(type_number), [None; 3]);
        assert_eq!(
            (type_name(15).to_string(), type_name(65_280).to_string()),
            ("MX".into(), "TYPE65280".into())
        );
    }

    #[test]
    fn case_is_no_difference_and_the_type_is() {
        let known =
            |name, rtype| Question::new(name, rtype).unwrap().canonical().as_slice().to_vec();
        assert_eq!(known("Example.COM", 1), known("example.com.", 1));
        assert_ne!(known("example.com", 1), known("example.com", 28));
        assert_ne!(known("a.b", 1), known("a\\.b", 1));
    }

    proptest! {
        #[test]
        fn nothing_panics(text: String) {
            if let Some(question) = Question::new(&text, 1) {
                question.name().to_string();
                question.canonical();
            }
        }
    }
}
