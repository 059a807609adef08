//! Packet sockets: every frame of an interface, or of all of them (packet(7)).
//!
//! A socket from [`PacketSocket::open`] has no protocol and receives nothing until it is bound, so
//! that its filter and its ring can be put in place first. Questions about interfaces go through the
//! socket too, and are so answered by the network namespace in which it was opened, whatever
//! namespace the asking thread is in.
//!
//! Source: `linux/if_packet.h`, Linux 6.18.

mod device;
mod receive;

use std::io;
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

pub use device::Device;
pub use receive::{AuxData, LinkAddress, Message, Receiver, SLOTS, Slots};

/// What the socket delivers of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// All of it, from its link-layer header on (`SOCK_RAW`).
    Link,
    /// From its network-layer header on; the link layer is told by an address (`SOCK_DGRAM`).
    Network,
}

/// How the members of a fanout group share packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FanoutMode {
    /// By the flow that a packet belongs to: both directions of one go to one member.
    Hash,
    /// By the CPU on which a packet arrives.
    Cpu,
}

/// What became of packets since the counters were last asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Packets that passed the socket's filter, those dropped included.
    pub packets: u32,
    /// Packets that passed the filter and found no room.
    pub dropped: u32,
    /// Times that a `TPACKET_V3` ring was full; always 0 for a socket without one.
    pub freezes: u32,
}

/// Every protocol, for [`PacketSocket::bind`].
pub const ALL_PROTOCOLS: u16 = libc::ETH_P_ALL as u16;

/// A packet socket.
#[derive(Debug)]
pub struct PacketSocket(OwnedFd);

