//! What packets are made of that are not sent.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use linerate::base::Result;
use linerate::transmit::Outlet;
use linerate::transmit::template::{NextHop, Surroundings};

use crate::output;

/// An interface whose neighbours are asked nothing: where one is not known, zeroes stand for its hardware address.
pub(super) struct Preview(pub(super) Outlet);

impl Surroundings for Preview {
    fn mac(&self) -> [u8; 6] {
        self.0.mac()
    }

    fn ipv4(&self) -> Option<Ipv4Addr> {
        self.0.ipv4()
    }

    fn ipv6(&self) -> Option<Ipv6Addr> {
        self.0.ipv6()
    }

    fn next_hop(&self, destination: IpAddr) -> Result<NextHop> {
        let (address, known) = self.0.neighbour(destination)?;
        if known.is_none() {
            output::tell(format_args!(
                "the hardware address of {address} is asked for when sending; 00:00:00:00:00:00 stands for it here"
            ));
        }
        Ok(NextHop { address, mac: known.unwrap_or_default() })
    }

    fn may_be_neighbour(&self, address: IpAddr) -> bool {
        self.0.may_be_neighbour(address)
    }
}
