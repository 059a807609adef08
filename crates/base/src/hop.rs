//! By whom a destination is reached.

use std::net::IpAddr;

use crate::Result;

/// The next hop of packets to a destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hop {
    /// Who has this hardware address.
    At([u8; 6]),
    /// It is not known yet: it is being asked for its hardware address, or will be. Ask again later.
    Asked,
    /// Nobody: no route leads there, or who is next does not answer.
    Nowhere,
}

/// Says by whom destinations are reached.
pub type Ways<'a> = dyn FnMut(IpAddr) -> Result<Hop> + 'a;
