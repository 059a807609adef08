//! P1, 5.3: what a timestamp costs.

use anyhow::Result;

use super::findings::Findings;
use super::{Conditions, figures};
use crate::bench::capture::stage::Stage;
use crate::bench::profile::timestamps::{STEPS, beyond_tsc};
use crate::bench::progress::Progress;
use crate::bench::row::compare;
use crate::bench::runner::Samples;
use crate::chart::bars;

const EXPERIMENT: &str = "P1.timestamps";

pub(super) fn run(conditions: &Conditions) -> Result<Findings> {
    let mut effort = conditions.effort(64);
    effort.repeats = if conditions.quick { 3 } else { 7 };
    let steps = beyond_tsc(&Stage::new()?, &effort, &mut Progress::new(STEPS))?;
    let scale = |(name, samples): (String, Option<Samples>)| {
        (name, samples.map(|samples| samples.times(conditions.cycles)))
    };
    let steps: Vec<_> = steps.into_iter().map(scale).collect();
    let rows = compare(EXPERIMENT, "a time for every packet", "cycles", "kernel", &steps);
    let groups: Vec<_> = rows.iter().map(|row| (row.subject.clone(), vec![row.value])).collect();
    let svg = bars("P1, 5.3: what a tap's times cost", "cycles a packet", &groups, &["here"]);
    Findings::of(EXPERIMENT, rows, &figures::TIMESTAMPS)
        .remark(
            "What the tap's program spends beyond one that reads no clock (--timestamps tsc, where the reader's cycle counter \
             gives one time to a whole batch). The paper put the cycle counter in the place of the system's timer.",
        )
        .chart(svg, "Cycles that times cost a packet, by source, as bars")
}
