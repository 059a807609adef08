//! What an argument says: the values that a field takes, and the order in which it takes them.

use std::net::Ipv6Addr;

use super::error::{Error, Result};
use super::layers::{Field, Kind};
use super::syntax::{Place, Value, ValueKind, in_order};
use crate::blocklist::{Blocklist, addresses};
use crate::space::{Space, Span};

/// The order in which a field takes its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walk {
    /// As they were written, from the first to the last, and again.
    Sequence,
    /// Each once before any comes again, in an order that looks random.
    Permutation,
    /// Any at any time.
    Random,
}

/// The values of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Values {
    pub(super) space: Space,
    pub(super) walk: Walk,
    pub(super) place: Place,
}

/// A walk's name, and the walk.
const WALKS: &[(&str, Walk)] =
    &[("seq", Walk::Sequence), ("permute", Walk::Permutation), ("random", Walk::Random)];

/// What Scapy calls any value of so many bits, 0 where it has to be said which values these are; a field with fewer bits
/// has any of its own.
const SCAPYS_RANDOM: &[(&str, usize)] = &[
    ("RandByte", 8),
    ("RandShort", 16),
    ("RandInt", 32),
    ("RandLong", 64),
    ("RandIP", 32),
    ("RandIP6", 128),
    ("RandMAC", 48),
    ("RandNum", 0),
    ("RandChoice", 0),
];

/// Wherever packets of the Internet were measured, about these sizes of IP packets, in about these shares, were
/// seen: 7 of 40 bytes, 4 of 576, 1 of 1500 ("simple IMIX").
const IMIX: [u128; 12] = [40, 576, 40, 40, 576, 40, 1500, 40, 576, 40, 576, 40];

/// A field that is being given values: `path` is its name for people, `headers` the bytes of IP packet in
/// front of it.
pub(super) struct Reader<'a> {
    pub(super) path: &'a str,
    pub(super) field: &'a Field,
    pub(super) headers: usize,
    pub(super) blocklist: &'a Blocklist,
}

