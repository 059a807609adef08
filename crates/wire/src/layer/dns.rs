//! The Domain Name System (RFC 1035), multicast DNS (RFC 6762) included.
//!
//! Names and records are decoded while they are iterated over, so that a message which is cut
//! off or breaks the rules still shows what it has before that point.

use std::net::{Ipv4Addr, Ipv6Addr};

use domain::base::header::HeaderSection;
use domain::base::iana::{Class, Rtype};
use domain::base::{ParsedName, ParsedRecord, Question};
use domain::dep::octseq::Parser;
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use super::{Decoded, Layer, Next};
use crate::data::Data;

/// A DNS message.
#[derive(Clone, Copy, Debug)]
pub struct Dns<'a> {
    /// Over multicast DNS.
    pub multicast: bool,
    /// Bytes of the message on the wire.
    pub length: usize,
    header: HeaderSection,
    bytes: &'a [u8],
}

/// The part of a message that a record is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    Answer,
    Authority,
    Additional,
}

/// What a walk over a message meets.
pub(crate) enum Item<'a> {
    Question(DnsQuestion<'a>),
    Record(Section, DnsRecord<'a>),
    /// The message ends, or breaks the rules, before everything that its header counts.
    Cut,
}

impl<'a> Dns<'a> {
    const LENGTH: usize = 12;

    pub(super) fn decode(data: Data<'a>, multicast: bool) -> Decoded<'a> {
        let bytes = data.bytes();
        let head = bytes.get(..Self::LENGTH)?;
        let header = *HeaderSection::for_message_slice(head);
        let dns = Self { multicast, length: data.length(), header, bytes };
        Some((Layer::Dns(dns), Next::Nothing))
    }

    /// RFC 1035 4.2.2: over TCP the message follows its length.
    pub(super) fn decode_over_tcp(data: Data<'a>) -> Decoded<'a> {
        let length = data.u16(0)?;
        Self::decode(data.skip(2).clip(length.into()), false)
    }

    /// The header's fields, as the `domain` crate reads them.
    pub(crate) fn header(&self) -> &HeaderSection {
        &self.header
    }

    /// Everything in the message, in order.
    pub(crate) fn walk(&self) -> impl Iterator<Item = Item<'a>> + use<'a> {
        let mut walk = Walk::new(*self);
        std::iter::from_fn(move || walk.next())
    }

    fn questions(&self) -> impl Iterator<Item = DnsQuestion<'a>> + use<'a> {
        self.walk().filter_map(|item| match item {
            Item::Question(question) => Some(question),
            _ => None,
        })
    }

    fn records(&self, wanted: Section) -> impl Iterator<Item = DnsRecord<'a>> + use<'a> {
        self.walk().filter_map(move |item| match item {
            Item::Record(section, record) if section == wanted => Some(record),
            _ => None,
        })
    }

    fn flag_names(&self) -> impl Iterator<Item = &'static str> {
        let header = self.header.header();
        let flags = [
            (header.aa(), "authoritative"),
            (header.tc(), "truncated"),
            (header.rd(), "recursion_desired"),
            (header.ra(), "recursion_available"),
            (header.ad(), "authentic_data"),
            (header.cd(), "checking_disabled"),
        ];
        flags.into_iter().filter_map(|(set, name)| set.then_some(name))
    }
}

/// State of a walk: where it is, and what is still to come of each section.
struct Walk<'a> {
    parser: Parser<'a, [u8]>,
    left: [u16; 4],
    over: bool,
}

impl<'a> Walk<'a> {
    fn new(dns: Dns<'a>) -> Self {
        let mut parser = Parser::from_ref(dns.bytes);
        let over = parser.advance(Dns::LENGTH).is_err();
        let counts = dns.header.counts();
        let left = [counts.qdcount(), counts.ancount(), counts.nscount(), counts.arcount()];
        Self { parser, left, over }
    }

    fn next(&mut self) -> Option<Item<'a>> {
        if self.over {
            return None;
        }
        let section = self.left.iter().position(|&count| count > 0)?;
        self.left[section] -= 1;
        let item = match section {
            0 => self.question(),
            1 => self.record(Section::Answer),
            2 => self.record(Section::Authority),
            _ => self.record(Section::Additional),
        };
        self.over = item.is_none();
        Some(item.unwrap_or(Item::Cut))
    }

    fn question(&mut self) -> Option<Item<'a>> {
        let question = Question::parse(&mut self.parser).ok()?;
        Some(Item::Question(DnsQuestion {
            name: DnsName(*question.qname()),
            rtype: question.qtype().to_int(),
            class: question.qclass().to_int(),
        }))
    }

    fn record(&mut self, section: Section) -> Option<Item<'a>> {
        let record = ParsedRecord::parse(&mut self.parser).ok()?;
        let end = self.parser.pos();
        let start = end - usize::from(record.rdlen());
        let whole = self.parser.octets_ref();
        Some(Item::Record(
            section,
            DnsRecord {
                name: DnsName(record.owner().deref_octets()),
                rtype: record.rtype().to_int(),
                class: record.class().to_int(),
                ttl: record.ttl().as_secs(),
                data: DnsData::decode(record.rtype(), &whole[..end], start),
            },
        ))
    }
}

