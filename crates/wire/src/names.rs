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

/// Gives hosts, ports and interfaces their names.
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

    /// The name of the interface with this index on the capturing host, or `None` to print the
    /// index. Only Linux cooked packets of version 2, as from all interfaces at once, have one.
    fn interface(&self, index: u32) -> Option<Cow<'_, str>> {
        let _ = index;
        None
    }
}

/// Knows no names: everything is printed as numbers, as under tcpdump's `-n`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Numeric;

impl Names for Numeric {}
