//! What a capture takes from the hosts' own TCP.

use std::time::Instant;

use anyhow::Result;
use linerate::lab::traffic;

use super::measure::Effort;
use super::stage::Stage;
use super::subject::{STACK, Subject};
use crate::bench::progress::Progress;
use crate::bench::row::{Row, compare};
use crate::bench::runner::{Samples, in_turn};

/// Bytes of a transfer for each second of a trial.
const BYTES: f64 = 2e9;

/// Steps of [`Progress`].
pub(super) fn steps(subjects: &[Subject]) -> usize {
    subjects.iter().filter(|subject| subject.passes()).count()
}

/// Rates of a TCP connection while nobody captures, and while each of those does that pass the packets
/// on.
pub(super) fn rows(
    stage: &Stage,
    subjects: &[Subject],
    effort: &Effort,
    progress: &mut Progress,
) -> Result<Vec<Row>> {
    let mut subjects: Vec<_> = subjects.iter().filter(|subject| subject.passes()).collect();
    let name = |subject: &&Subject| format!("TCP, {}", subject.name);
    let rates = in_turn(&mut subjects, effort.repeats, progress, name, |_, subject| {
        rate(stage, subject, effort)
    })?;
    let figures = subjects.iter().zip(rates);
    let figures = figures.map(|(subject, rates)| (subject.name.clone(), Some(Samples::new(rates))));
    Ok(compare("capture", "TCP beside it", "Gbit/s", STACK, &figures.collect::<Vec<_>>()))
}

fn rate(stage: &Stage, subject: &Subject, effort: &Effort) -> Result<f64> {
    let (a, b) = (stage.lab().host("a"), stage.lab().host("b"));
    let session = stage.begin(subject)?;
    let bytes = (BYTES * effort.time.as_secs_f64()) as u64;
    let began = Instant::now();
    let transfer = traffic::transfer(a, b, 0, bytes)?;
    let seconds = began.elapsed().as_secs_f64();
    session.end()?;
    Ok(transfer.bytes as f64 * 8.0 / seconds / 1e9)
}
