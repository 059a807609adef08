//! `--split`: one pass over the packets, a file for each filter.

use std::path::PathBuf;

use anyhow::{Context, Result};
use linerate::base::{Batch, Descriptor, Interface, Stats, Timestamp};
use linerate::capture::disk::Stalls;
use linerate::exec::{FilterSet, SetMatches};
use linerate::filter::Options;

use crate::args::SaveArgs;
use crate::exit::usage;
use crate::pump::Consumer;
use crate::save::{SavePlan, Saver};
use crate::units::grouped;
use crate::{compile, output};

/// Files to be, and their filters.
pub(super) struct Split {
    files: Vec<(String, SavePlan)>,
    set: FilterSet,
}

impl Split {
    /// `None` where nothing is to be split.
    ///
    /// # Errors
    /// Of usage, with the place in the filter's text; when two files have one name.
    pub(super) fn new(wanted: &[(PathBuf, String)], options: &Options<'_>) -> Result<Option<Self>> {
        let mut files: Vec<(String, SavePlan)> = Vec::new();
        let mut filters = Vec::new();
        for (path, text) in wanted {
            let name = path.display().to_string();
            if files.iter().any(|(other, _)| *other == name) {
                return Err(usage(format!("--split names {name} twice: join its filters by `or`")));
            }
            let filter = compile::compile(text, &Options { metadata: true, ..*options });
            filters.push(filter.with_context(|| format!("--split {name}"))?);
            let args = SaveArgs { write: Some(path.clone()), ..SaveArgs::default() };
            files.extend(SavePlan::new(&args)?.map(|plan| (name, plan)));
        }
        let set = || FilterSet::new(&filters);
        Ok((!files.is_empty()).then(|| Self { files, set: set() }))
    }

    /// Opens the files, for packets of `interfaces` from `start` on. `index` is the number that the system gave to
    /// the interface.
    ///
    /// # Errors
    /// When one cannot be opened or written.
    pub(super) fn open(
        self,
        interfaces: &[Interface],
        index: Option<u32>,
        start: Timestamp,
    ) -> Result<Splitter> {
        let open = |(name, plan): (String, SavePlan)| {
            Ok(Shelf { name, saver: plan.open(interfaces, Some(start))?, table: Vec::new() })
        };
        let shelves = self.files.into_iter().map(open).collect::<Result<_>>()?;
        Ok(Splitter { set: self.set, index, matches: SetMatches::new(), shelves })
    }
}

/// Hands each packet to the files whose filters keep it.
pub(super) struct Splitter {
    set: FilterSet,
    index: Option<u32>,
    matches: SetMatches,
    /// In the order of the filters.
    shelves: Vec<Shelf>,
}

/// A file, and what of a batch goes there.
struct Shelf {
    name: String,
    saver: Saver,
    table: Vec<Descriptor>,
}

impl Splitter {
    /// Records `stats` and ends the files, all of them even where some fail.
    ///
    /// # Errors
    /// The first file's whose disk does not take what is left.
    pub(super) fn finish(&mut self, stats: Option<&Stats>) -> Result<()> {
        let results: Vec<_> = self.shelves.iter_mut().map(|s| s.saver.finish(stats)).collect();
        results.into_iter().collect()
    }

    /// Tells how many packets are in each file.
    pub(super) fn tell(&self) {
        for Shelf { name, saver, .. } in &self.shelves {
            let packets = saver.totals().written.packets;
            output::tell(format_args!("{name}: {} packets", grouped(packets)));
        }
    }
}

impl Consumer for Splitter {
    fn batch(&mut self, batch: &Batch<'_>) -> Result<()> {
        self.set.run(batch, self.index, &mut self.matches);
        for (packet, descriptor) in batch.descriptors().iter().enumerate() {
            self.matches.of(packet).for_each(|file| self.shelves[file].table.push(*descriptor));
        }
        for Shelf { saver, table, .. } in &mut self.shelves {
            saver.batch(&Batch::new(batch.region(), table, batch.interfaces()))?;
            table.clear();
        }
        Ok(())
    }

    fn idle(&mut self) -> Result<()> {
        self.shelves.iter_mut().try_for_each(|shelf| shelf.saver.idle())
    }

    fn stats(&mut self, stats: &Stats) {
        self.shelves.iter_mut().for_each(|shelf| shelf.saver.stats(stats));
    }

    fn stalls(&self) -> Stalls {
        self.shelves.iter().map(|shelf| shelf.saver.stalls()).sum()
    }

    fn full(&self) -> bool {
        self.shelves.iter().any(|shelf| shelf.saver.full())
    }
}
