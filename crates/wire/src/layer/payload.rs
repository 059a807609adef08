//! What no header describes: payload, text, protocols known by name only.

use linerate_base::LinkType;
use serde::Serialize;

use super::{OUI_CISCO, numbers};
use crate::data::Data;

/// Bytes without a decoder.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Payload<'a> {
    /// Bytes on the wire.
    pub length: usize,
    /// The bytes captured.
    #[serde(skip)]
    pub bytes: &'a [u8],
}

impl<'a> Payload<'a> {
    pub(crate) fn new(data: Data<'a>) -> Self {
        Self { length: data.length(), bytes: data.bytes() }
    }
}

/// A protocol that is named but not decoded.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Protocol {
    /// Its name, or null when the number has none here.
    pub name: Option<&'static str>,
    /// Its number in the register that `register` names.
    pub number: Option<u16>,
    /// Who numbered it; null when it was found by its port.
    pub register: Option<Register>,
    /// Bytes on the wire.
    pub length: usize,
}

/// A register of protocol numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Register {
    /// Ethernet types.
    Ethertype,
    /// Linux's own numbers below the Ethernet types.
    Linux,
    /// Ethernet types in GRE.
    Gre,
    /// IP protocols.
    Ip,
    /// PPP protocols.
    Ppp,
    /// Service access points of LLC.
    Llc,
    /// Protocols of an organisation over SNAP.
    Snap,
    /// Link types of savefiles.
    LinkType,
}

impl Protocol {
    pub(crate) fn named(name: &'static str, data: Data<'_>) -> Self {
        Self { name: Some(name), number: None, register: None, length: data.length() }
    }

    pub(crate) fn ethertype(number: u16, data: Data<'_>) -> Self {
        Self::numbered(Register::Ethertype, number, numbers::ethertype(number), data)
    }

    pub(crate) fn ip(number: u8, data: Data<'_>) -> Self {
        Self::numbered(Register::Ip, number.into(), numbers::ip_protocol(number), data)
    }

    pub(crate) fn ppp(number: u16, data: Data<'_>) -> Self {
        Self::numbered(Register::Ppp, number, numbers::ppp(number), data)
    }

    pub(crate) fn llc(sap: u8, data: Data<'_>) -> Self {
        Self::numbered(Register::Llc, sap.into(), numbers::sap(sap), data)
    }

    /// What GRE carries, where that is not known here.
    pub(crate) fn gre(number: u16, data: Data<'_>) -> Self {
        Self::numbered(Register::Gre, number, numbers::ethertype(number), data)
    }

    /// A protocol over SNAP, of the organisation `oui`.
    pub(crate) fn snap(oui: u32, number: u16, data: Data<'_>) -> Self {
        let name = if oui == OUI_CISCO { numbers::cisco(number) } else { None };
        Self::numbered(Register::Snap, number, name, data)
    }

    /// One of Linux's own numbers below the Ethernet types (linux/if_ether.h).
    pub(crate) fn linux(number: u16, data: Data<'_>) -> Self {
        Self::numbered(Register::Linux, number, None, data)
    }

    pub(crate) fn link_type(link_type: LinkType, data: Data<'_>) -> Self {
        Self::numbered(Register::LinkType, link_type.0, link_type.name(), data)
    }

    fn numbered(
        register: Register,
        number: u16,
        name: Option<&'static str>,
        data: Data<'_>,
    ) -> Self {
        Self { name, number: Some(number), register: Some(register), length: data.length() }
    }
}

/// Payload of a protocol that speaks in lines of text.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Text<'a> {
    /// Its name, such as `HTTP`.
    pub protocol: &'static str,
    /// The first line when it is a request or a status, as it was on the wire but for bytes that
    /// are not UTF-8; null in the middle of a body.
    #[serde(serialize_with = "lossy")]
    pub line: Option<&'a [u8]>,
    /// Bytes on the wire.
    pub length: usize,
}

impl<'a> Text<'a> {
    pub(crate) fn new(protocol: &'static str, data: Data<'a>) -> Self {
        let line = first_line(data.bytes()).filter(|line| opens_a_message(line));
        Self { protocol, line, length: data.length() }
    }
}

fn first_line(bytes: &[u8]) -> Option<&[u8]> {
    let end = bytes.iter().position(|&b| b == b'\n')?;
    Some(bytes[..end].strip_suffix(b"\r").unwrap_or(&bytes[..end]))
}

/// A status line (`HTTP/1.1 200 OK`, `220 ready`), a command in capitals (`GET /`, `QUIT`), or
/// what SSH begins with.
fn opens_a_message(line: &[u8]) -> bool {
    let word = line.split(|b| matches!(b, b' ' | b'/')).next().unwrap_or_default();
    let number = word.len() >= 3 && word[..3].iter().all(u8::is_ascii_digit);
    let command = (3..=16).contains(&word.len())
        && word.iter().all(|b| b.is_ascii_uppercase() || matches!(b, b'-' | b'_'));
    number || command || line.starts_with(b"SSH-")
}

fn lossy<S: serde::Serializer>(line: &Option<&[u8]>, serializer: S) -> Result<S::Ok, S::Error> {
    line.map(String::from_utf8_lossy).serialize(serializer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(bytes: &[u8]) -> Option<&[u8]> {
        Text::new("HTTP", Data::new(bytes, bytes.len())).line
    }

    #[test]
    fn requests_and_statuses_open_a_message_and_bodies_do_not() {
        assert_eq!(line(b"GET / HTTP/1.1\r\nHost: a\r\n"), Some(&b"GET / HTTP/1.1"[..]));
        assert_eq!(line(b"HTTP/1.0 404 Not Found\n"), Some(&b"HTTP/1.0 404 Not Found"[..]));
        assert_eq!(line(b"220-ready\r\n"), Some(&b"220-ready"[..]));
        assert_eq!(line(b"<html>\r\n"), None);
        assert_eq!(line(b"GET / HT"), None);
    }
}
