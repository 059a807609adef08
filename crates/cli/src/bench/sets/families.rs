//! The filters of `bench sets`.

use std::fmt;
use std::net::Ipv4Addr;

/// Filters that are alike.
#[derive(Clone, Copy)]
pub(super) enum Family {
    /// No packet is of more than two of them.
    Disjoint,
    /// All ask for the same protocol and net, and each for a port of its own.
    SharedPrefix,
    /// Nets within nets: a packet is of many.
    Overlapping,
    /// Five fields each, prefixes and ranges among them, as of a firewall's rules (D. E. Taylor and J. S. Turner,
    /// "ClassBench", 2007).
    FiveFields,
}

impl Family {
    pub(super) const ALL: [Self; 4] =
        [Self::Disjoint, Self::SharedPrefix, Self::Overlapping, Self::FiveFields];

    /// The filter of a number.
    pub(super) fn text(self, number: u32) -> String {
        match self {
            Self::Disjoint => format!("host {}", Ipv4Addr::from(0x0a00_0000 | number)),
            Self::SharedPrefix => {
                format!("tcp and src net 10.0.0.0/16 and dst port {}", number + 1)
            }
            Self::Overlapping => format!("net {}", net(number << 4, 14 + number % 17)),
            Self::FiveFields => format!(
                "src net {} and dst net {} and {} dst portrange {}-{}",
                net(number.wrapping_mul(37) % 1024, 16 + 4 * (number % 5)),
                net(number.wrapping_mul(101) % 1024, 14 + number % 19),
                ["tcp", "udp"][number as usize % 2],
                number % 1024,
                number % 1024 + number.wrapping_mul(7) % 2000,
            ),
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Disjoint => "disjoint",
            Self::SharedPrefix => "shared prefix",
            Self::Overlapping => "overlapping",
            Self::FiveFields => "five fields",
        })
    }
}

/// The net of so many bits around `10.0.0.0 + host`.
fn net(host: u32, bits: u32) -> String {
    format!("{}/{bits}", Ipv4Addr::from((0x0a00_0000 | host) & u32::MAX << (32 - bits)))
}
