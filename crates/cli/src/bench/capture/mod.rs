//! `linerate bench capture`: what each way of capturing costs, and how fast it goes without loss.
//!
//! - [`subject`]: who captures: our back ends, the peers
//! - [`stage`]: two hosts on one wire, a sender on one core and a subject on the other
//! - [`measure`]: trials: at the sender's maximum, and at rates that close in on the limit
//! - [`tables`]: results as rows
//! - [`transfer`]: what a capture takes from a TCP connection of the host
//! - [`memory`]: what a capture takes of the machine's memory
//!
//! `docs/benchmarks.md` says how each figure comes about.

pub(super) mod measure;
mod memory;
pub(super) mod stage;
pub(super) mod subject;
mod tables;
mod transfer;

use anyhow::Result;

use super::progress::Progress;
use super::row::Row;
use crate::args::BenchArgs;
use crate::output;
use measure::Effort;
use stage::Stage;
use subject::{FLOOR, RING, STACK, Subject, TCPDUMP};

pub(super) use tables::add_settings;

/// The interface that every host of a lab has.
pub(super) const INTERFACE: &str = "wire0";

pub(super) fn run(args: &BenchArgs) -> Result<Vec<Row>> {
    args.check_only(subject::all().iter().map(|subject| &subject.name))?;
    let effort = Effort::new(args.quick);
    let stage = Stage::new()?;
    let subjects = available(&stage, args);
    let mut progress = Progress::new(effort.steps(&subjects) + transfer::steps(&subjects));
    let mut rows = Vec::new();
    for size in effort.sizes {
        let results = measure::all(&stage, &subjects, *size, &effort, &mut progress)?;
        rows.extend(tables::of_size(*size, &subjects, &results));
    }
    rows.extend(transfer::rows(&stage, &subjects, &effort, &mut progress)?);
    add_settings(&mut rows, &subjects);
    Ok(rows)
}

/// Those that can begin here. What others are compared with is always among them.
fn available(stage: &Stage, args: &BenchArgs) -> Vec<Subject> {
    let is_reference =
        |name: &str| [FLOOR, STACK, RING].contains(&name) || name.starts_with(TCPDUMP);
    let mut subjects = subject::all();
    subjects.retain(|subject| is_reference(&subject.name) || args.wants(&subject.name));
    subjects.retain(|subject| can_begin(stage, subject));
    subjects
}

/// True for a subject that can begin here; of others, says why.
pub(super) fn can_begin(stage: &Stage, subject: &Subject) -> bool {
    match stage.begin(subject).and_then(stage::Session::end) {
        Ok(_) => true,
        Err(error) => {
            output::tell(format_args!("without {}: {error:#}", subject.name));
            false
        }
    }
}
