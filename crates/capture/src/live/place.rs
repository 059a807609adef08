//! What a live source captures from.

use std::io;

use linerate_base::{Error, ErrorKind, Interface, LinkType, Result};
use linerate_sys::packet_socket::{Device, Level, PacketSocket};

use super::framer::Framer;
use super::gate::{Loopback, Ways};
use super::watch::{Link, NO_DEVICE};
use crate::interfaces::not_found;
use crate::link::{ANY_LINK_TYPES, link_type};
use crate::privilege::explain;
use crate::{ANY, Config, MAX_SNAPLEN};

/// One interface, or all of them.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) link: Link,
    pub(crate) link_type: LinkType,
    loopback: Loopback,
    /// The socket that was asked about it, never bound.
    pub(crate) inquiry: PacketSocket,
}

/// The number of every namespace's loopback interface (`LOOPBACK_IFINDEX`, net/net_namespace.h).
const LOOPBACK_INDEX: u32 = 1;

impl Place {
    /// Finds what `config` names.
    ///
    /// # Errors
    /// When it is not there or cannot deliver the link type asked for, or without the privilege.
    pub(crate) fn find(config: &Config) -> Result<Self> {
        let name = &config.interface;
        let asked = || format!("capture on {name}");
        let inquiry = PacketSocket::open(Level::Link).map_err(|e| explain(asked(), e))?;
        let (index, link_types, loopback) = if name == ANY {
            (0, ANY_LINK_TYPES.to_vec(), Loopback::One(LOOPBACK_INDEX))
        } else {
            let device = inquiry.device(name).map_err(|e| no_device(name, e))?;
            (device.index, vec![link_type(device.hardware_type)], loopback(&device))
        };
        let link_type = choose(name, &link_types, config.link_type)?;
        Ok(Self { link: Link { name: name.clone(), index }, link_type, loopback, inquiry })
    }

    /// All interfaces rather than one.
    pub(crate) fn is_any(&self) -> bool {
        self.link.index == 0
    }

    /// The loopback interface, where each packet is seen twice.
    pub(crate) fn is_loopback(&self) -> bool {
        self.loopback == Loopback::Yes
    }

    /// Which packets are to be turned away for the way they go.
    pub(crate) fn ways(&self, config: &Config) -> Ways {
        let &Config { direction: directions, unseen_mark, .. } = config;
        Ways { directions, loopback: self.loopback, unseen_mark }
    }

    /// A socket that is never bound and gets no packets; as long as it is open, the interface is promiscuous where
    /// that was asked for.
    pub(crate) fn unbound_socket(&self, config: &Config) -> Result<PacketSocket> {
        let name = &self.link.name;
        let socket = PacketSocket::open(Level::Link)
            .map_err(|e| explain(format!("capture on {name}"), e))?;
        if config.promiscuous {
            socket.set_promiscuous(self.link.index).map_err(|e| no_device(name, e))?;
        }
        Ok(socket)
    }

    /// The place as packets will tell it.
    pub(crate) fn interface(&self, config: &Config) -> Interface {
        Interface {
            name: self.link.name.clone(),
            description: String::new(),
            link_type: self.link_type,
            snaplen: snaplen(config),
            filter: config.filter.as_ref().map(|filter| filter.text.clone()).unwrap_or_default(),
            timestamps: Some(config.timestamps),
        }
    }

    /// What finishes its packets.
    pub(crate) fn framer(&self, config: &Config) -> Framer {
        let interface = self.interface(config);
        if self.is_any() { Framer::many(interface) } else { Framer::single(interface) }
    }
}

/// The most bytes kept of a packet.
pub(crate) fn snaplen(config: &Config) -> u32 {
    if config.snaplen == 0 { MAX_SNAPLEN } else { config.snaplen.min(MAX_SNAPLEN) }
}

/// The error where the system has no interface of that name, and where it has another trouble.
pub(crate) fn no_device(name: &str, error: io::Error) -> Error {
    let invalid = error.kind() == io::ErrorKind::InvalidInput;
    if invalid || error.raw_os_error() == NO_DEVICE {
        return not_found(name);
    }
    explain(format!("capture on {name}"), error)
}

fn loopback(device: &Device) -> Loopback {
    if device.is_loopback { Loopback::Yes } else { Loopback::No }
}

fn choose(name: &str, known: &[LinkType], asked: Option<LinkType>) -> Result<LinkType> {
    let chosen = asked.unwrap_or(known[0]);
    if known.contains(&chosen) {
        return Ok(chosen);
    }
    let names: Vec<_> = known.iter().map(ToString::to_string).collect();
    let asked = format!("capture on {name} with link type {chosen}");
    let answered = format!("it delivers {}", names.join(" or "));
    Err(Error::new(ErrorKind::Unsupported, asked, answered))
}
