//! P1, 4: what a system call costs a packet, by how many packets it brings.

use anyhow::Result;

use super::findings::Findings;
use super::{Conditions, figures};
use crate::bench::capture::stage::Stage;
use crate::bench::profile::calls::{BATCHES, STEPS, drained, name};
use crate::bench::progress::Progress;
use crate::bench::row::compare;
use crate::bench::runner::Samples;
use crate::chart::{Axis, Line, Scale, lines};

const EXPERIMENT: &str = "P1.calls";

pub(super) fn run(conditions: &Conditions) -> Result<Findings> {
    let repeats = if conditions.quick { 3 } else { 7 };
    let figures = drained(&Stage::new()?, repeats, &mut Progress::new(STEPS))?;
    let figures: Vec<_> = figures
        .into_iter()
        .map(|(name, samples)| (name, samples.map(|samples| samples.times(conditions.cycles))))
        .collect();
    let mut rows = compare(EXPERIMENT, "recvmmsg", "cycles", &name(1), &figures);
    let median = |at: usize| figures[at].1.as_ref().map(Samples::median);
    // A packet of its own call pays for a whole one, that of a full call for its part.
    let last = BATCHES.len() - 1;
    let part = 1.0 - 1.0 / BATCHES[last] as f64;
    let call = median(0).zip(median(last)).map(|(one, many)| (one - many) / part);
    let share = call.map(|call| call / BATCHES[last] as f64);
    let calls = [("by itself".to_owned(), call), (name(BATCHES[last]), share)];
    let calls = calls.map(|(name, cycles)| (name, cycles.map(|cycles| Samples::new(vec![cycles]))));
    rows.extend(compare(EXPERIMENT, "system call", "cycles", &calls[0].0, &calls));
    let points =
        BATCHES.iter().enumerate().filter_map(|(at, batch)| Some((*batch as f64, median(at)?)));
    let line = Line { name: "recvmmsg".into(), points: points.collect() };
    let x = Axis { label: "packets a call".into(), scale: Scale::Logarithmic };
    let y = Axis { label: "cycles a packet".into(), scale: Scale::Linear };
    let svg = lines("P1, 4: receiving, by the packets of a call", &x, &y, &[line]);
    Findings::of(EXPERIMENT, rows, &figures::CALLS)
        .remark(
            "Packets of 60 bytes that wait in a packet socket, received so many at a time. The reader of a ring or a tap makes \
             no system call while packets are there.",
        )
        .chart(svg, "Cycles to receive a packet, against the packets of a call, as a line")
}
