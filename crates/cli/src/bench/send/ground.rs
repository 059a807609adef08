//! Where packets go: to a host that drops them, or to a device that forgets them.

use std::net::Ipv4Addr;

use anyhow::Result;
use linerate::lab::{Host, Lab};
use linerate::sys::bpf::Link;
use linerate::sys::{interface, netlink};

use crate::bench::wire;

/// What packets leave by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Device {
    /// A veth, at whose other end an XDP program drops what comes. That end is polled on the sender's core.
    Veth,
    /// An intermediate functional block: it frees every frame. It takes no redirected ones.
    Ifb,
}

const IFB: &str = "ifb0";

impl Device {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Veth => "wire0",
            Self::Ifb => IFB,
        }
    }

    /// The network of 10 bits whose packets leave by it.
    pub(super) fn network(self) -> Ipv4Addr {
        match self {
            Self::Veth => Ipv4Addr::new(10, 64, 0, 0),
            Self::Ifb => Ipv4Addr::new(10, 128, 0, 0),
        }
    }

    /// One address of it.
    pub(super) fn station(self) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.network().to_bits() | 0x0102)
    }

    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Veth => "veth",
            Self::Ifb => "ifb",
        }
    }
}

/// Two hosts on one wire; the one that sends has an ifb, too.
pub(super) struct Ground {
    lab: Lab,
    queues: u32,
    pub(super) sender_core: usize,
    pub(super) other_core: usize,
}

impl Ground {
    pub(super) fn new(queues: u32) -> Result<Self> {
        let (sender_core, other_core) = wire::cores()?;
        let ground = Self { lab: wire::pair(queues)?, queues, sender_core, other_core };
        let (sender, gateway) = (ground.sender(), ground.receiver().ipv4());
        sender.run(|| add_routes(sender.interface_index(), gateway))?;
        Ok(ground)
    }

    /// The wire's queue by which a core sends.
    pub(super) fn queue_of(&self, core: usize) -> u32 {
        core as u32 % self.queues
    }

    pub(super) fn sender(&self) -> &Host {
        self.lab.host("a")
    }

    pub(super) fn receiver(&self) -> &Host {
        self.lab.host("b")
    }

    /// Has the receiving host's driver drop what comes, as long as the link is held.
    pub(super) fn drop_all(&self) -> Result<Link> {
        wire::drop_all(self.receiver())
    }

    /// Frames that came to the other end of the wire, or that the ifb took.
    pub(super) fn taken(&self, device: Device) -> Result<u64> {
        Ok(match device {
            Device::Veth => self.receiver().counters()?.received,
            Device::Ifb => self.sender().run(|| interface::by_name(IFB))?.counters.received,
        })
    }
}

/// Runs inside the host that sends.
fn add_routes(wire: u32, gateway: Ipv4Addr) -> Result<()> {
    netlink::create_ifb(IFB)?;
    let ifb = interface::index(IFB)?;
    netlink::set_link_up(ifb, true)?;
    let [far, near] = [Device::Veth, Device::Ifb].map(|device| device.network().into());
    netlink::add_route(wire, far, 10, Some(gateway.into()))?;
    netlink::add_route(ifb, near, 10, None)?;
    Ok(())
}
