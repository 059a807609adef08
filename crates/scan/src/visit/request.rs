//! What is asked.

use std::net::{IpAddr, SocketAddr};

use linerate_base::{Error, ErrorKind, Result};

use super::hello;
use crate::Target;
use crate::payload::bytes;

/// What is sent to each target once its connection is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Bytes(Vec<u8>),
    /// The target's address.
    Address,
    Port,
    /// The target as the field `Host` of HTTP has it (RFC 9110 7.2, RFC 3986 3.2): the address, in brackets if it is of
    /// IPv6, and the port if it is not the usual one.
    Authority,
}

/// The longest request, in bytes: it fits one segment of an Ethernet frame, so that it goes with the third ACK.
const LONGEST: usize = 1_400;
/// The port of HTTP, which `Host` leaves out.
const HTTP: u16 = 80;

impl Request {
    /// The request that `text` stands for: `http`, `http:/path`, `tls`, `tls:NAME`, `gnutella`, `text:...` with the escapes
    /// `\r`, `\n`, `\t`, `\\`, `\xNN` and the fields `{address}`, `{port}` and `{host}`; `hex:...`; or nothing, for servers
    /// that speak first. Where the protocol has room, it says that it is from linerate, and whom to ask: `contact`.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for other text, and for more than 1,400 bytes.
    pub fn parse(text: &str, contact: Option<&str>) -> Result<Self> {
        let (kind, rest) = text.split_once(':').map_or((text, None), |(k, r)| (k, Some(r)));
        let request = match (kind, rest) {
            ("", None) => Ok(Self(Vec::new())),
            ("http", path) => Self::http(path.unwrap_or("/"), contact),
            ("gnutella", None) => Self::template(&gnutella(contact)),
            ("tls", name) => hello::hello(name).map(|hello| Self(vec![Part::Bytes(hello)])),
            ("text", Some(text)) => Self::template(text),
            ("hex", Some(digits)) => bytes(digits)
                .map(|bytes| Self(vec![Part::Bytes(bytes)]))
                .ok_or_else(|| "its digits are no bytes".into()),
            _ => Err("it is none of those there are".to_owned()),
        };
        request.and_then(Self::checked).map_err(|answer| {
            Error::new(ErrorKind::Invalid, format!("take `{text}` for a request"), answer).advise(
                "requests are http, http:/path, tls, tls:example.com, gnutella, text:hello\\r\\n and hex:0102ff",
            )
        })
    }

    fn checked(self) -> std::result::Result<Self, String> {
        let widest = Target { address: IpAddr::from([0xff; 16]), port: u16::MAX };
        let mut bytes = Vec::new();
        self.write(widest, &mut bytes);
        match bytes.len() {
            ..=LONGEST => Ok(self),
            length => {
                Err(format!("it has {length} bytes, and {LONGEST} at most go in one segment"))
            }
        }
    }

    /// RFC 9112 3. The connection ends with the answer (RFC 9112 9.6).
    fn http(path: &str, contact: Option<&str>) -> std::result::Result<Self, String> {
        if !path.starts_with('/') || path.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Err("a path begins with / and has no spaces".into());
        }
        let agent = agent(contact);
        Ok(Self(vec![
            Part::Bytes(format!("GET {path} HTTP/1.1\r\nHost: ").into()),
            Part::Authority,
            Part::Bytes(
                format!("\r\nUser-Agent: {agent}\r\nAccept: */*\r\nConnection: close\r\n\r\n")
                    .into(),
            ),
        ]))
    }

    /// Text with escapes and fields.
    fn template(mut text: &str) -> std::result::Result<Self, String> {
        let (mut parts, mut bytes) = (Vec::new(), Vec::new());
        while let Some(first) = text.chars().next() {
            match first {
                '\\' => {
                    let (byte, rest) = escape(&text[1..])
                        .ok_or("of escapes there are \\r, \\n, \\t, \\\\ and \\xNN")?;
                    bytes.push(byte);
                    text = rest;
                }
                '{' => {
                    let (name, rest) = text[1..].split_once('}').ok_or("a { has no }")?;
                    parts.push(Part::Bytes(std::mem::take(&mut bytes)));
                    parts.push(field(name).ok_or("of fields there are {address}, {port}, {host}")?);
                    text = rest;
                }
                other => {
                    bytes.extend(other.encode_utf8(&mut [0; 4]).bytes());
                    text = &text[other.len_utf8()..];
                }
            }
        }
        parts.push(Part::Bytes(bytes));
        parts.retain(|part| *part != Part::Bytes(Vec::new()));
        Ok(Self(parts))
    }

    /// True when nothing is asked.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// True when all targets are asked the same.
    pub fn is_constant(&self) -> bool {
        self.0.iter().all(|part| matches!(part, Part::Bytes(_)))
    }

    /// Writes what is sent to a target to `out`, in the place of what was there.
    pub fn write(&self, target: Target, out: &mut Vec<u8>) {
        out.clear();
        for part in &self.0 {
            match part {
                Part::Bytes(bytes) => out.extend(bytes),
                Part::Address => out.extend(target.address.to_string().bytes()),
                Part::Port => out.extend(target.port.to_string().bytes()),
                Part::Authority => out.extend(authority(target).bytes()),
            }
        }
    }
}

