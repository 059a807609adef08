//! Names: as messages have them, and as people write them (RFC 1035 3.1, 5.1).

use std::borrow::Borrow;
use std::fmt::{self, Display, Write};
use std::str;

use domain::base::name::{Label, ParsedName};

/// Bytes of the longest name in a message (RFC 1035 2.3.4).
pub(crate) const LONGEST: usize = 255;
/// Bytes of the longest label.
const LONGEST_LABEL: usize = 63;

/// A name in lower case (RFC 4343 3): labels with their lengths, the root's among them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Name(Box<[u8]>);

impl Name {
    /// The name of the root.
    pub(crate) fn root() -> Self {
        Self([0].into())
    }

    /// The name of these labels, without the root's.
    pub(crate) fn new<'a>(labels: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut name = Vec::with_capacity(32);
        for label in labels {
            name.push(label.len() as u8);
            name.extend(label);
        }
        name.push(0);
        // Lengths are below the letters' codes.
        name.make_ascii_lowercase();
        Self(name.into())
    }

    /// A name that was read from a message.
    pub(crate) fn parsed(name: &ParsedName<&[u8]>) -> Self {
        Self::new(name.iter().map(Label::as_slice).filter(|label| !label.is_empty()))
    }

    /// In messages, without compression.
    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.0
    }

    /// This name and those above it, the root's last.
    pub(crate) fn upwards(&self) -> impl Iterator<Item = &[u8]> {
        let mut left = Some(&self.0[..]);
        std::iter::from_fn(move || {
            let name = left.take()?;
            let label = usize::from(*name.first()?);
            left = name.get(1 + label..).filter(|_| label > 0);
            Some(name)
        })
    }

    /// True when it is `zone`, or below it.
    pub(crate) fn is_within(&self, zone: &Name) -> bool {
        self.upwards().any(|name| *name == *zone.0)
    }
}

/// Maps with names for keys are asked with the names above one.
impl Borrow<[u8]> for Name {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

impl Display for Name {
    /// As people write it, without the final dot.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(labels(&self.0), f)
    }
}

/// Writes labels, the root's not among them, without a final dot; no label at all is the root, a dot.
pub(crate) fn write<'a>(
    labels: impl Iterator<Item = &'a [u8]>,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    let mut is_root = true;
    for label in labels {
        if !std::mem::take(&mut is_root) {
            f.write_char('.')?;
        }
        match str::from_utf8(label).ok().filter(|text| text.bytes().all(is_plain)) {
            Some(text) => f.write_str(text)?,
            None => label.iter().try_for_each(|byte| write_escaped(*byte, f))?,
        }
    }
    if is_root { f.write_char('.') } else { Ok(()) }
}

fn write_escaped(byte: u8, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match byte {
        b' ' | b'.' | b'\\' => write!(f, "\\{}", char::from(byte)),
        _ if is_plain(byte) => f.write_char(byte.into()),
        _ => write!(f, "\\{byte:03}"),
    }
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_graphic() && byte != b'.' && byte != b'\\'
}

/// The labels of a name without pointers, without the root's.
pub(crate) fn labels(mut name: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (length, rest) = name.split_first()?;
        let (label, rest) = rest.split_at_checked(usize::from(*length))?;
        name = rest;
        (!label.is_empty()).then_some(label)
    })
}

/// A name of letters, digits, hyphens and underscores as it is in messages; `None` for any other, though it may be one.
pub(crate) fn read_plain(text: &str) -> Option<Box<[u8]>> {
    let text = text.strip_suffix('.').unwrap_or(text);
    if text.len() + 2 > LONGEST {
        return None;
    }
    let mut name = Vec::with_capacity(text.len() + 2);
    for label in text.split('.') {
        let is_usual = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        if label.is_empty() || label.len() > LONGEST_LABEL || !label.bytes().all(is_usual) {
            return None;
        }
        name.push(label.len() as u8);
        name.extend(label.as_bytes());
    }
    name.push(0);
    Some(name.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::base::Name as Known;
    use domain::dep::octseq::Array;
    use proptest::prelude::*;

    fn read(text: &str) -> Option<Vec<u8>> {
        let name: Known<Array<LONGEST>> = text.parse().ok()?;
        Some(name.as_slice().to_vec())
    }

    fn shown(name: &[u8]) -> String {
        fmt::from_fn(|f| write(labels(name), f)).to_string()
    }

    proptest! {
        #[test]
        fn plain_names_are_read_as_the_library_reads_them(text in "[a-zA-Z0-9_.-]{0,80}") {
            if let Some(name) = read_plain(&text) {
                prop_assert_eq!(Some(name.to_vec()), read(&text));
            }
        }

        #[test]
        fn names_are_written_as_the_library_writes_them(
            labels in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..20), 0..8),
        ) {
            let mut name: Vec<u8> = labels
                .iter()
                .flat_map(|label| [&[label.len() as u8], &label[..]].concat())
                .collect();
            name.push(0);
            let expected = Known::from_octets(&name[..]).unwrap().to_string();
            prop_assert_eq!(shown(&name), expected);
        }
    }

    fn name(text: &str) -> Name {
        Name::new(labels(&read(text).expect("a name")))
    }

    #[test]
    fn names_are_below_others() {
        let whole = name("www.Example.COM");
        let above: Vec<_> = whole.upwards().map(shown).collect();
        assert_eq!(above, ["www.example.com", "example.com", "com", "."]);
        for (zone, is_within) in [
            ("www.example.com", true),
            ("EXAMPLE.com", true),
            (".", true),
            ("ww.example.com", false),
            ("ample.com", false),
        ] {
            assert_eq!(whole.is_within(&name(zone)), is_within, "{zone}");
        }
        assert!(!Name::root().is_within(&whole) && Name::root().is_within(&Name::root()));
        assert_eq!(
            (whole.to_string().as_str(), Name::root().to_string().as_str()),
            ("www.example.com", ".")
        );
    }

    #[test]
    fn what_is_not_plain_is_left_to_the_library() {
        for text in ["", ".", "a..b", "a b", "*.x", r"a\.b", &"x".repeat(64), &["x"; 128].join(".")]
        {
            assert_eq!(read_plain(text), None, "{text}");
        }
        assert_eq!(read_plain(&["x"; 127].join(".")).unwrap().len(), LONGEST);
    }
}
