//! A transmit ring shared with the kernel: `TPACKET_V2`.
//!
//! The ring is a row of slots, each a header (`struct tpacket2_hdr`) with a frame behind it. A slot belongs to
//! the process while its status is `TP_STATUS_AVAILABLE`; the process fills it and sets
//! `TP_STATUS_SEND_REQUEST`, and one system call has the kernel send all that are so marked. Once the driver is
//! done with a frame, its slot is available again.
//!
//! Source: `linux/if_packet.h` and `tpacket_snd` in `net/packet/af_packet.c`, Linux 6.18.

use std::io;
use std::mem::offset_of;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::mmap::SharedMemory;
use crate::packet_socket::PacketSocket;

/// Where a frame begins in its slot: behind the header, aligned.
pub const HEAD: usize = size_of::<libc::tpacket2_hdr>().next_multiple_of(libc::TPACKET_ALIGNMENT);

/// The size of a block of slots, in bytes: of one, the kernel needs pages in a row.
const BLOCK: usize = 1 << 17;

/// The process's end of a transmit ring.
#[derive(Debug)]
pub struct TxRing {
    memory: SharedMemory,
    stride: usize,
    slots: usize,
    /// The next slot to be filled.
    next: usize,
    /// Slots before it that were submitted and not [completed](TxRing::complete).
    outstanding: usize,
}

impl TxRing {
    /// Has the kernel allocate a ring for `socket`, and maps it: at least `slots` of them, each with room for
    /// `longest` bytes.
    ///
    /// # Errors
    /// `ENOMEM` when the kernel has no such memory.
    ///
    /// # Panics
    /// When a frame has more than 131,040 bytes.
    pub fn new(socket: &PacketSocket, slots: usize, longest: usize) -> io::Result<Self> {
        let stride = (HEAD + longest).next_power_of_two();
        assert!(stride <= BLOCK, "frames of {longest} bytes");
        let blocks = (slots * stride).div_ceil(BLOCK);
        let request = libc::tpacket_req {
            tp_block_size: BLOCK as u32,
            tp_block_nr: blocks as u32,
            tp_frame_size: stride as u32,
            tp_frame_nr: (blocks * BLOCK / stride) as u32,
        };
        socket.set_ring_version(libc::tpacket_versions::TPACKET_V2 as libc::c_int)?;
        socket.request_tx_ring(&request)?;
        let memory = SharedMemory::map(socket.as_fd(), blocks * BLOCK)?;
        Ok(Self::over(memory, stride))
    }

    fn over(memory: SharedMemory, stride: usize) -> Self {
        let slots = memory.len() / stride;
        Self { memory, stride, slots, next: 0, outstanding: 0 }
    }

    /// Bytes from one slot to the next.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// At most `most` slots that follow one another in memory and are the process's; frames begin
    /// [`HEAD`] bytes behind the beginning of their slot. Fewer, or none, where the ring is full or ends.
    pub fn acquire(&mut self, most: usize) -> &mut [u8] {
        let most = most.min(self.slots - self.outstanding).min(self.slots - self.next);
        let is_free = |slot: &usize| self.load_status(*slot) == AVAILABLE;
        let free = (self.next..self.next + most).take_while(is_free).count();
        // SAFETY: the slots lie inside the mapping. The acquire loads above saw the kernel leave them to us, and
        // it neither reads nor writes them until `submit`, which needs `&mut self` and so comes after the
        // slice's last use.
        unsafe {
            let start = self.memory.as_ptr().add(self.next * self.stride);
            std::slice::from_raw_parts_mut(start, free * self.stride)
        }
    }

    /// Marks the first slots of those acquired last as filled with frames of these lengths.
    ///
    /// # Panics
    /// When these are more slots than the ring has free, or a length is more than a slot.
    pub fn submit(&mut self, lengths: &[u32]) {
        assert!(lengths.len() <= self.slots - self.outstanding, "more frames than slots");
        for length in lengths {
            assert!(HEAD + *length as usize <= self.stride, "a frame is longer than its slot");
            // SAFETY: the slot lies inside the mapping, its header is aligned as slots begin at powers of two, and
            // until the store below it is ours.
            unsafe {
                let header = self.memory.as_ptr().add(self.next * self.stride);
                header.add(offset_of!(libc::tpacket2_hdr, tp_len)).cast::<u32>().write(*length);
            }
            self.status(self.next).store(libc::TP_STATUS_SEND_REQUEST, Ordering::Release);
            self.next = (self.next + 1) % self.slots;
        }
        self.outstanding += lengths.len();
    }

