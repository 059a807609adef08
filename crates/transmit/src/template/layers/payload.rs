//! What is carried: bytes, a query.

use super::{Carrier, Default, Field, Kind, Layer, Role};

/// Any bytes. `size` is our own: the load, then zeroes, up to so many bytes.
pub(super) const RAW: Layer = Layer {
    name: "Raw",
    length: 0,
    fields: &[
        Field::new("load", 0, 0, Kind::Bytes, Default::Absent),
        Field::new("size", 0, 0, Kind::Size, Default::Absent),
    ],
    numbers: &[(Carrier::Any, 0)],
    role: Role::Payload,
};

/// RFC 1035, 4.1.1, with the bits of RFC 4035, 3.1.6: a query.
pub(super) const DNS: Layer = Layer {
    name: "DNS",
    length: 12,
    fields: &[
        Field::number("id", 0, 16, 0),
        Field::number("qr", 16, 1, 0),
        Field::number("opcode", 17, 4, 0),
        Field::number("aa", 21, 1, 0),
        Field::number("tc", 22, 1, 0),
        Field::number("rd", 23, 1, 1),
        Field::number("ra", 24, 1, 0),
        Field::number("z", 25, 1, 0),
        Field::number("ad", 26, 1, 0),
        Field::number("cd", 27, 1, 0),
        Field::number("rcode", 28, 4, 0),
        Field::number("qdcount", 32, 16, 1),
        Field::number("ancount", 48, 16, 0),
        Field::number("nscount", 64, 16, 0),
        Field::number("arcount", 80, 16, 0),
        Field::new("qd", 0, 0, Kind::Question, Default::Absent),
    ],
    numbers: &[(Carrier::Any, 0)],
    role: Role::Payload,
};

/// RFC 1035, 4.1.2: what `DNSQR()` in a query takes beside `qname`.
pub(in crate::template) const DNS_QUESTION: &[Field] = &[
    Field::new("qtype", 0, 16, Kind::Number(TYPES), Default::Number(1)),
    Field::new("qclass", 16, 16, Kind::Number(&[("IN", 1), ("CH", 3)]), Default::Number(1)),
];

const TYPES: &[(&str, u64)] = &[
    ("A", 1),
    ("NS", 2),
    ("CNAME", 5),
    ("SOA", 6),
    ("PTR", 12),
    ("MX", 15),
    ("TXT", 16),
    ("AAAA", 28),
    ("SRV", 33),
    ("DS", 43),
    ("DNSKEY", 48),
    ("HTTPS", 65),
    ("ANY", 255),
];
