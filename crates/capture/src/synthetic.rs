//! Packets that are made up, to learn what those sustain that take them.

use std::os::fd::AsFd;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use linerate_base::{
    Batch, Descriptor, Direction, Error, Interface, LinkType, Result, Source, Stats, Timestamp,
};
use linerate_sys::event;

use crate::Interrupt;

/// What packets to make up.
#[derive(Clone, Debug)]
pub struct Load {
    /// Bytes of the packets, in turn.
    pub sizes: Vec<u32>,
    /// Packets a second from the first call of `next_batch` on; `None`: as many as are taken.
    pub rate: Option<u64>,
    /// With a rate: bytes of packets that wait to be taken at the most. Those for which that leaves no room
    /// are dropped, as a capture drops them.
    pub buffer: u64,
}

/// The sizes of packets on the Internet, simplified: of twelve, seven are small, four middling and one is
/// full (the "simple IMIX" of testers of networks).
pub const MIXED: [u32; 12] = [60, 576, 60, 60, 576, 60, 1514, 60, 576, 60, 576, 60];

/// Bytes of packets that are made; more than a core's own caches have, as in a capture's buffer.
const REGION: usize = 8 << 20;

/// The most packets of a batch.
const BATCH: usize = 1024;

/// A source of packets that nobody sent: Ethernet, IPv4, UDP to the discard port.
#[derive(Debug)]
pub struct Synthetic {
    interfaces: [Interface; 1],
    region: Vec<u8>,
    table: Vec<Descriptor>,
    /// Where in the table the next batch begins.
    next: usize,
    clock: Option<Clock>,
    interrupt: Interrupt,
    delivered: u64,
    is_stopped: bool,
}

/// When packets are due.
#[derive(Debug)]
struct Clock {
    /// When the first packets were asked for: what it takes to get ready for them is no part of the load.
    began: Option<Instant>,
    rate: u64,
    /// Packets that can wait.
    room: u64,
    /// Packets that came so far.
    came: u64,
    dropped: u64,
}

impl Clock {
    /// Has the packets come that are due, given that so many were taken before.
    fn advance(&mut self, delivered: u64) {
        let span = self.began.map_or(Duration::ZERO, |began| began.elapsed());
        self.came = (span.as_secs_f64() * self.rate as f64) as u64;
        let waiting = self.came - (delivered + self.dropped);
        self.dropped += waiting.saturating_sub(self.room);
    }
}

impl Synthetic {
    /// A source of such packets.
    ///
    /// # Panics
    /// When there is no size, or one is smaller than the headers or larger than a datagram can be.
    pub fn new(load: &Load, interrupt: Interrupt) -> Self {
        let bytes: u64 = load.sizes.iter().map(|size| u64::from(*size)).sum();
        let mean = bytes / load.sizes.len() as u64;
        let (mut region, mut table) = (Vec::with_capacity(REGION + (1 << 16)), Vec::new());
        for (number, size) in load.sizes.iter().cycle().enumerate() {
            if region.len() >= REGION {
                break;
            }
            let (offset, direction) = (region.len() as u32, Direction::In);
            region.extend(packet(number as u16, *size));
            let (captured, length) = (*size, *size);
            table.push(Descriptor { offset, captured, length, direction, ..Descriptor::default() });
        }
        let room = (load.buffer / mean).max(1);
        let clock = |rate| Clock { began: None, rate, room, came: 0, dropped: 0 };
        let name = "simulated".to_owned();
        let interface = Interface { name, link_type: LinkType::ETHERNET, ..Interface::default() };
        Self {
            interfaces: [interface],
            region,
            table,
            next: 0,
            clock: load.rate.map(clock),
            interrupt,
            delivered: 0,
            is_stopped: false,
        }
    }

    /// Packets that can be taken now.
    fn waiting(&mut self) -> u64 {
        match &mut self.clock {
            None if self.is_stopped => 0,
            None => u64::MAX,
            Some(clock) => {
                if !self.is_stopped {
                    clock.advance(self.delivered);
                }
                clock.came - clock.dropped - self.delivered
            }
        }
    }

    fn pause(&self, wait: Duration) -> Result<()> {
        let asked = "wait for the next made-up packet";
        event::poll([self.interrupt.as_fd()], wait).map_err(|e| Error::system(asked, e))?;
        Ok(())
    }
}

/// While no packet is due, time passes so long at a time.
const PAUSE: Duration = Duration::from_millis(1);

