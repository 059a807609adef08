//! Packets apart from their reader.

use linerate_base::{Batch, Descriptor, Interface};

/// A batch that owns the memory that its packets are in, so that a reader on another thread can go on
/// meanwhile. Filled by [`Reader::detach`](super::Reader::detach), over and over.
#[derive(Debug, Default)]
pub struct Detached {
    pub(super) region: Vec<u8>,
    pub(super) end: usize,
    pub(super) descriptors: Vec<Descriptor>,
    /// The interfaces that came up with this batch.
    pub(super) new_interfaces: Vec<Interface>,
}

impl Detached {
    /// The interfaces that came up with this batch: those after the ones that were known.
    pub fn new_interfaces(&self) -> &[Interface] {
        &self.new_interfaces
    }

    /// The packets, of the reader's `interfaces`.
    ///
    /// # Panics
    /// When those of this batch are not among `interfaces`.
    pub fn batch<'a>(&'a self, interfaces: &'a [Interface]) -> Batch<'a> {
        Batch::new(&self.region[..self.end], &self.descriptors, interfaces)
    }
}
