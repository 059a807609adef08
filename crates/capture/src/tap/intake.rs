//! Packets out of the rings of one consumer, in the order of their times.

use linerate_base::{Descriptor, Direction, Result, Stats};
use linerate_sys::clock;
use linerate_sys::tap_ring::{TapRings, layout};

use super::program::{ASIDE, OUTGOING, QUESTION};
use super::stamps::{Clock, Epoch};
use super::walk::{Record, Walk};
use crate::live::framer::{ADDRESSES, TAGGED, VLAN_TAG, insert_tag};

/// The most packets of a batch: so many that what a batch costs does not show, and so few that they
/// are still in the cache when they are used.
const MOST: usize = 2048;

/// A batch takes this part of a ring at most, so that room comes back steadily.
const SHARE: u64 = 4;

/// A packet may be stamped before another of another ring, and published after it, as copying takes
/// time. One that is younger than this waits for such others, nanoseconds.
const GUARD: i64 = 20_000;

/// The rings of one consumer.
#[derive(Debug)]
pub(crate) struct Intake {
    rings: TapRings,
    readers: Vec<Reader>,
    /// Counts the packets of no ring, too.
    tells_strays: bool,
    clock: Clock,
    snaplen: u32,
    descriptors: Vec<Descriptor>,
    questions: Questions,
    delivered: u64,
    unstamped: u64,
    /// The batch could have held more packets.
    is_cut: bool,
}

/// Packets that ask for owned addresses.
#[derive(Debug, Default)]
struct Questions {
    /// Those of this batch.
    packets: Vec<Descriptor>,
    /// Packets so far that the filter turned away, and that came to be answered only.
    aside: u64,
}

impl Questions {
    /// The packet, if it is to be delivered, too.
    #[cold]
    fn take(&mut self, flags: u32, packet: Descriptor) -> Option<Descriptor> {
        self.packets.push(packet);
        self.aside += u64::from(flags & ASIDE != 0);
        (flags & ASIDE == 0).then_some(packet)
    }
}

/// The end of one ring where packets come out.
#[derive(Debug)]
struct Reader {
    ring: usize,
    walk: Walk,
    /// What was published at the last look.
    head: u64,
    /// Where the batch is to end.
    limit: u64,
    /// The packet at the place of the walk.
    next: Option<Record>,
}

impl Intake {
    /// Takes packets of `snaplen` bytes at most out of those rings of `rings` that `own` tells.
    pub(crate) fn new(
        rings: TapRings,
        own: impl Iterator<Item = usize>,
        clock: Clock,
        snaplen: u32,
    ) -> Self {
        let geometry = *rings.geometry();
        let reader = |ring| Reader {
            ring,
            walk: Walk::new(rings.data_of(ring), geometry),
            head: 0,
            limit: 0,
            next: None,
        };
        let readers: Vec<_> = own.map(reader).collect();
        let intake = Self {
            tells_strays: readers.iter().any(|reader| reader.ring == 0),
            readers,
            rings,
            clock,
            snaplen,
            descriptors: Vec::with_capacity(MOST),
            questions: Questions::default(),
            delivered: 0,
            unstamped: 0,
            is_cut: false,
        };
        intake.disarm();
        intake
    }

    /// Gives the room of the last batch back.
    pub(crate) fn release(&mut self) {
        if self.descriptors.is_empty() && self.questions.packets.is_empty() {
            return;
        }
        self.descriptors.clear();
        self.questions.packets.clear();
        for reader in &self.readers {
            self.rings.give_back(reader.ring, reader.walk.position());
        }
    }

    /// Takes the next packets, if there are any, without waiting; returns how many. When `draining`, no more
    /// are to come.
    ///
    /// # Errors
    /// When what the program wrote makes no sense.
    pub(crate) fn fetch(&mut self, draining: bool) -> Result<usize> {
        self.release();
        let horizon = self.horizon(draining);
        self.look()?;
        let epoch = self.clock.epoch();
        self.is_cut = false;
        while let Some((reader, until)) = self.earliest(horizon).filter(|_| !self.is_cut) {
            self.is_cut = self.take(reader, until, epoch)?;
        }
        self.delivered += self.descriptors.len() as u64;
        Ok(self.descriptors.len())
    }

    /// Until when all packets are published. With one ring, order is that of publication.
    fn horizon(&self, draining: bool) -> u64 {
        if draining || self.readers.len() == 1 || !self.clock.orders() {
            return u64::MAX;
        }
        (clock::monotonic() - GUARD).cast_unsigned()
    }

    /// Finds out what was published.
    fn look(&mut self) -> Result<()> {
        let share = u64::from(self.rings.geometry().data) / SHARE;
        for reader in &mut self.readers {
            reader.head = self.rings.head(reader.ring);
            reader.limit = reader.walk.position().wrapping_add(share);
            reader.next = reader.walk.peek(self.rings.region(), reader.head)?;
        }
        Ok(())
    }

