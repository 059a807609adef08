//! Packets that wait for earlier ones of other sources.

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::collections::binary_heap::{BinaryHeap, PeekMut};
use std::time::{Duration, Instant};

use linerate_base::{Descriptor, Timestamp};

use super::reader::{Bag, ROOM};

/// What was read of all sources and not delivered yet.
///
/// Of a source it is known up to when there is no further packet by either of two proofs: it delivered a later
/// one; or it had nothing to deliver when it was asked, later than a packet of that time was at hand here.
#[derive(Debug)]
pub(super) struct Held {
    /// The longest that a source keeps a packet to itself.
    latency: Duration,
    sources: Vec<Progress>,
    bags: BinaryHeap<Open>,
    emptied: Vec<(usize, Bag)>,
    /// When packets came, and the latest time among them; for the second proof.
    arrivals: VecDeque<(Instant, Timestamp)>,
    /// Up to when packets need not wait.
    until: Timestamp,
    /// Bags so far.
    number: u64,
}

/// How far a source is known.
#[derive(Clone, Debug)]
struct Progress {
    /// There is no further packet before this.
    complete: Timestamp,
    /// Bytes in bags that are held.
    bytes: usize,
    /// Packets that need wait no longer.
    released: u64,
}

/// A bag that is being emptied.
#[derive(Debug)]
struct Open {
    bag: Bag,
    source: usize,
    /// The index of its earliest packet.
    next: usize,
    /// Earlier bags come first among packets of the same time.
    number: u64,
}

const NEVER: Timestamp = Timestamp::from_nanos(i64::MIN);
const ALWAYS: Timestamp = Timestamp::from_nanos(i64::MAX);

/// As far as a source's own packets may be out of order: two cores may put packets into one ring.
const DISORDER: Duration = Duration::from_millis(1);

/// The largest batch.
const MOST_BYTES: usize = 1 << 20;
const MOST_PACKETS: usize = 4096;

impl Held {
    pub(super) fn new(sources: usize, latency: Duration) -> Self {
        Self {
            latency,
            sources: vec![Progress { complete: NEVER, bytes: 0, released: 0 }; sources],
            bags: BinaryHeap::new(),
            emptied: Vec::new(),
            arrivals: VecDeque::new(),
            until: NEVER,
            number: 0,
        }
    }

    /// Takes packets in, which the source had given out by `arrival`.
    pub(super) fn add(&mut self, source: usize, mut bag: Bag, arrival: Instant) {
        bag.descriptors.sort_by_key(|descriptor| descriptor.time);
        let Some(last) = bag.descriptors.last().map(|d| d.time) else { return };
        let progress = &mut self.sources[source];
        progress.complete = progress.complete.max(last - DISORDER);
        progress.bytes += bag.region.len();
        self.arrivals.push_back((arrival, last));
        self.bags.push(Open { bag, source, next: 0, number: self.number });
        self.number += 1;
        self.advance();
    }

    /// Takes note that the source had nothing to deliver when it was asked at `asked`.
    pub(super) fn was_silent(&mut self, source: usize, asked: Instant) {
        let at_hand = self.arrivals.iter().take_while(|(at, _)| *at + self.latency <= asked);
        if let Some(last) = at_hand.map(|(_, last)| *last).max() {
            self.sources[source].complete = self.sources[source].complete.max(last);
            self.advance();
        }
    }

    /// Takes note that there will be no more of the source.
    pub(super) fn has_ended(&mut self, source: usize) {
        self.sources[source].complete = ALWAYS;
        self.advance();
    }

    pub(super) fn all_have_ended(&self) -> bool {
        self.sources.iter().all(|source| source.complete == ALWAYS)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bags.is_empty()
    }

    fn advance(&mut self) {
        let complete = self.sources.iter().map(|source| source.complete).min();
        let forced = (0..self.sources.len()).filter_map(|source| self.forced(source)).max();
        self.until = self.until.max(complete.max(forced).unwrap_or(NEVER));
        while self.arrivals.pop_front_if(|(_, last)| *last <= self.until).is_some() {}
    }

    /// Up to when packets can wait no longer, because the source has no room for more.
    fn forced(&self, source: usize) -> Option<Timestamp> {
        let is_full = self.sources[source].bytes >= ROOM;
        let bags = self.bags.iter().filter(|open| is_full && open.source == source);
        bags.filter_map(|open| open.bag.descriptors.last()).map(|d| d.time).min()
    }

