//! P4, Figures 2 to 10: one and two programs that capture, and whose time they take.

use std::time::Duration;

use anyhow::{Context, Result};
use linerate::profile::cost::Cost;
use linerate::profile::path::Component;
use linerate::profile::sampling::{Classifier, Load};
use linerate::sys::cpu;

use super::approaches::{BUFFER, LIBPCAP, subjects};
use super::findings::{Figures, Findings};
use super::{Conditions, figures};
use crate::bench::capture::can_begin;
use crate::bench::capture::measure::Effort;
use crate::bench::capture::stage::{Outcome, Session, Stage};
use crate::bench::capture::subject::Subject;
use crate::bench::progress::Progress;
use crate::bench::row::{Row, compare};
use crate::bench::runner::Samples;
use crate::bench::samples;
use crate::bench::search::{Bracket, Trial, highest_lossless};
use crate::bench::wire;
use crate::chart::{Stack, bars, stacked};

const EXPERIMENT: &str = "P4.fig2-10";
const SIZE: usize = 60;
/// A load ends after so many times as long as it should take.
const LIMIT: u32 = 5;
/// Packets of a trial that shows how fast the sender is beside these programs, and with `--quick`.
const PACKETS: [u64; 2] = [4_000_000, 1_000_000];

/// So many programs at once.
struct Crowd {
    subject: Subject,
    count: usize,
}

/// What a crowd showed.
struct Seen {
    overload: Trial,
    limit: Bracket,
    cost: Cost,
    /// Of the core that sends and receives, and of the one on which the programs are: for each second of the load.
    loads: [Load; 2],
}

pub(super) fn run(conditions: &Conditions) -> Result<Findings> {
    let (stage, effort) = (Stage::new()?, conditions.effort(BUFFER));
    let mut subjects = subjects();
    subjects.retain(|subject| can_begin(&stage, subject));
    let mut crowds = Vec::new();
    for subject in subjects {
        crowds.extend([1, 2].map(|count| Crowd { subject: subject.clone(), count }));
    }
    let progress = &mut Progress::new(crowds.len());
    let mut seen = Vec::new();
    for crowd in &crowds {
        progress.next(&crowd.name());
        let packets = PACKETS[usize::from(conditions.quick)];
        seen.push(crowd.look(&stage, &effort, packets).with_context(|| crowd.name())?);
    }
    let rows = rows(&crowds, &seen);
    let groups =
        crowds.iter().zip(&seen).map(|(crowd, seen)| (crowd.name(), vec![Some(seen.limit.passed)]));
    let rates = bars(
        "P4: highest rate without loss in any of the programs, 64 bytes",
        "packets/s",
        &groups.collect::<Vec<_>>(),
        &["here"],
    );
    let stacks: Vec<_> = crowds.iter().zip(&seen).map(|(crowd, seen)| stack(crowd, seen)).collect();
    let times = stacked("P4: whose time a packet takes", "ns a packet", &stacks);
    let stacks: Vec<_> =
        crowds.iter().zip(&seen).map(|(crowd, seen)| by_core(crowd, seen)).collect();
    let loads = stacked("P4: load of the two cores", "% of one", &stacks);
    Findings::of(EXPERIMENT, rows, &figures::PROCESSES)
        .remark(
            "Two programs share one core here, as the other one sends and receives; the paper's shared two. The time is found by \
             samples at the sender's maximum: in the kernel while packets are received, in the kernel for the programs' \
             system calls, and in the programs. Loads are for each second in which \
             packets were sent.",
        )
        .chart(rates, "Highest rates without loss for one program and for two, as bars")?
        .chart(times, "Time of a packet in the kernel and in programs, for one program and for two, as bars")?
        .chart(loads, "Load of each core in the kernel and in programs, for one program and for two, as bars")
}

impl Crowd {
    fn name(&self) -> String {
        let plural = if self.count == 1 { "" } else { "es" };
        format!("{}, {} process{plural}", self.subject.name, self.count)
    }

    fn begin<'a>(&'a self, stage: &'a Stage) -> Result<Vec<Session<'a>>> {
        (0..self.count).map(|_| stage.begin(&self.subject)).collect()
    }

    fn look(&self, stage: &Stage, effort: &Effort, packets: u64) -> Result<Seen> {
        let (overload, cost, loads) = self.overload(stage, effort, packets)?;
        let limit = highest_lossless(overload, effort.precision, |rate| {
            let mut sessions = self.begin(stage)?;
            let packets = effort.packets(rate, SIZE);
            let limit = Duration::from_secs_f64(packets as f64 / rate) * LIMIT;
            let report = sessions[0].send(SIZE, packets, Some(rate), limit)?;
            trial(report.rate(), sessions)
        })?;
        Ok(Seen { overload, limit, cost, loads })
    }

