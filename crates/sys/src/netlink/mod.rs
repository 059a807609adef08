//! The kernel's netlink: links, addresses, neighbours, what drivers do with XDP.
//!
//! Every function here is one request on a socket of its own and so has no state: it asks the
//! network namespace that the calling thread is in, waits for the whole answer and returns it.
//! A [`LinkWatch`] keeps its socket and hears what happens to an interface, an
//! [`Observer`](crate::interface::Observer) keeps one to ask about an interface again. Errors carry the kernel's number
//! and, where it gives one, its own words. See netlink(7), rtnetlink(7) and RFC 3549.

mod address;
mod exchange;
mod generic;
mod link;
mod netdev;
mod packet_sockets;
mod route;
mod socket;
mod watch;

pub use address::{add_address, add_neighbour, is_local};
pub use link::{
    VethEnd, attach_to_bridge, create_bridge, create_ifb, create_veth, delete_link,
    disable_link_local_address, rename_link, set_link_arp, set_link_mtu, set_link_up,
};
pub use netdev::{XdpFeatures, xdp_features};
pub use packet_sockets::{PacketRing, PacketSocket, packet_sockets};
pub use route::{
    Neighbour, add_route, ask_neighbour, default_route_links, neighbour, next_hop, route_prefixes,
};
pub use watch::{LinkChange, LinkWatch};

pub(crate) use exchange::{exchange, exchange_on};
pub(crate) use socket::Socket;
