//! ICMP, and those messages of ICMPv6 that hosts send.

use super::{Carrier, Cover, Default, Field, Kind, Layer, Role};

/// RFC 792.
pub(super) const ICMP: Layer = Layer {
    name: "ICMP",
    length: 8,
    fields: &[
        Field::new("type", 0, 8, Kind::Number(TYPES), Default::Number(8)),
        Field::number("code", 8, 8, 0),
        Field::auto("chksum", 16, 16, Default::Checksum(Cover::Rest)),
        Field::number("id", 32, 16, 0),
        Field::number("seq", 48, 16, 0),
    ],
    numbers: &[(Carrier::Network, 1)],
    role: Role::Message,
};

/// RFC 792; RFC 1256.
const TYPES: &[(&str, u64)] = &[
    ("echo-reply", 0),
    ("dest-unreach", 3),
    ("source-quench", 4),
    ("redirect", 5),
    ("echo-request", 8),
    ("time-exceeded", 11),
    ("parameter-problem", 12),
];

/// ICMPv6's number as a protocol.
const ICMPV6: u8 = 58;
const CARRIED: &[(Carrier, u64)] = &[(Carrier::Network, ICMPV6 as u64)];

const fn echo(name: &'static str, fields: &'static [Field]) -> Layer {
    Layer { name, length: 8, fields, numbers: CARRIED, role: Role::Transport }
}

const CODE: Field = Field::number("code", 8, 8, 0);
const CHECKSUM: Field = Field::auto("cksum", 16, 16, Default::Checksum(Cover::Pseudo(ICMPV6)));
const ID: Field = Field::number("id", 32, 16, 0);
const SEQUENCE: Field = Field::number("seq", 48, 16, 0);
const DATA: Field = Field::new("data", 0, 0, Kind::Bytes, Default::Absent);

/// RFC 4443, 4.1.
pub(super) const ECHO_REQUEST: Layer = echo(
    "ICMPv6EchoRequest",
    &[Field::number("type", 0, 8, 128), CODE, CHECKSUM, ID, SEQUENCE, DATA],
);

/// RFC 4443, 4.2.
pub(super) const ECHO_REPLY: Layer = echo(
    "ICMPv6EchoReply",
    &[Field::number("type", 0, 8, 129), CODE, CHECKSUM, ID, SEQUENCE, DATA],
);

/// A message about a packet, whose second word has this one field.
const fn about(name: &'static str, fields: &'static [Field]) -> Layer {
    Layer { name, length: 8, fields, numbers: CARRIED, role: Role::Message }
}

/// RFC 4443, 3.1.
pub(super) const UNREACHABLE: Layer = about(
    "ICMPv6DestUnreach",
    &[Field::number("type", 0, 8, 1), CODE, CHECKSUM, Field::number("unused", 32, 32, 0)],
);

/// RFC 4443, 3.2.
pub(super) const TOO_BIG: Layer = about(
    "ICMPv6PacketTooBig",
    &[Field::number("type", 0, 8, 2), CODE, CHECKSUM, Field::number("mtu", 32, 32, 1280)],
);

/// RFC 4443, 3.3.
pub(super) const TIME_EXCEEDED: Layer = about(
    "ICMPv6TimeExceeded",
    &[Field::number("type", 0, 8, 3), CODE, CHECKSUM, Field::number("unused", 32, 32, 0)],
);

/// RFC 4861, 4.3.
pub(super) const SOLICITATION: Layer = Layer {
    name: "ICMPv6ND_NS",
    length: 24,
    fields: &[
        Field::number("type", 0, 8, 135),
        CODE,
        CHECKSUM,
        Field::number("res", 32, 32, 0),
        Field::new("tgt", 64, 128, Kind::Ipv6(true), Default::Number(0)),
    ],
    numbers: CARRIED,
    role: Role::Discovery,
};

/// RFC 4861, 4.4.
pub(super) const ADVERTISEMENT: Layer = Layer {
    name: "ICMPv6ND_NA",
    length: 24,
    fields: &[
        Field::number("type", 0, 8, 136),
        CODE,
        CHECKSUM,
        Field::number("R", 32, 1, 1),
        Field::number("S", 33, 1, 0),
        Field::number("O", 34, 1, 1),
        Field::number("res", 35, 29, 0),
        Field::new("tgt", 64, 128, Kind::Ipv6(false), Default::Number(0)),
    ],
    numbers: CARRIED,
    role: Role::Discovery,
};

/// RFC 4861, 4.6.1.
const fn address_option(name: &'static str, fields: &'static [Field]) -> Layer {
    Layer { name, length: 8, fields, numbers: &[(Carrier::Any, 0)], role: Role::Payload }
}

const LENGTH: Field = Field::number("len", 8, 8, 1);
const ADDRESS: Field = Field::new("lladdr", 16, 48, Kind::Mac, Default::SourceMac);

pub(super) const SOURCE_OPTION: Layer =
    address_option("ICMPv6NDOptSrcLLAddr", &[Field::number("type", 0, 8, 1), LENGTH, ADDRESS]);

pub(super) const TARGET_OPTION: Layer =
    address_option("ICMPv6NDOptDstLLAddr", &[Field::number("type", 0, 8, 2), LENGTH, ADDRESS]);
