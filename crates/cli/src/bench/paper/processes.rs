//! P4, Figures 2 to 10: one and two programs that capture, and whose time they take, by the rate at which packets come.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use linerate::profile::cost::Cost;
use linerate::profile::path::Component;
use linerate::profile::sampling::{Classifier, Load};
use linerate::sys::cpu;

use super::approaches::{BUFFER, LIBPCAP, between, subjects};
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
use crate::chart::{Axis, Line, Scale, Stack, Svg, bars, lines, short, stacked};

const EXPERIMENT: &str = "P4.fig2-10";
const SIZE: usize = 60;
/// A load ends after so many times as long as it should take.
const LIMIT: u32 = 5;
/// Packets of a trial that shows how fast the sender is beside these programs, and with `--quick`.
const PACKETS: [u64; 2] = [4_000_000, 1_000_000];
/// The rates at which programs are looked at, packets a second, as far as the sender reaches them; with `--quick` every
/// other one.
const RATES: [f64; 7] = [0.25e6, 0.5e6, 1e6, 2e6, 3e6, 4e6, 6e6];
/// Of a trial at one of them.
const LONGEST: Duration = Duration::from_secs(2);

/// So many programs at once.
struct Crowd {
    subject: Subject,
    count: usize,
}

/// What a crowd showed.
struct Seen {
    limit: Bracket,
    /// At rates, in their order.
    points: Vec<Point>,
    /// At the sender's maximum beside it.
    maximum: Point,
}

impl Seen {
    fn all(&self) -> impl Iterator<Item = &Point> {
        self.points.iter().chain([&self.maximum])
    }
}

/// What a crowd showed at one rate.
struct Point {
    trial: Trial,
    cost: Cost,
    /// Of the core that sends and receives, and of the one on which the programs are: for each second of the trial.
    loads: [Load; 2],
}

/// A figure of a point.
type FigureOf = fn(&Point) -> f64;

pub(super) fn run(conditions: &Conditions) -> Result<Findings> {
    let (stage, effort) = (Stage::new()?, conditions.effort(BUFFER));
    let mut subjects = subjects();
    subjects.retain(|subject| can_begin(&stage, subject));
    let crowds = subjects
        .iter()
        .flat_map(|subject| [1, 2].map(|count| Crowd { subject: subject.clone(), count }));
    let crowds: Vec<_> = crowds.collect();
    let progress = &mut Progress::new(2 * crowds.len());
    let seen = crowds.iter().map(|crowd| {
        let seen = crowd.look(&stage, &effort, conditions.quick, progress);
        Ok((crowd.name(), seen.with_context(|| crowd.name())?))
    });
    findings(&seen.collect::<Result<Vec<_>>>()?)
}

impl Crowd {
    fn name(&self) -> String {
        let plural = if self.count == 1 { "" } else { "es" };
        format!("{}, {} process{plural}", self.subject.name, self.count)
    }

    fn begin<'a>(&'a self, stage: &'a Stage) -> Result<Vec<Session<'a>>> {
        (0..self.count).map(|_| stage.begin(&self.subject)).collect()
    }

    fn look(
        &self,
        stage: &Stage,
        effort: &Effort,
        quick: bool,
        progress: &mut Progress,
    ) -> Result<Seen> {
        progress.next(&format!("{}, by rates", self.name()));
        let maximum = self.at(stage, None, PACKETS[usize::from(quick)])?;
        let rates = RATES.into_iter().step_by(1 + usize::from(quick));
        let points = rates.take_while(|rate| *rate < maximum.trial.rate).map(|rate| {
            let packets = effort.packets(rate, SIZE).min((rate * LONGEST.as_secs_f64()) as u64);
            self.at(stage, Some(rate), packets)
        });
        let points = points.collect::<Result<Vec<_>>>()?;
        progress.next(&format!("{}, the highest rate without loss", self.name()));
        let limit = highest_lossless(maximum.trial, effort.precision, |rate| {
            let mut sessions = self.begin(stage)?;
            let packets = effort.packets(rate, SIZE);
            let report = sessions[0].send(SIZE, packets, Some(rate), limit(rate, packets))?;
            trial(report.rate(), sessions)
        })?;
        Ok(Seen { limit, points, maximum })
    }

    /// At a rate, or at the sender's maximum.
    fn at(&self, stage: &Stage, rate: Option<f64>, packets: u64) -> Result<Point> {
        let mut sessions = self.begin(stage)?;
        let limit = limit(rate.unwrap_or(RATES[0]), packets);
        let ((report, whole), taken) = samples::during(|| {
            let begun = Instant::now();
            let report = sessions[0].send(SIZE, packets, rate, limit)?;
            Ok((report, begun.elapsed().as_secs_f64()))
        })?;
        let processes: Vec<_> = sessions.iter().filter_map(Session::process).collect();
        // While the programs are still there, and have names.
        let classifier = Classifier::new()?;
        let weights = classifier.weigh(&taken, &processes);
        let (sender, consumer) = wire::cores()?;
        let seconds = report.elapsed.as_secs_f64();
        let loads = [sender, consumer].map(|core| {
            let Load { user, kernel, receiving } = classifier.load(&taken, core as u32);
            let [user, kernel, receiving] = [user, kernel, receiving].map(|time| time / whole);
            Load { user, kernel, receiving }
        });
        let cost = Cost::new(&weights, &taken, report.packets, seconds, cpu::online()?.len());
        Ok(Point { trial: trial(report.rate(), sessions)?, cost, loads })
    }
}

