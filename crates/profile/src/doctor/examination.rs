//! Watching a host for some time.

use std::collections::HashMap;
use std::time::Instant;

use linerate_base::{Error, Result};

use super::Activity;
use crate::counters::{Difference, Snapshot, Watcher};
use crate::drops::Drops;
use crate::path::Component;
use crate::sampling::{Classifier, Sampling, Stacks};
use crate::symbols::KernelSymbols;

/// An examination that goes on.
#[derive(Debug)]
pub struct Examination {
    interface: Option<String>,
    begun: Instant,
    watcher: Watcher,
    drops: Option<Drops>,
    sampling: Option<Sampling>,
    before: Snapshot,
    activities: HashMap<u32, Activity>,
    missing: Vec<Error>,
}

/// What was seen.
#[derive(Clone, Debug)]
pub struct Observation {
    /// What was counted.
    pub difference: Difference,
    /// What the kernel threw away; `None` where that may not be known.
    pub drops: Option<Vec<KernelDrop>>,
    /// What those who capture did, by process.
    pub activities: HashMap<u32, Activity>,
    /// The part of the time spent on receiving that went into filters in the kernel; `None` where that may not be
    /// known.
    pub filter_share: Option<f64>,
    /// What could not be looked at, and what would allow it.
    pub missing: Vec<String>,
}

/// Packets that the kernel threw away.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct KernelDrop {
    /// The kernel's name for the reason.
    pub reason: String,
    /// The function that did it.
    pub function: String,
    /// The interface's index.
    pub interface: u32,
    /// How many.
    pub packets: u64,
}

impl Examination {
    /// Begins to watch one interface, or all that are up.
    ///
    /// # Errors
    /// When there is no such interface.
    pub fn begin(interface: Option<&str>) -> Result<Self> {
        let (mut watcher, missing) = Watcher::new();
        let mut missing: Vec<_> = missing.into_iter().collect();
        let drops = Drops::watch().map_err(|error| missing.push(error)).ok();
        let sampling = Sampling::start(Stacks::Kernel).map_err(|error| missing.push(error)).ok();
        let before = Snapshot::take(interface, &mut watcher)?;
        Ok(Self {
            interface: interface.map(str::to_owned),
            begun: Instant::now(),
            watcher,
            drops,
            sampling,
            before,
            activities: HashMap::new(),
            missing,
        })
    }

    /// Looks at what those who capture are doing; to be called some twenty times a second.
    pub fn look(&mut self) {
        let processes = self.before.captures.iter().map(|capture| capture.process);
        for process in processes.filter(|process| *process != 0) {
            let elapsed = self.begun.elapsed();
            self.activities.entry(process).or_default().look(process, elapsed);
        }
        if let Some(sampling) = &mut self.sampling {
            sampling.collect();
        }
    }

    /// Ends it.
    ///
    /// # Errors
    /// When the interface is gone.
    pub fn finish(mut self) -> Result<Observation> {
        let after = Snapshot::take(self.interface.as_deref(), &mut self.watcher)?;
        let drops = self.drops.as_ref().map(kernel_drops).transpose()?;
        let filter_share = self.sampling.take().and_then(|sampling| {
            filter_share(sampling).map_err(|error| self.missing.push(error)).ok()
        });
        let mut missing: Vec<_> = self.missing.iter().map(ToString::to_string).collect();
        missing.dedup();
        Ok(Observation {
            difference: after.since(&self.before),
            drops,
            activities: self.activities,
            filter_share,
            missing,
        })
    }
}

fn filter_share(sampling: Sampling) -> Result<f64> {
    let samples = sampling.finish()?;
    Ok(Classifier::new()?.weigh(&samples, &[]).share(Component::Filter))
}

/// With the names of functions, where the kernel tells them.
fn kernel_drops(drops: &Drops) -> Result<Vec<KernelDrop>> {
    let symbols = KernelSymbols::read().ok();
    let name = |address: u64| {
        let name = symbols.as_ref().and_then(|symbols| symbols.name(address));
        name.map_or_else(|| "a function whose name is hidden".to_owned(), str::to_owned)
    };
    let counted = drops.counted()?.into_iter();
    let named = counted.map(|drop| KernelDrop {
        function: name(drop.place),
        reason: drop.reason,
        interface: drop.interface,
        packets: drop.packets,
    });
    Ok(named.collect())
}
