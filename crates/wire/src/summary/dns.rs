//! `12345+ A? example.org. (29)` and `12345 1/0/0 A 192.0.2.1 (45)`

use super::{Before, Printer};
use crate::layer::{
    Dns, DnsData, DnsName, DnsQuestion, DnsRecord, Item, Section, Strings, class_name, type_name,
};
use crate::paint::Kind;

const CLASS_IN: u16 = 1;
const OPCODE_INVERSE: u8 = 1;
const TYPE_OPT: u16 = 41;

/// RFC 6762 18.12 and 18.14: the top bit of a class asks for a unicast answer, or says that
/// other records of the name are out of date.
const MULTICAST_BIT: u16 = 0x8000;

impl Printer<'_> {
    pub(super) fn dns(&mut self, dns: &Dns<'_>) {
        let header = dns.header().header();
        // Over TCP the segment's own length stands before.
        self.line.text(if matches!(self.context.before, Before::Tcp) { " " } else { "" });
        self.line.number(header.id());
        self.line.text(opcode(header.opcode().to_int()));
        if header.qr() {
            self.dns_response(dns);
        } else {
            self.dns_query(dns);
        }
        if self.dns_items(dns) {
            self.line.text(" (");
            self.line.length(dns.length);
            self.line.text(")");
        } else {
            self.truncated("domain");
        }
    }

    fn dns_query(&mut self, dns: &Dns<'_>) {
        let (header, counts) = (dns.header().header(), dns.header().counts());
        self.line.text(if header.rd() { "+" } else { "" });
        self.line.text(if header.cd() { "%" } else { "" });
        let odd = header.aa() || header.tc() || header.ra() || header.z();
        if odd || header.rcode().to_int() != 0 {
            let bytes = dns.header().as_slice();
            write!(self.line, " [b2&3=0x{:x}]", u16::from_be_bytes([bytes[2], bytes[3]]));
        }
        // An inverse query has an answer and asks for its question.
        let inverse = header.opcode().to_int() == OPCODE_INVERSE;
        let (questions, answers) = if inverse { (0, 1) } else { (1, 0) };
        self.odd_count(counts.ancount(), answers, "a");
        self.odd_count(counts.qdcount(), questions, "q");
        self.odd_count(counts.nscount(), 0, "n");
        self.odd_count(counts.arcount(), 0, "au");
    }

    fn odd_count(&mut self, count: u16, usual: u16, what: &str) {
        if count != usual {
            write!(self.line, " [{count}{what}]");
        }
    }

    fn dns_response(&mut self, dns: &Dns<'_>) {
        let header = dns.header().header();
        match rcode(header.rcode().to_int()) {
            Some(name) => self.line.text(name),
            None => write!(self.line, " Resp{}", header.rcode().to_int()),
        }
        self.line.text(if header.aa() { "*" } else { "" });
        self.line.text(if header.ra() { "" } else { "-" });
        self.line.text(if header.tc() { "|" } else { "" });
        self.line.text(if header.ad() { "$" } else { "" });
        self.odd_count(dns.header().counts().qdcount(), 1, "q");
    }

    /// Questions and records; false when the message was cut off.
    fn dns_items<'d>(&mut self, dns: &Dns<'d>) -> bool {
        let response = dns.header().header().qr();
        let all = self.options.verbosity > 1;
        let is_question = |item: &Item<'d>| matches!(item, Item::Question(_));
        let mut items = dns.walk().peekable();
        while let Some(Item::Question(question)) = items.next_if(is_question) {
            self.line.text(if response && all { " q:" } else { "" });
            if !response || all {
                self.question(&question, dns.multicast);
            }
        }
        if response {
            self.section_counts(dns);
        }
        let shown = |section| all || (response && section == Section::Answer);
        self.records(items, shown, dns.multicast)
    }

    /// Records up to the first section that is not `shown`; false when the message was cut off.
    fn records<'d>(
        &mut self,
        items: impl Iterator<Item = Item<'d>>,
        shown: impl Fn(Section) -> bool,
        multicast: bool,
    ) -> bool {
        let mut last = None;
        for item in items {
            let Item::Record(section, record) = item else { return false };
            if !shown(section) {
                break;
            }
            let first = last.replace(section) != Some(section);
            self.line.text(if first { title(section) } else { "," });
            self.record(&record, multicast);
        }
        true
    }

    fn section_counts(&mut self, dns: &Dns<'_>) {
        let counts = dns.header().counts();
        self.line.text(" ");
        self.line.number(counts.ancount());
        self.line.text("/");
        self.line.number(counts.nscount());
        self.line.text("/");
        self.line.number(counts.arcount());
    }

    fn question(&mut self, question: &DnsQuestion<'_>, multicast: bool) {
        self.line.text(" ");
        self.record_type(question.rtype);
        let mut class = question.class;
        if multicast {
            self.line.text(if class & MULTICAST_BIT == 0 { " (QM)" } else { " (QU)" });
            class &= !MULTICAST_BIT;
        }
        self.dns_class(class);
        self.line.text("? ");
        self.dns_name(&question.name);
    }

    fn record_type(&mut self, rtype: u16) {
        match type_name(rtype) {
            Some(name) => self.line.text(name),
            None => write!(self.line, "Type{rtype}"),
        }
    }

    fn dns_class(&mut self, class: u16) {
        match (class, class_name(class)) {
            (CLASS_IN, _) => {}
            (3, _) => self.line.text(" CHAOS"),
            (4, _) => self.line.text(" HESIOD"),
            (255, _) => self.line.text(" ANY"),
            (_, Some(name)) => write!(self.line, " {name}"),
            (_, None) => write!(self.line, " (Class {class})"),
        }
    }

    fn record(&mut self, record: &DnsRecord<'_>, multicast: bool) {
        if self.verbose() {
            self.line.text(" ");
            self.dns_name(&record.name);
        }
        if record.rtype == TYPE_OPT {
            return self.opt(record);
        }
        let mut class = record.class;
        if multicast && class & MULTICAST_BIT != 0 {
            self.line.text(" (Cache flush)");
            class &= !MULTICAST_BIT;
        }
        self.dns_class(class);
        if self.options.verbosity > 2 {
            write!(self.line, " [{}s]", record.ttl);
        }
        self.line.text(" ");
        self.record_type(record.rtype);
        self.record_data(&record.data);
    }

    /// RFC 6891 6.1.2: the class is a size, and the TTL holds flags.
    fn opt(&mut self, record: &DnsRecord<'_>) {
        write!(self.line, " OPT UDPsize={}", record.class);
        if record.ttl & 0x8000 != 0 {
            self.line.text(" DO");
        }
    }

    fn record_data(&mut self, data: &DnsData<'_>) {
        self.line.text(if matches!(data, DnsData::Other { .. }) { "" } else { " " });
        match data {
            DnsData::A(address) => self.host((*address).into()),
            DnsData::Aaaa(address) => self.host((*address).into()),
            DnsData::Name(name) => self.dns_name(name),
            DnsData::Mx { preference, exchange } => {
                self.dns_name(exchange);
                write!(self.line, " {preference}");
            }
            DnsData::Srv { priority, weight, port, target } => {
                self.dns_name(target);
                write!(self.line, ":{port} {priority} {weight}");
            }
            DnsData::Soa { primary, mailbox, serial } => {
                self.dns_name(primary);
                self.line.text(" ");
                self.dns_name(mailbox);
                write!(self.line, " {serial}");
            }
            DnsData::Txt(strings) => self.strings(strings),
            DnsData::Other { .. } => {}
        }
    }

    fn strings(&mut self, strings: &Strings<'_>) {
        for (i, string) in strings.iter().enumerate() {
            self.line.text(if i == 0 { "\"" } else { " \"" });
            self.line.escaped(string);
            self.line.text("\"");
        }
    }

    fn dns_name(&mut self, name: &DnsName<'_>) {
        self.line.styled(Kind::Address, |line| {
            let mut root = true;
            for label in name.labels() {
                line.escaped(label);
                line.text(".");
                root = false;
            }
            line.text(if root { "." } else { "" });
        });
    }
}

fn title(section: Section) -> &'static str {
    match section {
        Section::Answer => "",
        Section::Authority => " ns:",
        Section::Additional => " ar:",
    }
}

fn opcode(number: u8) -> &'static str {
    const NAMES: [&str; 16] = [
        "", " inv_q", " stat", " op3", " notify", " update", " op6", " op7", " op8", " op9",
        " op10", " op11", " op12", " op13", " op14", " op15",
    ];
    NAMES[usize::from(number & 15)]
}

fn rcode(number: u8) -> Option<&'static str> {
    const NAMES: [&str; 11] = [
        "",
        " FormErr",
        " ServFail",
        " NXDomain",
        " NotImp",
        " Refused",
        " YXDomain",
        " YXRRSet",
        " NXRRSet",
        " NotAuth",
        " NotZone",
    ];
    NAMES.get(usize::from(number)).copied()
}
