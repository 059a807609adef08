//! What a template takes from the host that sends.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use linerate_base::Result;

/// The interface that packets leave by, and its neighbours: what is filled in where an expression does not say.
pub trait Surroundings {
    /// The interface's hardware address; zeroes where it has none.
    fn mac(&self) -> [u8; 6];

    /// The interface's IPv4 address.
    fn ipv4(&self) -> Option<Ipv4Addr>;

    /// The interface's IPv6 address.
    fn ipv6(&self) -> Option<Ipv6Addr>;

    /// Whom the interface gives packets to `destination` to: the destination itself on the same network, else the gateway.
    ///
    /// # Errors
    /// When there is no route or the neighbour is not known.
    fn next_hop(&self, destination: IpAddr) -> Result<NextHop>;

    /// False for an address of the interface's networks at which no neighbour is: the interface's own, that of the
    /// network itself, that of all on it.
    fn may_be_neighbour(&self, address: IpAddr) -> bool;
}

/// Whom packets are given to first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextHop {
    /// Its address.
    pub address: IpAddr,
    /// Its hardware address.
    pub mac: [u8; 6],
}
