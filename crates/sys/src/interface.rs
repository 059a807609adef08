//! The interfaces of the calling thread's network namespace.

use std::ffi::CString;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use linerate_base::{Error, ErrorKind, Result};
use netlink_packet_core::NLM_F_DUMP;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage, LinkXdp, Stats64};

use crate::{ethtool, netlink};

/// An interface, as it was when asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Its index, by which the kernel knows it.
    pub index: u32,
    /// Set up by the administrator.
    pub is_up: bool,
    /// Up, and able to pass packets: the cable is in, the peer is up.
    pub is_running: bool,
    /// Delivers to the host itself only.
    pub is_loopback: bool,
    /// The largest packet it sends, in bytes without the link-layer header.
    pub mtu: u32,
    /// What kind of hardware it is: an `ARPHRD_` number of `linux/if_arp.h`; 1 is Ethernet.
    pub hardware_type: u16,
    /// Its hardware address, of 6 bytes for Ethernet; empty when it has none.
    pub hardware_address: Vec<u8>,
    /// Its IPv4 and IPv6 addresses.
    pub addresses: Vec<Address>,
    /// The name of its driver, where it has one.
    pub driver: Option<String>,
    /// Number of receive queues that it was made with.
    pub receive_queues: u32,
    /// Number of transmit queues that it was made with.
    pub transmit_queues: u32,
    /// The number of the XDP program that is attached to it, if one is.
    pub xdp_program: Option<u32>,
    /// What went through it.
    pub counters: Counters,
}

/// What went through an interface since it was made, by its driver's count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets received.
    pub received: u64,
    /// Bytes received, link-layer headers included.
    pub received_bytes: u64,
    /// Packets that arrived and were lost for want of room.
    pub received_dropped: u64,
    /// Packets that the device lost before its driver had them: its queues were full.
    pub received_missed: u64,
    /// Packets sent.
    pub sent: u64,
    /// Bytes sent, link-layer headers included.
    pub sent_bytes: u64,
    /// Packets that were to be sent and were lost for want of room.
    pub sent_dropped: u64,
}

/// An address of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// The address.
    pub ip: IpAddr,
    /// Number of leading bits that it shares with its network.
    pub prefix: u8,
}

/// Every interface, by index.
///
/// # Errors
/// When the kernel does not answer on netlink.
pub fn list() -> Result<Vec<Interface>> {
    let mut interfaces = links("list the interfaces", LinkMessage::default(), NLM_F_DUMP)?;
    interfaces.sort_by_key(|interface| interface.index);
    complete(&mut interfaces)?;
    Ok(interfaces)
}

/// The interface called `name`, its carrier as it is at this moment.
///
/// # Errors
/// [`ErrorKind::NotFound`] when there is none; as for [`list`].
pub fn by_name(name: &str) -> Result<Interface> {
    let mut request = LinkMessage::default();
    request.attributes.push(LinkAttribute::IfName(name.to_owned()));
    single(name, request)
}

/// The interface with this index, its carrier as it is at this moment.
///
/// # Errors
/// As for [`by_name`].
pub fn by_index(index: u32) -> Result<Interface> {
    let mut request = LinkMessage::default();
    request.header.index = index;
    single(&format!("with index {index}"), request)
}

/// Looks at one interface again and again, in the network namespace that the thread was in that began: a thread in
/// another one sees the same. Any number of threads may look.
#[derive(Debug)]
pub struct Observer {
    index: u32,
    socket: Mutex<netlink::Socket>,
}

impl Observer {
    /// Of the interface with this index in the calling thread's namespace.
    ///
    /// # Errors
    /// When descriptors ran out.
    pub fn of(index: u32) -> Result<Self> {
        let socket = netlink::Socket::open(libc::NETLINK_ROUTE)?;
        Ok(Self { index, socket: Mutex::new(socket) })
    }

    /// The interface, its carrier as it is at this moment; without its addresses and its driver's name.
    ///
    /// # Errors
    /// As for [`by_name`].
    pub fn look(&self) -> Result<Interface> {
        let which = format!("with index {}", self.index);
        let mut request = LinkMessage::default();
        request.header.index = self.index;
        let message = RouteNetlinkMessage::GetLink(request);
        let socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
        let asked = format!("find the interface {which}");
        let answer = netlink::exchange_on(&socket, &asked, message, 0);
        let objects = answer.map_err(|e| absent(&which, e))?;
        objects.into_iter().find_map(interface).ok_or_else(|| not_found(&which))
    }
}

/// Unlike a listing, a request for one link has the kernel work off changes of its carrier first
/// (`rtnl_getlink` in `net/core/rtnetlink.c`, since Linux 6.8).
fn single(which: &str, request: LinkMessage) -> Result<Interface> {
    let answer = links(&format!("find the interface {which}"), request, 0);
    let mut interfaces = answer.map_err(|e| absent(which, e))?;
    complete(&mut interfaces)?;
    interfaces.pop().ok_or_else(|| not_found(which))
}

/// The index of the interface called `name`.
///
/// # Errors
/// [`ErrorKind::NotFound`] when there is none.
pub fn index(name: &str) -> Result<u32> {
    let c_name = CString::new(name).map_err(|_| not_found(name))?;
    // SAFETY: the name is a string that ends in zero and outlives the call.
    match unsafe { libc::if_nametoindex(c_name.as_ptr()) } {
        0 => Err(not_found(name)),
        index => Ok(index),
    }
}

