//! P1, Figures 6 and 9: the whole way of a packet, by component.

use anyhow::Result;
use linerate::profile::cost::Cost;
use linerate::profile::path::Component;

use super::Conditions;
use super::figures::{PARTS, WHOLE};
use super::findings::{Figures, Findings};
use crate::bench::capture::can_begin;
use crate::bench::capture::measure::sampled;
use crate::bench::capture::stage::Stage;
use crate::bench::capture::subject::{BUFFER, Subject, ours};
use crate::bench::profile::filter::tests;
use crate::bench::progress::Progress;
use crate::bench::row::compare;
use crate::bench::runner::{Samples, in_turn};
use crate::chart::{Stack, stacked};
use crate::components::GROUPS;

const EXPERIMENT: &str = "P1.fig6";
const SIZE: usize = 60;
/// Tests of the filter: such that a packet takes 21 instructions.
const TESTS: usize = 9;

/// Back ends, and what they are called here: two as it was before, two of ours.
const WAYS: [(&str, &[&str], bool); 4] = [
    ("socket (recvmmsg)", &["--backend", "socket"], true),
    ("ring (TPACKET_V3)", &["--backend", "ring"], true),
    ("tap", &["--backend", "tap"], true),
    ("tap-xdp exclusive", &["--backend", "tap-xdp", "--exclusive", "--force"], false),
];

pub(super) fn run(conditions: &Conditions) -> Result<Findings> {
    let stage = Stage::new()?;
    let filter = tests(TESTS);
    let subject = |(name, flags, passes): &(&str, &[&str], bool)| {
        let flags = [*flags, &[filter.as_str()]].concat();
        ours(name, &flags, *passes, BUFFER, "/dev/null")
    };
    let mut subjects: Vec<_> = WAYS.iter().map(subject).collect();
    subjects.retain(|subject| can_begin(&stage, subject));
    let mut effort = conditions.effort(BUFFER);
    effort.time *= 4;
    let progress = &mut Progress::new(subjects.len());
    let name = |subject: &Subject| format!("{SIZE} bytes, {}", subject.name);
    let costs = in_turn(&mut subjects, effort.repeats, progress, name, |_, subject| {
        Ok(sampled(&stage, subject, SIZE, &effort)?.cost)
    })?;
    let cycles = |cost: &Cost, parts: &[Component]| -> f64 {
        let parts = cost.components.iter().filter(|part| parts.contains(&part.component));
        parts.filter_map(|part| part.nanoseconds).sum::<f64>() * conditions.cycles
    };
    let figures = |parts: &[Component]| -> Figures {
        let of = |(subject, costs): (&Subject, &Vec<Cost>)| {
            let samples = costs.iter().map(|cost| cycles(cost, parts)).collect();
            (subject.name.clone(), Some(Samples::new(samples)))
        };
        subjects.iter().zip(&costs).map(of).collect()
    };
    let baseline = WAYS[1].0;
    let mut rows = compare(EXPERIMENT, "whole", "cycles", baseline, &figures(&Component::ALL));
    for (group, parts) in GROUPS {
        rows.extend(compare(EXPERIMENT, group, "cycles", baseline, &figures(parts)));
    }
    let stacks: Vec<_> = (subjects.iter().zip(&costs))
        .map(|(subject, costs)| {
            let part = |(group, parts): &(&str, &[Component])| {
                let samples = costs.iter().map(|cost| cycles(cost, parts)).collect();
                ((*group).to_owned(), Samples::new(samples).median())
            };
            Stack { name: subject.name.clone(), parts: GROUPS.iter().map(part).collect() }
        })
        .collect();
    let ours =
        stacked("P1, Figures 6 and 9, here: cycles of a packet of 60 bytes", "cycles", &stacks);
    let theirs = stacked("P1, Figures 6 and 9, in the paper", "cycles", &papers());
    Findings::of(EXPERIMENT, rows, &WHOLE)
        .remark(
            "Found by samples, up to 997 a second of each processor, while packets come as fast as they can be sent, with a filter of \
             which each takes 21 instructions. Cycles are those of the time-stamp counter. A tap has its filter compiled into its \
             program, whose parts are told apart by their addresses. The paper's host had no other stack on the way than \
             the driver's.",
        )
        .chart(ours, "Bars of what a packet costs by each back end, by component")?
        .chart(theirs, "Bars of what a packet cost in the paper, before and after, by component")
}

fn papers() -> Vec<Stack> {
    // All groups, so that each has the colour that it has in ours.
    let stack = |name: &str, cycles: fn(&(&str, f64, f64)) -> f64| Stack {
        name: name.into(),
        parts: GROUPS
            .iter()
            .map(|(group, _)| {
                let part = PARTS.iter().find(|(name, ..)| name == group);
                ((*group).to_owned(), part.map_or(0.0, cycles))
            })
            .collect(),
    };
    vec![stack("WinPcap, before", |part| part.1), stack("WinPcap, after", |part| part.2)]
}
