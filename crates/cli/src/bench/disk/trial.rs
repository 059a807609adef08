//! A load, a capture, and a look into its file.

use std::time::Duration;

use anyhow::{Context, Result};

use super::scratch::Scratch;
use super::{RECORD, content};
use crate::bench::capture::stage::Stage;
use crate::bench::capture::subject::Subject;
use crate::bench::search::Trial;

/// Where trials are made.
pub(in crate::bench) struct Ground {
    pub(in crate::bench) stage: Stage,
    pub(in crate::bench) scratch: Scratch,
    /// Bytes of a frame, without the check sequence.
    pub(in crate::bench) size: usize,
    /// Those of them that are captured.
    pub(in crate::bench) captured: usize,
    /// How long a trial's load lasts.
    pub(in crate::bench) time: Duration,
}

/// What a trial showed.
#[derive(Clone, Copy, Debug)]
pub(in crate::bench) struct Overload {
    /// By what is in the file.
    pub(in crate::bench) trial: Trial,
    /// Packets that the subject says it captured and that are not in the file.
    pub(in crate::bench) unsaid: u64,
    /// Processor time of the subject for each second of the load.
    pub(in crate::bench) load: f64,
}

/// A load ends after so many times as long as it should take.
const LIMIT: u32 = 3;

/// Packets that show how fast the sender is beside this subject.
const WARM_UP: u64 = 500_000;

/// So many packets a second.
#[derive(Clone, Copy, Debug)]
pub(in crate::bench) struct LoadRate {
    pub(in crate::bench) expected: f64,
    /// `None` where the sender is to go as fast as it can.
    asked: Option<f64>,
}

impl LoadRate {
    /// Exactly this.
    pub(in crate::bench) fn exact(rate: f64) -> Self {
        Self { expected: rate, asked: Some(rate) }
    }
}

/// The sender's maximum beside this subject, or as many packets as there is room for on the disk; it warms both up.
///
/// # Errors
/// Those of sender and subject.
pub(in crate::bench) fn highest(ground: &Ground, subject: &Subject) -> Result<LoadRate> {
    let mut session = ground.stage.begin(subject)?;
    let maximum = session.send(ground.size, WARM_UP, None, ground.time)?.rate();
    // What it has is of no interest.
    drop(session);
    let room = ground.scratch.room as f64 * 0.98;
    let most = room / (ground.captured + RECORD) as f64 / ground.time.as_secs_f64();
    Ok(LoadRate { expected: maximum.min(most), asked: (maximum > most).then_some(most) })
}

/// A trial with as many packets as come at the expected rate.
///
/// # Errors
/// Those of sender and subject; when the file cannot be read back.
pub(in crate::bench) fn run(
    ground: &Ground,
    subject: &Subject,
    load: LoadRate,
) -> Result<Overload> {
    ground.scratch.clear();
    let mut session = ground.stage.begin(subject)?;
    let packets = (load.expected * ground.time.as_secs_f64()) as u64;
    let report = session.send(ground.size, packets, load.asked, ground.time * LIMIT)?;
    let outcome = session.end()?;
    let file = ground.scratch.file();
    let held = content::frames(&file, ground.captured, packets);
    ground.scratch.clear();
    let held = held.with_context(|| format!("count what is in the file of {}", subject.name))?;
    let lost = report.packets.saturating_sub(held);
    let trial = Trial { rate: report.rate(), sent: report.packets, lost };
    let used = outcome.consumer.unwrap_or_default().as_secs_f64();
    let load = used / report.elapsed.as_secs_f64();
    Ok(Overload { trial, unsaid: outcome.captured.saturating_sub(held), load })
}