fn authority(target: Target) -> String {
    match target {
        Target { address: IpAddr::V4(address), port: HTTP } => address.to_string(),
        Target { address: IpAddr::V6(address), port: HTTP } => format!("[{address}]"),
        Target { address, port } => SocketAddr::new(address, port).to_string(),
    }
}

fn field(name: &str) -> Option<Part> {
    match name {
        "address" => Some(Part::Address),
        "port" => Some(Part::Port),
        "host" => Some(Part::Authority),
        _ => None,
    }
}

/// The byte that is written behind a backslash, and what follows.
fn escape(text: &str) -> Option<(u8, &str)> {
    let byte = match text.chars().next()? {
        'r' => b'\r',
        'n' => b'\n',
        't' => b'\t',
        '\\' => b'\\',
        '{' => b'{',
        'x' => return Some((u8::from_str_radix(text.get(1..3)?, 16).ok()?, &text[3..])),
        _ => return None,
    };
    Some((byte, &text[1..]))
}

/// Who asks (RFC 9110 10.1.5: a product, and a comment in parentheses).
fn agent(contact: Option<&str>) -> String {
    let product = concat!("linerate/", env!("CARGO_PKG_VERSION"));
    match contact {
        Some(contact) => {
            let comment: String =
                contact.chars().filter(|c| !c.is_control() && !"()\\{}".contains(*c)).collect();
            format!("{product} ({comment})")
        }
        None => product.into(),
    }
}

/// What a leaf of Gnutella says first ("Gnutella 0.6", RFC draft of 2002, 2.1), and that it is a crawler, to which peers name
/// their neighbours.
fn gnutella(contact: Option<&str>) -> String {
    format!(
        "GNUTELLA CONNECT/0.6\\r\\nUser-Agent: {}\\r\\nX-Ultrapeer: False\\r\\nX-Query-Routing: 0.1\\r\\nCrawler: 0.1\\r\\n\\r\\n",
        agent(contact)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn said(text: &str, contact: Option<&str>, target: &str) -> String {
        let end: SocketAddr = target.parse().unwrap();
        let mut out = b"before".to_vec();
        let request = Request::parse(text, contact).unwrap_or_else(|e| panic!("{text}: {e}"));
        request.write(Target { address: end.ip(), port: end.port() }, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn web_servers_are_told_their_name_and_whom_to_ask() {
        let asked = said("http:/a?b", Some("https://example.com (me)"), "192.0.2.7:80");
        assert!(asked.starts_with("GET /a?b HTTP/1.1\r\nHost: 192.0.2.7\r\n"), "{asked}");
        assert!(asked.contains(" (https://example.com me)\r\n"), "{asked}");
        assert!(asked.ends_with("Connection: close\r\n\r\n"), "{asked}");
        assert!(said("http", None, "[fd00::1]:8080").contains("\r\nHost: [fd00::1]:8080\r\n"));
        assert!(said("http", None, "[fd00::1]:80").contains("\r\nHost: [fd00::1]\r\n"));
    }

    #[test]
    fn texts_have_escapes_and_fields() {
        let text = r"text:é{address} {port} {host}\x41\t\\ \{x}\r\n";
        let asked = said(text, None, "[fd00::1]:7");
        assert_eq!(asked, "éfd00::1 7 [fd00::1]:7A\t\\ {x}\r\n");
        assert_eq!(said("hex:6869", None, "10.0.0.1:1"), "hi");
        let gnutella = said("gnutella", None, "10.0.0.1:6346");
        assert!(gnutella.starts_with("GNUTELLA CONNECT/0.6\r\n") && gnutella.ends_with("\r\n\r\n"));
        assert!(Request::parse("", None).unwrap().is_empty());
        assert!(Request::parse("gnutella", None).unwrap().is_constant());
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let long = format!("text:{}", "x".repeat(1_401));
        for bad in [
            "https",
            "http:a",
            "http:/a b",
            "hex:1",
            "gnutella:x",
            r"text:\q",
            r"text:\x4",
            "text:{a",
            "text:{a}",
            "tls:a b",
            &long,
        ] {
            let refused = Request::parse(bad, None).unwrap_err();
            assert!(refused.advice().is_some(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "(text:|http:|tls:|hex:)?[\\\\x{}a-f0-9é/]{0,20}", contact: Option<String>) {
            let _ = Request::parse(&text, contact.as_deref());
        }
    }
}
