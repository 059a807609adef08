//! Trials of every subject: at the sender's maximum in turn, then at rates that close in on the limit.

use std::time::Duration;

use anyhow::{Context, Result};
use linerate::lab::traffic::live::Report;
use linerate::profile::cost::Cost;
use linerate::profile::sampling::Classifier;
use linerate::sys::{cpu, task};

use super::stage::{Outcome, Session, Stage};
use super::subject::{BUFFER, Subject};
use crate::bench::progress::Progress;
use crate::bench::runner::in_turn;
use crate::bench::samples;
use crate::bench::search::{Bracket, Trial, highest_lossless};

/// How much is measured.
pub(in crate::bench) struct Effort {
    /// Bytes of the frames, without the check sequence.
    pub(in crate::bench) sizes: &'static [usize],
    /// Trials at the sender's maximum.
    pub(in crate::bench) repeats: usize,
    /// Length of a trial.
    pub(in crate::bench) time: Duration,
    /// How close the search comes to the limit, as a share of the rate.
    pub(in crate::bench) precision: f64,
    /// How many times a trial fills the buffer at least, so that none passes by filling it.
    pub(in crate::bench) fillings: f64,
    /// The buffer of those who capture, in MiB.
    pub(in crate::bench) buffer: u64,
}

impl Effort {
    pub(super) fn new(quick: bool) -> Self {
        if quick {
            let time = Duration::from_millis(400);
            Self {
                sizes: &[60, 1514],
                repeats: 1,
                time,
                precision: 0.15,
                fillings: 2.0,
                buffer: BUFFER,
            }
        } else {
            let (sizes, time) = (&[60, 128, 512, 1514], Duration::from_secs(1));
            Self { sizes, repeats: 3, time, precision: 0.05, fillings: 4.0, buffer: BUFFER }
        }
    }

    /// Steps of [`Progress`] for all sizes.
    pub(super) fn steps(&self, subjects: &[Subject]) -> usize {
        let captures = subjects.iter().filter(|subject| subject.capture().is_some());
        self.sizes.len() * (subjects.len() + captures.count())
    }

    /// Packets of a trial at this rate.
    pub(in crate::bench) fn packets(&self, rate: f64, size: usize) -> u64 {
        // A ring's record has a few tens of bytes beside the packet.
        let filling = (self.buffer << 20) as f64 / (size + 40) as f64;
        (rate * self.time.as_secs_f64()).max(filling * self.fillings) as u64
    }
}

/// What one subject showed at one size of frames.
#[derive(Debug)]
pub(in crate::bench) struct Results {
    /// Trials at the sender's maximum, in the order in which they were made.
    pub(in crate::bench) overloads: Vec<Overload>,
    /// Between which rates the limit lies; of one that captures.
    pub(in crate::bench) limit: Option<Bracket>,
}

/// A trial at the sender's maximum.
#[derive(Clone, Copy, Debug)]
pub(in crate::bench) struct Overload {
    pub(in crate::bench) trial: Trial,
    /// Nanoseconds of processor time of the sending core for each packet sent.
    pub(in crate::bench) sender: f64,
    /// Nanoseconds of processor time of the capturing program for each packet captured.
    pub(in crate::bench) consumer: Option<f64>,
    /// Most memory of the capturing program, in bytes.
    pub(in crate::bench) memory: Option<u64>,
}

impl Overload {
    /// Nanoseconds of both cores for each packet sent.
    pub(in crate::bench) fn whole(&self) -> f64 {
        self.sender + self.consumer.unwrap_or(0.0) * (1.0 - self.trial.loss())
    }
}

/// A load ends after so many times as long as it should take.
const LIMIT: u32 = 5;

/// Measures all subjects; the results are in their order.
pub(in crate::bench) fn all(
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

/// A trial at the sender's maximum.
///
/// # Errors
/// Those of sender and subject.
pub(in crate::bench) fn overload(
    stage: &Stage,
    subject: &Subject,
    size: usize,
    effort: &Effort,
) -> Result<Overload> {
    let mut session = stage.begin(subject)?;
    let report = at_maximum(&mut session, size, effort, |send| send())?;
    Ok(of_both(&report, &session.end()?))
}

/// What samples of both processors say of a trial.
#[derive(Clone, Debug)]
pub(in crate::bench) struct Sampled {
    pub(in crate::bench) overload: Overload,
    pub(in crate::bench) cost: Cost,
    /// Nanoseconds for each packet of the sender, without reception.
    pub(in crate::bench) sending: f64,
}

/// The same with what samples of both processors say of it.
///
/// # Errors
/// As [`overload`]; when samples are not permitted.
pub(in crate::bench) fn sampled(
    stage: &Stage,
    subject: &Subject,
    size: usize,
    effort: &Effort,
) -> Result<Sampled> {
    let mut session = stage.begin(subject)?;
    let mut samples = None;
    let report = at_maximum(&mut session, size, effort, |send| {
        let (report, taken) = samples::during(send)?;
        samples = Some(taken);
        Ok(report)
    })?;
    let samples = samples.context("nothing was sampled")?;
    // While the capture's programs are still there, and have names.
    let weights = Classifier::new()?.weigh(&samples, session.process().as_slice());
    let seconds = report.elapsed.as_secs_f64();
    let cost = Cost::new(&weights, &samples, report.packets, seconds, cpu::online()?.len());
    // The sender is a thread of this process, and may be ended by the core's softirq thread.
    let own = std::process::id();
    let is_sender = |process: u32| process == own || task::name(process).starts_with("ksoftirqd/");
    let sending = weights.elsewhere.iter().filter(|(process, _)| is_sender(**process));
    let sending: u64 = sending.map(|(_, weight)| weight).sum();
    let sending = sending as f64 * samples.unit() / report.packets.max(1) as f64;
    Ok(Sampled { overload: of_both(&report, &session.end()?), cost, sending })
}

/// Sends for as long as it is to take, after a few packets that show how fast that goes.
fn at_maximum(
    session: &mut Session<'_>,
    size: usize,
    effort: &Effort,
    during: impl FnOnce(&mut dyn FnMut() -> Result<Report>) -> Result<Report>,
) -> Result<Report> {
    let limit = effort.time * LIMIT;
    let rate = session.send(size, WARM_UP, None, limit)?.rate();
    during(&mut || session.send(size, effort.packets(rate, size), None, limit * LIMIT))
}

fn of_both(report: &Report, outcome: &Outcome) -> Overload {
    let per_packet = |time: Duration| time.as_nanos() as f64 / outcome.captured.max(1) as f64;
    Overload {
        trial: trial(report, outcome),
        sender: report.cpu.as_nanos() as f64 / report.packets.max(1) as f64,
        consumer: outcome.consumer.map(per_packet),
        memory: outcome.memory,
    }
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
    highest_lossless(best, effort.precision, |rate| at(stage, subject, size, rate, effort))
}

/// A trial at a rate, packets a second.
///
/// # Errors
/// Those of sender and subject.
pub(in crate::bench) fn at(
    stage: &Stage,
    subject: &Subject,
    size: usize,
    rate: f64,
    effort: &Effort,
) -> Result<Trial> {
    let mut session = stage.begin(subject)?;
    let packets = effort.packets(rate, size);
    let expected = Duration::from_secs_f64(packets as f64 / rate);
    let report = session.send(size, packets, Some(rate), expected * LIMIT)?;
    Ok(trial(&report, &session.end()?))
}
