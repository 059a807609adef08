//! What a capture costs as a whole: by leaving it out, and by samples.

use anyhow::Result;
use linerate::profile::cost::Cost;
use linerate::profile::path::Component;

use super::EXPERIMENT;
use super::trials::{Trials, by, nobody};
use crate::bench::capture::can_begin;
use crate::bench::capture::measure::{Effort, Overload, sampled};
use crate::bench::capture::stage::Stage;
use crate::bench::capture::subject::{STACK, Subject};
use crate::bench::progress::Progress;
use crate::bench::row::{Row, compare};
use crate::bench::runner::{Samples, in_turn};

const BACKENDS: [&str; 2] = ["ring", "tap"];
pub(super) const STEPS: usize = 1 + 2 * BACKENDS.len();
const SIZE: usize = 60;

const NONE: &str = "accept none";
const ALL: &str = "accept all";

const SUBTRACTION: &str = "by subtraction";
const SAMPLES: &str = "by samples";

pub(super) fn rows(stage: &Stage, effort: &Effort, progress: &mut Progress) -> Result<Vec<Row>> {
    let mut subjects = vec![nobody()];
    for backend in BACKENDS {
        // A test that fails at once, for every packet.
        subjects.push(by(backend, NONE, &["less 1"]));
        subjects.push(by(backend, ALL, &[]));
    }
    subjects.retain(|subject| can_begin(stage, subject));
    let name = |subject: &Subject| format!("{SIZE} bytes, {}", subject.name);
    let seen = in_turn(&mut subjects, effort.repeats, progress, name, |_, subject| {
        sampled(stage, subject, SIZE, effort)
    })?;
    let names: Vec<_> = subjects.into_iter().map(|subject| subject.name).collect();
    Ok(BACKENDS.iter().flat_map(|backend| of_backend(backend, &names, &seen)).collect())
}

fn of_backend(backend: &str, names: &[String], seen: &[Vec<(Overload, Cost)>]) -> Vec<Row> {
    let trials = seen.iter().map(|turns| turns.iter().map(|(trial, _)| *trial).collect());
    let trials = Trials::of(names.iter().cloned().zip(trials));
    let beyond = |what: &str| {
        (what.to_owned(), trials.beyond(&format!("{backend}, {what}"), STACK, 1.0, Overload::whole))
    };
    let case = |what: &str| format!("{SIZE} B, {backend}, {what}");
    let steps = [beyond(NONE), beyond(ALL)];
    let mut rows = compare(EXPERIMENT, &case("beyond no capture"), "ns", ALL, &steps);
    let costs = |name: &str| names.iter().position(|found| found == name).map(|at| &seen[at]);
    let pair = costs(&format!("{backend}, {ALL}")).zip(costs(STACK));
    let by_samples = pair.map(|(with, without)| {
        let pairs = with.iter().zip(without);
        Samples::new(pairs.map(|((_, with), (_, without))| of_capture(with, without)).collect())
    });
    let ways =
        [(SUBTRACTION.to_owned(), steps[1].1.clone()), (SAMPLES.to_owned(), by_samples.clone())];
    rows.extend(compare(EXPERIMENT, &case("the capture's whole"), "ns", SUBTRACTION, &ways));
    let apart = steps[1].1.as_ref().zip(by_samples).map(|(subtracted, sampled)| {
        Samples::new(vec![100.0 * (sampled.median() / subtracted.median() - 1.0)])
    });
    let apart = [("samples beyond subtraction".to_owned(), apart)];
    rows.extend(compare(EXPERIMENT, &case("disagreement"), "%", "", &apart));
    rows
}

/// What belongs to a capture alone.
const OF_CAPTURE: [Component; 8] = [
    Component::Tap,
    Component::Timestamp,
    Component::Filter,
    Component::FirstCopy,
    Component::WakeUp,
    Component::SystemCall,
    Component::SecondCopy,
    Component::UserCode,
];

/// What it shares with the host's stack, and makes more of: delivery, and copies of the skb itself.
const SHARED: [Component; 3] = [Component::Allocation, Component::Stack, Component::Free];

/// Nanoseconds of a capture for each packet: its own components, and what those grew by that it shares.
fn of_capture(with: &Cost, without: &Cost) -> f64 {
    let sum = |cost: &Cost, wanted: &[Component]| -> f64 {
        let parts = cost.components.iter().filter(|part| wanted.contains(&part.component));
        parts.filter_map(|part| part.nanoseconds).sum()
    };
    sum(with, &OF_CAPTURE) + sum(with, &SHARED) - sum(without, &SHARED)
}
