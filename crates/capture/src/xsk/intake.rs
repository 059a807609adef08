//! Taking packets out of the queues, many at a time.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use linerate_base::{Descriptor, Direction, Error, ErrorKind, Result};
use linerate_sys::prefetch;
use linerate_sys::xsk::{Frame, Queue, Statistics, Umem};

use super::Clock;
use super::program::metadata;
use crate::live::framer::{ADDRESSES, TAGGED, VLAN_TAG, insert_tag};

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
    /// many they are.
    ///
    /// # Errors
    /// When the kernel's numbers make no sense.
    pub(super) fn fetch(&mut self, clock: &Clock) -> Result<usize> {
        self.release();
        let Self { umem, queues, descriptors, most, snaplen } = self;
        for (_, queue) in queues.iter_mut() {
            let count = queue.lease(*most);
            for index in 0..count {
                if index + AHEAD < count {
                    expect(umem.region(), queue.frame(index + AHEAD));
                }
                let frame = queue.frame(index).ok_or_else(malformed)?;
                descriptors.push(describe(umem, frame, clock, *snaplen));
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

    /// True when the driver writes the packets of all queues into their frames itself.
    pub(super) fn is_zero_copy(&self) -> bool {
        self.queues.iter().all(|(_, queue)| queue.is_zero_copy().is_ok_and(|zero_copy| zero_copy))
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

    /// Of those, the ones that were longer than a frame.
    ///
    /// # Errors
    /// When the kernel does not tell.
    pub(super) fn oversized(&self) -> io::Result<u64> {
        self.queues.iter().map(|(_, queue)| queue.oversized()).sum()
    }
}

/// The packet as it is delivered, the VLAN tag that the driver took off back in its place.
#[inline]
fn describe(umem: &mut Umem, frame: Frame, clock: &Clock, snaplen: u32) -> Descriptor {
    let beside = Beside::of(umem.region(), frame);
    let tag = if beside.protocol == 0 { 0 } else { put_tag_back(umem, frame, beside) };
    let length = frame.length + tag;
    Descriptor {
        time: clock.time(beside.stamp),
        offset: frame.offset - tag,
        captured: length.min(snaplen),
        length,
        interface: 0,
        direction: Direction::In,
    }
}

/// What the program put before the packet; all 0, which the memory began with, if it never could.
#[derive(Clone, Copy)]
struct Beside {
    stamp: u64,
    /// Control information and protocol of the VLAN tag.
    tci: u16,
    protocol: u16,
}

impl Beside {
    #[inline]
    fn of(region: &[u8], frame: Frame) -> Self {
        let start = (frame.offset as usize).checked_sub(metadata::LENGTH);
        let bytes = start.and_then(|start| region.get(start..)?.first_chunk());
        let bytes: [u8; metadata::LENGTH] = bytes.copied().unwrap_or_default();
        let part = |before: usize| &bytes[metadata::LENGTH - before..];
        let number = |before| *part(before).first_chunk().expect("two bytes follow");
        Self {
            stamp: u64::from_ne_bytes(*part(metadata::STAMP).first_chunk().expect("eight follow")),
            tci: u16::from_ne_bytes(number(metadata::TAG_CONTROL)),
            protocol: u16::from_be_bytes(number(metadata::TAG_PROTOCOL)),
        }
    }
}

/// Writes the tag behind the addresses, which move over the metadata; returns how much longer the
/// packet is. One that is too short to have both addresses stays as it is.
#[cold]
fn put_tag_back(umem: &mut Umem, frame: Frame, beside: Beside) -> u32 {
    if (frame.length as usize) < ADDRESSES {
        return 0;
    }
    let part = umem.part_mut(frame.offset as usize - VLAN_TAG, TAGGED);
    let room = part.first_chunk_mut().expect("the part has this length");
    insert_tag(room, beside.protocol, beside.tci);
    VLAN_TAG as u32
}

/// Begins to load the lines where a later packet and its stamp are, which another core wrote.
#[inline]
fn expect(region: &[u8], frame: Option<Frame>) {
    let Some(frame) = frame else { return };
    prefetch::read(region, frame.offset as usize);
    prefetch::read(region, (frame.offset as usize).saturating_sub(metadata::LENGTH));
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
