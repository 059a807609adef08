use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use linerate_base::{Error, ErrorKind, Result};

use super::bind::bind;
use super::ring::{Consumer, Producer};
use super::socket::{RingKind, Socket, Statistics};
use super::umem::{FrameSize, refused};

/// A part of the memory: where it lies, and in what it is divided.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) start: usize,
    /// From the start of the whole memory.
    pub(super) offset: u32,
    pub(super) frames: u32,
    pub(super) size: FrameSize,
}

impl Part {
    fn bytes(&self) -> u64 {
        u64::from(self.frames) * u64::from(self.size.bytes())
    }
}

/// Where a packet lies in [`Umem::region`](super::Umem::region).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Start of its bytes.
    pub offset: u32,
    /// How many they are.
    pub length: u32,
}

/// A socket on one receive queue of an interface, and its frames.
#[derive(Debug)]
pub struct Queue {
    socket: Socket,
    receive: Consumer<libc::xdp_desc>,
    fill: Producer<u64>,
    part: Part,
    leased: u32,
    /// The driver looks for packets when it is told to.
    is_polled: bool,
    /// Packets whose frames were given back.
    released: u64,
}

/// The completion ring serves sending, but no socket is bound without one.
const COMPLETIONS: u32 = 64;

/// A socket with its receive and its fill ring.
type Rings = (Socket, Consumer<libc::xdp_desc>, Producer<u64>);

impl Queue {
    /// The rings have an entry for every frame: the receive ring is never full while a frame is free.
    pub(super) fn open(part: Part, interface: u32, queue: u32) -> Result<Self> {
        let asked = format!("open an AF_XDP socket on queue {queue}");
        let (socket, receive, fill) = Self::prepare(&part).map_err(|e| refused(asked, e))?;
        let mut opened =
            Self { socket, receive, fill, part, leased: 0, is_polled: false, released: 0 };
        opened.fill_all();
        bind(&opened.socket, interface, queue)?;
        Ok(opened)
    }

    fn prepare(part: &Part) -> io::Result<Rings> {
        let entries = part.frames.next_power_of_two();
        let socket = Socket::open()?;
        // SAFETY: the part was given to this queue alone, and it tells what is in it by leases.
        unsafe { socket.register_memory(part.start, part.bytes(), part.size.bytes(), 0)? };
        socket.request_ring(RingKind::Fill, entries)?;
        socket.request_ring(RingKind::Completion, COMPLETIONS)?;
        socket.request_ring(RingKind::Receive, entries)?;
        let (memory, layout) =
            socket.map_ring(RingKind::Receive, entries, size_of::<libc::xdp_desc>())?;
        let receive = Consumer::over(memory, layout, entries);
        let (memory, layout) = socket.map_ring(RingKind::Fill, entries, size_of::<u64>())?;
        Ok((socket, receive, Producer::over(memory, layout, entries)))
    }

    fn fill_all(&mut self) {
        let size = u64::from(self.part.size.bytes());
        (0..u64::from(self.part.frames)).for_each(|frame| self.fill.push(frame * size));
        self.fill.publish();
    }

    /// Takes at most `most` packets that are there; returns how many. What was leased before and not
    /// released is leased again.
    pub fn lease(&mut self, most: u32) -> u32 {
        self.leased = self.receive.available().min(most);
        self.leased
    }

    /// Where the leased packet `index` lies; `None` when the kernel's numbers make no sense.
    ///
    /// # Panics
    /// When so many are not leased.
    #[inline]
    pub fn frame(&self, index: u32) -> Option<Frame> {
        assert!(index < self.leased, "packet {index} of {} that are leased", self.leased);
        let entry = self.receive.get(index);
        let end = entry.addr.checked_add(u64::from(entry.len))?;
        // The part ends below 4 GiB from the start of the memory.
        (end <= self.part.bytes())
            .then(|| Frame { offset: self.part.offset + entry.addr as u32, length: entry.len })
    }

    /// Gives the frames of all leased packets back to the kernel.
    pub fn release(&mut self) {
        if self.leased == 0 {
            return;
        }
        let start_of_frame = !u64::from(self.part.size.bytes() - 1);
        for index in 0..self.leased {
            let frame = self.receive.get(index).addr & start_of_frame;
            self.fill.push(frame);
        }
        self.receive.release(self.leased);
        self.fill.publish();
        self.released += u64::from(self.leased);
        self.leased = 0;
    }

    /// Packets that the kernel has put in the receive ring so far.
    pub fn received(&mut self) -> u64 {
        self.released + u64::from(self.receive.available())
    }

    /// From now on [`wake_if_needed`](Self::wake_if_needed) has the driver look for packets, in the caller's
    /// time, once a first packet told the kernel which part of the driver that is.
    ///
    /// # Errors
    /// - [`ErrorKind::Permission`] without CAP_NET_ADMIN.
    /// - [`ErrorKind::Unsupported`] when the kernel cannot: before Linux 5.11, or built without.
    pub fn prefer_busy_poll(&mut self) -> Result<()> {
        self.socket.prefer_busy_poll().map_err(not_polled)?;
        self.is_polled = true;
        Ok(())
    }

    /// Has the driver take frames from the fill ring, where it waits to be told; and look for packets,
    /// where it is polled.
    ///
    /// # Errors
    /// `ENETDOWN` when the interface is down or gone.
    pub fn wake_if_needed(&self) -> io::Result<()> {
        if self.is_polled || self.fill.needs_wakeup() { self.socket.wake() } else { Ok(()) }
    }

    /// What the kernel counted.
    ///
    /// # Errors
    /// What getsockopt(2) answers.
    pub fn statistics(&self) -> io::Result<Statistics> {
        self.socket.statistics()
    }

    /// Of the packets that the kernel dropped, those that were longer than a frame.
    ///
    /// Only where it copies does it count those that found no frame among the dropped (`xsk_rcv_check`,
    /// `__xsk_rcv` and `__xsk_rcv_zc` in net/xdp/xsk.c, Linux 6.18).
    ///
    /// # Errors
    /// What getsockopt(2) answers.
    pub fn oversized(&self) -> io::Result<u64> {
        let Statistics { dropped, fill_ring_empty, .. } = self.statistics()?;
        let without_frame = if self.is_zero_copy()? { 0 } else { fill_ring_empty };
        Ok(dropped.saturating_sub(without_frame))
    }

    /// True when the driver writes packets into the frames itself, false when the kernel copies them.
    ///
    /// # Errors
    /// What getsockopt(2) answers.
    pub fn is_zero_copy(&self) -> io::Result<bool> {
        self.socket.is_zero_copy()
    }
}

fn not_polled(error: io::Error) -> Error {
    let asked = "have a driver polled by an AF_XDP socket";
    match error.raw_os_error() {
        Some(libc::ENOPROTOOPT) => {
            Error::new(ErrorKind::Unsupported, asked, "the kernel has no preferred busy polling")
                .advise("that takes Linux 5.11 with CONFIG_NET_RX_BUSY_POLL: leave out --busy-poll")
        }
        Some(libc::EPERM) => Error::system(asked, error)
            .advise("busy polling needs root or the capability CAP_NET_ADMIN"),
        _ => Error::system(asked, error).advise("leave out --busy-poll"),
    }
}

impl AsFd for Queue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
