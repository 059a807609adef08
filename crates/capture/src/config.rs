//! What to capture, and how.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use linerate_base::{LinkType, TimestampSource};
use linerate_bpf::classic::Program;
use linerate_bpf::extended::Predicate;

use crate::{Interrupt, Owned, UserFilter};

pub use linerate_sys::packet_socket::FanoutMode;

/// The most bytes kept of a packet unless told otherwise; more than any packet has.
pub const MAX_SNAPLEN: u32 = 262_144;

/// The longest that a packet waits for others unless told otherwise: as short as the end of a capture should take, and
/// as long as can be. Blocks of a ring are used up by time, too, so when packets are few it is the number of
/// blocks times this that the application may stand still without loss.
pub const HOLD: Duration = Duration::from_millis(100);

/// The name that stands for all interfaces at once.
pub const ANY: &str = "any";

/// What [`open`](crate::open()) is asked for.
#[derive(Clone, Debug)]
pub struct Config {
    /// Name of the interface, or [`ANY`].
    pub interface: String,
    /// The back end to use and no other; `None` takes the best that works.
    pub backend: Option<Backend>,
    /// The link type to deliver, one of [`link_types`](crate::link_types); `None` takes the first.
    pub link_type: Option<LinkType>,
    /// The most bytes to keep of a packet; 0 means [`MAX_SNAPLEN`].
    pub snaplen: u32,
    /// Also see frames that are not addressed to this host.
    pub promiscuous: bool,
    /// Which way packets must go.
    pub direction: Directions,
    /// Bytes of memory in which packets wait for the application.
    pub buffer: u64,
    /// Deliver each packet as soon as it comes, at more cost per packet, rather than up to a fifth of a
    /// second later. For what a person watches or waits for.
    pub immediate: bool,
    /// The longest that a packet waits for others, of at least a millisecond. By the ring, which closes a block after
    /// this; other back ends deliver within milliseconds.
    pub hold: Duration,
    /// Packets that the host sends with this mark (`SO_MARK`, socket(7)) are not captured: those of the application
    /// itself.
    pub unseen_mark: Option<u32>,
    /// Take the packets away from the host: it gets none of those that the interface receives. For
    /// interfaces that do nothing but capture, as at a mirror port.
    pub exclusive: bool,
    /// Do what would cut the host off from its network, such as `exclusive`, or AF_XDP without a filter, on an
    /// interface with addresses of the host's own, or owning one of these, or ports of one that the host needs.
    pub force: bool,
    /// Addresses, and ports, that are the application's: packets to them are captured, where the filter keeps them, and
    /// the host does not get them; those that ask for an address' hardware address are answered. No other
    /// packet is captured. By the taps only.
    pub owned: Option<Owned>,
    /// Have the driver look for packets in the consumer's time, which then never sleeps: a core is spent, and
    /// packets come without interrupts and wake-ups. By AF_XDP sockets only.
    pub busy_poll: bool,
    /// Where the times of packets come from.
    pub timestamps: TimestampSource,
    /// Share the packets with the other sources of a group.
    pub fanout: Option<Fanout>,
    /// Which packets to deliver; `None` delivers all.
    pub filter: Option<Filter>,
    /// What ends a wait for packets.
    pub interrupt: Interrupt,
}

impl Config {
    /// Whole packets, both ways, promiscuous, 64 MiB of buffer, the best back end.
    pub fn new(interface: impl Into<String>, interrupt: Interrupt) -> Self {
        Self {
            interface: interface.into(),
            backend: None,
            link_type: None,
            snaplen: MAX_SNAPLEN,
            promiscuous: true,
            direction: Directions::Both,
            buffer: 64 << 20,
            immediate: false,
            hold: HOLD,
            unseen_mark: None,
            exclusive: false,
            force: false,
            owned: None,
            busy_poll: false,
            timestamps: TimestampSource::Kernel,
            fanout: None,
            filter: None,
            interrupt,
        }
    }
}

/// A filter, compiled for the places where it can run.
#[derive(Clone, Debug)]
pub struct Filter {
    /// The filter as its author wrote it.
    pub text: String,
    /// For the kernel, which sees a packet as a packet socket does: a VLAN tag stands beside it, and
    /// of a cooked link type it sees what follows the cooked header. `None` where the filter cannot
    /// run there; a program that the kernel turns out not to take is told in
    /// [`Capture::notes`](crate::Capture::notes). Note that libpcap's programs for the kernel, and
    /// ours, keep a tagged packet for `udp`, as its tag is not in the way there; those for user space
    /// do not.
    pub kernel: Option<Program>,
    /// For the taps and AF_XDP, as a piece of their program, of any length; `None` where the filter cannot
    /// run there.
    pub tap: Option<Predicate>,
    /// For user space, where packets are as they are delivered.
    pub user: UserFilter,
}

/// Which way packets must go to be delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Directions {
    /// Either way.
    #[default]
    Both,
    /// Received by the host.
    In,
    /// Sent by the host.
    Out,
}

/// A group of sources among which the kernel shares packets, each packet to one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fanout {
    /// How it shares them.
    pub mode: FanoutMode,
    /// The group to join. `None` founds one that nobody else can be in by chance;
    /// [`Capture::fanout_group`](crate::Capture::fanout_group) tells its number, for the others.
    pub group: Option<u16>,
}

/// A way to get packets from the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Backend {
    /// A program at the interface's traffic-control hooks (TCX), which copies each packet into memory
    /// that it shares with us.
    Tap,
    /// The same program at the interface's XDP hook, where no packet of the host's own has been made
    /// yet: sees what comes in only.
    TapXdp,
    /// AF_XDP sockets: frames of queues that are ours. What the filter keeps the host does not get.
    Xdp,
    /// A ring shared with the kernel (`TPACKET_V3`): no copy, no system call per packet.
    Ring,
    /// A packet socket, read many packets at a time: works everywhere, delivers at once.
    Socket,
}

impl Backend {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Tap, Self::TapXdp, Self::Xdp, Self::Ring, Self::Socket];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tap => "tap",
            Self::TapXdp => "tap-xdp",
            Self::Xdp => "xdp",
            Self::Ring => "ring",
            Self::Socket => "socket",
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Backend {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|backend| backend.name() == name);
        let names = || Self::ALL.map(Self::name).join(", ");
        found.ok_or_else(|| format!("no back end is called {name:?}: there are {}", names()))
    }
}
