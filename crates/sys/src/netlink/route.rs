//! Which way packets go: routes, and the neighbours that they lead to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use linerate_base::{Error, ErrorKind, Result};
use netlink_packet_core::{NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL};
use netlink_packet_route::neighbour::{
    NeighbourAttribute, NeighbourFlags, NeighbourMessage, NeighbourState,
};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

use super::address::{family, neighbour_address};
use super::exchange;

/// Has packets for the network `destination/prefix` leave by the link `index`: to the neighbour `gateway`, or each to
/// its own destination.
///
/// # Errors
/// When the link is down or not there, when there is such a route, or without CAP_NET_ADMIN.
pub fn add_route(
    index: u32,
    destination: IpAddr,
    prefix: u8,
    gateway: Option<IpAddr>,
) -> Result<()> {
    let mut message = RouteMessage::default();
    message.header.address_family = family(destination);
    message.header.destination_prefix_length = prefix;
    message.header.table = RouteHeader::RT_TABLE_MAIN;
    message.header.protocol = RouteProtocol::Static;
    message.header.kind = RouteType::Unicast;
    message.header.scope = if gateway.is_some() { RouteScope::Universe } else { RouteScope::Link };
    message.attributes =
        vec![RouteAttribute::Destination(destination.into()), RouteAttribute::Oif(index)];
    message.attributes.extend(gateway.map(|gateway| RouteAttribute::Gateway(gateway.into())));
    let asked = format!("add the route to {destination}/{prefix} (link {index})");
    let message = RouteNetlinkMessage::NewRoute(message);
    exchange(&asked, message, NLM_F_CREATE | NLM_F_EXCL).map(drop)
}

/// The indexes of the links that have a default route, of either version of IP, or one to half of all addresses: VPNs
/// have two of these instead.
///
/// # Errors
/// When the kernel does not answer.
pub fn default_route_links() -> Result<Vec<u32>> {
    let mut links = Vec::new();
    for family in [AddressFamily::Inet, AddressFamily::Inet6] {
        let mut message = RouteMessage::default();
        message.header.address_family = family;
        let request = RouteNetlinkMessage::GetRoute(message);
        for object in exchange("list the routes", request, NLM_F_DUMP)? {
            let RouteNetlinkMessage::NewRoute(route) = object else { continue };
            if is_default(&route.header) {
                links.extend(route_links(&route));
            }
        }
    }
    Ok(links)
}

/// The destinations of all routes, of every table and either version of IP: networks, and the lengths of their prefixes.
///
/// # Errors
/// When the kernel does not answer.
pub fn route_prefixes() -> Result<Vec<(IpAddr, u8)>> {
    let mut prefixes = Vec::new();
    let anywhere = [IpAddr::V4(Ipv4Addr::UNSPECIFIED), IpAddr::V6(Ipv6Addr::UNSPECIFIED)];
    for (any, family) in anywhere.into_iter().zip([AddressFamily::Inet, AddressFamily::Inet6]) {
        let mut message = RouteMessage::default();
        message.header.address_family = family;
        let request = RouteNetlinkMessage::GetRoute(message);
        for object in exchange("list the routes", request, NLM_F_DUMP)? {
            let RouteNetlinkMessage::NewRoute(route) = object else { continue };
            // A route to everywhere has no destination.
            let destination = route.attributes.iter().find_map(|attribute| match attribute {
                RouteAttribute::Destination(RouteAddress::Inet(address)) => Some((*address).into()),
                RouteAttribute::Destination(RouteAddress::Inet6(address)) => {
                    Some((*address).into())
                }
                _ => None,
            });
            let length = route.header.destination_prefix_length;
            prefixes.push((destination.unwrap_or(any), length));
        }
    }
    Ok(prefixes)
}

/// All IPv6 addresses that are routed between networks lie in 2000::/3 (RFC 4291 2.4, RFC 3587 3).
fn is_default(route: &RouteHeader) -> bool {
    let longest = if route.address_family == AddressFamily::Inet6 { 3 } else { 1 };
    route.destination_prefix_length <= longest
}

/// A route leads to one link, or to several that share the load.
fn route_links(route: &RouteMessage) -> Vec<u32> {
    let mut links = Vec::new();
    for attribute in &route.attributes {
        match attribute {
            RouteAttribute::Oif(link) => links.push(*link),
            RouteAttribute::MultiPath(hops) => {
                links.extend(hops.iter().map(|hop| hop.interface_index));
            }
            _ => {}
        }
    }
    links
}