    /// Has the kernel send what is marked. `false` when the device had no room for all: they stay marked.
    ///
    /// # Errors
    /// `EMSGSIZE` for a frame that is too long, at which the kernel stays until it is
    /// [withdrawn](Self::withdraw); `ENETDOWN` when the interface is down, `ENXIO` when it is gone.
    pub fn kick(&self, socket: &PacketSocket) -> io::Result<bool> {
        let fd = socket.as_fd().as_raw_fd();
        // SAFETY: a null buffer of no bytes; the frames are in the ring.
        let sent = unsafe { libc::send(fd, std::ptr::null(), 0, libc::MSG_DONTWAIT) };
        if sent >= 0 {
            return Ok(true);
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::ENOBUFS | libc::EAGAIN) => Ok(false),
            _ => Err(error),
        }
    }

    /// How many frames, the oldest first, the driver is done with since the last call. Their slots are free again.
    pub fn complete(&mut self) -> usize {
        let before = self.outstanding;
        while self.outstanding > 0 {
            let oldest = (self.next + self.slots - self.outstanding) % self.slots;
            if self.load_status(oldest) != AVAILABLE {
                break;
            }
            self.outstanding -= 1;
        }
        before - self.outstanding
    }

    /// Takes back the frames, the newest first, that the kernel has not begun to send or refuses; returns how
    /// many. They are not sent.
    pub fn withdraw(&mut self) -> usize {
        let before = self.outstanding;
        while self.outstanding > 0 {
            let newest = (self.next + self.slots - 1) % self.slots;
            match self.load_status(newest) {
                libc::TP_STATUS_SEND_REQUEST | libc::TP_STATUS_WRONG_FORMAT => {}
                _ => break,
            }
            // The kernel reads slots during `kick` only, which has returned.
            self.status(newest).store(AVAILABLE, Ordering::Release);
            self.next = newest;
            self.outstanding -= 1;
        }
        before - self.outstanding
    }

    fn load_status(&self, slot: usize) -> u32 {
        self.status(slot).load(Ordering::Acquire) & !TIMESTAMPS
    }

    fn status(&self, slot: usize) -> &AtomicU32 {
        let offset = slot * self.stride + offset_of!(libc::tpacket2_hdr, tp_status);
        // SAFETY: the word lies inside the mapping, 4-byte aligned as slots begin at powers of two; kernel and process
        // access it atomically while both may. It is part of the slices that `acquire` lends, but none of those
        // is alive while `self` is borrowed here.
        unsafe { AtomicU32::from_ptr(self.memory.as_ptr().add(offset).cast()) }
    }
}

const AVAILABLE: u32 = libc::TP_STATUS_AVAILABLE;
/// Bits of a finished slot's status that say which clock stamped it.
const TIMESTAMPS: u32 = libc::TP_STATUS_TS_SOFTWARE | libc::TP_STATUS_TS_RAW_HARDWARE;

const _: () = assert!(HEAD == 32);

#[cfg(test)]
mod tests {
    use super::*;

    fn ring() -> TxRing {
        TxRing::over(SharedMemory::anonymous(4096).unwrap(), 1024)
    }

    /// Plays the kernel: leaves the slot with this status.
    fn leave(ring: &TxRing, slot: usize, status: u32) {
        assert_eq!(ring.status(slot).load(Ordering::Acquire), libc::TP_STATUS_SEND_REQUEST);
        ring.status(slot).store(status, Ordering::Release);
    }

    #[test]
    fn slots_go_round() {
        let mut ring = ring();
        assert_eq!(ring.acquire(9).len(), 4 * 1024);
        assert_eq!(ring.acquire(3).len(), 3 * 1024);
        ring.submit(&[60, 60, 60]);
        assert_eq!(ring.acquire(9).len(), 1024, "up to the end of the memory");
        leave(&ring, 1, AVAILABLE);
        assert_eq!(ring.complete(), 0, "the second waits for the first");
        leave(&ring, 0, AVAILABLE | libc::TP_STATUS_TS_SOFTWARE);
        assert_eq!(ring.complete(), 2);
        leave(&ring, 2, AVAILABLE);
        ring.submit(&[60]);
        assert_eq!(ring.complete(), 1);
        assert_eq!(ring.acquire(9).len(), 3 * 1024, "from the beginning again");
    }

    #[test]
    fn what_is_not_sent_can_be_withdrawn() {
        let mut ring = ring();
        ring.submit(&[60; 4]);
        leave(&ring, 0, libc::TP_STATUS_SENDING);
        leave(&ring, 1, libc::TP_STATUS_WRONG_FORMAT);
        assert_eq!((ring.withdraw(), ring.outstanding), (3, 1));
        ring.submit(&[60]);
        leave(&ring, 1, AVAILABLE);
        assert_eq!(ring.complete(), 0, "the first is still being sent");
    }

    #[test]
    fn a_full_ring_lends_nothing() {
        let mut ring = ring();
        ring.submit(&[60; 4]);
        assert_eq!((ring.acquire(9).len(), ring.outstanding), (0, 4));
    }
}
