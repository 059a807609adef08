//! Hardware and network addresses.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde::{Serialize, Serializer};

/// A 48-bit hardware address; displays as `00:1b:21:aa:bb:cc`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Mac(pub [u8; 6]);

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Octets(&self.0), f)
    }
}

impl Serialize for Mac {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Bytes that display as hexadecimal pairs joined by colons, like a hardware address of any
/// length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Octets<'a>(pub &'a [u8]);

impl fmt::Display for Octets<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, byte) in self.0.iter().enumerate() {
            write!(f, "{}{byte:02x}", if i == 0 { "" } else { ":" })?;
        }
        Ok(())
    }
}

impl Serialize for Octets<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Source and destination of an IP packet, as the layers above it need them: to name their
/// endpoints and to sum their pseudo-headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addresses {
    /// Of IPv4.
    V4(Ipv4Addr, Ipv4Addr),
    /// Of IPv6.
    V6(Ipv6Addr, Ipv6Addr),
}

impl Addresses {
    /// The sender.
    pub fn source(self) -> IpAddr {
        match self {
            Self::V4(source, _) => source.into(),
            Self::V6(source, _) => source.into(),
        }
    }

    /// The receiver.
    pub fn destination(self) -> IpAddr {
        match self {
            Self::V4(_, destination) => destination.into(),
            Self::V6(_, destination) => destination.into(),
        }
    }
}