impl PacketSocket {
    /// A socket that receives nothing yet.
    ///
    /// # Errors
    /// `EPERM` without CAP_NET_RAW in the user namespace that owns the network namespace.
    pub fn open(level: Level) -> io::Result<Self> {
        let kind = match level {
            Level::Link => libc::SOCK_RAW,
            Level::Network => libc::SOCK_DGRAM,
        };
        // SAFETY: socket(2) takes three integers and touches no memory of ours.
        let fd = unsafe { libc::socket(libc::AF_PACKET, kind | libc::SOCK_CLOEXEC, 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just given us this descriptor, and nobody else knows it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Begins to receive packets of `protocol` on the interface `index`, or on all where it is 0.
    ///
    /// On an interface that is down this succeeds, and [`take_error`](Self::take_error) tells.
    ///
    /// # Errors
    /// `ENODEV` when there is no such interface.
    pub fn bind(&self, index: u32, protocol: u16) -> io::Result<()> {
        let address = libc::sockaddr_ll {
            sll_family: libc::AF_PACKET as u16,
            sll_protocol: protocol.to_be(),
            sll_ifindex: index as libc::c_int,
            sll_hatype: 0,
            sll_pkttype: 0,
            sll_halen: 0,
            sll_addr: [0; 8],
        };
        let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: `address` is a whole sockaddr_ll of `length` bytes that lives through the call.
        done(unsafe { libc::bind(self.0.as_raw_fd(), (&raw const address).cast(), length) })
    }

    /// Takes the error that waits on the socket, such as `ENETDOWN`.
    ///
    /// # Errors
    /// When the system does not tell.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        let code: libc::c_int = self.option(libc::SOL_SOCKET, libc::SO_ERROR)?;
        Ok((code != 0).then(|| io::Error::from_raw_os_error(code)))
    }

    /// Has the interface pass on frames that are not addressed to it, as long as the socket lives.
    ///
    /// # Errors
    /// `ENODEV` when there is no such interface.
    pub fn set_promiscuous(&self, index: u32) -> io::Result<()> {
        let request = libc::packet_mreq {
            mr_ifindex: index as libc::c_int,
            mr_type: libc::PACKET_MR_PROMISC as u16,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        self.set_option(libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &request)
    }

    /// Puts a mark on all that is sent by the socket (`SO_MARK`, socket(7)).
    ///
    /// # Errors
    /// `EPERM` without CAP_NET_ADMIN or, since Linux 5.17, CAP_NET_RAW.
    pub fn set_mark(&self, mark: u32) -> io::Result<()> {
        self.set_option(libc::SOL_SOCKET, libc::SO_MARK, &mark)
    }

    /// Has every message carry its [`AuxData`].
    ///
    /// # Errors
    /// What setsockopt(2) answers.
    pub fn enable_aux_data(&self) -> io::Result<()> {
        self.set_option(libc::SOL_PACKET, libc::PACKET_AUXDATA, &1i32)
    }

    /// Has every message carry the time of its arrival, in nanoseconds.
    ///
    /// # Errors
    /// What setsockopt(2) answers.
    pub fn enable_timestamps(&self) -> io::Result<()> {
        self.set_option(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &1i32)
    }

    /// Has every message carry, too, the time at which the network card received the packet, where the card stamped
    /// it; and has a ring tell that time instead of the kernel's.
    ///
    /// # Errors
    /// What setsockopt(2) answers.
    pub fn enable_hardware_timestamps(&self) -> io::Result<()> {
        let told = libc::SOF_TIMESTAMPING_RAW_HARDWARE;
        let kinds = libc::SOF_TIMESTAMPING_RX_HARDWARE | told;
        self.set_option(libc::SOL_SOCKET, libc::SO_TIMESTAMPING, &kinds)?;
        self.set_option(libc::SOL_PACKET, libc::PACKET_TIMESTAMP, &told)
    }

    /// Sets the memory in which packets wait to be received, and returns the bytes that the kernel
    /// granted: it doubles the request, for its own bookkeeping, and caps it at
    /// `net.core.rmem_max` for a process without CAP_NET_ADMIN.
    ///
    /// # Errors
    /// What setsockopt(2) answers.
    pub fn set_receive_buffer(&self, bytes: usize) -> io::Result<usize> {
        let bytes = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
        self.set_option(libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &bytes)
            .or_else(|_| self.set_option(libc::SOL_SOCKET, libc::SO_RCVBUF, &bytes))?;
        let granted: libc::c_int = self.option(libc::SOL_SOCKET, libc::SO_RCVBUF)?;
        Ok(usize::try_from(granted).unwrap_or_default())
    }

    /// Keeps at least `bytes` free before each packet in the ring.
    ///
    /// # Errors
    /// `EBUSY` once there is a ring.
    pub fn reserve(&self, bytes: u32) -> io::Result<()> {
        self.set_option(libc::SOL_PACKET, libc::PACKET_RESERVE, &bytes)
    }

    pub(crate) fn set_ring_version(&self, version: libc::c_int) -> io::Result<()> {
        self.set_option(libc::SOL_PACKET, libc::PACKET_VERSION, &version)
    }

    pub(crate) fn request_rx_ring(&self, request: &libc::tpacket_req3) -> io::Result<()> {
        self.set_option(libc::SOL_PACKET, libc::PACKET_RX_RING, request)
    }

    pub(crate) fn request_tx_ring(&self, request: &libc::tpacket_req) -> io::Result<()> {
        self.set_option(libc::SOL_PACKET, libc::PACKET_TX_RING, request)
    }

    /// Joins the fanout group `group`, or founds it; `None` founds one under a number that no other
    /// has. The socket must be bound.
    ///
    /// # Errors
    /// `EINVAL` when the group shares packets in another way or of another interface.
    pub fn join_fanout(&self, group: Option<u16>, mode: FanoutMode) -> io::Result<()> {
        let mode = match mode {
            FanoutMode::Hash => libc::PACKET_FANOUT_HASH,
            FanoutMode::Cpu => libc::PACKET_FANOUT_CPU,
        };
        let unique = if group.is_none() { libc::PACKET_FANOUT_FLAG_UNIQUEID } else { 0 };
        let request = u32::from(group.unwrap_or(0)) | (mode | unique) << 16;
        self.set_option(libc::SOL_PACKET, libc::PACKET_FANOUT, &request)
    }

    /// The number of the fanout group that the socket is in.
    ///
    /// # Errors
    /// What getsockopt(2) answers.
    pub fn fanout_group(&self) -> io::Result<u16> {
        let value: u32 = self.option(libc::SOL_PACKET, libc::PACKET_FANOUT)?;
        Ok((value & 0xffff) as u16)
    }

    /// Reads the counters and sets them to 0.
    ///
    /// # Errors
    /// What getsockopt(2) answers.
    pub fn take_statistics(&self) -> io::Result<Statistics> {
        // A socket without a TPACKET_V3 ring fills in the first two members only.
        let raw: [u32; 3] = self.option(libc::SOL_PACKET, libc::PACKET_STATISTICS)?;
        Ok(Statistics { packets: raw[0], dropped: raw[1], freezes: raw[2] })
    }

    fn set_option<T>(&self, level: i32, name: i32, value: &T) -> io::Result<()> {
        let length = size_of::<T>() as libc::socklen_t;
        let value: *const T = value;
        // SAFETY: `value` points to `length` readable bytes that live through the call.
        done(unsafe { libc::setsockopt(self.0.as_raw_fd(), level, name, value.cast(), length) })
    }

    fn option<T: PlainInteger>(&self, level: i32, name: i32) -> io::Result<T> {
        let mut value = MaybeUninit::<T>::zeroed();
        let mut length = size_of::<T>() as libc::socklen_t;
        // SAFETY: the kernel writes at most `length` bytes to `value`, which has as many.
        done(unsafe {
            let target = value.as_mut_ptr().cast();
            libc::getsockopt(self.0.as_raw_fd(), level, name, target, &raw mut length)
        })?;
        // SAFETY: all bytes were zeroed, some then written: any bits make an integer.
        Ok(unsafe { value.assume_init() })
    }
}

/// Types for which any bits make a value.
trait PlainInteger {}
impl PlainInteger for i32 {}
impl PlainInteger for u32 {}
impl PlainInteger for [u32; 3] {}

fn done(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
