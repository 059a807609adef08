use std::io;

use linerate_base::{Error, Result};

use super::bind::bind;
use super::metadata::{Offloads, write_launch};
use super::ring::{Consumer, Producer};
use super::slots::{Outcome, Slots};
use super::socket::{RingKind, Socket};
use super::umem::{FrameSize, refused};
use crate::mmap::SharedMemory;

/// A socket that sends on one queue of an interface, and the frames that it sends from.
///
/// The frames are a row of slots: [`acquire`](Self::acquire) lends the next ones,
/// [`submit`](Self::submit) puts them into the transmit ring, [`kick`](Self::kick) has the kernel look
/// there, [`complete`](Self::complete) tells which are through.
#[derive(Debug)]
pub struct TransmitQueue {
    socket: Socket,
    memory: SharedMemory,
    size: FrameSize,
    offloads: Offloads,
    slots: Slots,
    is_zero_copy: bool,
}

/// The fill ring serves receiving, but no socket is bound without one.
const FILLS: u32 = 1;

/// The fewest entries of a ring that the kernel goes through with one call (`TX_BATCH_SIZE` in
/// net/xdp/xsk.c, Linux 6.18).
const BUDGET: u32 = 32;

impl TransmitQueue {
    /// Opens a socket on the queue `queue` of the interface with index `interface`, with `slots`
    /// frames. The driver reads them itself where it can, and the kernel copies them where it cannot. `offloads` are
    /// what the driver says it does for such sockets ([`XdpFeatures`](crate::netlink::XdpFeatures)): others pass over
    /// what is asked, but for checksums where the kernel copies.
    ///
    /// # Errors
    /// As [`Umem::open_queue`](super::Umem::open_queue).
    pub fn open(
        interface: u32,
        queue: u32,
        size: FrameSize,
        slots: u32,
        offloads: Offloads,
    ) -> Result<Self> {
        let asked = || format!("open an AF_XDP socket on queue {queue}");
        let bytes = size.bytes() as usize * slots as usize;
        let memory = SharedMemory::anonymous(bytes).map_err(|e| Error::system(asked(), e))?;
        let prepared = Self::prepare(memory, size, slots, offloads);
        let mut opened = prepared.map_err(|e| refused(asked(), e))?;
        bind(&opened.socket, interface, queue)?;
        opened.is_zero_copy = opened.socket.is_zero_copy().map_err(|e| refused(asked(), e))?;
        Ok(opened)
    }

    /// The rings have an entry for every frame: so the completion ring is never full.
    fn prepare(
        memory: SharedMemory,
        size: FrameSize,
        slots: u32,
        offloads: Offloads,
    ) -> io::Result<Self> {
        let entries = slots.next_power_of_two().max(BUDGET);
        let socket = Socket::open()?;
        // SAFETY: the kernel only reads this memory, and `acquire` lends no frame that it may read.
        unsafe {
            let start = memory.as_ptr() as usize;
            let metadata = offloads.room() as u32;
            socket.register_memory(start, memory.len() as u64, size.bytes(), metadata)?;
        }
        socket.request_ring(RingKind::Fill, FILLS)?;
        socket.request_ring(RingKind::Completion, entries)?;
        socket.request_ring(RingKind::Transmit, entries)?;
        socket.raise_budget(entries)?;
        let (ring, layout) =
            socket.map_ring(RingKind::Transmit, entries, size_of::<libc::xdp_desc>())?;
        let transmit = Producer::over(ring, layout, entries);
        let (ring, layout) = socket.map_ring(RingKind::Completion, entries, size_of::<u64>())?;
        let completions = Consumer::over(ring, layout, entries);
        let count = slots as usize;
        let slots = Slots::new(transmit, completions, size.bytes(), slots, offloads);
        let mut opened = Self { socket, memory, size, offloads, slots, is_zero_copy: false };
        let stride = opened.stride();
        opened.acquire(count).chunks_mut(stride).for_each(|slot| offloads.write(slot));
        Ok(opened)
    }

    /// Bytes from one slot to the next.
    pub fn stride(&self) -> usize {
        self.size.bytes() as usize
    }

    /// How far behind the beginning of its slot a frame begins. What lies there is what is asked of the driver, and
    /// not to be changed.
    pub fn head(&self) -> usize {
        self.offloads.room()
    }

    /// True when the driver reads frames itself, false when the kernel copies them.
    pub fn is_zero_copy(&self) -> bool {
        self.is_zero_copy
    }

    /// At most `most` slots that follow one another in memory and are the process's. Fewer, or none,
    /// where the ring is full or ends.
    pub fn acquire(&mut self, most: usize) -> &mut [u8] {
        let (first, count) = self.slots.free(most);
        // SAFETY: the slots lie inside the mapping. They are not outstanding, so the kernel gave them
        // back or never had them, and it does not read them before `submit`, which needs `&mut self`
        // and so comes after the slice's last use.
        unsafe {
            let start = self.memory.as_ptr().add(first * self.stride());
            std::slice::from_raw_parts_mut(start, count * self.stride())
        }
    }

    /// Has the card keep the frame in the slot `place` of those acquired last until its clock shows so many nanoseconds;
    /// frames behind it wait as well. Where it has no launch times, or its queue is not set for them, the frame
    /// leaves at once.
    ///
    /// # Panics
    /// When there is no such slot, or launch times were not among the offloads.
    pub fn launch(&mut self, place: usize, nanos: u64) {
        assert!(self.offloads.launches, "launch times were not asked for");
        let stride = self.stride();
        write_launch(&mut self.acquire(place + 1)[place * stride..], nanos);
    }

    /// Gives the kernel the first slots of those acquired last, filled with frames of these lengths.
    ///
    /// # Panics
    /// When these are more slots than there are free, or a frame is longer than a slot, empty, or so short that it has
    /// no place for the checksum that the driver completes.
    pub fn submit(&mut self, lengths: &[u32]) {
        self.slots.submit(lengths);
    }

    /// Has the kernel send what is in the transmit ring, where it waits to be told. What the device has
    /// no room for stays there, but for the frame that found none.
    ///
    /// # Errors
    /// `ENETDOWN` when the interface is down, `ENXIO` when it is gone.
    pub fn kick(&mut self) -> io::Result<()> {
        while self.slots.needs_wakeup() {
            let error = match self.socket.send() {
                Ok(()) => break,
                Err(error) => error,
            };
            match error.raw_os_error() {
                Some(libc::EAGAIN) if self.slots.advance() => continue,
                Some(libc::EBUSY) if !self.is_zero_copy => self.slots.lose_one(),
                Some(libc::EAGAIN | libc::EBUSY | libc::ENOBUFS | libc::EINTR) => {}
                _ => return Err(error),
            }
            break;
        }
        self.slots.advance();
        Ok(())
    }

    /// What became of the oldest outstanding frame, whose slot is free again; `None` while it is not
    /// known.
    pub fn complete(&mut self) -> Option<Outcome> {
        self.slots.complete()
    }

    /// Takes back the frames, the newest first, that the kernel has not begun to send; returns how
    /// many. They are not sent. From a driver that reads the ring itself none can be taken back.
    pub fn withdraw(&mut self) -> usize {
        if self.is_zero_copy {
            return 0;
        }
        // SAFETY: where it copies, the kernel reads the ring during `kick` only, which has returned.
        unsafe { self.slots.withdraw() }
    }
}
