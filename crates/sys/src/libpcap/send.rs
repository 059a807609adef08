//! Frames sent by libpcap, one by one or by a queue.

use linerate_base::{Error, ErrorKind, Result};

use super::compile::Interface;
use super::symbols::{PacketHeader, QueueSymbols, RawQueue};

impl Interface {
    /// Sends a frame by `pcap_inject`.
    ///
    /// # Errors
    /// libpcap's own words on why it was not sent.
    pub fn inject(&self, frame: &[u8]) -> Result<()> {
        let pcap = &self.handle.symbols;
        // SAFETY: the handle is open and the frame is valid during the call.
        let sent =
            unsafe { (pcap.pcap_inject)(self.handle.pointer, frame.as_ptr().cast(), frame.len()) };
        if usize::try_from(sent) == Ok(frame.len()) { Ok(()) } else { Err(self.refused()) }
    }

    /// Sends all of a queue by `pcap_sendqueue_transmit`, as fast as can be.
    ///
    /// # Errors
    /// libpcap's own words on why not all of it was sent.
    pub fn transmit(&self, queue: &SendQueue) -> Result<()> {
        // SAFETY: handle and queue are open, and no other thread uses them.
        let sent = unsafe {
            (queue.symbols.pcap_sendqueue_transmit)(self.handle.pointer, queue.pointer, 0)
        };
        // SAFETY: the queue is open.
        let length = unsafe { (*queue.pointer).length };
        if sent == length { Ok(()) } else { Err(self.refused()) }
    }

    fn refused(&self) -> Error {
        Error::new(ErrorKind::Io, "send by libpcap", self.handle.error())
    }
}

/// Packets to send, as WinPcap has them.
pub struct SendQueue {
    symbols: QueueSymbols,
    pointer: *mut RawQueue,
}

impl SendQueue {
    /// A queue with `count` times the frame.
    ///
    /// # Errors
    /// When the library has no queues, as libpcap itself; without the memory.
    pub fn of(frame: &[u8], count: u32) -> Result<Self> {
        let symbols = QueueSymbols::load()?;
        let asked = || format!("make a queue of {count} packets");
        let length = u32::try_from(frame.len()).ok();
        let room = length.and_then(|length| (size_of::<PacketHeader>() as u32).checked_add(length));
        let room = room.and_then(|room| room.checked_mul(count));
        let room = room.ok_or_else(|| {
            Error::new(ErrorKind::Invalid, asked(), "a queue holds no more than 4 GB")
        })?;
        // SAFETY: it takes a number and returns null or an open queue.
        let pointer = unsafe { (symbols.pcap_sendqueue_alloc)(room) };
        if pointer.is_null() {
            return Err(Error::new(ErrorKind::Exhausted, asked(), "no memory"));
        }
        let queue = Self { symbols, pointer };
        let time = libc::timeval { tv_sec: 0, tv_usec: 0 };
        let header =
            PacketHeader { time, captured: frame.len() as u32, length: frame.len() as u32 };
        for _ in 0..count {
            // SAFETY: the queue is open, and so many bytes as the header tells are there to be copied.
            let status = unsafe {
                (symbols.pcap_sendqueue_queue)(pointer, &raw const header, frame.as_ptr())
            };
            if status != 0 {
                return Err(Error::new(ErrorKind::Io, asked(), "it has no room"));
            }
        }
        Ok(queue)
    }
}

impl Drop for SendQueue {
    fn drop(&mut self) {
        // SAFETY: the queue is open and nobody uses it after this.
        unsafe { (self.symbols.pcap_sendqueue_destroy)(self.pointer) }
    }
}
