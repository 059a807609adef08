//! The host that sends, as templates and safety want to know it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::thread;
use std::time::{Duration, Instant};

use linerate_base::{Error, ErrorKind, Result};
use linerate_sys::capability::{self, Capability};
use linerate_sys::interface::{self, Address, Interface};
use linerate_sys::netlink::{self, Neighbour};

use crate::template::{NextHop, Surroundings};

/// An interface of this host, in the calling thread's network namespace, and what lies behind it.
#[derive(Clone, Debug)]
pub struct Outlet {
    interface: Interface,
    asks: bool,
}

/// How long neighbours have to answer: the kernel gives up after three seconds.
const PATIENCE: Duration = Duration::from_millis(3_500);

/// How often it is looked for the answer.
const GLANCE: Duration = Duration::from_millis(5);

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
        Ok(Self { interface, asks: false })
    }

    /// The same interface, on which neighbours whose hardware address is needed and not known are asked for it: by the
    /// kernel, which sends ARP requests or neighbour solicitations, and nothing else.
    #[must_use]
    pub fn asking(self) -> Self {
        Self { asks: true, ..self }
    }

    /// What is known of a neighbour once it has answered, or has not.
    fn ask(&self, hop: IpAddr) -> Result<Neighbour> {
        let (index, start) = (self.interface.index, Instant::now());
        netlink::ask_neighbour(index, hop)
            .map_err(|error| capability::explain(error, &[Capability::NetAdmin]))?;
        loop {
            let known = netlink::neighbour(index, hop)?;
            let waits = matches!(known, Neighbour::Asked | Neighbour::Unknown);
            if !waits || start.elapsed() > PATIENCE {
                return Ok(known);
            }
            thread::sleep(GLANCE);
        }
    }

    /// Whom packets to `destination` are given to first, and its hardware address where the host knows it. Nobody is
    /// asked.
    ///
    /// # Errors
    /// When there is no route by this interface, or the system does not tell.
    pub fn neighbour(&self, destination: IpAddr) -> Result<(IpAddr, Option<[u8; 6]>)> {
        let (hop, known) = self.known(destination)?;
        match known {
            Neighbour::Known(address) => Ok((hop, Some(address))),
            _ => Ok((hop, None)),
        }
    }

    /// The hardware address of a neighbour, where the host knows it; else the neighbour is asked, and nobody waits.
    ///
    /// # Errors
    /// Without CAP_NET_ADMIN, or when the interface is gone or down.
    pub(crate) fn ask_ahead(&self, neighbour: IpAddr) -> Result<Option<[u8; 6]>> {
        let index = self.interface.index;
        if let Neighbour::Known(mac) = netlink::neighbour(index, neighbour)? {
            return Ok(Some(mac));
        }
        let asked = netlink::ask_neighbour(index, neighbour);
        asked.map_err(|error| capability::explain(error, &[Capability::NetAdmin])).map(|()| None)
    }

    /// What a neighbour that was asked has answered, or `Some(None)` when nobody waits for it any more.
    ///
    /// # Errors
    /// When the system does not tell.
    pub(crate) fn answer(&self, neighbour: IpAddr) -> Result<Option<Option<[u8; 6]>>> {
        Ok(match netlink::neighbour(self.interface.index, neighbour)? {
            Neighbour::Known(mac) => Some(Some(mac)),
            Neighbour::Silent => Some(None),
            Neighbour::Asked | Neighbour::Unknown => None,
        })
    }

    fn known(&self, destination: IpAddr) -> Result<(IpAddr, Neighbour)> {
        if self.interface.is_loopback {
            return Ok((destination, Neighbour::Known([0; 6])));
        }
        let hop = netlink::next_hop(self.interface.index, destination)?;
        Ok((hop, netlink::neighbour(self.interface.index, hop)?))
    }

    /// True when a default route leads by it: what is sent there may reach everybody.
    ///
    /// # Errors
    /// When the system does not tell its routes.
    pub fn is_way_out(&self) -> Result<bool> {
        Ok(netlink::default_route_links()?.contains(&self.interface.index))
    }

    /// True for the loopback interface: the host itself receives what it sends there.
    pub fn is_loopback(&self) -> bool {
        self.interface.is_loopback
    }

    /// Bytes of the longest frame that it takes, without a VLAN tag.
    pub fn longest(&self) -> usize {
        14 + self.interface.mtu as usize
    }

    /// True for an address that the host has on it.
    pub fn has(&self, address: IpAddr) -> bool {
        self.addresses().any(|own| own == address)
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

    fn next_hop(&self, destination: IpAddr) -> Result<NextHop> {
        let (hop, mut known) = self.known(destination)?;
        if self.asks && !matches!(known, Neighbour::Known(_)) {
            known = self.ask(hop).map_err(|error| unasked(hop, &error))?;
        }
        let answered = match known {
            Neighbour::Known(mac) => return Ok(NextHop { address: hop, mac }),
            Neighbour::Silent | Neighbour::Asked if self.asks => format!("{hop} does not answer"),
            _ => format!("the host has not spoken with {hop} lately"),
        };
        Err(Error::new(ErrorKind::NotFound, asked(hop), answered))
    }

    fn may_be_neighbour(&self, address: IpAddr) -> bool {
        self.interface.addresses.iter().all(|own| !is_reserved(own, address))
    }
}