    /// The reader with the earliest packet before `horizon`, and until when all packets are its.
    #[inline]
    fn earliest(&self, horizon: u64) -> Option<(usize, u64)> {
        if let [reader] = &self.readers[..] {
            return reader.next.map(|_| (0, horizon));
        }
        let (mut first, mut second) = (None, horizon);
        for (place, reader) in self.readers.iter().enumerate() {
            let Some(record) = &reader.next else { continue };
            match first {
                Some((_, time)) if time <= record.time => second = second.min(record.time),
                _ if record.time > horizon => {}
                _ => {
                    second = first.map_or(second, |(_, time)| second.min(time));
                    first = Some((place, record.time));
                }
            }
        }
        first.map(|(place, _)| (place, second))
    }

    /// Takes the packets of one ring that are not later than `until`; true when the batch is full.
    #[inline]
    fn take(&mut self, place: usize, until: u64, epoch: Epoch) -> Result<bool> {
        let reader = &mut self.readers[place];
        while let Some(record) = reader.next.filter(|record| record.time <= until) {
            let settled = Record { time: self.clock.settle(record.time), ..record };
            let descriptor = describe(&mut self.rings, &settled, epoch, self.snaplen);
            self.unstamped += u64::from(epoch.lacks(&record));
            match record.flags & (QUESTION | ASIDE) {
                0 => self.descriptors.push(descriptor),
                flags => self.descriptors.extend(self.questions.take(flags, descriptor)),
            }
            let region = self.rings.region();
            reader.walk.pass(region, &record);
            reader.next = reader.walk.peek(region, reader.head)?;
            let is_full = self.descriptors.len() >= MOST;
            if is_full || reader.walk.position() >= reader.limit {
                return Ok(reader.next.is_some() || self.readers.len() > 1);
            }
        }
        Ok(false)
    }

    /// Packets of the last batch that ask for owned addresses; those, too, that are not in it.
    pub(crate) fn questions(&self) -> &[Descriptor] {
        &self.questions.packets
    }

    /// The memory that the packets are in.
    pub(crate) fn region(&self) -> &[u8] {
        self.rings.region()
    }

    /// Where in it they are.
    pub(crate) fn descriptors(&self) -> &[Descriptor] {
        &self.descriptors
    }

    /// True when the last batch was full before all packets were in it that could be.
    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// True when packets are there that were not in the last batch.
    pub(crate) fn holds_some(&self) -> bool {
        self.readers.iter().any(|reader| reader.next.is_some())
    }

    /// True when packets were published since the last look.
    pub(crate) fn has_news(&self) -> bool {
        self.readers.iter().any(|reader| self.rings.head(reader.ring) != reader.head)
    }

    /// Asks to be woken when a ring has so many bytes more than at the last look; false when one has
    /// already. The doorbell may ring for packets that are fetched meanwhile.
    pub(crate) fn arm(&self, bytes: Option<u64>) -> bool {
        let Some(bytes) = bytes else { return true };
        for reader in &self.readers {
            self.rings.wake_at(reader.ring, reader.head.wrapping_add(bytes));
        }
        self.rings.settle();
        let reached =
            |reader: &Reader| self.rings.head(reader.ring).wrapping_sub(reader.head) >= bytes;
        let quiet = !self.readers.iter().any(reached);
        if !quiet {
            self.disarm();
        }
        quiet
    }

    /// Asks not to be woken.
    pub(crate) fn disarm(&self) {
        for reader in &self.readers {
            self.rings.wake_at(reader.ring, layout::AWAKE);
        }
    }

    /// What became of every packet.
    pub(crate) fn stats(&self) -> Stats {
        let own = self.readers.iter().map(|reader| self.rings.counters(reader.ring));
        let strays = self.tells_strays.then(|| self.rings.strays());
        let (mut captured, mut stats) = (0, Stats::default());
        for counters in own.chain(strays) {
            captured += counters.captured;
            stats.filtered += counters.filtered;
            stats.dropped += counters.dropped;
        }
        stats.seen = captured + stats.filtered + stats.dropped;
        stats.delivered = self.delivered;
        stats.unstamped = self.unstamped;
        stats.filtered += self.questions.aside;
        stats.pending = captured.saturating_sub(self.delivered + self.questions.aside);
        stats
    }
}

/// The packet of a record as it is delivered, its VLAN tag back in its place.
#[inline]
fn describe(rings: &mut TapRings, record: &Record, epoch: Epoch, snaplen: u32) -> Descriptor {
    let tag = if record.vlan_protocol == 0 { 0 } else { put_tag_back(rings, record) };
    Descriptor {
        time: epoch.time(record),
        offset: record.start - tag,
        captured: (record.captured + tag).min(snaplen),
        length: record.length.saturating_add(tag),
        interface: 0,
        direction: if record.flags & OUTGOING == 0 { Direction::In } else { Direction::Out },
    }
}

/// Writes the tag behind the addresses, which move into the last bytes of the record's header; returns how
/// much longer the packet is. One that was captured too short to have both addresses stays as it is.
#[cold]
fn put_tag_back(rings: &mut TapRings, record: &Record) -> u32 {
    if (record.captured as usize) < ADDRESSES {
        return 0;
    }
    let part = rings.part_mut(record.start as usize - VLAN_TAG, TAGGED);
    let frame = part.first_chunk_mut().expect("the part has this length");
    insert_tag(frame, record.vlan_protocol, record.vlan_tci);
    VLAN_TAG as u32
}