/// A name, decompressed as it is iterated over.
#[derive(Clone, Copy, Debug)]
pub struct DnsName<'a>(ParsedName<&'a [u8]>);

impl DnsName<'_> {
    /// The labels, without the root's empty one.
    pub fn labels(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().map(domain::base::name::Label::as_slice).filter(|label| !label.is_empty())
    }
}

impl Serialize for DnsName<'_> {
    /// In presentation format (RFC 1035 5.1), without the final dot.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// A question.
#[derive(Clone, Copy, Debug)]
pub struct DnsQuestion<'a> {
    /// The name asked for.
    pub name: DnsName<'a>,
    /// The type of records asked for.
    pub rtype: u16,
    /// The class; 1 is the Internet.
    pub class: u16,
}

impl Serialize for DnsQuestion<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("DnsQuestion", 3)?;
        object.serialize_field("name", &self.name)?;
        object.serialize_field("type", &Mnemonic(type_name(self.rtype), self.rtype))?;
        object.serialize_field("class", &self.class)?;
        object.end()
    }
}

/// A resource record.
#[derive(Clone, Copy, Debug)]
pub struct DnsRecord<'a> {
    /// The name that it is about.
    pub name: DnsName<'a>,
    /// The type of its data.
    pub rtype: u16,
    /// The class; 1 is the Internet. In an OPT record the sender's buffer size.
    pub class: u16,
    /// For how many seconds it may be kept. In an OPT record more flags.
    pub ttl: u32,
    /// Its data.
    pub data: DnsData<'a>,
}

impl Serialize for DnsRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("DnsRecord", 5)?;
        object.serialize_field("name", &self.name)?;
        object.serialize_field("type", &Mnemonic(type_name(self.rtype), self.rtype))?;
        object.serialize_field("class", &self.class)?;
        object.serialize_field("ttl", &self.ttl)?;
        object.serialize_field("data", &self.data)?;
        object.end()
    }
}