impl Source for Synthetic {
    fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    fn next_batch(&mut self, wait: Duration) -> Result<Option<Batch<'_>>> {
        if let Some(clock) = &mut self.clock {
            clock.began.get_or_insert_with(Instant::now);
        }
        let mut waiting = self.waiting();
        if waiting == 0 && self.is_stopped {
            return Ok(None);
        }
        if waiting == 0 {
            self.pause(wait.min(PAUSE))?;
            waiting = self.waiting();
        }
        let room = BATCH.min(self.table.len() - self.next);
        let count = usize::try_from(waiting).map_or(room, |waiting| waiting.min(room));
        let number_of_packets = self.table.len();
        let table = &mut self.table[self.next..self.next + count];
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        for (later, descriptor) in table.iter_mut().enumerate() {
            descriptor.time = Timestamp::EPOCH + now + Duration::from_nanos(later as u64);
        }
        self.next = (self.next + count) % number_of_packets;
        self.delivered += count as u64;
        Ok(Some(Batch::new(&self.region, table, &self.interfaces)))
    }

    fn stats(&mut self) -> Result<Stats> {
        let (delivered, mut stats) = (self.delivered, Stats::default());
        if self.clock.is_some() {
            stats.pending = self.waiting();
        }
        stats.dropped = self.clock.as_ref().map_or(0, |clock| clock.dropped);
        stats.delivered = delivered;
        stats.seen = delivered + stats.dropped + stats.pending;
        Ok(stats)
    }

    fn stop(&mut self) -> Result<()> {
        self.waiting();
        self.is_stopped = true;
        Ok(())
    }
}

/// Bytes of the headers below.
const HEADERS: usize = 14 + 20 + 8;

/// A UDP datagram (RFC 768) in IPv4 (RFC 791) in Ethernet, between addresses for documentation (RFC 5737).
fn packet(number: u16, size: u32) -> Vec<u8> {
    assert!((HEADERS..=14 + 65_535).contains(&(size as usize)), "no datagram has {size} bytes");
    let length = |from: usize| (size as usize - from) as u16;
    let mut bytes = Vec::with_capacity(size as usize);
    bytes.extend([2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0]);
    bytes.extend([0x45, 0]);
    bytes.extend(length(14).to_be_bytes());
    bytes.extend(number.to_be_bytes());
    bytes.extend([0x40, 0, 64, 17, 0, 0, 192, 0, 2, 1, 198, 51, 100, 1]);
    let checksum = checksum(&bytes[14..]);
    bytes[24..26].copy_from_slice(&checksum.to_be_bytes());
    bytes.extend((0x8000 | number).to_be_bytes());
    bytes.extend(9_u16.to_be_bytes());
    bytes.extend(length(34).to_be_bytes());
    bytes.extend([0, 0]);
    bytes.resize(size as usize, number as u8);
    bytes
}

/// RFC 791, 3.1.
fn checksum(header: &[u8]) -> u16 {
    let words = header.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    let sum: u32 = words.sum();
    !((sum & 0xffff) + (sum >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(rate: Option<u64>, buffer: u64) -> Synthetic {
        let load = Load { sizes: vec![60, 1514], rate, buffer };
        Synthetic::new(&load, Interrupt::new().unwrap())
    }

    #[test]
    fn packets_come_as_fast_as_they_are_taken_until_the_stop() {
        let mut source = source(None, 1 << 20);
        let mut times = Vec::new();
        for _ in 0..20 {
            let batch = source.next_batch(Duration::ZERO).unwrap().unwrap();
            // The last batch before the packets begin anew is a shorter one.
            assert!((2..=BATCH).contains(&batch.len()), "{}", batch.len());
            assert_eq!(
                (batch.get(0).unwrap().data.len(), batch.get(1).unwrap().length),
                (60, 1514)
            );
            times.extend(batch.iter().map(|packet| packet.time));
        }
        assert!(times.is_sorted());
        source.stop().unwrap();
        assert!(source.next_batch(Duration::MAX).unwrap().is_none());
        let stats = source.stats().unwrap();
        assert!(stats.balances() && stats.seen == times.len() as u64, "{stats:?}");
    }

    #[test]
    fn what_finds_no_room_is_dropped_and_counted() {
        let mut source = source(Some(1_000_000), 787 * 10);
        source.next_batch(Duration::ZERO).unwrap();
        std::thread::sleep(Duration::from_millis(20));
        let taken = source.next_batch(Duration::ZERO).unwrap().unwrap().len();
        assert_eq!(taken, 10);
        source.stop().unwrap();
        while source.next_batch(Duration::ZERO).unwrap().is_some() {}
        let stats = source.stats().unwrap();
        assert!(stats.balances() && stats.dropped > 19_000 && stats.pending == 0, "{stats:?}");
    }

    #[test]
    fn no_packet_comes_before_the_first_is_asked_for() {
        let mut source = source(Some(1000), 1 << 20);
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(source.stats().unwrap(), Stats::default());
    }

    #[test]
    fn the_packets_are_what_they_say() {
        let bytes = packet(7, 1514);
        assert_eq!(bytes.len(), 1514);
        assert_eq!(checksum(&bytes[14..34]), 0, "a header with its checksum adds up to nothing");
        assert_eq!(bytes[16..18], 1500_u16.to_be_bytes());
        assert_eq!(bytes[38..40], 1480_u16.to_be_bytes());
    }
}
