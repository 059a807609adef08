//! Filters over batches: which packets stay.

use std::sync::Arc;

use linerate_base::{Batch, Descriptor, Interface, Matches, Result, Select};

/// A filter that runs in user space, shared by all sources that ask it.
pub type UserFilter = Arc<dyn Select>;

/// Tells the filter for packets of an interface, which is asked once, when its first packet comes;
/// `None` keeps them all.
pub type Compile = Box<dyn FnMut(&Interface) -> Result<Option<UserFilter>> + Send>;

/// The filters for the interfaces of a source.
#[derive(Clone, Default)]
pub(crate) struct Sieve {
    /// By index of the interface; `None` keeps all of its packets.
    filters: Vec<Option<UserFilter>>,
    /// What a filter is told when it asks for the number of the interface.
    pub(crate) interface_index: Option<u32>,
    matches: Matches,
}

impl Sieve {
    /// Has `compile` make the filters of those `interfaces` that have none yet.
    ///
    /// # Errors
    /// Those of `compile`.
    pub(crate) fn learn(
        &mut self,
        interfaces: &[Interface],
        compile: &mut dyn FnMut(&Interface) -> Result<Option<UserFilter>>,
    ) -> Result<()> {
        for interface in interfaces.iter().skip(self.filters.len()) {
            self.filters.push(compile(interface)?);
        }
        Ok(())
    }

    /// Adds to `kept` the packets of `batch` that stay.
    ///
    /// # Panics
    /// When the batch has packets of an interface that it has not [learnt](Self::learn) of.
    pub(crate) fn sift(&mut self, batch: &Batch<'_>, kept: &mut Vec<Descriptor>) {
        let mut first = 0;
        for run in batch.descriptors().chunk_by(|one, next| one.interface == next.interface) {
            match &self.filters[run[0].interface as usize] {
                Some(filter) => {
                    let part = batch.slice(first..first + run.len());
                    filter.select(&part, self.interface_index, &mut self.matches);
                    kept.extend(self.matches.iter().map(|at| run[at]));
                }
                None => kept.extend_from_slice(run),
            }
            first += run.len();
        }
    }
}