/// The data of a resource record.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case", untagged)]
#[non_exhaustive]
pub enum DnsData<'a> {
    /// Of an A record.
    A(Ipv4Addr),
    /// Of an AAAA record.
    Aaaa(Ipv6Addr),
    /// Of a CNAME, DNAME, NS or PTR record.
    Name(DnsName<'a>),
    /// Of an MX record.
    Mx {
        /// The lowest is tried first.
        preference: u16,
        /// The mail server.
        exchange: DnsName<'a>,
    },
    /// Of an SRV record (RFC 2782).
    Srv {
        /// The lowest is tried first.
        priority: u16,
        /// The share among equals.
        weight: u16,
        /// The port.
        port: u16,
        /// The server.
        target: DnsName<'a>,
    },
    /// Of an SOA record.
    Soa {
        /// The primary server.
        primary: DnsName<'a>,
        /// The mailbox of whoever is responsible.
        mailbox: DnsName<'a>,
        /// The zone's version.
        serial: u32,
    },
    /// Of a TXT record.
    Txt(Strings<'a>),
    /// Of any other record, or data that break their type's rules: their length.
    Other {
        /// Bytes of data.
        length: usize,
    },
}

impl<'a> DnsData<'a> {
    /// The data from `start` on in `message`, which ends with them.
    fn decode(rtype: Rtype, message: &'a [u8], start: usize) -> Self {
        let other = Self::Other { length: message.len() - start };
        Self::decode_known(rtype, message, start).unwrap_or(other)
    }

    fn decode_known(rtype: Rtype, message: &'a [u8], start: usize) -> Option<Self> {
        let bytes = &message[start..];
        let name = |offset| name_at(message, start + offset).map(|(name, _)| name);
        let data = Data::new(bytes, bytes.len());
        Some(match rtype {
            Rtype::A => Self::A(data.array(0)?.into()),
            Rtype::AAAA => Self::Aaaa(Ipv6Addr::from_octets(data.array(0)?)),
            Rtype::CNAME | Rtype::DNAME | Rtype::NS | Rtype::PTR => Self::Name(name(0)?),
            Rtype::MX => Self::Mx { preference: data.u16(0)?, exchange: name(2)? },
            Rtype::SRV => Self::Srv {
                priority: data.u16(0)?,
                weight: data.u16(2)?,
                port: data.u16(4)?,
                target: name(6)?,
            },
            Rtype::SOA => {
                let (primary, end) = name_at(message, start)?;
                let (mailbox, end) = name_at(message, end)?;
                let serial = data.u32(end - start)?;
                Self::Soa { primary, mailbox, serial }
            }
            Rtype::TXT => Self::Txt(Strings(bytes)),
            _ => return None,
        })
    }
}

/// The name at `start` and where it ends.
fn name_at(message: &[u8], start: usize) -> Option<(DnsName<'_>, usize)> {
    let mut parser = Parser::from_ref(message);
    parser.advance(start).ok()?;
    let name = ParsedName::parse(&mut parser).ok()?;
    Some((DnsName(name), parser.pos()))
}

/// Strings that each follow a byte with their length.
#[derive(Clone, Copy, Debug)]
pub struct Strings<'a>(&'a [u8]);

impl<'a> Strings<'a> {
    /// The strings in order; the last may be cut off.
    pub fn iter(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let (&length, tail) = rest.split_first()?;
            let (string, tail) = tail.split_at(usize::from(length).min(tail.len()));
            rest = tail;
            Some(string)
        })
    }
}

impl Serialize for Strings<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(String::from_utf8_lossy))
    }
}

/// The name of a type of record, such as `AAAA`.
pub(crate) fn type_name(number: u16) -> Option<&'static str> {
    Rtype::from_int(number).to_mnemonic_str()
}

/// The name of a class, such as `CH`.
pub(crate) fn class_name(number: u16) -> Option<&'static str> {
    Class::from_int(number).to_mnemonic_str()
}

/// A name, or a number where there is none.
struct Mnemonic(Option<&'static str>, u16);

impl Serialize for Mnemonic {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Some(name) => serializer.serialize_str(name),
            None => serializer.serialize_u16(self.1),
        }
    }
}

impl Serialize for Dns<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let header = self.header.header();
        let mut object = serializer.serialize_struct("Dns", 11)?;
        object.serialize_field("id", &header.id())?;
        object.serialize_field("response", &header.qr())?;
        object.serialize_field("opcode", &header.opcode().to_int())?;
        object.serialize_field("rcode", &header.rcode().to_int())?;
        object.serialize_field("flags", &self.flag_names().collect::<Vec<_>>())?;
        object.serialize_field("multicast", &self.multicast)?;
        object.serialize_field("length", &self.length)?;
        object.serialize_field("questions", &self.questions().collect::<Vec<_>>())?;
        object.serialize_field("answers", &self.records(Section::Answer).collect::<Vec<_>>())?;
        let authorities: Vec<_> = self.records(Section::Authority).collect();
        object.serialize_field("authorities", &authorities)?;
        let additionals: Vec<_> = self.records(Section::Additional).collect();
        object.serialize_field("additionals", &additionals)?;
        object.end()
    }
}
