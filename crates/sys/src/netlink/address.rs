//! Addresses of links, of their neighbours, of the host.

use std::net::IpAddr;

use linerate_base::Result;
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE};
use netlink_packet_route::address::{AddressAttribute, AddressFlags, AddressMessage};
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourMessage, NeighbourState,
};
use netlink_packet_route::route::{RouteAttribute, RouteMessage, RouteType};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

use super::exchange;

/// Gives the link an address with a prefix of `prefix` bits. An IPv6 address is not checked for
/// duplicates first, but becomes usable in the background: see [`is_local`].
///
/// # Errors
/// When the link is not there or has the address already, or without CAP_NET_ADMIN.
pub fn add_address(index: u32, address: IpAddr, prefix: u8) -> Result<()> {
    let mut message = AddressMessage::default();
    message.header.family = family(address);
    message.header.prefix_len = prefix;
    message.header.index = index;
    message.attributes = vec![
        AddressAttribute::Address(address),
        AddressAttribute::Local(address),
        AddressAttribute::Flags(flags(address)),
    ];
    let asked = format!("add the address {address}/{prefix} (link {index})");
    let message = RouteNetlinkMessage::NewAddress(message);
    exchange(&asked, message, NLM_F_CREATE | NLM_F_EXCL).map(drop)
}

fn flags(address: IpAddr) -> AddressFlags {
    if address.is_ipv6() { AddressFlags::Nodad } else { AddressFlags::empty() }
}

/// Whether packets to `address` are delivered to the host itself.
///
/// # Errors
/// When the address cannot be routed at all.
pub fn is_local(address: IpAddr) -> Result<bool> {
    let mut message = RouteMessage::default();
    message.header.address_family = family(address);
    message.header.destination_prefix_length = if address.is_ipv6() { 128 } else { 32 };
    message.attributes = vec![RouteAttribute::Destination(address.into())];
    let asked = format!("find the route to {address}");
    let objects = exchange(&asked, RouteNetlinkMessage::GetRoute(message), 0)?;
    Ok(objects.iter().any(|object| match object {
        RouteNetlinkMessage::NewRoute(route) => route.header.kind == RouteType::Local,
        _ => false,
    }))
}

/// Tells the link for good which hardware address its neighbour `address` has.
///
/// # Errors
/// When the link is not there, or without CAP_NET_ADMIN.
pub fn add_neighbour(index: u32, address: IpAddr, hardware_address: [u8; 6]) -> Result<()> {
    let mut message = NeighbourMessage::default();
    message.header.family = family(address);
    message.header.ifindex = index;
    message.header.state = NeighbourState::Permanent;
    message.attributes = vec![
        NeighbourAttribute::Destination(neighbour_address(address)),
        NeighbourAttribute::LinkLayerAddress(hardware_address.to_vec()),
    ];
    let asked = format!("add the neighbour {address} (link {index})");
    let message = RouteNetlinkMessage::NewNeighbour(message);
    exchange(&asked, message, NLM_F_CREATE | NLM_F_REPLACE).map(drop)
}

pub(super) fn family(address: IpAddr) -> AddressFamily {
    if address.is_ipv6() { AddressFamily::Inet6 } else { AddressFamily::Inet }
}

pub(super) fn neighbour_address(address: IpAddr) -> NeighbourAddress {
    match address {
        IpAddr::V4(address) => NeighbourAddress::Inet(address),
        IpAddr::V6(address) => NeighbourAddress::Inet6(address),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn the_loopback_address_is_local() {
        assert!(is_local(Ipv4Addr::LOCALHOST.into()).unwrap());
    }
}
