//! Trials of every subject: at the sender's maximum in turn, then at rates that close in on the limit.

use std::time::Duration;

use anyhow::{Context, Result};
use linerate::lab::traffic::live::Report;

use super::stage::{Outcome, Stage};
use super::subject::{BUFFER, Subject};
use crate::bench::progress::Progress;
use crate::bench::runner::in_turn;
use crate::bench::search::{Bracket, Trial, highest_lossless};

/// How much is measured.
pub(super) struct Effort {
    /// Bytes of the frames, without the check sequence.
    pub(super) sizes: &'static [usize],
    /// Trials at the sender's maximum.
    pub(super) repeats: usize,
    /// Length of a trial.
    pub(super) time: Duration,
    /// How close the search comes to the limit, as a share of the rate.
    precision: f64,
    /// How many times a trial fills the buffer at least, so that none passes by filling it.
    fillings: f64,
}

impl Effort {
    pub(super) fn new(quick: bool) -> Self {
        if quick {
            let time = Duration::from_millis(400);
            Self { sizes: &[60, 1514], repeats: 1, time, precision: 0.15, fillings: 2.0 }
        } else {
            let (sizes, time) = (&[60, 128, 512, 1514], Duration::from_secs(1));
            Self { sizes, repeats: 3, time, precision: 0.05, fillings: 4.0 }
        }
    }

    /// Steps of [`Progress`] for all sizes.
    pub(super) fn steps(&self, subjects: &[Subject]) -> usize {
        let captures = subjects.iter().filter(|subject| subject.capture().is_some());
        self.sizes.len() * (subjects.len() + captures.count())
    }

    /// Packets of a trial at this rate.
    fn packets(&self, rate: f64, size: usize) -> u64 {
        // A ring's record has a few tens of bytes beside the packet.
        let filling = (BUFFER << 20) as f64 / (size + 40) as f64;
        (rate * self.time.as_secs_f64()).max(filling * self.fillings) as u64
    }
}

/// What one subject showed at one size of frames.
#[derive(Debug)]
pub(super) struct Results {
    /// Trials at the sender's maximum, in the order in which they were made.
    pub(super) overloads: Vec<Overload>,
    /// Between which rates the limit lies; of one that captures.
    pub(super) limit: Option<Bracket>,
}

/// A trial at the sender's maximum.
#[derive(Clone, Copy, Debug)]
pub(super) struct Overload {
    pub(super) trial: Trial,
    /// Nanoseconds of processor time of the sending core for each packet sent.
    pub(super) sender: f64,
    /// Nanoseconds of processor time of the capturing program for each packet captured.
    pub(super) consumer: Option<f64>,
    /// Most memory of the capturing program, in bytes.
    pub(super) memory: Option<u64>,
}

/// A load ends after so many times as long as it should take.
const LIMIT: u32 = 5;

/// Measures all subjects; the results are in their order.
pub(super) fn all(
    stage: &Stage,
    subjects: &[Subject],
    size: usize,
    effort: &Effort,
    progress: &mut Progress,
) -> Result<Vec<Results>> {
    let name = |subject: &&Subject| format!("{size} bytes, {}, the sender's maximum", subject.name);
    let mut all: Vec<_> = subjects.iter().collect();
    let overloads = in_turn(&mut all, effort.repeats, progress, name, |_, subject| {
        overload(stage, subject, size, effort)
    })?;
    let mut results: Vec<_> =
        overloads.into_iter().map(|overloads| Results { overloads, limit: None }).collect();
    let measured = subjects.iter().zip(&mut results);
    for (subject, results) in measured.filter(|(subject, _)| subject.capture().is_some()) {
        progress.next(&format!("{size} bytes, {}, the highest rate without loss", subject.name));
        let limit = limit(stage, subject, size, effort, &results.overloads);
        results.limit = Some(limit.with_context(|| subject.name.clone())?);
    }
    Ok(results)
}

/// Packets that show how fast the sender is, and warm everything up.
const WARM_UP: u64 = 300_000;

fn overload(stage: &Stage, subject: &Subject, size: usize, effort: &Effort) -> Result<Overload> {
    let mut session = stage.begin(subject)?;
    let limit = effort.time * LIMIT;
    let rate = session.send(size, WARM_UP, None, limit)?.rate();
    let report = session.send(size, effort.packets(rate, size), None, limit * LIMIT)?;
    let outcome = session.end()?;
    let per_packet = |time: Duration| time.as_nanos() as f64 / outcome.captured.max(1) as f64;
    Ok(Overload {
        trial: trial(&report, &outcome),
        sender: report.cpu.as_nanos() as f64 / report.packets.max(1) as f64,
        consumer: outcome.consumer.map(per_packet),
        memory: outcome.memory,
    })
}

fn trial(report: &Report, outcome: &Outcome) -> Trial {
    let lost = outcome.sent.saturating_sub(outcome.captured);
    Trial { rate: report.rate(), sent: outcome.sent, lost }
}

fn limit(
    stage: &Stage,
    subject: &Subject,
    size: usize,
    effort: &Effort,
    overloads: &[Overload],
) -> Result<Bracket> {
    // The one with the fewest losses: the others had bad luck.
    let best = overloads.iter().map(|overload| overload.trial).min_by_key(|trial| trial.lost);
    let best = best.context("no trial was made")?;
    highest_lossless(best, effort.precision, |rate| {
        let mut session = stage.begin(subject)?;
        let packets = effort.packets(rate, size);
        let expected = Duration::from_secs_f64(packets as f64 / rate);
        let report = session.send(size, packets, Some(rate), expected * LIMIT)?;
        Ok(trial(&report, &session.end()?))
    })
}
