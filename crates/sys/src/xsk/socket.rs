//! The system calls of an AF_XDP socket.

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use super::ring::Layout;
use crate::mmap::SharedMemory;

/// What the kernel counted on one queue since its socket was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Packets that were longer than a frame, or for which no frame was in the fill ring when the
    /// kernel was to copy them.
    pub dropped: u64,
    /// Packets for which the receive ring had no room; not among the dropped.
    pub ring_full: u64,
    /// Times that a frame was wanted and the fill ring was empty. Where the kernel copies, these
    /// packets are among the dropped; where the driver writes, it lost packets before the program.
    pub fill_ring_empty: u64,
}

#[derive(Debug)]
pub(super) struct Socket(OwnedFd);

/// A ring that can be asked for: its option, and where its mapping starts.
#[derive(Clone, Copy, Debug)]
pub(super) enum RingKind {
    Receive,
    Transmit,
    Fill,
    Completion,
}

impl RingKind {
    fn option(self) -> libc::c_int {
        match self {
            Self::Receive => libc::XDP_RX_RING,
            Self::Transmit => libc::XDP_TX_RING,
            Self::Fill => libc::XDP_UMEM_FILL_RING,
            Self::Completion => libc::XDP_UMEM_COMPLETION_RING,
        }
    }

    fn page_offset(self) -> u64 {
        match self {
            Self::Receive => libc::XDP_PGOFF_RX_RING as u64,
            Self::Transmit => libc::XDP_PGOFF_TX_RING as u64,
            Self::Fill => libc::XDP_UMEM_PGOFF_FILL_RING,
            Self::Completion => libc::XDP_UMEM_PGOFF_COMPLETION_RING,
        }
    }
}

