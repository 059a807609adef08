//! Taking packets out of the queues, many at a time.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use linerate_base::{Descriptor, Direction, Error, ErrorKind, Result, Timestamp};
use linerate_sys::prefetch;
use linerate_sys::xsk::{Frame, Queue, Statistics, Umem};

use super::program::STAMP;

/// The queues of one source, and the memory that their packets are in.
pub(super) struct Intake {
    umem: Umem,
    queues: Vec<(u32, Queue)>,
    descriptors: Vec<Descriptor>,
    /// The most packets of a queue in one batch.
    most: u32,
    snaplen: u32,
}

/// No more packets of a queue in one batch: what is read of them is to stay in the processor's second
/// cache.
const MOST: u32 = 1024;
/// While a batch is lent out, the other frames are there for the packets that come.
const PART: u32 = 4;

/// How many packets ahead to have the memory ready.
const AHEAD: u32 = 4;

impl Intake {
    /// With these queues, by their numbers, of `frames` frames each in `umem`.
    pub(super) fn new(umem: Umem, queues: Vec<(u32, Queue)>, frames: u32, snaplen: u32) -> Self {
        let most = (frames / PART).min(MOST);
        let descriptors = Vec::with_capacity(queues.len() * most as usize);
        Self { umem, queues, descriptors, most, snaplen }
    }

    /// Gives the last packets' frames back and takes the next packets, without waiting; returns how
    /// many they are. `clock` makes a time of a stamp, which is 0 where there is none.
    ///
    /// # Errors
    /// When the kernel's numbers make no sense.
    pub(super) fn fetch(&mut self, clock: impl Fn(u64) -> Timestamp) -> Result<usize> {
        self.release();
        let Self { umem, queues, descriptors, most, snaplen } = self;
        let region = umem.region();
        for (_, queue) in queues.iter_mut() {
            let count = queue.lease(*most);
            for index in 0..count {
                if index + AHEAD < count {
                    expect(region, queue.frame(index + AHEAD));
                }
                let frame = queue.frame(index).ok_or_else(malformed)?;
                let time = clock(stamp(region, frame));
                descriptors.push(describe(frame, time, *snaplen));
            }
        }
        if queues.len() > 1 {
            descriptors.sort_by_key(|packet| packet.time);
        }
        Ok(descriptors.len())
    }

    fn release(&mut self) {
        if self.descriptors.is_empty() {
            return;
        }
        self.descriptors.clear();
        self.queues.iter_mut().for_each(|(_, queue)| queue.release());
    }

    /// Has drivers that wait for frames look for them.
    ///
    /// # Errors
    /// When the interface is gone.
    pub(super) fn wake(&self) -> io::Result<()> {
        self.queues.iter().try_for_each(|(_, queue)| queue.wake_if_needed())
    }

    pub(super) fn region(&self) -> &[u8] {
        self.umem.region()
    }

    pub(super) fn descriptors(&self) -> &[Descriptor] {
        &self.descriptors
    }

    /// What becomes readable when packets come.
    pub(super) fn sockets(&self) -> Vec<BorrowedFd<'_>> {
        self.queues.iter().map(|(_, queue)| queue.as_fd()).collect()
    }

    /// The numbers of its queues.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u32> + '_ {
        self.queues.iter().map(|(number, _)| *number)
    }

    /// Packets that came into its rings so far.
    pub(super) fn received(&mut self) -> u64 {
        self.queues.iter_mut().map(|(_, queue)| queue.received()).sum()
    }

    /// Packets that the kernel says it could not put into a ring.
    ///
    /// # Errors
    /// When the kernel does not tell.
    pub(super) fn dropped(&self) -> io::Result<u64> {
        let lost = |counted: Statistics| counted.dropped + counted.ring_full;
        self.queues.iter().map(|(_, queue)| queue.statistics().map(lost)).sum()
    }
}

#[inline]
fn describe(frame: Frame, time: Timestamp, snaplen: u32) -> Descriptor {
    Descriptor {
        time,
        offset: frame.offset,
        captured: frame.length.min(snaplen),
        length: frame.length,
        interface: 0,
        direction: Direction::In,
    }
}

/// What the program put before the packet; 0, which the memory began with, if it never could.
#[inline]
fn stamp(region: &[u8], frame: Frame) -> u64 {
    let bytes = (frame.offset as usize).checked_sub(STAMP as usize).and_then(|at| region.get(at..));
    bytes.and_then(|bytes| bytes.first_chunk()).map_or(0, |bytes| u64::from_ne_bytes(*bytes))
}

/// Begins to load the lines where a later packet and its stamp are, which another core wrote.
#[inline]
fn expect(region: &[u8], frame: Option<Frame>) {
    let Some(frame) = frame else { return };
    prefetch::read(region, frame.offset as usize);
    prefetch::read(region, (frame.offset as usize).saturating_sub(STAMP as usize));
}

#[cold]
fn malformed() -> Error {
    let asked = "read the receive ring of an AF_XDP socket";
    Error::new(ErrorKind::Malformed, asked, "a packet reaches outside of the memory for it")
}

impl fmt::Debug for Intake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Intake")
            .field("umem", &self.umem)
            .field("queues", &self.queues)
            .finish_non_exhaustive()
    }
}