/// True for what no neighbour on the network of the interface's address `own` has: that address, and of IPv4 the first
/// and the last of the network (RFC 1122, 3.2.1.3), unless it has two (RFC 3021).
fn is_reserved(own: &Address, address: IpAddr) -> bool {
    let (IpAddr::V4(ours), IpAddr::V4(other)) = (own.ip, address) else { return own.ip == address };
    let hosts = u32::MAX.checked_shr(own.prefix.into()).unwrap_or(0);
    let is_on_link = (ours.to_bits() ^ other.to_bits()) & !hosts == 0;
    let host = other.to_bits() & hosts;
    ours == other || (is_on_link && hosts > 1 && (host == 0 || host == hosts))
}

fn asked(hop: IpAddr) -> String {
    format!("find the hardware address of {hop}")
}

fn unasked(hop: IpAddr, error: &Error) -> Error {
    let reason = error.advice().map(|reason| format!(" ({reason})")).unwrap_or_default();
    let answered = format!("{hop} is not known and cannot be asked: {}{reason}", error.answered());
    Error::new(error.kind(), asked(hop), answered)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_has_addresses_and_leads_nowhere() {
        let lo = Outlet::find("lo").unwrap();
        assert_eq!(lo.ipv4(), Some(Ipv4Addr::LOCALHOST));
        let here = Ipv4Addr::LOCALHOST.into();
        assert_eq!((lo.mac(), lo.next_hop(here).unwrap().mac), ([0; 6], [0; 6]));
        assert!(!lo.is_way_out().unwrap());
    }

    #[test]
    fn nobody_is_at_the_ends_of_a_network_nor_where_we_are() {
        let reserved = |own: &str, prefix, address: &str| {
            let own = Address { ip: own.parse().unwrap(), prefix };
            is_reserved(&own, address.parse().unwrap())
        };
        for address in ["10.0.0.0", "10.0.0.255", "10.0.0.7"] {
            assert!(reserved("10.0.0.7", 24, address), "{address}");
        }
        for address in ["10.0.0.1", "10.0.1.0", "192.0.2.255", "2001:db8::"] {
            assert!(!reserved("10.0.0.7", 24, address), "{address}");
        }
        assert!(!reserved("10.0.0.6", 31, "10.0.0.7"));
        assert!(reserved("fd00::1", 64, "fd00::1") && !reserved("fd00::1", 64, "fd00::"));
    }
}
