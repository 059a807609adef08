//! One host: a network namespace, and ways to run things in it.

use std::ffi::OsStr;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::panic::resume_unwind;
use std::process::Command;
use std::thread::{self, JoinHandle};

use linerate_base::Result;
use linerate_sys::interface::{self, Counters, Interface};
use linerate_sys::mount::PrivateMount;
use linerate_sys::netns::Namespace;
use linerate_sys::{cpu, netlink, process};

use crate::build::has_ipv6;

/// A host on the wire.
///
/// It shares files, users and processes with the machine; its interfaces, addresses, sockets
/// and ports are its own.
#[derive(Debug)]
pub struct Host {
    pub(crate) name: String,
    pub(crate) namespace: Namespace,
    pub(crate) interface: String,
    pub(crate) index: u32,
    pub(crate) mac: [u8; 6],
    pub(crate) ipv4: Ipv4Addr,
    pub(crate) ipv6: Ipv6Addr,
}

/// Who a host is.
impl Host {
    /// The name that the plan gave it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name of its interface on the wire, as the lab made it.
    pub fn interface(&self) -> &str {
        &self.interface
    }

    /// The index of that interface, which stays its own when it is renamed.
    pub fn interface_index(&self) -> u32 {
        self.index
    }

    /// The hardware address of that interface.
    pub fn mac(&self) -> [u8; 6] {
        self.mac
    }

    /// Its IPv4 address, in a network of 24 bits.
    pub fn ipv4(&self) -> Ipv4Addr {
        self.ipv4
    }

    /// Its IPv6 address, in a network of 64 bits.
    pub fn ipv6(&self) -> Ipv6Addr {
        self.ipv6
    }

    /// Its network namespace.
    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// What went through its interface so far.
    ///
    /// # Errors
    /// When the interface was deleted.
    pub fn counters(&self) -> Result<Counters> {
        self.state().map(|interface| interface.counters)
    }

    /// Its interface as it is at this moment, under whatever name.
    ///
    /// # Errors
    /// When the interface was deleted.
    pub fn state(&self) -> Result<Interface> {
        self.run(|| interface::by_index(self.index))
    }

    /// Both addresses with their prefix lengths, or the one that this kernel knows.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = (IpAddr, u8)> + use<> {
        let ipv6 = has_ipv6().then_some((IpAddr::V6(self.ipv6), 64));
        [(IpAddr::V4(self.ipv4), 24)].into_iter().chain(ipv6)
    }
}

/// Running things inside.
impl Host {
    /// Runs `work` on a thread inside the host and returns its result.
    ///
    /// # Panics
    /// When `work` does, with the same payload; when the host cannot be entered.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        inside(&self.namespace, work)
    }

    /// Runs `work` on a thread inside the host that goes on by itself.
    ///
    /// # Panics
    /// When descriptors or threads ran out.
    pub fn spawn<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        let namespace = self.namespace.try_clone().expect("descriptors ran out");
        thread::spawn(move || {
            enter(&namespace);
            drop(namespace);
            work()
        })
    }

    /// Like [`spawn`](Self::spawn), on this core only.
    ///
    /// # Panics
    /// As for [`spawn`](Self::spawn), and on the new thread when it may not use the core.
    pub fn spawn_on<T: Send + 'static>(
        &self,
        core: usize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        self.spawn(move || {
            cpu::pin(core).unwrap_or_else(|e| panic!("{e}"));
            work()
        })
    }

    /// A program that will run inside the host.
    ///
    /// Started directly, it is killed when the *thread* that started it ends, unless it has
    /// changed its user. [`Child::start`](crate::Child::start) ties it, and all that it starts,
    /// to a guard and to the process, whatever it does.
    ///
    /// # Panics
    /// When descriptors ran out.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        let namespace = self.namespace.try_clone().expect("descriptors ran out");
        process::enter_namespace(&mut command, namespace);
        process::die_with_parent(&mut command);
        command
    }

    /// Like [`command`](Self::command), for a program that looks for devices in `/sys`: it sees
    /// the host's there, not the machine's.
    ///
    /// # Panics
    /// As for [`command`](Self::command).
    pub fn command_with_sysfs(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = self.command(program);
        PrivateMount::sysfs().mount_in(&mut command);
        command
    }
}

/// Faults of the wire.
impl Host {
    /// Sets the interface up or down.
    ///
    /// # Errors
    /// When it was deleted; so for the others here.
    pub fn set_link_up(&self, up: bool) -> Result<()> {
        self.run(|| netlink::set_link_up(self.index, up))
    }

    /// Sets the MTU of the interface, in bytes.
    ///
    /// # Errors
    /// As for [`set_link_up`](Self::set_link_up), and when the kernel refuses the value.
    pub fn set_mtu(&self, bytes: u32) -> Result<()> {
        self.run(|| netlink::set_link_mtu(self.index, bytes))
    }

    /// Renames the interface; [`interface`](Self::interface) keeps telling the first name.
    ///
    /// # Errors
    /// As for [`set_link_up`](Self::set_link_up), and when the kernel refuses the name.
    pub fn rename_link(&self, name: &str) -> Result<()> {
        self.run(|| netlink::rename_link(self.index, name))
    }

    /// Deletes the interface, and with it the other end of its wire.
    ///
    /// # Errors
    /// As for [`set_link_up`](Self::set_link_up).
    pub fn delete_link(&self) -> Result<()> {
        self.run(|| netlink::delete_link(self.index))
    }
}

/// Runs `work` on a thread in `namespace`.
pub(crate) fn inside<T: Send>(namespace: &Namespace, work: impl FnOnce() -> T + Send) -> T {
    let on_thread = || {
        enter(namespace);
        work()
    };
    thread::scope(|scope| scope.spawn(on_thread).join())
        .unwrap_or_else(|panic| resume_unwind(panic))
}

fn enter(namespace: &Namespace) {
    namespace.enter().unwrap_or_else(|e| panic!("{e}"));
}
