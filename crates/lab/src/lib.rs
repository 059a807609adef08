//! Two hosts on one wire, or more: for tests, demos and benches.
//!
//! ```no_run
//! # fn main() -> linerate_base::Result<()> {
//! let lab = linerate_lab::Lab::plan().host("a").host("b").queues(4).build()?;
//! let (a, b) = (lab.host("a"), lab.host("b"));
//! let server = a.run(|| std::net::UdpSocket::bind((a.ipv4(), 7)));
//! let tcpdump = linerate_lab::Child::start(b.command("tcpdump"))?;
//! # Ok(())
//! # }
//! ```
//! A lab is made of network namespaces and veth pairs, by system calls and netlink. It needs
//! root, or a user namespace. Nothing in it has a name outside, and everything in it is held by
//! descriptors of this process: whether the process drops the lab, panics or is killed, the
//! kernel takes it down. No packet leaves it, and nothing outside is changed.
//!
//! - [`Plan`]: what a lab is to look like
//! - [`Host`]: running threads and programs inside, breaking the wire
//! - [`Child`]: programs that do not outlive their use
//! - [`traffic`]: packets of an exact number, or as many as a core can send
//! - [`disk`]: disks that fill up soon, or refuse direct writes
//! - [`MemoryGroup`]: programs that may take so much memory and no more
//! - [`need`]: what a test needs of the machine, and skipping aloud without it

mod build;
mod child;
pub mod disk;
mod host;
mod memory;
pub mod need;
mod plan;
pub mod traffic;

use linerate_base::Result;
pub use linerate_sys::ethtool::Offload;
use linerate_sys::netns::Namespace;

pub use child::Child;
pub use host::Host;
pub use memory::MemoryGroup;
pub use plan::Plan;

/// Hosts on one wire, which ends when this is dropped.
#[derive(Debug)]
pub struct Lab {
    hosts: Vec<Host>,
    /// Where the bridge is that more than two hosts need.
    _hub: Option<Namespace>,
}

impl Lab {
    /// An empty plan; add hosts, then build.
    pub fn plan() -> Plan {
        Plan::new()
    }

    /// Two hosts, `a` and `b`, on a wire of the usual kind.
    ///
    /// # Errors
    /// As for [`Plan::build`].
    pub fn pair() -> Result<Self> {
        Self::plan().host("a").host("b").build()
    }

    /// The hosts in the order of the plan.
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// Takes a host away, with its namespace: once no thread and no program is left in it, the kernel deletes its
    /// interfaces, and with them the other ends of their wires.
    ///
    /// # Panics
    /// When the plan had none of this name.
    pub fn remove(&mut self, name: &str) {
        let place = self.hosts.iter().position(|host| host.name() == name);
        self.hosts.remove(place.unwrap_or_else(|| panic!("the lab has no host {name}")));
    }

    /// The host of this name.
    ///
    /// # Panics
    /// When the plan had none.
    pub fn host(&self, name: &str) -> &Host {
        let found = self.hosts.iter().find(|host| host.name() == name);
        found.unwrap_or_else(|| panic!("the lab has no host {name}"))
    }
}

/// Lets an ordinary user build labs: makes the process root in a user namespace of its own.
///
/// Call it first of all, while the process has one thread. Afterwards the process is in a
/// network namespace of its own, too, and real interfaces are out of reach.
///
/// # Errors
/// Where the system does not allow it; the advice says which setting does.
pub fn become_root_in_user_namespace() -> Result<()> {
    linerate_sys::userns::become_root()
}
