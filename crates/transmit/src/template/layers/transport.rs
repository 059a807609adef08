//! TCP and UDP.

use super::{Carrier, Cover, Default, Field, Kind, Layer, Role};

/// RFC 9293, 3.1.
pub(super) const TCP: Layer = Layer {
    name: "TCP",
    length: 20,
    fields: &[
        Field::number("sport", 0, 16, 20),
        Field::number("dport", 16, 16, 80),
        Field::number("seq", 32, 32, 0),
        Field::number("ack", 64, 32, 0),
        Field::auto("dataofs", 96, 4, Default::Words),
        Field::number("reserved", 100, 3, 0),
        Field::new("flags", 103, 9, Kind::Flags("FSRPAUECN"), Default::Number(2)),
        Field::number("window", 112, 16, 8192),
        Field::auto("chksum", 128, 16, Default::Checksum(Cover::Pseudo(6))),
        Field::number("urgptr", 144, 16, 0),
        Field::new("options", 0, 0, Kind::Options, Default::Absent),
    ],
    numbers: &[(Carrier::Network, 6)],
    role: Role::Transport,
};

/// RFC 768.
pub(super) const UDP: Layer = Layer {
    name: "UDP",
    length: 8,
    fields: &[
        Field::number("sport", 0, 16, 53),
        Field::number("dport", 16, 16, 53),
        Field::auto("len", 32, 16, Default::Length(0)),
        Field::auto("chksum", 48, 16, Default::Checksum(Cover::Pseudo(17))),
    ],
    numbers: &[(Carrier::Network, 17)],
    role: Role::Transport,
};
