//! What is asked.

use std::fmt::{self, Display};

use domain::base::Name;
use domain::base::iana::{Class, Rtype};
use domain::dep::octseq::Array;

use crate::name::{self, Name as Known};

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
        let any = || {
            let name: Name<Array<{ name::LONGEST }>> = name.parse().ok()?;
            Some(name.as_slice().into())
        };
        let name = name::read_plain(name).or_else(any)?;
        Some(Self { name, rtype })
    }

    /// The question for a name that is known.
    pub(crate) fn of(name: &Known, rtype: u16) -> Self {
        Self { name: name.as_slice().into(), rtype }
    }

    /// Its name, in lower case.
    pub(crate) fn known(&self) -> Known {
        Known::new(name::labels(&self.name))
    }

    /// The question for other records of the same name.
    #[must_use]
    pub fn of_type(&self, rtype: u16) -> Self {
        Self { name: self.name.clone(), rtype }
    }

    /// The name, without the final dot.
    pub fn name(&self) -> impl Display + '_ {
        fmt::from_fn(|f| name::write(name::labels(&self.name), f))
    }

    /// The number of the type.
    pub fn rtype(&self) -> u16 {
        self.rtype
    }

    /// As it is in messages.
    pub(crate) fn write(&self, slot: &mut [u8]) -> usize {
        let length = self.name.len();
        slot[..length].copy_from_slice(&self.name);
        slot[length..length + 4].copy_from_slice(&self.kind());
        length + 4
    }

    /// True when `section` of a message begins with it, whatever the case of letters (RFC 4343 3).
    pub(crate) fn begins(&self, section: &[u8]) -> bool {
        let parts = section.split_at_checked(self.name.len());
        // Lengths of labels are below the letters' codes.
        parts.is_some_and(|(name, rest)| {
            name.eq_ignore_ascii_case(&self.name) && rest.starts_with(&self.kind())
        })
    }

    /// Type and class.
    fn kind(&self) -> [u8; 4] {
        let ([a, b], [c, d]) = (self.rtype.to_be_bytes(), Class::IN.to_int().to_be_bytes());
        [a, b, c, d]
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
        let begins = |one: &str, other: &str, rtype| {
            let mut section = [0; 300];
            let length = Question::new(other, rtype).unwrap().write(&mut section);
            // HTTPS is 65, which is a letter's code, and 97 the same letter's in lower case.
            Question::new(one, 65).unwrap().begins(&section[..length])
        };
        assert!(begins("Example.COM", "example.com.", 65));
        assert!(!begins("example.com", "example.com", 97));
        assert!(!begins("example.com", "example.org", 65) && !begins("a.b", "a\\.b", 65));
        assert!(!Question::new("example.com", 65).unwrap().begins(b"\x07example"));
    }

    proptest! {
        #[test]
        fn nothing_panics(text: String) {
            if let Some(question) = Question::new(&text, 1) {
                question.name().to_string();
                question.begins(text.as_bytes());
            }
        }
    }
}
