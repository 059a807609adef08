//! tcpdump captures: to a disk as fast as it goes without loss, to `/dev/null` beside the host's stack and in its place.

use std::time::Duration;

use anyhow::{Context, Result};

use super::EXPERIMENT;
use super::library::{Libraries, Which};
use crate::args::BenchArgs;
use crate::bench::capture::measure::{self, Effort, Overload, Results};
use crate::bench::capture::stage::Stage;
use crate::bench::capture::subject::{BUFFER, Kind, Subject, tcpdump};
use crate::bench::capture::{add_settings, can_begin};
use crate::bench::disk::scratch::Scratch;
use crate::bench::disk::trial::{self, Ground, LoadRate};
use crate::bench::progress::Progress;
use crate::bench::row::{Row, compare};
use crate::bench::runner::Samples;
use crate::bench::search::{Bracket, highest_lossless};

/// How close a search comes to the limit, as a share of the rate.
const PRECISION: f64 = 0.05;

/// Has our library keep packets from the host, which in the lab has an address, and does without it.
const EXCLUSIVE: &str = "LINERATE_EXCLUSIVE=force";

/// Bytes of a frame, without the check sequence: the least and the most that Ethernet has.
const SMALL: usize = 60;
const LARGE: usize = 1514;

/// tcpdump by a library, writing to a file, with a setting of ours.
fn subject(
    libraries: &Libraries,
    which: Which,
    setting: Option<&str>,
    file: &str,
) -> Result<Subject> {
    let mut subject = tcpdump(BUFFER, file).context("start tcpdump")?;
    subject.name = libraries.tcpdump(which);
    if let Kind::Capture(capture) = &mut subject.kind {
        let settings = ["env".into(), libraries.setting(which)];
        let settings = settings.into_iter().chain(setting.map(Into::into));
        capture.line.splice(0..0, settings.map(Into::into));
    }
    Ok(subject)
}

/// The highest rates without loss and what a packet costs, of frames of 60 bytes to `/dev/null`.
pub(super) fn nowhere(args: &BenchArgs, libraries: &Libraries) -> Result<Vec<Row>> {
    const NOWHERE: &str = "/dev/null";
    let exclusive = subject(libraries, Which::Ours, Some(EXCLUSIVE), NOWHERE)?;
    let mut subjects = vec![
        subject(libraries, Which::System, None, NOWHERE)?,
        subject(libraries, Which::Ours, None, NOWHERE)?,
        Subject { name: format!("{} exclusive", exclusive.name), ..exclusive },
    ];
    let stage = Stage::new()?;
    subjects.retain(|subject| can_begin(&stage, subject));
    let (repeats, millis) = if args.quick { (1, 400) } else { (3, 1000) };
    let effort = Effort {
        sizes: &[SMALL],
        repeats,
        time: Duration::from_millis(millis),
        precision: PRECISION,
        fillings: 4.0,
        buffer: BUFFER,
    };
    let mut progress = Progress::new(2 * subjects.len());
    let results = measure::all(&stage, &subjects, SMALL, &effort, &mut progress)?;
    let baseline = libraries.tcpdump(Which::System);
    let found = subjects.iter().zip(&results);
    let found: Vec<_> =
        found.filter_map(|(s, results)| Some((s.name.clone(), results.limit?))).collect();
    let mut rows = limits(&format!("{SMALL} B to /dev/null, no loss up to"), &baseline, &found);
    let cost = |results: &Results| {
        Some(Samples::new(results.overloads.iter().map(Overload::whole).collect()))
    };
    let costs: Vec<_> =
        subjects.iter().map(|s| s.name.clone()).zip(results.iter().map(cost)).collect();
    let case = format!("{SMALL} B to /dev/null, both cores at the highest load");
    rows.extend(compare(EXPERIMENT, &case, "ns", &baseline, &costs));
    add_settings(&mut rows, &subjects);
    Ok(rows)
}

/// The highest rates without loss, of whole frames of 1514 bytes to a disk.
pub(super) fn to_disk(args: &BenchArgs, libraries: &Libraries) -> Result<Vec<Row>> {
    let (seconds, least) = if args.quick { (1, 3_000_000_000) } else { (15, 25_000_000_000) };
    let mut scratch = Scratch::new(args.dir.as_deref(), least)?;
    if args.quick {
        scratch.room = least;
    }
    let time = Duration::from_secs(seconds);
    let ground = Ground { stage: Stage::new()?, scratch, size: LARGE, captured: LARGE, time };
    let file = ground.scratch.file();
    let file = file.to_string_lossy();
    let subjects = Which::BOTH.map(|which| subject(libraries, which, None, &file));
    let subjects = subjects.into_iter().collect::<Result<Vec<_>>>()?;
    let case = format!("{LARGE} B to a disk, {seconds} s, no loss up to");
    let mut progress = Progress::new(subjects.len());
    let mut found = Vec::new();
    for subject in &subjects {
        progress.next(&format!("{case}, {}", subject.name));
        found.push((subject.name.clone(), limit(&ground, subject)?));
    }
    let mut rows = limits(&case, &libraries.tcpdump(Which::System), &found);
    add_settings(&mut rows, &subjects);
    Ok(rows)
}

fn limit(ground: &Ground, subject: &Subject) -> Result<Bracket> {
    let highest = trial::highest(ground, subject)?;
    let overload = trial::run(ground, subject, highest)?.trial;
    highest_lossless(overload, PRECISION, |rate| {
        Ok(trial::run(ground, subject, LoadRate::exact(rate))?.trial)
    })
}

/// The median is the highest rate that passed; the spread ends with the lowest that failed.
fn limits(case: &str, baseline: &str, found: &[(String, Bracket)]) -> Vec<Row> {
    let figures = found.iter().map(|(name, limit)| (name.clone(), limit.passed));
    let figures: Vec<_> =
        figures.map(|(name, passed)| (name, Some(Samples::new(vec![passed])))).collect();
    let mut rows = compare(EXPERIMENT, case, "packets/s", baseline, &figures);
    for (row, (_, limit)) in rows.iter_mut().zip(found) {
        row.spread = Some((limit.passed, limit.failed.unwrap_or(limit.passed)));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_stand_between_what_passed_and_what_failed() {
        let found = [
            ("system".into(), Bracket { passed: 2.0, failed: Some(3.0) }),
            ("ours".into(), Bracket { passed: 8.0, failed: None }),
        ];
        let rows = limits("case", "system", &found);
        assert_eq!(rows[0].spread, Some((2.0, 3.0)));
        assert_eq!((rows[1].spread, rows[1].ratio), (Some((8.0, 8.0)), Some(4.0)));
    }
}
