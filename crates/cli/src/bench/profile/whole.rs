//! What a capture costs as a whole: by leaving it out, and by samples.

use anyhow::Result;
use linerate::profile::cost::Cost;
use linerate::profile::path::Component;

use super::EXPERIMENT;
use super::trials::{Trials, by, nobody};
use crate::bench::capture::can_begin;
use crate::bench::capture::measure::{Effort, Overload, Sampled, sampled};
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

fn of_backend(backend: &str, names: &[String], seen: &[Vec<Sampled>]) -> Vec<Row> {
    let trials = seen.iter().map(|turns| turns.iter().map(|turn| turn.overload).collect());
    let trials = Trials::of(names.iter().cloned().zip(trials));
    let beyond = |what: &str| {
        (what.to_owned(), trials.beyond(&format!("{backend}, {what}"), STACK, 1.0, Overload::whole))
    };
    let case = |what: &str| format!("{SIZE} B, {backend}, {what}");
    let steps = [beyond(NONE), beyond(ALL)];
    let mut rows = compare(EXPERIMENT, &case("beyond no capture"), "ns", ALL, &steps);
    let turns = |name: &str| names.iter().position(|found| found == name).map(|at| &seen[at]);
    let pair = turns(&format!("{backend}, {ALL}")).zip(turns(STACK));
    let by_samples = |part: Part| {
        let (with, without) = pair?;
        let pairs = with.iter().zip(without);
        Some(Samples::new(pairs.map(|(with, without)| part(with) - part(without)).collect()))
    };
    let (subtracted, sampled) = (steps[1].1.clone(), by_samples(whole));
    let ways = [(SUBTRACTION, subtracted.clone()), (SAMPLES, sampled.clone())];
    let ways = ways.map(|(name, samples)| (name.to_owned(), samples));
    rows.extend(compare(EXPERIMENT, &case("the capture's whole"), "ns", SUBTRACTION, &ways));
    let parts = PARTS.map(|(name, part)| (name.to_owned(), by_samples(part)));
    rows.extend(compare(EXPERIMENT, &case("of that, by samples"), "ns", "", &parts));
    let apart = subtracted.zip(sampled).map(|(subtracted, sampled)| {
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

/// What has no more to do with it than without, and takes longer as the capture takes its caches.
const AROUND: [Component; 3] = [Component::Interrupt, Component::Driver, Component::Unclassified];

/// Nanoseconds for each packet of a trial.
type Part = fn(&Sampled) -> f64;

/// What a capture's cost is made of, as far as it is beyond that of no capture.
const PARTS: [(&str, Part); 3] = [
    ("its own components", |turn| sum(&turn.cost, &OF_CAPTURE)),
    ("skbs and host's stack", |turn| sum(&turn.cost, &SHARED)),
    ("driver and sender, slowed down", |turn| sum(&turn.cost, &AROUND) + turn.sending),
];

/// Nanoseconds for each packet of everything that was done on both cores.
fn whole(turn: &Sampled) -> f64 {
    PARTS.iter().map(|(_, part)| part(turn)).sum()
}

fn sum(cost: &Cost, wanted: &[Component]) -> f64 {
    let parts = cost.components.iter().filter(|part| wanted.contains(&part.component));
    parts.filter_map(|part| part.nanoseconds).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_component_is_in_one_part() {
        let all = [&OF_CAPTURE[..], &SHARED, &AROUND].concat();
        assert!(Component::ALL.iter().all(|one| all.contains(one)));
        assert_eq!(all.len(), Component::ALL.len());
    }
}
