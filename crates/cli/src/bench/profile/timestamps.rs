//! What times cost.

use anyhow::Result;

use super::EXPERIMENT;
use super::trials::{Trials, by};
use crate::bench::capture::measure::{Effort, Overload};
use crate::bench::capture::stage::Stage;
use crate::bench::progress::Progress;
use crate::bench::row::{Row, compare};
use crate::bench::runner::Samples;

const SIZE: usize = 60;

/// Its program reads no clock: its consumer reads the cycle counter, once a batch.
const TSC: &str = "tsc";
const SOURCES: [&str; 3] = ["kernel", "sampled", TSC];
pub(in crate::bench) const STEPS: usize = SOURCES.len();

pub(super) fn rows(stage: &Stage, effort: &Effort, progress: &mut Progress) -> Result<Vec<Row>> {
    let steps = beyond_tsc(stage, effort, progress)?;
    let case = format!("{SIZE} B, tap, times beyond {TSC}");
    Ok(compare(EXPERIMENT, &case, "ns", SOURCES[0], &steps))
}

/// What the tap's program spends on times, by source, more than where it reads no clock.
///
/// # Errors
/// A subject's that fails.
pub(in crate::bench) fn beyond_tsc(
    stage: &Stage,
    effort: &Effort,
    progress: &mut Progress,
) -> Result<Vec<(String, Option<Samples>)>> {
    let subjects = SOURCES.map(|source| by("tap", source, &["--timestamps", source]));
    let trials = Trials::make(stage, subjects.into(), SIZE, effort, progress)?;
    let step = |source: &&str| {
        let [more, less] = [*source, TSC].map(|source| format!("tap, {source}"));
        ((*source).to_owned(), trials.beyond(&more, &less, 1.0, |o: &Overload| o.sender))
    };
    Ok(SOURCES.iter().filter(|source| **source != TSC).map(step).collect())
}
