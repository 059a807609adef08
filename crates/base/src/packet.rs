//! Packets and batches: bytes on loan from a source.
//!
//! A source fills one contiguous region (a ring block, a receive buffer, a window of a file) and
//! a table of [`Descriptor`]s that say where in it each packet lies. A [`Batch`] lends both out.
//! Nothing is copied and nothing allocated per packet, and a filter that works on many packets
//! at once has plain offsets to gather from.

use std::ops::Range;

use crate::{LinkType, Timestamp, TimestampSource};

/// The way a packet went, seen from the capturing host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Not known, as in most savefiles.
    #[default]
    Unknown,
    /// Received by the host (or seen by it in promiscuous mode).
    In,
    /// Sent by the host.
    Out,
}

/// An interface that packets were captured on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interface {
    /// Its name, such as `eth0`; empty when unknown.
    pub name: String,
    /// A description for people; empty when unknown.
    pub description: String,
    /// What the first byte of its packets means.
    pub link_type: LinkType,
    /// The most bytes captured of a packet; 0 means no limit.
    pub snaplen: u32,
    /// The filter that was set, as its author wrote it; empty when none or unknown.
    pub filter: String,
    /// Where the times of its packets come from; `None` when unknown.
    pub timestamps: Option<TimestampSource>,
}

/// Where a packet lies in its batch's region, and what is known about it beside its bytes.
///
/// Fields lie in this order: engines load several descriptors at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Descriptor {
    /// When the packet was seen.
    pub time: Timestamp,
    /// Start of the packet's bytes in the region.
    pub offset: u32,
    /// Bytes captured.
    pub captured: u32,
    /// Bytes that the packet had on the wire, the link-layer header included.
    pub length: u32,
    /// Index into the batch's interfaces.
    pub interface: u32,
    /// The way it went.
    pub direction: Direction,
}

/// One packet, borrowed from a batch.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// When the packet was seen.
    pub time: Timestamp,
    /// The bytes captured, from the link-layer header on.
    pub data: &'a [u8],
    /// Bytes that the packet had on the wire, the link-layer header included.
    pub length: u32,
    /// Index of the interface in the batch's (and the source's) table.
    pub interface: u32,
    /// What the first byte of `data` means.
    pub link_type: LinkType,
    /// The way it went.
    pub direction: Direction,
}

/// A lease on packets of a source.
///
/// It borrows the source: the space is given back when the next batch is asked for, which the
/// borrow checker allows only once this one is gone.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    region: &'a [u8],
    descriptors: &'a [Descriptor],
    interfaces: &'a [Interface],
}

impl<'a> Batch<'a> {
    /// A batch over `region`.
    ///
    /// # Panics
    /// If a descriptor reaches outside `region` or names an interface that is not in
    /// `interfaces`: a source that gets this wrong would hand out another packet's bytes.
    pub fn new(
        region: &'a [u8],
        descriptors: &'a [Descriptor],
        interfaces: &'a [Interface],
    ) -> Self {
        for d in descriptors {
            let end = u64::from(d.offset) + u64::from(d.captured);
            assert!(end <= region.len() as u64, "packet ends at {end}, region at {}", region.len());
            assert!((d.interface as usize) < interfaces.len(), "no interface {}", d.interface);
        }
        Self { region, descriptors, interfaces }
    }

    /// A batch without packets, as a source returns when none came in time.
    pub fn empty(interfaces: &'a [Interface]) -> Self {
        Self { region: &[], descriptors: &[], interfaces }
    }

    /// Number of packets.
    pub fn len(&self) -> usize {
        self.descriptors.len()
    }

    /// True when no packet came.
    pub fn is_empty(&self) -> bool {
        self.descriptors.is_empty()
    }

    /// The bytes that the descriptors point into.
    pub fn region(&self) -> &'a [u8] {
        self.region
    }

    /// Where each packet lies in the region.
    pub fn descriptors(&self) -> &'a [Descriptor] {
        self.descriptors
    }

    /// The interfaces that packets refer to.
    pub fn interfaces(&self) -> &'a [Interface] {
        self.interfaces
    }

    /// The packet at `index`, or `None` past the end.
    pub fn get(&self, index: usize) -> Option<Packet<'a>> {
        self.descriptors.get(index).map(|d| self.packet(d))
    }

    /// The same batch with only its first `count` packets.
    #[must_use]
    pub fn truncate(self, count: usize) -> Self {
        Self { descriptors: &self.descriptors[..count.min(self.descriptors.len())], ..self }
    }

    /// The same batch with only the packets whose indices are in `range`.
    ///
    /// # Panics
    /// If the range reaches past the last packet.
    #[must_use]
    pub fn slice(self, range: Range<usize>) -> Self {
        Self { descriptors: &self.descriptors[range], ..self }
    }

    /// The packets in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Packet<'a>> + use<'a> {
        let batch = *self;
        self.descriptors.iter().map(move |d| batch.packet(d))
    }

    fn packet(&self, d: &Descriptor) -> Packet<'a> {
        let start = d.offset as usize;
        Packet {
            time: d.time,
            data: &self.region[start..start + d.captured as usize],
            length: d.length,
            interface: d.interface,
            link_type: self.interfaces[d.interface as usize].link_type,
            direction: d.direction,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interfaces() -> Vec<Interface> {
        vec![Interface { link_type: LinkType::ETHERNET, ..Interface::default() }]
    }

    #[test]
    fn packets_are_views_of_the_region() {
        let region = [0, 1, 2, 3, 4, 5];
        let table = [
            Descriptor { offset: 0, captured: 2, length: 60, ..Descriptor::default() },
            Descriptor { offset: 2, captured: 4, length: 4, ..Descriptor::default() },
        ];
        let interfaces = interfaces();
        let batch = Batch::new(&region, &table, &interfaces);
        let data: Vec<_> = batch.iter().map(|p| (p.data, p.length)).collect();
        assert_eq!(data, [(&[0, 1][..], 60), (&[2, 3, 4, 5][..], 4)]);
        assert_eq!(batch.truncate(1).len(), 1);
        assert_eq!(batch.slice(1..2).get(0).map(|p| p.length), Some(4));
        assert!(batch.get(2).is_none());
    }

    #[test]
    #[should_panic(expected = "packet ends at 7")]
    fn a_descriptor_outside_the_region_is_refused() {
        let table = [Descriptor { offset: 5, captured: 2, ..Descriptor::default() }];
        Batch::new(&[0; 6], &table, &interfaces());
    }
}
