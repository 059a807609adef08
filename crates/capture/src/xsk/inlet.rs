//! The kernel's side of the sources of one capture: program, sockets' map, counters.

use std::iter::Sum;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::{Mutex, PoisonError};

use linerate_base::{ErrorKind, Result};
use linerate_bpf::extended::Predicate;
use linerate_sys::bpf::{self, Link, Map, MapSpec, ProgramKind, ProgramSpec, XdpMode};
use linerate_sys::packet_socket::PacketSocket;
use linerate_sys::xsk::Queue;

use super::program::{MATCHED, Program, SEEN};

/// Program and maps, shared by all sources of a capture.
#[derive(Debug)]
pub(super) struct Inlet {
    counters: Map,
    sockets: Map,
    program: bpf::Program,
    /// The program is for the driver, and nowhere else.
    is_bound: bool,
    /// As long as packets are let in.
    open: Mutex<Option<Open>>,
}

#[derive(Debug)]
struct Open {
    _link: Link,
    /// Never bound; see [`Inlet::close`]. It also holds the interface in promiscuous mode.
    barrier: PacketSocket,
}

/// A driver that programs ask.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound {
    pub(super) interface: u32,
    /// See [`Site::vlan_tag`](crate::hook::Site).
    pub(super) vlan_tag: u32,
}

/// What the program counted on one queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counters {
    /// Packets that came.
    pub(super) seen: u64,
    /// Those of them that were to go to the application.
    pub(super) matched: u64,
}

impl Sum for Counters {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            seen: sum.seen + one.seen,
            matched: sum.matched + one.matched,
        })
    }
}

const COUNTERS: u32 = 16;

/// What those who list programs and maps see.
const NAME: &str = "linerate_xsk";

impl Inlet {
    /// Loads the program, for an interface with at most `queues` queues. Nothing is attached yet.
    ///
    /// # Errors
    /// Without CAP_BPF and CAP_NET_ADMIN; when the verifier refuses the filter.
    pub(super) fn new(
        queues: u32,
        filter: Option<&Predicate>,
        driver: Option<Bound>,
        is_exclusive: bool,
    ) -> Result<Self> {
        let vlan_tag = driver.map(|driver| driver.vlan_tag);
        let counters = Map::new(&MapSpec::per_cpu_array(NAME, COUNTERS, queues))?;
        let sockets = Map::new(&MapSpec::xsk_map(NAME, queues))?;
        let program =
            Program { counters: &counters, sockets: &sockets, filter, vlan_tag, is_exclusive };
        let code = program.assemble();
        let spec = ProgramSpec::new(ProgramKind::Xdp, &code, NAME).with_fragments();
        let spec = driver.map_or(spec, |driver| spec.bound_to(driver.interface));
        let program = bpf::Program::load(&spec)?;
        let is_bound = driver.is_some();
        Ok(Self { counters, sockets, program, is_bound, open: Mutex::new(None) })
    }

    /// Has the program find the socket of queue `number`.
    pub(super) fn add(&self, number: u32, queue: &Queue) -> Result<()> {
        let fd = queue.as_fd().as_raw_fd();
        self.sockets.insert(&number.to_ne_bytes(), &fd.to_ne_bytes())
    }

    /// Lets packets in, by the driver's hook where it has one.
    ///
    /// # Errors
    /// [`ErrorKind::Busy`] when another program is there.
    pub(super) fn open(&self, interface: u32, barrier: PacketSocket) -> Result<XdpMode> {
        let attach = |mode| Link::xdp(&self.program, interface, mode).map(|link| (link, mode));
        let attached = attach(XdpMode::Native).or_else(|error| match error.kind() {
            ErrorKind::Unsupported if !self.is_bound => attach(XdpMode::Generic),
            _ => Err(error),
        });
        let (link, mode) = attached?;
        *self.lock() = Some(Open { _link: link, barrier });
        Ok(mode)
    }

    /// Lets no packet in any more, for none of the sources. Afterwards the counters stand still.
    ///
    /// The program may still run on another core when it was detached. Closing a packet socket
    /// returns only when every core has left the receive path that it was in (`synchronize_net` in
    /// `packet_release`, net/packet/af_packet.c, Linux 6.18).
    pub(super) fn close(&self) {
        if let Some(Open { _link: link, barrier }) = self.lock().take() {
            drop(link);
            drop(barrier);
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.lock().is_none()
    }

    /// What the program counted on queue `number`.
    pub(super) fn counters(&self, number: u32) -> Result<Counters> {
        let values = self.counters.lookup(&number.to_ne_bytes())?.unwrap_or_default();
        let (copies, _) = values.as_chunks::<{ COUNTERS as usize }>();
        let sum = |at: i16| copies.iter().map(|copy| u64_at(copy, at as usize)).sum();
        Ok(Counters { seen: sum(SEEN), matched: sum(MATCHED) })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(*bytes[at..].first_chunk().expect("a counter has 8 bytes"))
}
