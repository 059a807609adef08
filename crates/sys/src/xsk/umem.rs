use std::io;

use linerate_base::{Error, ErrorKind, Result};

use super::Queue;
use super::queue::Part;
use crate::mmap::SharedMemory;

/// Bytes of one frame: what the kernel keeps before a packet, and the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum FrameSize {
    /// Half a page.
    Half = 2048,
    /// A page: the most that the kernel allows.
    Page = 4096,
}

/// Bytes that are populated at a time: some hundredths of a second.
const POPULATED: usize = 64 << 20;

/// Bytes that the kernel leaves before the packet in a frame, where a program may put metadata
/// (`XDP_PACKET_HEADROOM` of `linux/bpf.h`).
pub const FRAME_HEADROOM: u32 = 256;

impl FrameSize {
    /// Bytes of a whole frame.
    pub fn bytes(self) -> u32 {
        self as u32
    }

    /// The longest packet that a frame holds.
    pub fn longest_packet(self) -> u32 {
        self.bytes() - FRAME_HEADROOM
    }

    /// The smallest frame that holds packets of `length` bytes; `None` when not even a page does.
    pub fn for_packets(length: u32) -> Option<Self> {
        [Self::Half, Self::Page].into_iter().find(|size| length <= size.longest_packet())
    }
}

/// Memory for received frames, in parts of equal size, one for each queue.
#[derive(Debug)]
pub struct Umem {
    memory: SharedMemory,
    size: FrameSize,
    frames: u32,
    parts: u32,
    /// Parts that a queue has.
    taken: u32,
}

impl Umem {
    /// Memory of `parts` parts with `frames` frames each.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when that is nothing, or 4 GiB and more, which offsets of 32 bits cannot
    /// reach; [`ErrorKind::Exhausted`] when there is no such memory.
    pub fn new(size: FrameSize, frames: u32, parts: u32) -> Result<Self> {
        let bytes = u64::from(size.bytes()) * u64::from(frames) * u64::from(parts);
        let asked = || format!("allocate {parts} x {frames} frames of {} bytes", size.bytes());
        if bytes == 0 || bytes >= 1 << 32 {
            let answered = "they must be some, and fit in 4 GiB";
            return Err(Error::new(ErrorKind::Invalid, asked(), answered));
        }
        let memory =
            SharedMemory::anonymous(bytes as usize).map_err(|e| Error::system(asked(), e))?;
        memory.prefer_huge_pages();
        Ok(Self { memory, size, frames, parts, taken: 0 })
    }

    /// Has the kernel give the memory its pages, a part at a time as long as `goes_on` says so; false when it did
    /// not. What is not populated a queue's opening populates, in one go.
    ///
    /// # Errors
    /// [`ErrorKind::Exhausted`] when there is no such memory.
    pub fn populate(&self, mut goes_on: impl FnMut() -> bool) -> Result<bool> {
        for start in (0..self.memory.len()).step_by(POPULATED) {
            if !goes_on() {
                return Ok(false);
            }
            let length = POPULATED.min(self.memory.len() - start);
            let asked = || format!("fill {} MiB with frames", self.memory.len() >> 20);
            match self.memory.populate(start, length) {
                // Before Linux 5.14 the kernel does not know how.
                Err(e) if e.raw_os_error() == Some(libc::EINVAL) => return Ok(true),
                populated => populated.map_err(|e| Error::system(asked(), e))?,
            }
        }
        Ok(true)
    }

    /// Opens a socket on the queue `queue` of the interface with index `interface`, with the next
    /// part as its memory. The driver writes packets there where it can, and the kernel copies them
    /// where it cannot.
    ///
    /// # Errors
    /// - [`ErrorKind::Permission`] without CAP_NET_RAW.
    /// - [`ErrorKind::Unsupported`] when the kernel has no such sockets.
    /// - [`ErrorKind::Exhausted`] when the memory may not be locked (`RLIMIT_MEMLOCK`).
    /// - [`ErrorKind::Busy`] when another socket is on the queue.
    /// - [`ErrorKind::Invalid`] when the interface has no such queue.
    ///
    /// # Panics
    /// When every part has its queue.
    pub fn open_queue(&mut self, interface: u32, queue: u32) -> Result<Queue> {
        assert!(self.taken < self.parts, "every part of the memory has its queue");
        let bytes = self.size.bytes() as usize * self.frames as usize;
        let part = Part {
            start: self.memory.as_ptr() as usize + bytes * self.taken as usize,
            offset: (bytes * self.taken as usize) as u32,
            frames: self.frames,
            size: self.size,
        };
        let opened = Queue::open(part, interface, queue)?;
        self.taken += 1;
        Ok(opened)
    }

    /// All of the memory. What lies in frames that are not [leased](Queue::lease) is the kernel's, and
    /// changes at any time: not to be read.
    pub fn region(&self) -> &[u8] {
        // SAFETY: the mapping is readable for its whole length and lives as long as `self`; any bytes
        // make a `u8`. The kernel writes to frames that it has, which nobody reads: offsets into the
        // region come from leases, whose frames the kernel does not have until they are released.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr(), self.memory.len()) }
    }

    /// A part of [`region`](Self::region) in a leased frame, to be changed.
    ///
    /// # Panics
    /// If the part reaches outside the region.
    pub fn part_mut(&mut self, start: usize, length: usize) -> &mut [u8] {
        assert!(start <= self.memory.len() && length <= self.memory.len() - start);
        // SAFETY: checked to be inside the mapping, which lives as long as `self` and is borrowed by
        // nobody else here; otherwise as for `region`.
        unsafe { std::slice::from_raw_parts_mut(self.memory.as_ptr().add(start), length) }
    }
}

/// What to do about an error of one step, by its number.
pub(super) fn refused(asked: String, error: io::Error) -> Error {
    match error.raw_os_error() {
        Some(libc::EPERM) => {
            Error::system(asked, error).advise("AF_XDP needs root or the capability CAP_NET_RAW")
        }
        Some(libc::ENOBUFS) => Error::system(asked, error).as_kind(ErrorKind::Exhausted).advise(
            "more memory than may be locked without CAP_IPC_LOCK: raise `ulimit -l`, or ask for less",
        ),
        Some(libc::EAFNOSUPPORT | libc::EPROTONOSUPPORT) => {
            Error::new(ErrorKind::Unsupported, asked, "the kernel has no AF_XDP sockets")
        }
        _ => Error::system(asked, error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_as_small_as_the_packets_allow() {
        assert_eq!(FrameSize::for_packets(1522), Some(FrameSize::Half));
        assert_eq!(FrameSize::for_packets(1792), Some(FrameSize::Half));
        assert_eq!(FrameSize::for_packets(1793), Some(FrameSize::Page));
        assert_eq!(FrameSize::for_packets(3841), None);
    }

    #[test]
    fn memory_that_offsets_cannot_reach_is_refused() {
        let kind = |frames, parts| Umem::new(FrameSize::Page, frames, parts).unwrap_err().kind();
        assert_eq!(kind(0, 1), ErrorKind::Invalid);
        assert_eq!(kind(1 << 19, 2), ErrorKind::Invalid);
        assert_eq!(Umem::new(FrameSize::Half, 3, 2).unwrap().region().len(), 6 * 2048);
    }
}
