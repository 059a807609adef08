//! Links: made, changed, deleted.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use linerate_base::Result;
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{
    AfSpecInet6, AfSpecUnspec, In6AddrGenMode, InfoBridge, InfoData, InfoKind, InfoVeth,
    LinkAttribute, LinkFlags, LinkInfo, LinkMessage,
};

use super::exchange;

/// One end of a veth pair that is to be made.
#[derive(Clone, Copy, Debug)]
pub struct VethEnd<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its hardware address.
    pub address: [u8; 6],
    /// Its MTU in bytes.
    pub mtu: u32,
    /// How many receive queues it has, and how many transmit queues.
    pub queues: u32,
}

/// Makes a veth pair: `near` in the calling thread's namespace, `far` in `namespace`.
///
/// # Errors
/// Without CAP_NET_ADMIN over both namespaces; when a name is taken; when the kernel refuses a
/// value.
pub fn create_veth(near: &VethEnd<'_>, far: &VethEnd<'_>, namespace: impl AsFd) -> Result<()> {
    let peer = InfoData::Veth(InfoVeth::Peer(far.message(Some(namespace.as_fd()))));
    let mut message = near.message(None);
    message
        .attributes
        .push(LinkAttribute::LinkInfo(vec![LinkInfo::Kind(InfoKind::Veth), LinkInfo::Data(peer)]));
    create(&format!("create the veth pair {} and {}", near.name, far.name), message)
}

impl VethEnd<'_> {
    fn message(&self, namespace: Option<BorrowedFd<'_>>) -> LinkMessage {
        let mut message = LinkMessage::default();
        message.attributes = vec![
            LinkAttribute::IfName(self.name.to_owned()),
            LinkAttribute::Address(self.address.to_vec()),
            LinkAttribute::Mtu(self.mtu),
            LinkAttribute::NumTxQueues(self.queues),
            LinkAttribute::NumRxQueues(self.queues),
        ];
        message.attributes.extend(namespace.map(|fd| LinkAttribute::NetNsFd(fd.as_raw_fd())));
        message
    }
}

/// Makes a bridge called `name` that floods multicast rather than learn who listens, and so
/// sends no packet of its own.
///
/// # Errors
/// Without CAP_NET_ADMIN, when the name is taken, or when the kernel has no bridges.
pub fn create_bridge(name: &str) -> Result<()> {
    let mut message = LinkMessage::default();
    message.attributes = vec![
        LinkAttribute::IfName(name.to_owned()),
        LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::Bridge),
            LinkInfo::Data(InfoData::Bridge(vec![InfoBridge::MulticastSnooping(false)])),
        ]),
    ];
    create(&format!("create the bridge {name}"), message)
}

/// Makes an intermediate functional block called `name`: it frees every frame that is sent by it and was not redirected
/// there, and counts it as received (`ifb_xmit` in drivers/net/ifb.c, Linux 6.18).
///
/// # Errors
/// Without CAP_NET_ADMIN, when the name is taken, or when the kernel has none.
pub fn create_ifb(name: &str) -> Result<()> {
    let mut message = LinkMessage::default();
    message.attributes = vec![
        LinkAttribute::IfName(name.to_owned()),
        LinkAttribute::LinkInfo(vec![LinkInfo::Kind(InfoKind::Ifb)]),
    ];
    create(&format!("create the ifb {name}"), message)
}

/// Plugs the link with index `port` into the bridge with index `bridge`.
///
/// # Errors
/// When either is not there, or the port is in use elsewhere.
pub fn attach_to_bridge(port: u32, bridge: u32) -> Result<()> {
    change(port, "attach to a bridge", |link| {
        link.attributes.push(LinkAttribute::Controller(bridge));
    })
}

/// Sets the link up or down.
///
/// # Errors
/// When it is not there, or without CAP_NET_ADMIN; so for every function below.
pub fn set_link_up(index: u32, up: bool) -> Result<()> {
    change(index, if up { "set up" } else { "set down" }, |link| {
        set_flag(link, LinkFlags::Up, up);
    })
}

/// Sets whether the link resolves addresses, by ARP and neighbour discovery, and takes part in
/// multicast listener discovery. A link that does not is silent unless spoken through.
///
/// # Errors
/// As for [`set_link_up`].
pub fn set_link_arp(index: u32, resolves: bool) -> Result<()> {
    change(index, "set address resolution", |link| {
        set_flag(link, LinkFlags::Noarp, !resolves);
    })
}

/// Sets the MTU, in bytes.
///
/// # Errors
/// As for [`set_link_up`], and when the driver refuses the value.
pub fn set_link_mtu(index: u32, mtu: u32) -> Result<()> {
    change(index, "set the MTU", |link| link.attributes.push(LinkAttribute::Mtu(mtu)))
}

/// Gives the link another name.
///
/// # Errors
/// As for [`set_link_up`], and when the name is taken or is not one.
pub fn rename_link(index: u32, name: &str) -> Result<()> {
    change(index, "rename", |link| link.attributes.push(LinkAttribute::IfName(name.to_owned())))
}

/// Keeps the link from making itself an IPv6 link-local address when it is set up; with it go
/// router solicitations and duplicate address detection.
///
/// # Errors
/// As for [`set_link_up`], and when the kernel runs without IPv6.
pub fn disable_link_local_address(index: u32) -> Result<()> {
    let mode = AfSpecInet6::AddrGenMode(In6AddrGenMode::None);
    let attribute = LinkAttribute::AfSpecUnspec(vec![AfSpecUnspec::Inet6(vec![mode])]);
    change(index, "disable link-local addresses", |link| link.attributes.push(attribute))
}

/// Deletes the link; of a veth pair both ends go.
///
/// # Errors
/// As for [`set_link_up`].
pub fn delete_link(index: u32) -> Result<()> {
    let asked = format!("delete the link {index}");
    let message = RouteNetlinkMessage::DelLink(numbered(index));
    exchange(&asked, message, 0).map(drop)
}

fn create(asked: &str, message: LinkMessage) -> Result<()> {
    let message = RouteNetlinkMessage::NewLink(message);
    exchange(asked, message, NLM_F_CREATE | NLM_F_EXCL).map(drop)
}

fn change(index: u32, what: &str, edit: impl FnOnce(&mut LinkMessage)) -> Result<()> {
    let mut message = numbered(index);
    edit(&mut message);
    let asked = format!("{what} (link {index})");
    exchange(&asked, RouteNetlinkMessage::SetLink(message), 0).map(drop)
}

fn numbered(index: u32) -> LinkMessage {
    let mut message = LinkMessage::default();
    message.header.index = index;
    message
}

fn set_flag(message: &mut LinkMessage, flag: LinkFlags, on: bool) {
    message.header.change_mask = flag;
    message.header.flags = if on { flag } else { LinkFlags::empty() };
}
