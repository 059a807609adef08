//! Messages (RFC 1035 4): queries written, responses read.

use std::fmt::{self, Display};
use std::net::IpAddr;

use domain::base::iana::{Opcode, Rcode};
use domain::base::{Message, ParsedName, ParsedRecord, Record as Parsed};
use domain::rdata::AllRecordData;

use crate::Question;
use crate::name::Name;

/// Bytes of a header.
const HEADER: usize = 12;
/// Bytes of the longest query: header, question, and the pseudo-record of EDNS.
pub(crate) const LONGEST_QUERY: usize = HEADER + 255 + 4 + 11;

/// How queries are asked.
#[derive(Clone, Copy, Debug)]
pub struct Manner {
    /// Ask a resolver to find the answer, rather than a server for what it has.
    pub recursion: bool,
    /// Bytes of the longest datagram that is taken, told by EDNS (RFC 6891 6.2.3); `None`: without EDNS, which means 512.
    pub udp_size: Option<u16>,
}

/// Writes a query to `slot`, and returns its length.
pub(crate) fn write_query(slot: &mut [u8], id: u16, question: &Question, manner: Manner) -> usize {
    let additional = u8::from(manner.udp_size.is_some());
    slot[..2].copy_from_slice(&id.to_be_bytes());
    slot[2..HEADER].copy_from_slice(&[manner.recursion.into(), 0, 0, 1, 0, 0, 0, 0, 0, additional]);
    let length = HEADER + question.write(&mut slot[HEADER..]);
    let Some(size) = manner.udp_size else { return length };
    let [high, low] = size.to_be_bytes();
    // RFC 6891 6.1.2: the root's name, OPT, the size, and no options.
    let opt = [0, 0, 41, high, low, 0, 0, 0, 0, 0, 0];
    slot[length..length + opt.len()].copy_from_slice(&opt);
    length + opt.len()
}

/// A response to one question.
#[derive(Clone, Copy, Debug)]
pub struct Reply<'a> {
    message: Message<&'a [u8]>,
}

/// A record of the wire, not read yet.
type Unread<'a> = ParsedRecord<'a, &'a [u8]>;

impl<'a> Reply<'a> {
    /// The response in a datagram. `None` for what is none.
    pub(crate) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let message = Message::from_octets(bytes).ok()?;
        let header = message.header();
        (header.qr() && header.opcode() == Opcode::QUERY).then_some(Self { message })
    }

    /// True when it repeats this question. Who refuses may not have read it (RFC 1035 4.1.1: format error).
    pub(crate) fn is_about(&self, question: &Question) -> bool {
        match self.message.header_counts().qdcount() {
            0 => self.verdict() == Verdict::Refusal,
            1 => question.begins(&self.message.as_slice()[HEADER..]),
            _ => false,
        }
    }

    /// The number that the query had.
    pub(crate) fn id(&self) -> u16 {
        self.message.header().id()
    }

    /// Its bytes.
    pub fn size(&self) -> usize {
        self.message.as_slice().len()
    }

    /// The name of its code: `NOERROR`, `NXDOMAIN`; a number where it has no name.
    pub fn code(&self) -> impl Display + use<> {
        match self.message.header_counts().arcount() {
            // Without records beside the answer there is no EDNS, and are no more bits of the code (RFC 6891 6.1.3).
            0 => self.message.header().rcode().into(),
            _ => self.message.opt_rcode(),
        }
    }

    /// What its code means for who asks.
    pub fn verdict(&self) -> Verdict {
        match self.message.header().rcode().to_int() {
            0 | 3 => Verdict::Answer,
            _ => Verdict::Refusal,
        }
    }

    /// It says that there is no such name.
    pub(crate) fn is_denial(&self) -> bool {
        self.message.header().rcode() == Rcode::NXDOMAIN
    }

    /// Less than there is to tell (RFC 2181 9).
    pub fn is_truncated(&self) -> bool {
        self.message.header().tc()
    }

    /// The server is responsible for the name.
    pub fn is_authoritative(&self) -> bool {
        self.message.header().aa()
    }

    /// True when all its records can be read.
    pub(crate) fn is_sound(&self) -> bool {
        self.each(|_, _| {}).is_some()
    }

    /// Its records, by section; `None` when not all of them can be read.
    pub(crate) fn records(&self) -> Option<[Vec<Record<'_>>; 3]> {
        let mut sections = [const { Vec::new() }; 3];
        self.each(|section, record| sections[section].push(record))?;
        Some(sections)
    }

    /// Shows each record with the number of its section; `None` when one cannot be read.
    fn each<'s>(&'s self, mut show: impl FnMut(usize, Record<'s>)) -> Option<()> {
        let (_, answer, authority, additional) = self.message.sections().ok()?;
        for (section, records) in [answer, authority, additional].into_iter().enumerate() {
            for record in records {
                show(section, Record(read(&record.ok()?)?));
            }
        }
        Some(())
    }

    /// The records that answer; those behind one that cannot be read are left out.
    pub fn answers(&self) -> impl Iterator<Item = Record<'_>> {
        records(self.message.answer().ok())
    }
}

/// What a response is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It answers: with records, or that there are none.
    Answer,
    /// The server does not answer; another one might.
    Refusal,
}

fn records<'a>(
    section: Option<impl Iterator<Item = Result<Unread<'a>, domain::base::wire::ParseError>>>,
) -> impl Iterator<Item = Record<'a>> {
    let unread = section.into_iter().flatten();
    unread.map_while(|record| read(&record.ok()?).map(Record))
}

fn read<'a>(record: &Unread<'a>) -> Option<Known<'a>> {
    record.to_any_record().ok()
}

type Known<'a> = Parsed<ParsedName<&'a [u8]>, AllRecordData<&'a [u8], ParsedName<&'a [u8]>>>;

/// A record.
#[derive(Clone, Debug)]
pub struct Record<'a>(Known<'a>);

/// What a record tells, of what a walk has to know.
pub(crate) enum Told {
    Address(IpAddr),
    NameServer(Name),
    Alias(Name),
    Other,
}

impl Record<'_> {
    /// Whose it is.
    pub(crate) fn known_owner(&self) -> Name {
        Name::parsed(self.0.owner())
    }

    /// The number of its type.
    pub(crate) fn rtype(&self) -> u16 {
        self.0.rtype().to_int()
    }

    pub(crate) fn told(&self) -> Told {
        match self.0.data() {
            AllRecordData::A(data) => Told::Address(data.addr().into()),
            AllRecordData::Aaaa(data) => Told::Address(data.addr().into()),
            AllRecordData::Ns(data) => Told::NameServer(Name::parsed(data.nsdname())),
            AllRecordData::Cname(data) => Told::Alias(Name::parsed(data.cname())),
            _ => Told::Other,
        }
    }

    /// Whose it is, without the final dot.
    pub fn owner(&self) -> impl Display + '_ {
        self.0.owner()
    }

    /// For how many seconds it may be kept.
    pub fn ttl(&self) -> u32 {
        self.0.ttl().as_secs()
    }
}

impl Display for Record<'_> {
    /// Its type and data, as master files have them (RFC 1035 5.1).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.0.rtype(), self.0.data())
    }
}