/// For so many packets at a rate.
fn limit(rate: f64, packets: u64) -> Duration {
    Duration::from_secs_f64(packets as f64 / rate) * LIMIT
}

/// What the one that lost the most lost.
fn trial(rate: f64, sessions: Vec<Session<'_>>) -> Result<Trial> {
    let outcomes = sessions.into_iter().map(Session::end).collect::<Result<Vec<Outcome>>>()?;
    // Only the first one's session sends.
    let sent = outcomes.iter().map(|outcome| outcome.sent).sum();
    let fewest = outcomes.iter().map(|outcome| outcome.captured).min().unwrap_or(0);
    Ok(Trial { rate, sent, lost: sent.saturating_sub(fewest) })
}

/// What is shown against the rate: what it is, its unit, the figure.
const CURVES: [(&str, &str, FigureOf); 4] = [
    ("received", "packets/s", |point| point.trial.rate * (1.0 - point.trial.loss())),
    ("receiving core, for packets", "% of a core", |point| 100.0 * point.loads[0].receiving),
    ("capturing core, in the kernel", "% of a core", |point| 100.0 * point.loads[1].kernel),
    ("capturing core, in programs", "% of a core", |point| 100.0 * point.loads[1].user),
];

fn findings(seen: &[(String, Seen)]) -> Result<Findings> {
    let passed = |(name, seen): &(String, Seen)| (name.clone(), vec![Some(seen.limit.passed)]);
    let rates = bars(
        "P4: highest rate without loss in any of the programs, 64 bytes",
        "packets/s",
        &seen.iter().map(passed).collect::<Vec<_>>(),
        &["here"],
    );
    let stacks: Vec<_> = seen.iter().map(stack).collect();
    let times =
        stacked("P4: whose time a packet takes, at the sender's maximum", "ns a packet", &stacks);
    let points = CURVES.iter().flat_map(|curve| points(seen, curve)).collect();
    let findings = Findings::of(EXPERIMENT, rows(seen), &figures::PROCESSES)
        .points(points)
        .remark(
            "Two programs share one core here, as the other one sends and receives; the paper's shared two. `Received` is what \
             the program has that lost the most. Loads are found by samples, for each second of a trial: of \
             the core that receives in the kernel what it does for packets (else it sends, or waits to do so), of the other \
             one the kernel's part and the programs'.",
        )
        .chart(rates, "Highest rates without loss for one program and for two, as bars")?
        .chart(times, "Time of a packet in the kernel and in programs, for one program and for two, as bars")?;
    CURVES.iter().try_fold(findings, |findings, curve| {
        let words = format!("{} against the rate of packets that are sent, as lines", curve.0);
        findings.chart(drawn(seen, curve), &words)
    })
}

fn drawn(seen: &[(String, Seen)], (what, unit, figure): &(&str, &str, FigureOf)) -> Result<Svg> {
    let line = |(name, seen): &(String, Seen)| Line {
        name: name.clone(),
        points: seen.all().map(|point| (point.trial.rate, figure(point))).collect(),
    };
    let x = Axis { label: "packets/s that are sent".into(), scale: Scale::Linear };
    let y = Axis { label: (*unit).into(), scale: Scale::Linear };
    let shown: Vec<_> = seen.iter().map(line).collect();
    lines(&format!("P4, figures 2 to 10: {what}"), &x, &y, &shown)
}

/// A curve's points as rows; the last of each crowd is at the sender's maximum beside it.
fn points(
    seen: &[(String, Seen)],
    (what, unit, figure): &(&str, &'static str, FigureOf),
) -> Vec<Row> {
    let of_crowd = |(name, seen): &(String, Seen)| {
        let row = |point: &Point| {
            let case = format!("{SIZE} B, {} packets/s sent, {what}", short(point.trial.rate));
            compare(EXPERIMENT, &case, unit, "", &one(name, figure(point)))
        };
        seen.all().flat_map(row).collect::<Vec<_>>()
    };
    seen.iter().flat_map(of_crowd).collect()
}

fn one(name: &str, value: f64) -> Figures {
    vec![(name.to_owned(), Some(Samples::new(vec![value])))]
}

/// The highest rates without loss, and what was seen at the sender's maximum.
fn rows(seen: &[(String, Seen)]) -> Vec<Row> {
    let baseline = format!("{LIBPCAP}, 1 process");
    let limits = seen.iter().map(|(name, seen)| (name.clone(), seen.limit));
    let mut rows =
        between(&format!("{SIZE} B, no loss up to"), &baseline, &limits.collect::<Vec<_>>());
    let mut add = |what: &str, unit, figure: &dyn Fn(&Point) -> f64| {
        let at_maximum = |(name, seen): &(String, Seen)| one(name, figure(&seen.maximum));
        let figures: Figures = seen.iter().flat_map(at_maximum).collect();
        let case = format!("{SIZE} B, {what}");
        rows.extend(compare(EXPERIMENT, &case, unit, &baseline, &figures));
    };
    add("lost at maximum", "%", &|point| 100.0 * point.trial.loss());
    for (name, parts) in LOADS {
        add(name, "ns", &|point| sum(&point.cost, parts));
    }
    rows
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

fn stack((name, seen): &(String, Seen)) -> Stack {
    let part =
        |(part, parts): &(&str, &[Component])| ((*part).to_owned(), sum(&seen.maximum.cost, parts));
    Stack { name: name.clone(), parts: LOADS.iter().map(part).collect() }
}
