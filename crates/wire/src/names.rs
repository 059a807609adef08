//! Names in place of numbers, from whoever knows them.

use std::borrow::Cow;
use std::net::IpAddr;

/// A transport, as ports belong to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transport {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

/// Gives hosts and ports their names.
///
/// It is asked once per address and port of every printed packet, so it should remember its
/// answers. Control characters in a name are escaped when it is printed.
pub trait Names {
    /// The name of the host with this address, or `None` to print the address.
    fn host(&self, address: IpAddr) -> Option<Cow<'_, str>> {
        let _ = address;
        None
    }

    /// The name of the service on this port, or `None` to print the number.
    fn port(&self, transport: Transport, port: u16) -> Option<Cow<'_, str>> {
        let _ = (transport, port);
        None
    }
}

/// Knows no names: everything is printed as numbers, as under tcpdump's `-n`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Numeric;

impl Names for Numeric {}