impl Socket {
    pub(super) fn open() -> io::Result<Self> {
        // SAFETY: socket(2) takes three integers and touches no memory of ours.
        let fd = unsafe { libc::socket(libc::AF_XDP, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just given us this descriptor, and nobody else knows it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Has the kernel receive into `length` bytes of this process's memory from `start` on, or send from there, which
    /// it keeps even when the process unmaps them. Before each frame to send lie `metadata` bytes, a multiple of 8
    /// below 256.
    ///
    /// # Safety
    /// Nobody relies on what these bytes are, but by leases of the socket's queue.
    pub(super) unsafe fn register_memory(
        &self,
        start: usize,
        length: u64,
        frame: u32,
        metadata: u32,
    ) -> io::Result<()> {
        let register = |flags| {
            let request = libc::xdp_umem_reg {
                addr: start as u64,
                len: length,
                chunk_size: frame,
                headroom: 0,
                flags,
                tx_metadata_len: metadata,
            };
            self.set_option(libc::SOL_XDP, libc::XDP_UMEM_REG, &request)
        };
        if metadata == 0 {
            return register(0);
        }
        match register(libc::XDP_UMEM_TX_METADATA_LEN) {
            // Before Linux 6.11 the length is enough, and the flag unknown.
            Err(e) if e.raw_os_error() == Some(libc::EINVAL) => register(0),
            registered => registered,
        }
    }

    pub(super) fn request_ring(&self, kind: RingKind, entries: u32) -> io::Result<()> {
        self.set_option(libc::SOL_XDP, kind.option(), &entries)
    }

    /// Maps a ring that was asked for, of entries of `entry` bytes.
    pub(super) fn map_ring(
        &self,
        kind: RingKind,
        entries: u32,
        entry: usize,
    ) -> io::Result<(SharedMemory, Layout)> {
        let offsets: libc::xdp_mmap_offsets = self.option(libc::XDP_MMAP_OFFSETS)?;
        let of = match kind {
            RingKind::Receive => offsets.rx,
            RingKind::Transmit => offsets.tx,
            RingKind::Fill => offsets.fr,
            RingKind::Completion => offsets.cr,
        };
        let layout = Layout {
            producer: of.producer as usize,
            consumer: of.consumer as usize,
            flags: of.flags as usize,
            entries: of.desc as usize,
        };
        let length = layout.entries + entries as usize * entry;
        Ok((SharedMemory::map_at(self.0.as_fd(), kind.page_offset(), length)?, layout))
    }

    /// Begins to receive what programs redirect to the socket on one queue of an interface. Asked for
    /// neither, the kernel takes zero-copy where the driver has it and else copies (`xp_assign_dev` in
    /// net/xdp/xsk_buff_pool.c, Linux 6.18).
    pub(super) fn bind(&self, interface: u32, queue: u32) -> io::Result<()> {
        let address = libc::sockaddr_xdp {
            sxdp_family: libc::AF_XDP as u16,
            sxdp_flags: libc::XDP_USE_NEED_WAKEUP,
            sxdp_ifindex: interface,
            sxdp_queue_id: queue,
            sxdp_shared_umem_fd: 0,
        };
        let length = size_of::<libc::sockaddr_xdp>() as libc::socklen_t;
        // SAFETY: `address` is a whole sockaddr_xdp of `length` bytes that lives through the call.
        done(unsafe { libc::bind(self.0.as_raw_fd(), (&raw const address).cast(), length) })
    }

    /// True when the driver writes packets into the frames itself.
    pub(super) fn is_zero_copy(&self) -> io::Result<bool> {
        let options: libc::xdp_options = self.option(libc::XDP_OPTIONS)?;
        Ok(options.flags & libc::XDP_OPTIONS_ZEROCOPY != 0)
    }

    pub(super) fn statistics(&self) -> io::Result<Statistics> {
        let raw: libc::xdp_statistics = self.option(libc::XDP_STATISTICS)?;
        Ok(Statistics {
            dropped: raw.rx_dropped,
            ring_full: raw.rx_ring_full,
            fill_ring_empty: raw.rx_fill_ring_empty_descs,
        })
    }

    /// Has the driver look for packets whenever the socket is [woken](Self::wake), and not at interrupts
    /// meanwhile, where it can put them off (`napi_defer_hard_irqs`, Documentation/networking/napi.rst).
    pub(super) fn prefer_busy_poll(&self) -> io::Result<()> {
        let set = |name, value: libc::c_int| self.set_option(libc::SOL_SOCKET, name, &value);
        set(libc::SO_PREFER_BUSY_POLL, 1)?;
        set(libc::SO_BUSY_POLL, BUSY_POLL_MICROS)?;
        set(libc::SO_BUSY_POLL_BUDGET, BUSY_POLL_BUDGET)
    }

    /// Has the driver look at the fill ring, and for packets where it is polled.
    pub(super) fn wake(&self) -> io::Result<()> {
        let fd = self.0.as_raw_fd();
        // SAFETY: no buffer is given, and so none is written to.
        let answer = unsafe { libc::recv(fd, std::ptr::null_mut(), 0, libc::MSG_DONTWAIT) };
        match io::Error::last_os_error() {
            error if answer < 0 && !is_momentary(&error) => Err(error),
            _ => Ok(()),
        }
    }

    /// Has the kernel go through a transmit ring of so many entries with one call, instead of 32
    /// at a time. Before Linux 6.17 it does not know how, and callers call again.
    pub(super) fn raise_budget(&self, entries: u32) -> io::Result<()> {
        match self.set_option(libc::SOL_XDP, XDP_MAX_TX_SKB_BUDGET, &entries) {
            Err(e) if e.raw_os_error() != Some(libc::ENOPROTOOPT) => Err(e),
            _ => Ok(()),
        }
    }

    /// Has the kernel, or the driver, look at the transmit ring.
    pub(super) fn send(&self) -> io::Result<()> {
        let fd = self.0.as_raw_fd();
        // SAFETY: a null buffer of no bytes; the frames are in the ring.
        let sent = unsafe { libc::send(fd, std::ptr::null(), 0, libc::MSG_DONTWAIT) };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    fn set_option<T>(&self, level: i32, name: i32, value: &T) -> io::Result<()> {
        let length = size_of::<T>() as libc::socklen_t;
        let value: *const T = value;
        // SAFETY: `value` points to `length` readable bytes that live through the call.
        done(unsafe { libc::setsockopt(self.0.as_raw_fd(), level, name, value.cast(), length) })
    }

    fn option<T: PlainData>(&self, name: libc::c_int) -> io::Result<T> {
        let mut length = size_of::<T>() as libc::socklen_t;
        // SAFETY: the type is one of numbers only, for which all zeroes is valid.
        let mut value: T = unsafe { zeroed() };
        let target = (&raw mut value).cast();
        // SAFETY: the kernel writes at most `length` bytes to `value`, which has as many; any bits
        // make a value of its type.
        done(unsafe {
            let fd = self.0.as_raw_fd();
            libc::getsockopt(fd, libc::SOL_XDP, name, target, &raw mut length)
        })?;
        Ok(value)
    }
}

impl From<OwnedFd> for Socket {
    fn from(fd: OwnedFd) -> Self {
        Self(fd)
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// What the kernel's own example takes. A call that does not wait polls once, however many these are: that they
/// are not 0 is what counts (`sk_busy_loop` in include/net/busy_poll.h, Linux 6.18).
const BUSY_POLL_MICROS: libc::c_int = 20;

/// Packets of one poll: as many as a driver handles at an interrupt (`NAPI_POLL_WEIGHT`).
const BUSY_POLL_BUDGET: libc::c_int = 64;

/// Of `linux/if_xdp.h`, Linux 6.17.
const XDP_MAX_TX_SKB_BUDGET: libc::c_int = 9;

/// Types of numbers only, for which any bits make a value.
trait PlainData {}
impl PlainData for libc::xdp_mmap_offsets {}
impl PlainData for libc::xdp_options {}
impl PlainData for libc::xdp_statistics {}

/// Trouble that is over by the next try: the driver is busy, or has nothing to do.
fn is_momentary(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EBUSY | libc::ENOBUFS | libc::EINTR))
}

fn done(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
