//! TCP's options, written as Scapy has them: `[("MSS", 1460), ("SAckOK", ""), ("Timestamp", (1, 0)), ("NOP", None)]`.

use std::ops::RangeInclusive;

use super::error::{Error, Result};
use super::syntax::{Value, ValueKind};

/// An option that has a name.
struct Form {
    name: &'static str,
    kind: u8,
    /// How many numbers it has, and of how many bytes each.
    numbers: RangeInclusive<usize>,
    width: usize,
}

const fn form(name: &'static str, kind: u8, numbers: RangeInclusive<usize>, width: usize) -> Form {
    Form { name, kind, numbers, width }
}

/// RFC 9293, 3.1; RFC 7323, 2 and 3; RFC 2018, 2 and 3.
const FORMS: &[Form] = &[
    form("EOL", 0, 0..=0, 0),
    form("NOP", 1, 0..=0, 0),
    form("MSS", 2, 1..=1, 2),
    form("WScale", 3, 1..=1, 1),
    form("SAckOK", 4, 0..=0, 0),
    form("SAck", 5, 2..=8, 4),
    form("Timestamp", 8, 2..=2, 4),
];

/// RFC 9293, 3.1: kinds below this have neither a length nor data.
const WITH_LENGTH: u8 = 2;

/// RFC 9293, 3.1: the data offset has 4 bits, of which the header itself takes 5 words.
const MOST: usize = 40;

const ADVICE: &str = "write a list such as [(\"MSS\", 1460), (\"SAckOK\", \"\"), (\"NOP\", None), \
                      (\"WScale\", 7)]";

/// The bytes of all options, padded to whole words.
///
/// # Errors
/// With the place of what is no option, or does not fit.
pub(super) fn encode(value: &Value) -> Result<Vec<u8>> {
    let ValueKind::List(options) = &value.kind else {
        return Err(Error::at(&value.place, "TCP.options is a list").advise(ADVICE));
    };
    let mut bytes = Vec::new();
    for option in options {
        one(option, &mut bytes)?;
    }
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    if bytes.len() > MOST {
        let message = format!("these options have {} bytes: at most {MOST}", bytes.len());
        return Err(Error::at(&value.place, message));
    }
    Ok(bytes)
}

fn one(option: &Value, bytes: &mut Vec<u8>) -> Result<()> {
    let ValueKind::Tuple(parts) = &option.kind else {
        return Err(Error::at(&option.place, "this is no option of TCP").advise(ADVICE));
    };
    let [name, data] = parts.as_slice() else {
        return Err(Error::at(&option.place, "an option is a name and a value").advise(ADVICE));
    };
    let (kind, data) = match &name.kind {
        ValueKind::Text(text) => named(&String::from_utf8_lossy(text), name, data)?,
        ValueKind::Number(kind) => (numbered(*kind, name)?, raw(data)?),
        _ => return Err(Error::at(&name.place, "an option begins with its name").advise(ADVICE)),
    };
    bytes.push(kind);
    if kind >= WITH_LENGTH {
        // What is too long for this byte is too long for all options.
        bytes.push((data.len() + 2).min(u8::MAX.into()) as u8);
        bytes.extend(data);
    }
    Ok(())
}

fn named(text: &str, name: &Value, data: &Value) -> Result<(u8, Vec<u8>)> {
    let form = FORMS.iter().find(|form| form.name == text).ok_or_else(|| {
        let names: Vec<_> = FORMS.iter().map(|form| form.name).collect();
        let message = format!("TCP has no option `{}`", text.escape_debug());
        let advice = format!("those with names are {}; others have numbers", names.join(", "));
        Error::at(&name.place, message).advise(advice)
    })?;
    let numbers = numbers(form, data)?;
    let largest = u128::from(u64::MAX) >> (64 - 8 * form.width).min(63);
    if let Some((_, value)) = numbers.iter().find(|(number, _)| *number > largest) {
        let message = format!("{} has {} bits: at most {largest}", form.name, 8 * form.width);
        return Err(Error::at(&value.place, message));
    }
    let bytes = numbers.iter().flat_map(|(number, _)| {
        number.to_be_bytes().into_iter().skip(size_of::<u128>() - form.width)
    });
    Ok((form.kind, bytes.collect()))
}

/// As many numbers as the option has, each with its place.
fn numbers<'a>(form: &Form, data: &'a Value) -> Result<Vec<(u128, &'a Value)>> {
    let values = match &data.kind {
        ValueKind::None => &[][..],
        ValueKind::Text(text) if text.is_empty() => &[],
        ValueKind::Tuple(values) => values,
        _ => std::slice::from_ref(data),
    };
    let wrong = |place| {
        let message = match (form.numbers.start(), form.numbers.end()) {
            (0, _) => format!("{} has no value: write None", form.name),
            (1, _) => format!("{} has one number", form.name),
            (least, most) if least == most => format!("{} has {least} numbers", form.name),
            (least, most) => format!("{} has {least} to {most} numbers", form.name),
        };
        Error::at(place, message)
    };
    if !form.numbers.contains(&values.len()) {
        return Err(wrong(&data.place));
    }
    let number = |value: &'a Value| match value.kind {
        ValueKind::Number(number) => Ok((number, value)),
        _ => Err(wrong(&value.place)),
    };
    values.iter().map(number).collect()
}

fn numbered(kind: u128, name: &Value) -> Result<u8> {
    u8::try_from(kind).ok().filter(|kind| *kind >= WITH_LENGTH).ok_or_else(|| {
        let message = "options with data have numbers from 2 to 255";
        Error::at(&name.place, message).advise("0 is \"EOL\", 1 is \"NOP\"")
    })
}

fn raw(data: &Value) -> Result<Vec<u8>> {
    match &data.kind {
        ValueKind::Text(bytes) => Ok(bytes.clone()),
        _ => Err(Error::at(&data.place, "the data of an option with a number is text in quotes")),
    }
}