/// The kernel's two ways of saying that there is no such interface: an unused name, an
/// impossible one.
fn absent(which: &str, error: Error) -> Error {
    match error.raw_os_error() {
        Some(libc::ENODEV | libc::ERANGE | libc::EINVAL) => not_found(which),
        _ => error,
    }
}

fn not_found(which: &str) -> Error {
    Error::new(ErrorKind::NotFound, format!("find the interface {which}"), "there is none")
        .advise("`linerate interfaces` lists them")
}

/// Adds what the list of links leaves out. An interface that went away meanwhile is kept as it
/// was.
fn complete(interfaces: &mut [Interface]) -> Result<()> {
    let request = RouteNetlinkMessage::GetAddress(AddressMessage::default());
    for object in netlink::exchange("list the addresses", request, NLM_F_DUMP)? {
        let Some((index, address)) = address(&object) else { continue };
        let owner = interfaces.iter_mut().find(|interface| interface.index == index);
        owner.into_iter().for_each(|interface| interface.addresses.push(address));
    }
    for interface in interfaces {
        interface.driver = ethtool::driver(&interface.name).unwrap_or_default();
    }
    Ok(())
}

fn links(asked: &str, request: LinkMessage, flags: u16) -> Result<Vec<Interface>> {
    let objects = netlink::exchange(asked, RouteNetlinkMessage::GetLink(request), flags)?;
    Ok(objects.into_iter().filter_map(interface).collect())
}

fn interface(object: RouteNetlinkMessage) -> Option<Interface> {
    let RouteNetlinkMessage::NewLink(link) = object else { return None };
    let flags = link.header.flags;
    let mut interface = Interface {
        index: link.header.index,
        is_up: flags.contains(LinkFlags::Up),
        is_running: flags.contains(LinkFlags::Running),
        is_loopback: flags.contains(LinkFlags::Loopback),
        hardware_type: link.header.link_layer_type.into(),
        ..Interface::default()
    };
    for attribute in link.attributes {
        take(&mut interface, attribute);
    }
    Some(interface)
}

fn take(interface: &mut Interface, attribute: LinkAttribute) {
    match attribute {
        LinkAttribute::IfName(name) => interface.name = name,
        LinkAttribute::Mtu(mtu) => interface.mtu = mtu,
        LinkAttribute::Address(address) => interface.hardware_address = address,
        LinkAttribute::NumRxQueues(count) => interface.receive_queues = count,
        LinkAttribute::NumTxQueues(count) => interface.transmit_queues = count,
        LinkAttribute::Xdp(attributes) => interface.xdp_program = xdp_program(&attributes),
        LinkAttribute::Stats64(stats) => interface.counters = counters(&stats),
        _ => {}
    }
}

/// A program by itself has one number; those of several modes have one each.
fn xdp_program(attributes: &[LinkXdp]) -> Option<u32> {
    use LinkXdp::{DrvProgId, HwProgId, ProgId, SkbProgId};
    attributes.iter().find_map(|attribute| match attribute {
        ProgId(id) | DrvProgId(id) | SkbProgId(id) | HwProgId(id) if *id != 0 => Some(*id),
        _ => None,
    })
}

fn counters(stats: &Stats64) -> Counters {
    Counters {
        received: stats.rx_packets,
        received_bytes: stats.rx_bytes,
        received_dropped: stats.rx_dropped,
        received_missed: stats.rx_missed_errors + stats.rx_fifo_errors,
        sent: stats.tx_packets,
        sent_bytes: stats.tx_bytes,
        sent_dropped: stats.tx_dropped,
    }
}

/// On a point-to-point link the local address is the interface's, the other one its peer's.
fn address(object: &RouteNetlinkMessage) -> Option<(u32, Address)> {
    let RouteNetlinkMessage::NewAddress(message) = object else { return None };
    let local = message.attributes.iter().find_map(|attribute| match attribute {
        AddressAttribute::Local(ip) => Some(*ip),
        _ => None,
    });
    let only = message.attributes.iter().find_map(|attribute| match attribute {
        AddressAttribute::Address(ip) => Some(*ip),
        _ => None,
    });
    let address = Address { ip: local.or(only)?, prefix: message.header.prefix_len };
    Some((message.header.index, address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_listed() {
        let lo = by_name("lo").unwrap();
        assert!(lo.is_loopback);
        assert_eq!(lo.hardware_type, libc::ARPHRD_LOOPBACK);
        assert_eq!(lo.index, index("lo").unwrap());
        assert_eq!(by_index(lo.index).unwrap().name, "lo");
    }

    #[test]
    fn an_observer_sees_the_namespace_that_it_began_in() {
        let lo = by_name("lo").unwrap();
        let observer = Observer::of(lo.index).unwrap();
        let seen = observer.look().unwrap();
        assert_eq!((&seen.name, seen.mtu, seen.is_up), (&lo.name, lo.mtu, lo.is_up));
        let gone = Observer::of(u32::MAX >> 1).unwrap();
        assert_eq!(gone.look().unwrap_err().kind(), ErrorKind::NotFound);
    }

    #[test]
    fn names_without_an_interface_are_not_found() {
        for name in ["no-such-link", "", "zero\0byte", "longer-than-any-name"] {
            assert_eq!(index(name).unwrap_err().kind(), ErrorKind::NotFound, "{name}");
            assert_eq!(by_name(name).unwrap_err().kind(), ErrorKind::NotFound, "{name}");
        }
        assert_eq!(by_index(u32::MAX >> 1).unwrap_err().kind(), ErrorKind::NotFound);
    }
}
