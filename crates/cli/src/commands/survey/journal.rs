//! What a run did, and how far it is, in a file.

use std::collections::hash_map::RandomState;
use std::env;
use std::fs;
use std::hash::{BuildHasher, Hasher};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use linerate::scan::{Shard, Targets};
use serde::{Deserialize, Serialize};

use super::place::Place;
use crate::args::{RunArgs, TargetArgs};
use crate::exit::usage;
use crate::output;

/// The metadata of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(in super::super) struct Journal {
    /// Of linerate.
    version: String,
    /// As they were typed, by whoever wrote last.
    arguments: Vec<String>,
    contact: Option<String>,
    /// RFC 3339, UTC.
    started: String,
    updated: String,
    pub(in super::super) seed: u64,
    /// Part and parts, from 1.
    shard: (u64, u64),
    /// In this part.
    targets: u64,
    /// Of all targets and their order.
    fingerprint: u64,
    /// Which time the targets are gone through, from 0, and how many of them were.
    pub(in super::super) pass: u64,
    pub(in super::super) position: u64,
    /// Probes sent by whoever wrote last.
    pub(in super::super) sent: u64,
    pub(in super::super) answered: u64,
    complete: bool,
    /// Why it ended before all was done, where it was not asked to.
    #[serde(default)]
    pub(in super::super) stopped: Option<String>,
    #[serde(skip)]
    path: Option<PathBuf>,
}

impl Journal {
    /// That of the run which goes on, or a new one.
    ///
    /// # Errors
    /// When the file cannot be read; of usage, when its run is complete or was another one, or its rows are not where they should be.
    pub(in super::super) fn begin(args: &RunArgs, seed: Option<u64>) -> Result<Self> {
        let (path, place) = (args.metadata.clone(), Place::of(args)?);
        if let Some(path) = path.as_deref().filter(|_| args.resume) {
            let journal = Self::read(path)?;
            if journal.complete {
                return Err(usage(format!("--resume: the run of {} is complete", path.display())));
            }
            if seed.is_some_and(|seed| seed != journal.seed) {
                return Err(usage(format!("--seed: that of the run is {}", journal.seed)));
            }
            place.check(true, journal.position + journal.pass + journal.answered > 0)?;
            return Ok(Self { stopped: None, ..journal });
        }
        place.check(false, false)?;
        let seed = seed.unwrap_or_else(|| RandomState::new().build_hasher().finish());
        Ok(Self { seed, path, started: now(), ..Self::default() })
    }

    /// The same of a run through targets, all of whose parts have to have the same order.
    ///
    /// # Errors
    /// As [`begin`](Self::begin).
    pub(in super::super) fn begin_targets(args: &RunArgs, whom: &TargetArgs) -> Result<Self> {
        if whom.shard.is_some() && whom.seed.is_none() && !args.resume {
            return Err(usage("--shard: all parts need the same order: name a --seed"));
        }
        Self::begin(args, whom.seed)
    }

    fn read(path: &Path) -> Result<Self> {
        let asked = || format!("go on with the run of {}", path.display());
        let text = fs::read_to_string(path).with_context(asked)?;
        let journal: Self = serde_json::from_str(&text).with_context(asked)?;
        Ok(Self { path: Some(path.to_owned()), ..journal })
    }

    /// Notes which targets there are, and writes it.
    ///
    /// # Errors
    /// When the file cannot be written; of usage, when a run is to go on with other targets.
    pub(in super::super) fn describe_targets(
        &mut self,
        args: &RunArgs,
        targets: &Targets,
        part: Option<Shard>,
    ) -> Result<()> {
        let part = part.unwrap_or(Shard::WHOLE);
        self.targets = targets.count_in(part);
        self.describe(args, targets.fingerprint(), part)
    }

    /// Notes what stands for that which is done, and writes it.
    ///
    /// # Errors
    /// When the file cannot be written; of usage, when a run is to go on with something else.
    pub(in super::super) fn describe(
        &mut self,
        args: &RunArgs,
        fingerprint: u64,
        part: Shard,
    ) -> Result<()> {
        let shard = (part.index + 1, part.of);
        if args.resume && (self.fingerprint, self.shard) != (fingerprint, shard) {
            return Err(usage(
                "--resume: these are other targets than those of the run that stopped",
            ));
        }
        (self.fingerprint, self.shard) = (fingerprint, shard);
        self.version = env!("CARGO_PKG_VERSION").into();
        self.arguments = env::args().collect();
        self.contact = args.contact.clone();
        self.write()
    }

    /// Writes it, whole or not at all.
    ///
    /// # Errors
    /// When the disk does not take it.
    pub(in super::super) fn write(&mut self) -> Result<()> {
        self.updated = now();
        let Some(path) = &self.path else { return Ok(()) };
        let asked = || format!("write {}", path.display());
        let mut beside = path.clone().into_os_string();
        beside.push(".new");
        let text = serde_json::to_string_pretty(self)? + "\n";
        fs::write(&beside, text).with_context(asked)?;
        fs::rename(&beside, path).with_context(asked)
    }

    /// The same, for the last time.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub(super) fn end(&mut self, is_complete: bool) -> Result<()> {
        self.complete = is_complete;
        self.write()
    }

    /// True when it is in a file.
    pub(super) fn is_kept(&self) -> bool {
        self.path.is_some()
    }

    /// True when the run is one that `--resume` may go on with.
    pub(super) fn can_go_on(&self) -> bool {
        !self.complete && self.is_kept()
    }

    /// Says why the run ended before all was done, and how it goes on, if it did.
    pub(in super::super) fn tell_end(&self) {
        if let Some(reason) = &self.stopped {
            output::tell(format_args!("stopped, as --stop-below has it: {reason}"));
        }
        if self.can_go_on() {
            output::tell("stopped before the end: the same command with --resume goes on");
        }
    }
}

fn now() -> String {
    jiff::Timestamp::now().to_string()
}