    /// Moves packets that need not wait, in the order of their times, to `region` and `table`; as many as
    /// make a batch.
    pub(super) fn fill(&mut self, region: &mut Vec<u8>, table: &mut Vec<Descriptor>) {
        while region.len() < MOST_BYTES && table.len() < MOST_PACKETS {
            let Some(mut first) = self.bags.peek_mut() else { return };
            if first.time() > self.until {
                return;
            }
            first.move_next(region, table);
            self.sources[first.source].released += 1;
            if first.next == first.bag.descriptors.len() {
                let Open { bag, source, .. } = PeekMut::pop(first);
                self.sources[source].bytes -= bag.region.len();
                self.emptied.push((source, bag));
            }
        }
    }

    /// Of each source, how many packets [`fill`](Self::fill) has moved.
    pub(super) fn released(&self) -> impl Iterator<Item = u64> {
        self.sources.iter().map(|source| source.released)
    }

    /// The bags that are empty since this was last asked, and whose they are.
    pub(super) fn emptied(&mut self) -> impl Iterator<Item = (usize, Bag)> {
        self.emptied.drain(..)
    }
}

impl Open {
    fn time(&self) -> Timestamp {
        self.bag.descriptors[self.next].time
    }

    fn move_next(&mut self, region: &mut Vec<u8>, table: &mut Vec<Descriptor>) {
        let packet = self.bag.descriptors[self.next];
        let start = packet.offset as usize;
        let offset = region.len() as u32;
        region.extend_from_slice(&self.bag.region[start..start + packet.captured as usize]);
        table.push(Descriptor { offset, ..packet });
        self.next += 1;
    }
}

/// The heap gives out the greatest first: that is to be the earliest.
impl Ord for Open {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.time(), other.number).cmp(&(self.time(), self.number))
    }
}

impl PartialOrd for Open {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Open {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Open {}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(time: i64) -> Timestamp {
        Timestamp::from_nanos(time * 1_000_000)
    }

    /// A bag with a packet of so many milliseconds each, of one byte that tells the source.
    fn bag(source: u8, times: &[i64]) -> Bag {
        let descriptor = |(index, time): (usize, &i64)| Descriptor {
            time: at(*time),
            offset: index as u32,
            captured: 1,
            ..Descriptor::default()
        };
        let descriptors = times.iter().enumerate().map(descriptor).collect();
        Bag { region: vec![source; times.len()], descriptors, new_interfaces: Vec::new() }
    }

    fn take(held: &mut Held) -> Vec<i64> {
        let (mut region, mut table) = (Vec::new(), Vec::new());
        held.fill(&mut region, &mut table);
        table.iter().map(|d| d.time.nanos() / 1_000_000).collect()
    }

    fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    #[test]
    fn packets_wait_until_every_source_is_past_them() {
        let (mut held, now) = (Held::new(2, ms(5)), Instant::now());
        held.add(0, bag(0, &[10, 30, 50]), now);
        assert_eq!(take(&mut held), []);
        held.add(1, bag(1, &[20, 40]), now);
        // 40 itself may still be preceded by what the source has out of order.
        assert_eq!(take(&mut held), [10, 20, 30]);
        held.has_ended(0);
        held.has_ended(1);
        assert_eq!(take(&mut held), [40, 50]);
        assert!(held.is_empty() && held.all_have_ended());
        assert_eq!(held.emptied().count(), 2);
    }

    #[test]
    fn a_silent_source_holds_packets_back_for_its_latency_only() {
        let (mut held, now) = (Held::new(2, ms(5)), Instant::now());
        held.add(0, bag(0, &[10, 30]), now);
        held.was_silent(0, now + ms(5));
        held.was_silent(1, now + ms(4));
        assert_eq!(take(&mut held), []);
        held.was_silent(1, now + ms(5));
        assert_eq!(take(&mut held), [10, 30]);
    }

    #[test]
    fn a_source_out_of_order_is_put_into_order() {
        let (mut held, now) = (Held::new(1, ms(5)), Instant::now());
        held.add(0, bag(0, &[20, 10]), now);
        held.add(0, bag(0, &[19, 40]), now);
        assert_eq!(take(&mut held), [10, 19, 20]);
    }

    #[test]
    fn a_full_source_waits_for_nobody() {
        let (mut held, now) = (Held::new(2, ms(5)), Instant::now());
        let large = |time| Bag { region: vec![0; ROOM / 2], ..bag(0, &[time]) };
        held.add(0, large(10), now);
        assert_eq!(take(&mut held), []);
        held.add(0, large(20), now);
        assert_eq!(take(&mut held), [10]);
        assert_eq!(take(&mut held), []);
    }
}
