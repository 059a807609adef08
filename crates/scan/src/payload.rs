//! What datagrams say.

use std::ops::Range;

use linerate_base::{Error, ErrorKind, Result};
use linerate_tcp::Mac;

use crate::form::Pen;

/// The payload of a probe by UDP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payload {
    /// These bytes.
    Bytes(Vec<u8>),
    /// A query of DNS: this question (RFC 1035 4.1.2), for the addresses of a name. Its ID is part of the MAC.
    Dns(Vec<u8>),
    /// A client's request of NTP (RFC 5905 7.3). Its transmit timestamp, which servers give back, is the MAC.
    Ntp,
}

/// Bytes of a DNS header.
const DNS: usize = 12;
/// Bytes of an NTP message without extensions.
const NTP: usize = 48;
/// Where its transmit timestamp is.
const NTP_STAMP: usize = 40;
/// The longest payload, so that a frame is none too long.
const LONGEST: usize = 1_400;

impl Payload {
    /// The payload that `text` stands for: `dns:NAME`, `ntp`, `text:...`, `hex:0102...`, or nothing.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for other text, for what is no name, and for more than 1,400 bytes.
    pub fn parse(text: &str) -> Result<Self> {
        let refuse = |answer: &str| {
            Error::new(ErrorKind::Invalid, format!("take `{text}` for a payload"), answer)
                .advise("payloads are dns:example.com, ntp, text:hello and hex:0102ff")
        };
        let payload = match text.split_once(':') {
            None if text.is_empty() => Self::Bytes(Vec::new()),
            None if text == "ntp" => Self::Ntp,
            Some(("dns", name)) => {
                Self::Dns(question(name).ok_or_else(|| refuse("it is no name"))?)
            }
            Some(("text", text)) => Self::Bytes(text.into()),
            Some(("hex", digits)) => {
                Self::Bytes(bytes(digits).ok_or_else(|| refuse("its digits are no bytes"))?)
            }
            _ => return Err(refuse("it is none of those there are")),
        };
        match &payload {
            Self::Bytes(bytes) if bytes.len() > LONGEST => Err(refuse("it is too long")),
            _ => Ok(payload),
        }
    }

    /// Its bytes, with zeros in the place of the MAC.
    pub(crate) fn unsigned(&self) -> Vec<u8> {
        match self {
            Self::Bytes(bytes) => bytes.clone(),
            // A query, recursion desired, one question.
            Self::Dns(question) => [&[0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0], &question[..]].concat(),
            Self::Ntp => {
                let mut request = vec![0; NTP];
                // No warning, version 4, client.
                request[0] = 0x23;
                request
            }
        }
    }

    /// Puts the MAC of a target into it, where it begins at `at`.
    pub(crate) fn sign(&self, mac: Mac, pen: &mut Pen<'_>, at: usize) {
        match self {
            Self::Bytes(_) => {}
            Self::Dns(_) => pen.put(at, id(mac)),
            Self::Ntp => pen.put(at + NTP_STAMP, mac.0.to_be_bytes()),
        }
    }

    /// Where the MAC is in it.
    pub(crate) fn signed(&self) -> Option<Range<usize>> {
        match self {
            Self::Bytes(_) => None,
            Self::Dns(_) => Some(0..2),
            Self::Ntp => Some(NTP_STAMP..NTP_STAMP + 8),
        }
    }

    /// True when `reply` may answer it to the target with this MAC.
    pub(crate) fn is_answered_by(&self, mac: Mac, reply: &[u8]) -> bool {
        match self {
            Self::Bytes(_) => true,
            Self::Dns(_) => reply.len() >= DNS && reply[..2] == id(mac) && reply[2] & 0x80 != 0,
            Self::Ntp => reply.get(24..32) == Some(&mac.0.to_be_bytes()),
        }
    }
}

fn id(mac: Mac) -> [u8; 2] {
    (mac.isn().0 as u16).to_be_bytes()
}

/// The question for the addresses of a name: QTYPE A, QCLASS IN.
fn question(name: &str) -> Option<Vec<u8>> {
    let mut question = Vec::new();
    for label in name.trim_end_matches('.').split('.') {
        // RFC 1035 2.3.4.
        let length = u8::try_from(label.len()).ok().filter(|length| (1..64).contains(length))?;
        question.push(length);
        question.extend(label.bytes());
    }
    question.extend([0, 0, 1, 0, 1]);
    (question.len() <= 255 + 4).then_some(question)
}

/// The bytes that pairs of hexadecimal digits stand for.
pub(crate) fn bytes(digits: &str) -> Option<Vec<u8>> {
    let byte = |pair: &[u8]| match pair {
        [high, low] => {
            let digit = |byte: u8| char::from(byte).to_digit(16);
            Some((digit(*high)? * 16 + digit(*low)?) as u8)
        }
        _ => None,
    };
    digits.as_bytes().chunks(2).map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::form::Form;
    use etherparse::IpNumber;
    use linerate_tcp::frame::Path;

    const MAC: Mac = Mac(0x1122_3344_5566_7788);

    fn written(text: &str) -> Vec<u8> {
        let path = Path {
            mac: [2; 6],
            next_hop: [4; 6],
            source: [10, 0, 0, 1].into(),
            destination: [10, 0, 0, 2].into(),
        };
        let payload = Payload::parse(text).unwrap();
        let form = Form::new(&path, IpNumber::UDP, &[vec![0; 8], payload.unsigned()].concat(), 6);
        let mut slot = vec![0xee; form.length()];
        form.fill(&mut slot, path.next_hop, path.destination, |pen| payload.sign(MAC, pen, 8));
        slot.split_off(path.overhead() + 8)
    }

    #[test]
    fn payloads_are_read_and_written() {
        assert_eq!(written("text:hello"), b"hello");
        assert_eq!((written("hex:01ff"), written("")), (vec![1, 0xff], vec![]));
        assert_eq!(
            written("dns:a.example"),
            b"\x77\x88\x01\0\0\x01\0\0\0\0\0\0\x01a\x07example\0\0\x01\0\x01"
        );
        let ntp = written("ntp");
        assert_eq!((ntp.len(), ntp[0], &ntp[40..]), (48, 0x23, &MAC.0.to_be_bytes()[..]));
        let (long, label) = (format!("text:{}", "x".repeat(1_401)), "x".repeat(64));
        for bad in ["hex:1", "hex:zz", "dns", "dns:a..b", "file:x", &format!("dns:{label}"), &long]
        {
            assert!(Payload::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn only_what_gives_the_mac_back_is_an_answer() {
        let dns = Payload::parse("dns:a.example").unwrap();
        let mut reply = written("dns:a.example");
        assert!(!dns.is_answered_by(MAC, &reply), "a query is no answer");
        reply[2] |= 0x80;
        assert!(dns.is_answered_by(MAC, &reply) && !dns.is_answered_by(Mac(7), &reply));
        assert!(!dns.is_answered_by(MAC, &reply[..11]));
        let mut reply = written("ntp");
        reply.copy_within(40..48, 24);
        assert!(Payload::Ntp.is_answered_by(MAC, &reply));
        assert!(!Payload::Ntp.is_answered_by(Mac(7), &reply));
        assert!(!Payload::Ntp.is_answered_by(MAC, &reply[..30]));
    }
}