/// Whom packets that leave by the link `index` for `destination` are given to first: the destination itself
/// on the same network, else the gateway. Where no route leads by this link, Linux takes IPv4 destinations to be on
/// the same network (`ip_route_output_key_hash_rcu` in `net/ipv4/route.c`, Linux 6.18).
///
/// # Errors
/// [`ErrorKind::NotFound`] when it finds no way.
pub fn next_hop(index: u32, destination: IpAddr) -> Result<IpAddr> {
    let mut message = RouteMessage::default();
    message.header.address_family = family(destination);
    message.header.destination_prefix_length = if destination.is_ipv6() { 128 } else { 32 };
    message.attributes =
        vec![RouteAttribute::Destination(destination.into()), RouteAttribute::Oif(index)];
    let asked = format!("find the route to {destination} (link {index})");
    let none = || Error::new(ErrorKind::NotFound, &asked, "there is no route");
    let objects = match exchange(&asked, RouteNetlinkMessage::GetRoute(message), 0) {
        Ok(objects) => objects,
        Err(error) if error.raw_os_error() == Some(libc::ENETUNREACH) => return Err(none()),
        Err(error) => return Err(error),
    };
    let route = objects.into_iter().find_map(|object| match object {
        RouteNetlinkMessage::NewRoute(route) => Some(route),
        _ => None,
    });
    let route = route.filter(|route| route_links(route).contains(&index)).ok_or_else(none)?;
    let gateway = route.attributes.iter().find_map(|attribute| match attribute {
        RouteAttribute::Gateway(RouteAddress::Inet(address)) => Some(IpAddr::V4(*address)),
        RouteAttribute::Gateway(RouteAddress::Inet6(address)) => Some(IpAddr::V6(*address)),
        _ => None,
    });
    Ok(gateway.unwrap_or(destination))
}

/// What the kernel knows of a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Neighbour {
    /// Its hardware address.
    Known([u8; 6]),
    /// It has been asked for it.
    Asked,
    /// It was asked and does not answer, or nobody is asked on this link.
    Silent,
    /// Nothing.
    Unknown,
}

/// What the kernel knows of the link's neighbour `address`.
///
/// # Errors
/// When the kernel does not answer.
pub fn neighbour(index: u32, address: IpAddr) -> Result<Neighbour> {
    let mut message = NeighbourMessage::default();
    message.header.family = family(address);
    let request = RouteNetlinkMessage::GetNeighbour(message);
    let objects = exchange("list the neighbours", request, NLM_F_DUMP)?;
    let found = objects.into_iter().find_map(|object| match object {
        RouteNetlinkMessage::NewNeighbour(found) => {
            Some(found).filter(|found| found.header.ifindex == index && is_of(found, address))
        }
        _ => None,
    });
    Ok(found.map_or(Neighbour::Unknown, |found| known(&found)))
}

fn is_of(neighbour: &NeighbourMessage, address: IpAddr) -> bool {
    let address = NeighbourAttribute::Destination(neighbour_address(address));
    neighbour.attributes.contains(&address)
}

/// Links without address resolution give each neighbour an address that means nothing (`arp_constructor` in
/// `net/ipv4/arp.c`, Linux 6.18).
fn known(neighbour: &NeighbourMessage) -> Neighbour {
    let address = neighbour.attributes.iter().find_map(|attribute| match attribute {
        NeighbourAttribute::LinkLayerAddress(bytes) => bytes.as_slice().try_into().ok(),
        _ => None,
    });
    match (neighbour.header.state, address) {
        (NeighbourState::Noarp | NeighbourState::Failed, _) => Neighbour::Silent,
        (_, Some(address)) => Neighbour::Known(address),
        (NeighbourState::Incomplete, _) => Neighbour::Asked,
        _ => Neighbour::Unknown,
    }
}

/// Has the kernel ask the link's neighbour `address` for its hardware address, by ARP or neighbour discovery, as it does
/// before it sends it a packet; but there is none. It asks three times, a second apart.
///
/// # Errors
/// When the link is not there or down, or without CAP_NET_ADMIN.
pub fn ask_neighbour(index: u32, address: IpAddr) -> Result<()> {
    let mut message = NeighbourMessage::default();
    message.header.family = family(address);
    message.header.ifindex = index;
    message.header.flags = NeighbourFlags::Use;
    message.attributes = vec![NeighbourAttribute::Destination(neighbour_address(address))];
    let asked = format!("ask for the hardware address of {address} (link {index})");
    exchange(&asked, RouteNetlinkMessage::NewNeighbour(message), NLM_F_CREATE).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_leads_to_itself_and_has_no_default_route() {
        let lo = crate::interface::index("lo").unwrap();
        let here = IpAddr::V4(Ipv4Addr::LOCALHOST);
        assert_eq!(next_hop(lo, here).unwrap(), here);
        assert_eq!(neighbour(lo, here).unwrap(), Neighbour::Unknown);
        assert!(!default_route_links().unwrap().contains(&lo));
        assert!(route_prefixes().unwrap().contains(&("127.0.0.0".parse().unwrap(), 8)));
    }
}