impl Reader<'_> {
    /// The values that `value` stands for.
    ///
    /// # Errors
    /// When the field cannot take them, or all of them are blocked.
    pub(super) fn read(&self, value: &Value) -> Result<Values> {
        let mut spans = Vec::new();
        let mut mixed = false;
        let walk = if self.add_scapys_random(value, &mut spans)? {
            Walk::Random
        } else {
            let (walk, inner) = walk(value)?;
            for value in inner {
                mixed |= self.add(value, &mut spans)?;
            }
            walk
        };
        let space =
            if mixed { Space::with_repeats(&spans) } else { self.allowed(&Space::new(&spans)) };
        if space.count() == 0 {
            let reason =
                if spans.is_empty() { "no value" } else { "no address that is not blocked" };
            return Err(Error::at(&value.place, format!("{} has {reason}", self.path)));
        }
        if space.count() > 1 << 64 {
            return Err(Error::at(&value.place, "these are more than 2^64 values")
                .advise("take a longer prefix"));
        }
        Ok(Values { space, walk, place: value.place.clone() })
    }

    fn allowed(&self, space: &Space) -> Space {
        match self.field.kind {
            Kind::Ipv4(true) => space.without(self.blocklist.ipv4()),
            Kind::Ipv6(true) => space.without(self.blocklist.ipv6()),
            _ => space.clone(),
        }
    }

    /// Adds what one of Scapy's random values stands for; false where it is none.
    fn add_scapys_random(&self, value: &Value, spans: &mut Vec<Span>) -> Result<bool> {
        let ValueKind::Call(call) = &value.kind else { return Ok(false) };
        let Some((name, bits)) = SCAPYS_RANDOM.iter().find(|(name, _)| *name == call.name) else {
            return Ok(false);
        };
        let given: Vec<_> = call.arguments.iter().map(|argument| &argument.value).collect();
        match given[..] {
            [] if *bits > 0 => spans.push(Span { first: 0, last: ones(self.bits().min(*bits)) }),
            [first, last] if *name == "RandNum" => {
                let (first, last) = pair(&[first.clone(), last.clone()], value)?;
                spans.push(self.fitting(first, last, value)?);
            }
            _ => {
                for value in given {
                    self.add(value, spans)?;
                }
            }
        }
        Ok(true)
    }

    /// Adds what one value stands for; true when the same number may come more than once.
    fn add(&self, value: &Value, spans: &mut Vec<Span>) -> Result<bool> {
        match &value.kind {
            ValueKind::Number(number) => spans.push(self.fitting(*number, *number, value)?),
            ValueKind::Range(first, last) => spans.push(self.fitting(*first, *last, value)?),
            ValueKind::Tuple(values) => {
                let (first, last) = pair(values, value)?;
                spans.push(self.fitting(first, last, value)?);
            }
            ValueKind::None => {
                let message = format!("`None` is no value of {}", self.path);
                return Err(Error::at(&value.place, message).advise(self.forms()));
            }
            ValueKind::Text(text) => {
                return self.add_text(&String::from_utf8_lossy(text), value, spans);
            }
            ValueKind::List(values) => {
                let mut mixed = false;
                for value in values {
                    mixed |= self.add(value, spans)?;
                }
                return Ok(mixed);
            }
            ValueKind::Call(call) => {
                let known: Vec<_> = WALKS.iter().map(|(name, _)| format!("{name}(...)")).collect();
                let message = format!("`{}` is no value of {}", call.name, self.path);
                let advice = format!(
                    "around all of a field's values there may be one of {}",
                    known.join(", ")
                );
                return Err(Error::at(&call.place, message).advise(advice));
            }
        }
        Ok(false)
    }

    fn add_text(&self, text: &str, value: &Value, spans: &mut Vec<Span>) -> Result<bool> {
        if matches!(self.field.kind, Kind::Size) && text.eq_ignore_ascii_case("imix") {
            let sizes = IMIX.map(|size| Span::one(size.saturating_sub(self.headers as u128)));
            spans.extend(sizes);
            return Ok(true);
        }
        for entry in text.split(',').map(str::trim) {
            let span = self.entry(entry).ok_or_else(|| {
                let message = format!("`{}` is no value of {}", entry.escape_debug(), self.path);
                Error::at(&value.place, message).advise(self.forms())
            })?;
            spans.push(self.fitting(span.first, span.last, value)?);
        }
        Ok(false)
    }

    /// What one of the parts of a text, which commas divide, stands for.
    fn entry(&self, text: &str) -> Option<Span> {
        let range = |one: fn(&str) -> Option<u128>| match text.split_once('-') {
            Some((first, last)) => Span::new(one(first.trim())?, one(last.trim())?),
            None => one(text).map(Span::one),
        };
        match self.field.kind {
            Kind::Number(names) => match names.iter().find(|(name, _)| *name == text) {
                Some((_, number)) => Some(Span::one((*number).into())),
                None => range(|text| text.parse().ok()),
            },
            Kind::Flags(letters) => flags(letters, text).map(Span::one),
            Kind::Mac => macs(text).or_else(|| range(mac)),
            Kind::Ipv4(_) => addresses(text).filter(|(_, is_ipv6)| !is_ipv6).map(|(span, _)| span),
            Kind::Ipv6(_) => addresses(text).filter(|(_, is_ipv6)| *is_ipv6).map(|(span, _)| span),
            Kind::Size => range(|text| text.parse().ok()),
            Kind::Bytes | Kind::Options | Kind::Question => None,
        }
    }

    fn fitting(&self, first: u128, last: u128, value: &Value) -> Result<Span> {
        let bits = self.bits();
        let largest = ones(bits);
        if last > largest {
            let message = format!("{} has {bits} bits: at most {}", self.path, self.shown(largest));
            return Err(Error::at(&value.place, message));
        }
        Ok(Span { first, last })
    }

    fn bits(&self) -> usize {
        if matches!(self.field.kind, Kind::Size) { 16 } else { self.field.bits }
    }

    fn shown(&self, number: u128) -> String {
        match self.field.kind {
            Kind::Ipv6(_) => Ipv6Addr::from_bits(number).to_string(),
            _ => number.to_string(),
        }
    }

    /// What the field's values look like.
    fn forms(&self) -> String {
        match self.field.kind {
            Kind::Number([]) => "write a number, a range (1-9) or a list of them".into(),
            Kind::Number(names) => {
                let names: Vec<_> = names.iter().map(|(name, _)| *name).collect();
                format!("write a number, or one of {}", names.join(", "))
            }
            Kind::Flags(letters) => {
                format!("write letters of {letters}, such as \"{}\"", &letters[1..2])
            }
            Kind::Mac => {
                "write six bytes in hexadecimal, \"02:00:00:00:00:01\", with a prefix's length, \
                          \"02:00:00:00:00:00/24\", or a range of two"
                    .into()
            }
            Kind::Ipv4(_) => "write an address, a prefix or a range: \"10.0.0.0/8\"".into(),
            Kind::Ipv6(_) => "write an address, a prefix or a range: \"2001:db8::/64\"".into(),
            Kind::Size => "write bytes, a range (18-1400) or \"imix\"".into(),
            Kind::Bytes | Kind::Options | Kind::Question => "write text in quotes".into(),
        }
    }
}