    /// At the sender's maximum.
    fn overload(
        &self,
        stage: &Stage,
        effort: &Effort,
        packets: u64,
    ) -> Result<(Trial, Cost, [Load; 2])> {
        let mut sessions = self.begin(stage)?;
        let limit = effort.time * LIMIT * LIMIT;
        let (report, taken) = samples::during(|| sessions[0].send(SIZE, packets, None, limit))?;
        let processes: Vec<_> = sessions.iter().filter_map(Session::process).collect();
        let classifier = Classifier::new()?;
        let weights = classifier.weigh(&taken, &processes);
        let (sender, consumer) = wire::cores()?;
        let seconds = report.elapsed.as_secs_f64();
        let loads = [sender, consumer].map(|core| {
            let load = classifier.load(&taken, core as u32);
            Load { user: load.user / seconds, kernel: load.kernel / seconds }
        });
        let cost = Cost::new(&weights, &taken, report.packets, seconds, cpu::online()?.len());
        Ok((trial(report.rate(), sessions)?, cost, loads))
    }
}

/// What the one that lost the most lost.
fn trial(rate: f64, sessions: Vec<Session<'_>>) -> Result<Trial> {
    let outcomes = sessions.into_iter().map(Session::end).collect::<Result<Vec<Outcome>>>()?;
    // Only the first one's session sends.
    let sent = outcomes.iter().map(|outcome| outcome.sent).sum();
    let fewest = outcomes.iter().map(|outcome| outcome.captured).min().unwrap_or(0);
    Ok(Trial { rate, sent, lost: sent.saturating_sub(fewest) })
}

fn rows(crowds: &[Crowd], seen: &[Seen]) -> Vec<Row> {
    let figures = |of: fn(&Seen) -> f64| -> Figures {
        let figure =
            |(crowd, seen): (&Crowd, &Seen)| (crowd.name(), Some(Samples::new(vec![of(seen)])));
        crowds.iter().zip(seen).map(figure).collect()
    };
    let baseline = format!("{LIBPCAP}, 1 process");
    let table = |figure: &str, unit, of| {
        compare(EXPERIMENT, &format!("{SIZE} B, {figure}"), unit, &baseline, &figures(of))
    };
    let mut rows = table("no loss up to", "packets/s", |seen| seen.limit.passed);
    for (row, seen) in rows.iter_mut().zip(seen) {
        row.spread = Some((seen.limit.passed, seen.limit.failed.unwrap_or(seen.limit.passed)));
    }
    rows.extend(table("lost at maximum", "%", |seen| 100.0 * seen.overload.loss()));
    for (name, parts) in LOADS {
        let figures = crowds
            .iter()
            .zip(seen)
            .map(|(crowd, seen)| (crowd.name(), Some(Samples::new(vec![sum(&seen.cost, parts)]))));
        let case = format!("{SIZE} B, {name}");
        rows.extend(compare(EXPERIMENT, &case, "ns", &baseline, &figures.collect::<Vec<_>>()));
    }
    for (name, load) in CORES {
        rows.extend(table(name, "%", load));
    }
    rows
}

/// One of what was seen.
type Figure = fn(&Seen) -> f64;

/// Parts of the cores' time, in per cent.
const CORES: [(&str, Figure); 4] = [
    ("sending core, in the kernel", |seen| 100.0 * seen.loads[0].kernel),
    ("sending core, in programs", |seen| 100.0 * seen.loads[0].user),
    ("capturing core, in the kernel", |seen| 100.0 * seen.loads[1].kernel),
    ("capturing core, in programs", |seen| 100.0 * seen.loads[1].user),
];

fn by_core(crowd: &Crowd, seen: &Seen) -> Stack {
    let parts = CORES.iter().map(|(name, load)| ((*name).to_owned(), load(seen)));
    Stack { name: crowd.name(), parts: parts.collect() }
}

/// Whose time it is.
const LOADS: [(&str, &[Component]); 3] = [
    (
        "kernel, receiving",
        &[
            Component::Interrupt,
            Component::Driver,
            Component::Allocation,
            Component::Stack,
            Component::Tap,
            Component::Timestamp,
            Component::Filter,
            Component::FirstCopy,
            Component::WakeUp,
            Component::Free,
            Component::Unclassified,
        ],
    ),
    ("kernel, for the programs", &[Component::SystemCall, Component::SecondCopy]),
    ("programs", &[Component::UserCode]),
];

fn sum(cost: &Cost, parts: &[Component]) -> f64 {
    let parts = cost.components.iter().filter(|part| parts.contains(&part.component));
    parts.filter_map(|part| part.nanoseconds).sum()
}

fn stack(crowd: &Crowd, seen: &Seen) -> Stack {
    let parts = LOADS.iter().map(|(name, parts)| ((*name).to_owned(), sum(&seen.cost, parts)));
    Stack { name: crowd.name(), parts: parts.collect() }
}
