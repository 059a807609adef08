//! A source and a sink for tests.

use std::time::{Duration, Instant};

use linerate_base::{
    Batch, Descriptor, Error, ErrorKind, Interface, LinkType, Result, Sink, SinkStats, Slots,
    Source, Stats, Timestamp,
};

/// A source of Ethernet packets, each a batch of its own.
pub(super) struct Packets {
    region: Vec<u8>,
    descriptors: Vec<Descriptor>,
    interfaces: [Interface; 1],
    at: usize,
    /// Packets that it says it turned away.
    pub(super) filtered: u64,
    /// It ends with a fault.
    pub(super) fault: bool,
}

impl Packets {
    /// Packets with these times and lengths.
    pub(super) fn new(packets: &[(i64, u32)]) -> Self {
        let (mut region, mut descriptors) = (Vec::new(), Vec::new());
        for (number, (time, length)) in packets.iter().enumerate() {
            let offset = region.len() as u32;
            region.resize(region.len() + *length as usize, number as u8);
            descriptors.push(Descriptor {
                time: Timestamp::from_nanos(*time),
                offset,
                captured: *length,
                length: *length,
                ..Descriptor::default()
            });
        }
        let link_type = LinkType::ETHERNET;
        let interfaces = [Interface { link_type, ..Interface::default() }];
        Self { region, descriptors, interfaces, at: 0, filtered: 0, fault: false }
    }
}

impl Source for Packets {
    fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    fn next_batch(&mut self, _: Duration) -> Result<Option<Batch<'_>>> {
        let Some(next) = self.descriptors.get(self.at..=self.at) else {
            let fault = Error::new(ErrorKind::Malformed, "read", "damaged");
            return if self.fault { Err(fault) } else { Ok(None) };
        };
        self.at += 1;
        Ok(Some(Batch::new(&self.region, next, &self.interfaces)))
    }

    fn stats(&mut self) -> Result<Stats> {
        let (delivered, filtered) = (self.at as u64, self.filtered);
        Ok(Stats { seen: delivered + filtered, delivered, filtered, ..Stats::default() })
    }

    fn stop(&mut self) -> Result<()> {
        Ok(())
    }
}

/// A sink that remembers each frame's first byte and length, and when it came.
pub(super) struct Taken {
    region: Vec<u8>,
    lengths: Vec<u32>,
    pub(super) frames: Vec<(u8, u32)>,
    pub(super) times: Vec<Instant>,
    /// When each was due.
    pub(super) dates: Vec<i64>,
    pub(super) is_offline: bool,
    batch: Vec<Timestamp>,
}

impl Taken {
    pub(super) fn new() -> Self {
        let (region, lengths, batch) = (vec![0; 4096], Vec::new(), Vec::new());
        let (frames, times, dates) = (Vec::new(), Vec::new(), Vec::new());
        Self { region, lengths, frames, times, dates, is_offline: false, batch }
    }
}

impl Sink for Taken {
    fn acquire(&mut self, most: usize) -> Result<Slots<'_>> {
        let end = 128 * most.min(4);
        let slots = Slots::new(&mut self.region[..end], 128, 0, &mut self.lengths);
        Ok(slots.dated(&mut self.batch))
    }

    fn is_offline(&self) -> bool {
        self.is_offline
    }

    fn submit(&mut self) -> Result<()> {
        for (slot, length) in self.region.chunks(128).zip(self.lengths.drain(..)) {
            self.frames.push((slot[0], length));
            self.times.push(Instant::now());
        }
        self.dates.extend(self.batch.drain(..).map(Timestamp::nanos));
        Ok(())
    }

    fn flush(&mut self, _: &mut dyn FnMut() -> bool) -> Result<()> {
        Ok(())
    }

    fn stats(&self) -> SinkStats {
        let (sent, sent_bytes) = (self.frames.len() as u64, 0);
        SinkStats { submitted: sent, sent, sent_bytes, ..SinkStats::default() }
    }
}
