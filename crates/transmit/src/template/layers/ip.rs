//! IPv4 and IPv6.

use super::{Carrier, Cover, Default, Field, Kind, Layer, Role};

/// RFC 791, 3.1.
pub(super) const IP: Layer = Layer {
    name: "IP",
    length: 20,
    fields: &[
        Field::number("version", 0, 4, 4),
        Field::number("ihl", 4, 4, 5),
        Field::number("tos", 8, 8, 0),
        Field::auto("len", 16, 16, Default::Length(0)),
        Field::number("id", 32, 16, 1),
        Field::new("flags", 48, 3, Kind::Number(&[("MF", 1), ("DF", 2)]), Default::Number(0)),
        Field::number("frag", 51, 13, 0),
        Field::auto("ttl", 64, 8, Default::HopLimit),
        Field::auto("proto", 72, 8, Default::Next(0)),
        Field::auto("chksum", 80, 16, Default::Checksum(Cover::Header)),
        Field::new("src", 96, 32, Kind::Ipv4(false), Default::SourceIpv4),
        Field::new("dst", 128, 32, Kind::Ipv4(true), Default::Number(0x7f00_0001)),
    ],
    numbers: &[(Carrier::Link, 0x0800), (Carrier::Network, 4), (Carrier::Message, 0)],
    role: Role::Ipv4,
};

/// RFC 8200, 3.
pub(super) const IPV6: Layer = Layer {
    name: "IPv6",
    length: 40,
    fields: &[
        Field::number("version", 0, 4, 6),
        Field::number("tc", 4, 8, 0),
        Field::number("fl", 12, 20, 0),
        Field::auto("plen", 32, 16, Default::Length(40)),
        Field::auto("nh", 48, 8, Default::Next(59)),
        Field::auto("hlim", 56, 8, Default::HopLimit),
        Field::new("src", 64, 128, Kind::Ipv6(false), Default::SourceIpv6),
        Field::new("dst", 192, 128, Kind::Ipv6(true), Default::Number(1)),
    ],
    numbers: &[(Carrier::Link, 0x86dd), (Carrier::Network, 41), (Carrier::Message, 0)],
    role: Role::Ipv6,
};
