//! What the parsers fill and the reader lends out.

use linerate_base::{Descriptor, Interface};

use super::pseudo::{self, Turn};
use super::{Warning, fault::Fault};
use crate::order::Order;

/// Statistics that the capturing program left for an interface (pcapng's Interface Statistics Block).
/// `None` where the file does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Packets that the interface received (`isb_ifrecv`).
    pub received: Option<u64>,
    /// Packets that the interface dropped for want of resources (`isb_ifdrop`).
    pub interface_dropped: Option<u64>,
    /// Packets that the filter accepted (`isb_filteraccept`).
    pub accepted: Option<u64>,
    /// Packets that the operating system dropped (`isb_osdrop`).
    pub dropped: Option<u64>,
    /// Packets delivered to the capturing program (`isb_usrdeliv`).
    pub delivered: Option<u64>,
}

/// The most interfaces that a file may describe, over all its sections: a small compressed file must not
/// fill the memory.
pub(super) const MAX_INTERFACES: usize = 1 << 16;

/// Everything known of a file apart from its packets' bytes.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    /// Interfaces of the whole file, in the order of their appearance.
    pub(super) interfaces: Vec<Interface>,
    /// What the file says about each of them; as long as `interfaces`.
    pub(super) recorded: Vec<Recorded>,
    /// What is to be turned in packets of each of them; as long as `interfaces`.
    pub(super) turns: Vec<Option<Turn>>,
    /// The packets of the current batch.
    pub(super) descriptors: Vec<Descriptor>,
    pub(super) warnings: Vec<Warning>,
    /// Something that is no packet was added to it, or to what the parser knows.
    pub(super) news: bool,
}

impl Table {
    /// Adds an interface, of a machine with this byte order, and returns its index.
    pub(super) fn add_interface(
        &mut self,
        interface: Interface,
        order: Order,
    ) -> Result<u32, Fault> {
        if self.interfaces.len() >= MAX_INTERFACES {
            return Err(Fault::Interfaces);
        }
        self.news = true;
        let turn = pseudo::turn(interface.link_type).filter(|_| !order.is_native());
        self.turns.push(turn);
        self.interfaces.push(interface);
        self.recorded.push(Recorded::default());
        Ok(self.interfaces.len() as u32 - 1)
    }

    /// Notes what the file says about an interface.
    pub(super) fn record(&mut self, interface: u32, recorded: Recorded) {
        self.news = true;
        self.recorded[interface as usize] = recorded;
    }

    /// Adds a packet of an interface whose snapshot length is `snaplen`; what a record holds beyond that
    /// is left out, as libpcap does.
    #[inline]
    pub(super) fn push(&mut self, mut packet: Descriptor, snaplen: u32) {
        if packet.captured > snaplen {
            packet.captured = snaplen;
            self.warn(Warning::BeyondSnaplen);
        }
        self.descriptors.push(packet);
    }

    /// True when packets of some interface have to be turned.
    pub(super) fn has_turns(&self) -> bool {
        self.turns.iter().any(Option::is_some)
    }

    /// Turns, in `region`, the packets from the `first` on.
    pub(super) fn turn(&self, first: usize, region: &mut [u8]) {
        for packet in &self.descriptors[first..] {
            if let Some(turn) = self.turns[packet.interface as usize] {
                let data = &mut region[packet.offset as usize..][..packet.captured as usize];
                turn(data, packet.length as usize);
            }
        }
    }

    /// Adds `warning`, unless it is there already.
    #[cold]
    pub(super) fn warn(&mut self, warning: Warning) {
        if !self.warnings.contains(&warning) {
            self.news = true;
            self.warnings.push(warning);
        }
    }
}

/// The limit that a snapshot length means: 0 stands for none.
pub(super) fn effective(snaplen: u32) -> u32 {
    if snaplen == 0 { u32::MAX } else { snaplen }
}

/// Where a parser came to and why it went no further.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// Region offset of the first record that was not taken.
    pub(super) at: usize,
    pub(super) stop: Stop,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The record at hand needs this many bytes, as far as can be seen; always more than there are.
    Need(usize),
    /// The record at hand is damaged.
    Fault(Fault),
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}