/// Scapy's way to write a range.
fn pair(values: &[Value], whole: &Value) -> Result<(u128, u128)> {
    match values.iter().map(|value| &value.kind).collect::<Vec<_>>()[..] {
        [ValueKind::Number(first), ValueKind::Number(last)] => {
            in_order(*first, *last, &whole.place)
        }
        _ => Err(Error::at(&whole.place, "a range is two numbers: (1024, 65535)")
            .advise("several values are in brackets: [80, 443]")),
    }
}

/// The walk that is around the values, and the values.
pub(super) fn walk(value: &Value) -> Result<(Walk, Vec<&Value>)> {
    let ValueKind::Call(call) = &value.kind else { return Ok((Walk::Sequence, vec![value])) };
    let Some((_, walk)) = WALKS.iter().find(|(name, _)| *name == call.name) else {
        return Ok((Walk::Sequence, vec![value]));
    };
    if let Some((_, place)) = call.arguments.iter().find_map(|argument| argument.name.as_ref()) {
        return Err(Error::at(place, format!("{} takes values without names", call.name)));
    }
    Ok((*walk, call.arguments.iter().map(|argument| &argument.value).collect()))
}

fn flags(letters: &str, text: &str) -> Option<u128> {
    text.chars().try_fold(0, |flags, letter| Some(flags | 1 << letters.find(letter)?))
}

/// `bits` ones.
fn ones(bits: usize) -> u128 {
    u128::MAX >> (128 - bits)
}

/// A prefix of hardware addresses: `02:00:00:00:00:00/24`, or as Scapy has it, `02:00:00:*:*:*`.
fn macs(text: &str) -> Option<Span> {
    let (address, length) = match text.split_once('/') {
        Some((address, length)) => (address.to_owned(), length.parse().ok()?),
        None => {
            let bytes = text.trim_end_matches(":*");
            let any = (text.len() - bytes.len()) / ":*".len();
            (bytes.to_owned() + &":0".repeat(any), 48_u32.checked_sub(8 * any as u32)?)
        }
    };
    (length <= 48).then_some(())?;
    Some(Span::prefix(mac(&address)?, length, 48))
}

fn mac(text: &str) -> Option<u128> {
    let bytes: Vec<_> = text.split(':').collect();
    let byte = |text: &&str| u8::from_str_radix(text, 16).ok().filter(|_| text.len() <= 2);
    let bytes: Vec<_> = bytes.iter().map_while(byte).collect::<Vec<_>>();
    let is_whole = bytes.len() == 6 && text.matches(':').count() == 5;
    is_whole.then(|| bytes.iter().fold(0, |mac, byte| mac << 8 | u128::from(*byte)))
}
