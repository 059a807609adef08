//! Ethernet, VLAN tags, ARP.

use super::{Carrier, Default, Field, Kind, Layer, Role};

pub(super) const ETHER: Layer = Layer {
    name: "Ether",
    length: 14,
    fields: &[
        Field::new("dst", 0, 48, Kind::Mac, Default::DestinationMac),
        Field::new("src", 48, 48, Kind::Mac, Default::SourceMac),
        // Scapy's: Configuration Test Protocol (Ethernet's "loopback").
        Field::auto("type", 96, 16, Default::Next(0x9000)),
    ],
    numbers: &[],
    role: Role::Link,
};

/// IEEE 802.1Q, 9.6.
pub(super) const DOT1Q: Layer = Layer {
    name: "Dot1Q",
    length: 4,
    fields: &[
        Field::number("prio", 0, 3, 0),
        Field::number("dei", 3, 1, 0),
        Field::number("vlan", 4, 12, 1),
        Field::auto("type", 16, 16, Default::Next(0)),
    ],
    numbers: &[(Carrier::Link, 0x8100)],
    role: Role::Link,
};

/// RFC 826, for IPv4 on Ethernet.
pub(super) const ARP: Layer = Layer {
    name: "ARP",
    length: 28,
    fields: &[
        Field::number("hwtype", 0, 16, 1),
        Field::number("ptype", 16, 16, 0x0800),
        Field::number("hwlen", 32, 8, 6),
        Field::number("plen", 40, 8, 4),
        Field::new("op", 48, 16, Kind::Number(OPERATIONS), Default::Number(1)),
        Field::new("hwsrc", 64, 48, Kind::Mac, Default::SourceMac),
        Field::new("psrc", 112, 32, Kind::Ipv4(false), Default::SourceIpv4),
        Field::new("hwdst", 144, 48, Kind::Mac, Default::Number(0)),
        Field::new("pdst", 192, 32, Kind::Ipv4(true), Default::Number(0)),
    ],
    numbers: &[(Carrier::Link, 0x0806)],
    role: Role::Arp,
};

const OPERATIONS: &[(&str, u64)] = &[("who-has", 1), ("is-at", 2)];
