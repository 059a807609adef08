//! The question of a DNS query: `DNSQR(qname=..., qtype=..., qclass=...)`.

use super::error::{Error, Result};
use super::layers::{DNS_QUESTION, Default, Field};
use super::syntax::{Argument, Value, ValueKind};
use super::values::{Reader, Walk, walk};
use crate::blocklist::Blocklist;

/// What Scapy asks for when it is not told.
const NAME: &str = "www.example.com";

/// Questions, and the order in which they are asked.
pub(super) struct Questions {
    pub(super) encoded: Vec<Vec<u8>>,
    pub(super) walk: Walk,
}

/// The questions that `value` stands for: one for each name.
///
/// # Errors
/// With the place of what is no question.
pub(super) fn read(value: Option<&Value>) -> Result<Questions> {
    let mut names = vec![encoded_name(NAME).unwrap_or_default()];
    let mut order = Walk::Sequence;
    let mut numbers: Vec<_> = DNS_QUESTION.iter().map(|field| default_of(field) as u16).collect();
    for argument in arguments(value)? {
        let Some((field, place)) = &argument.name else {
            return Err(Error::at(&argument.value.place, "DNSQR takes its fields by name"));
        };
        if field == "qname" {
            (order, names) = read_names(&argument.value)?;
            continue;
        }
        let known = DNS_QUESTION.iter().position(|known| known.name == field);
        let index = known.ok_or_else(|| {
            Error::at(place, format!("DNSQR has no field `{field}`"))
                .advise("its fields are qname, qtype, qclass")
        })?;
        let path = format!("DNSQR.{field}");
        numbers[index] = constant(&path, &DNS_QUESTION[index], &argument.value)?;
    }
    let rest: Vec<_> = numbers.iter().flat_map(|number| number.to_be_bytes()).collect();
    let encoded = names.into_iter().map(|name| [name, rest.clone()].concat()).collect();
    Ok(Questions { encoded, walk: order })
}

fn arguments(value: Option<&Value>) -> Result<&[Argument]> {
    match value.map(|value| (&value.kind, &value.place)) {
        None => Ok(&[]),
        Some((ValueKind::Call(call), _)) if call.name == "DNSQR" => Ok(&call.arguments),
        Some((_, place)) => {
            Err(Error::at(place, "DNS.qd is a question: DNSQR(qname=\"example.com\")"))
        }
    }
}

fn read_names(value: &Value) -> Result<(Walk, Vec<Vec<u8>>)> {
    let (order, values) = walk(value)?;
    let mut names = Vec::new();
    for value in values {
        match &value.kind {
            ValueKind::List(values) => {
                for value in values {
                    names.push(name(value)?);
                }
            }
            _ => names.push(name(value)?),
        }
    }
    if names.is_empty() {
        return Err(Error::at(&value.place, "DNSQR.qname has no value"));
    }
    Ok((order, names))
}

fn name(value: &Value) -> Result<Vec<u8>> {
    let ValueKind::Text(text) = &value.kind else {
        let message = "DNSQR.qname is text in quotes, or a list of such";
        return Err(Error::at(&value.place, message));
    };
    std::str::from_utf8(text).ok().and_then(encoded_name).ok_or_else(|| {
        Error::at(&value.place, "this is no name: labels have 1 to 63 bytes, names 255")
    })
}

fn default_of(field: &Field) -> u128 {
    match field.default {
        Default::Number(number) => number,
        _ => 0,
    }
}

fn constant(path: &str, field: &Field, value: &Value) -> Result<u16> {
    let blocklist = Blocklist::default();
    let values = Reader { path, field, headers: 0, blocklist: &blocklist }.read(value)?;
    if values.space.count() != 1 || values.walk != Walk::Sequence {
        return Err(Error::at(&value.place, format!("{path} is one value")));
    }
    Ok(values.space.at(0) as u16)
}

/// RFC 1035, 3.1.
fn encoded_name(name: &str) -> Option<Vec<u8>> {
    let mut encoded = Vec::new();
    let name = name.strip_suffix('.').unwrap_or(name);
    for label in name.split('.').filter(|_| !name.is_empty()) {
        let length = u8::try_from(label.len()).ok().filter(|length| (1..64).contains(length))?;
        encoded.push(length);
        encoded.extend(label.as_bytes());
    }
    encoded.push(0);
    (encoded.len() <= 255).then_some(encoded)
}
