//! P1, Figures 4 and 7: what a filter costs by its length.

use anyhow::Result;

use super::findings::{Findings, by_case};
use super::{Conditions, figures};
use crate::bench::filter::engines::{PEER, names};
use crate::bench::filter::kernel::KERNEL;
use crate::bench::filter::{Effort, steadily};
use crate::bench::profile::filter::{LENGTHS, instructions, tests};
use crate::bench::progress::Progress;
use crate::bench::row::Row;
use crate::chart::{Axis, Line, Scale, bars, lines};

const EXPERIMENT: &str = "P1.fig4";

pub(super) fn run(conditions: &Conditions) -> Result<Findings> {
    let effort = Effort::new(conditions.quick, 7);
    let engines: Vec<_> = names().chain([KERNEL.to_owned()]).collect();
    let progress = &mut Progress::new(LENGTHS.len() * engines.len());
    let (mut rows, mut lengths) = (Vec::new(), Vec::new());
    for count in LENGTHS {
        let text = tests(count);
        let length = instructions(&text)?;
        let mut seen = steadily(&effort, &length.to_string(), &text, progress)?;
        for row in &mut seen {
            row.case = length.to_string();
            row.value = row.value.map(|nanoseconds| nanoseconds * conditions.cycles);
            row.spread = row.spread.map(|(a, b)| (a * conditions.cycles, b * conditions.cycles));
            row.unit = "cycles";
        }
        rows.extend(seen);
        lengths.push(length);
    }
    let cases: Vec<_> = lengths.iter().map(ToString::to_string).collect();
    let line = |engine: &String| {
        let costs = by_case(&rows, &cases, engine);
        let points = lengths.iter().zip(costs).filter_map(|(x, y)| Some((*x as f64, y?)));
        Line { name: engine.clone(), points: points.collect() }
    };
    let shown: Vec<_> = engines.iter().map(line).filter(|line| !line.points.is_empty()).collect();
    let x = Axis { label: "instructions that a packet takes".into(), scale: Scale::Linear };
    let y = Axis { label: "cycles a packet".into(), scale: Scale::Linear };
    let svg = lines("P1, Figure 4: cost of a filter by its length", &x, &y, &shown);
    let words = "Cycles of each engine for filters of 3, 21 and 51 instructions, as lines";
    let groups = speed_ups(&engines, &cases, &rows);
    let series: Vec<_> = cases.iter().map(|case| format!("{case} instructions")).collect();
    let series: Vec<_> = series.iter().map(String::as_str).collect();
    let bars = bars(
        "P1, Figure 7: how many times as fast as the interpreter (the paper: 3.1 to 5)",
        "times as fast as libpcap's interpreter",
        &groups,
        &series,
    );
    Findings::of(EXPERIMENT, rows, &figures::FILTERS)
        .remark(
            "Cycles are those of the time-stamp counter. The interpreter is libpcap's, as the paper's was. Of ours, `reference` \
             and `scalar` are interpreters, too; `native` is machine code that is made for the filter, as by the paper's JIT; \
             `vector` runs a test over a block of packets at once, by the level of instructions that it names; `fused` is code \
             made for the filter, which does all of it for sixteen packets at once. The kernel's JIT has a call for each packet; \
             its time is that beyond an empty filter (BPF_PROG_TEST_RUN).",
        )
        .chart(svg, words)?
        .chart(bars, "Speed-up of each engine over libpcap's interpreter, as bars")
}

/// Of each engine over the interpreter, by the cases.
fn speed_ups(
    engines: &[String],
    cases: &[String],
    rows: &[Row],
) -> Vec<(String, Vec<Option<f64>>)> {
    let of = |engine: &String| {
        let ratio = |case: &String| {
            let row = rows.iter().find(|row| row.case == *case && row.subject == *engine);
            row.and_then(|row| row.ratio)
        };
        (engine.clone(), cases.iter().map(ratio).collect())
    };
    engines.iter().filter(|engine| *engine != PEER).map(of).collect()
}
