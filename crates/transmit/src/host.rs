//! The host that sends, as templates and safety want to know it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use linerate_base::{Error, ErrorKind, Result};
use linerate_sys::interface::{self, Interface};
use linerate_sys::netlink;

use crate::template::Surroundings;

/// An interface of this host, in the calling thread's network namespace, and what lies behind it.
#[derive(Clone, Debug)]
pub struct Outlet {
    interface: Interface,
}

/// Ethernet, and loopback, whose frames look the same: `ARPHRD_` numbers of `linux/if_arp.h`.
const ETHERNET: [u16; 2] = [1, 772];

impl Outlet {
    /// The interface called `name`.
    ///
    /// # Errors
    /// When there is none, or its frames are not Ethernet's.
    pub fn find(name: &str) -> Result<Self> {
        let interface = interface::by_name(name)?;
        if !ETHERNET.contains(&interface.hardware_type) {
            let answered = format!("its hardware is of type {}", interface.hardware_type);
            return Err(Error::new(ErrorKind::Unsupported, format!("send on {name}"), answered)
                .advise("frames can be sent on Ethernet and loopback only"));
        }
        Ok(Self { interface })
    }

    /// True when a default route leads by it: what is sent there may reach everybody.
    ///
    /// # Errors
    /// When the system does not tell its routes.
    pub fn is_way_out(&self) -> Result<bool> {
        Ok(netlink::default_route_links()?.contains(&self.interface.index))
    }

    fn addresses(&self) -> impl Iterator<Item = IpAddr> + '_ {
        self.interface.addresses.iter().map(|address| address.ip)
    }
}

impl Surroundings for Outlet {
    fn mac(&self) -> [u8; 6] {
        self.interface.hardware_address.as_slice().try_into().unwrap_or_default()
    }

    fn ipv4(&self) -> Option<Ipv4Addr> {
        self.addresses().find_map(|address| match address {
            IpAddr::V4(address) => Some(address),
            IpAddr::V6(_) => None,
        })
    }

    /// One that is good for more than the own network, where there is one.
    fn ipv6(&self) -> Option<Ipv6Addr> {
        let of_version = |address| match address {
            IpAddr::V6(address) => Some(address),
            IpAddr::V4(_) => None,
        };
        let all = || self.addresses().filter_map(of_version);
        all().find(|address| !address.is_unicast_link_local()).or_else(|| all().next())
    }

    fn next_hop(&self, destination: IpAddr) -> Result<[u8; 6]> {
        if self.interface.is_loopback {
            return Ok([0; 6]);
        }
        let hop = netlink::next_hop(self.interface.index, destination)?;
        netlink::neighbour(self.interface.index, hop)?.ok_or_else(|| {
            let asked = format!("find the hardware address of {hop}");
            let answered = format!("the host has not spoken with {hop} lately");
            Error::new(ErrorKind::NotFound, asked, answered)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_has_addresses_and_leads_nowhere() {
        let lo = Outlet::find("lo").unwrap();
        assert_eq!(lo.ipv4(), Some(Ipv4Addr::LOCALHOST));
        assert_eq!((lo.mac(), lo.next_hop(Ipv4Addr::LOCALHOST.into()).unwrap()), ([0; 6], [0; 6]));
        assert!(!lo.is_way_out().unwrap());
    }
}
