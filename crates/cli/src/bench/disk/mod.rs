//! `linerate bench disk`: how fast a capture goes to disk without loss.
//!
//! - [`scratch`]: the folder on the disk
//! - [`subject`]: who captures, and how it is told to write a file
//! - [`trial`]: a load, a capture, and a look into its file
//! - [`content`]: what is in a file
//! - [`sequential`]: what the disk itself takes
//!
//! `docs/benchmarks.md` says how each figure comes about.

mod content;
pub(super) mod scratch;
mod sequential;
mod subject;
pub(super) mod trial;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use linerate::capture::disk::Way;

use super::capture::stage::Stage;
use super::capture::subject::{Subject, TCPDUMP};
use super::capture::{add_settings, can_begin};
use super::progress::Progress;
use super::row::{Row, compare};
use super::runner::{Samples, in_turn};
use super::search::{Bracket, highest_lossless};
use crate::args::BenchArgs;
use crate::output;
use scratch::Scratch;
use trial::{Ground, LoadRate, Overload};

const EXPERIMENT: &str = "disk";

/// Bytes of the frames, without the check sequence: the largest that Ethernet has.
const SIZE: usize = 1514;

/// Bytes of a record of a pcap file beside the packet's.
const RECORD: usize = 16;

/// Bytes that the disk has to have at the least.
const LEAST: u64 = 25_000_000_000;

/// How close the search comes to the limit, as a share of the rate.
const PRECISION: f64 = 0.05;

/// What one subject showed.
struct Results {
    /// At the highest load.
    overloads: Vec<Overload>,
    limit: Bracket,
}

pub(super) fn run(args: &BenchArgs) -> Result<Vec<Row>> {
    args.check_only(subject::all(Path::new("")).iter().map(|subject| &subject.name))?;
    let scratch = Scratch::new(args.dir.as_deref(), LEAST)?;
    let time = Duration::from_secs(if args.quick { 5 } else { 15 });
    if args.quick {
        output::tell("trials of 5 s: what the page cache swallows in that time counts as written");
    }
    let ground = Ground { stage: Stage::new()?, scratch, size: SIZE, captured: SIZE, time };
    let mut subjects = subject::all(&ground.scratch.file());
    subjects.retain(|s| s.name.starts_with(TCPDUMP) || args.wants(&s.name));
    subjects.retain(|subject| can_begin(&ground.stage, subject));
    let repeats = if args.quick { 1 } else { 3 };
    let mut progress = Progress::new(2 + 2 * subjects.len());
    let (direct, mut rows) = sequential_rows(&ground, repeats, &mut progress)?;
    let overloads = overloads(&ground, &subjects, repeats, &mut progress)?;
    let results = subjects.iter().zip(overloads).map(|(subject, overloads)| {
        progress.next(&format!("{}, the highest rate without loss", subject.name));
        let limit = limit(&ground, subject, &overloads).with_context(|| subject.name.clone())?;
        Ok(Results { overloads, limit })
    });
    let results = results.collect::<Result<Vec<_>>>()?;
    rows.extend(limit_rows(&subjects, &results, &direct, time));
    rows.extend(overload_rows(&subjects, &results, time));
    add_settings(&mut rows, &subjects);
    Ok(rows)
}

/// Trials of each subject at the highest load, in turn, after one that shows how high that is.
fn overloads(
    ground: &Ground,
    subjects: &[Subject],
    repeats: usize,
    progress: &mut Progress,
) -> Result<Vec<Vec<Overload>>> {
    let mut contenders: Vec<_> = subjects.iter().map(|subject| (subject, None)).collect();
    let name = |(subject, _): &(&Subject, _)| format!("{}, the highest load", subject.name);
    let turns = in_turn(&mut contenders, 1 + repeats, progress, name, |_, (subject, load)| {
        let Some(load) = *load else {
            *load = Some(trial::highest(ground, subject)?);
            return Ok(None);
        };
        trial::run(ground, subject, load).map(Some)
    })?;
    Ok(turns.into_iter().map(|turns| turns.into_iter().flatten().collect()).collect())
}

fn limit(ground: &Ground, subject: &Subject, overloads: &[Overload]) -> Result<Bracket> {
    // The one with the fewest losses: the others had bad luck.
    let best = overloads.iter().map(|overload| overload.trial).min_by_key(|trial| trial.lost);
    let best = best.context("no trial was made")?;
    highest_lossless(best, PRECISION, |rate| {
        Ok(trial::run(ground, subject, LoadRate::exact(rate))?.trial)
    })
}

/// The disk's own rates in GB/s, and the rows about it.
fn sequential_rows(
    ground: &Ground,
    repeats: usize,
    progress: &mut Progress,
) -> Result<(Samples, Vec<Row>)> {
    const OURS: &str = "O_DIRECT, our writer";
    const PLAIN: &str = "write(2) and fdatasync(2)";
    let mut ways = [(OURS, Way::Direct), (PLAIN, Way::Plain)];
    let name = |(name, _): &(&str, Way)| format!("the disk itself, {name}");
    let rates = in_turn(&mut ways, repeats, progress, name, |_, (_, way)| {
        Ok(sequential::rate(&ground.scratch, ground.time, *way)? / 1e9)
    })?;
    let mut rates = rates.into_iter().map(Samples::new);
    let figures: Vec<_> = ways.iter().map(|(name, _)| ((*name).into(), rates.next())).collect();
    let rows = compare(EXPERIMENT, "sequential write", "GB/s", PLAIN, &figures);
    let direct = figures.into_iter().next().and_then(|(_, rates)| rates);
    Ok((direct.context("the disk was not measured")?, rows))
}

/// The median is the highest rate that passed; the spread ends with the lowest that failed. The disk is
/// among them with as many packets as it takes bytes for.
fn limit_rows(
    subjects: &[Subject],
    results: &[Results],
    direct: &Samples,
    time: Duration,
) -> Vec<Row> {
    let disk = direct.clone().times(1e9 / (SIZE + RECORD) as f64);
    let mut figures = vec![("the disk itself (O_DIRECT)".into(), Some(disk))];
    let passed = |results: &Results| Some(Samples::new(vec![results.limit.passed]));
    figures.extend(subjects.iter().map(|s| s.name.clone()).zip(results.iter().map(passed)));
    let case = format!("{SIZE} B, {} s, no loss up to", time.as_secs());
    let mut rows = compare(EXPERIMENT, &case, "packets/s", tcpdump(subjects), &figures);
    for (row, results) in rows.iter_mut().skip(1).zip(results) {
        let Bracket { passed, failed } = results.limit;
        row.spread = Some((passed, failed.unwrap_or(passed)));
    }
    rows
}

/// What was lost at the highest load, and how much of that the subject did not know of.
fn overload_rows(subjects: &[Subject], results: &[Results], time: Duration) -> Vec<Row> {
    let rows = |case: &str, unit, of: fn(&Overload) -> f64| {
        let figure =
            |results: &Results| Some(Samples::new(results.overloads.iter().map(of).collect()));
        let names = subjects.iter().map(|subject| subject.name.clone());
        let figures: Vec<_> = names.zip(results.iter().map(figure)).collect();
        let case = format!("{SIZE} B, {} s, {case}", time.as_secs());
        compare(EXPERIMENT, &case, unit, tcpdump(subjects), &figures)
    };
    let mut all = rows("highest load", "packets/s", |overload| overload.trial.rate);
    all.extend(rows("lost at highest load", "%", |overload| overload.trial.loss() * 100.0));
    all.extend(rows("lost unsaid", "packets", |overload| overload.unsaid as f64));
    all
}

/// The name of tcpdump with its version.
fn tcpdump(subjects: &[Subject]) -> &str {
    subjects.iter().find(|s| s.name.starts_with(TCPDUMP)).map_or(TCPDUMP, |s| &s.name)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::search::Trial;
    use super::*;

    #[test]
    fn limits_stand_beside_what_the_disk_takes() {
        let subjects = &subject::all(Path::new("/data/f.pcap"))[..2];
        let trial = Trial { rate: 900.0, sent: 1000, lost: 100 };
        let results = |passed, failed| Results {
            overloads: [7, 9, 6].map(|unsaid| Overload { trial, unsaid, load: 0.5 }).into(),
            limit: Bracket { passed, failed },
        };
        let results = [results(500.0, Some(550.0)), results(900.0, None)];
        let rows =
            limit_rows(subjects, &results, &Samples::new(vec![3.06e-3]), Duration::from_secs(15));
        let figures = rows.iter().map(|row| (row.value.map(f64::round), row.spread));
        let figures: Vec<_> = figures.collect();
        assert_eq!(
            figures,
            [
                (Some(2000.0), rows[0].spread),
                (Some(500.0), Some((500.0, 550.0))),
                (Some(900.0), Some((900.0, 900.0))),
            ]
        );
        assert_eq!(rows[1].case, "1514 B, 15 s, no loss up to");
        let rows = overload_rows(subjects, &results, Duration::from_secs(15));
        let values: Vec<_> = rows.iter().map(|row| row.value).collect();
        assert_eq!(values, [900.0, 900.0, 10.0, 10.0, 7.0, 7.0].map(Some));
        assert_eq!((rows[5].spread, rows[5].confidence), (Some((6.0, 9.0)), Some(0.75)));
    }
}
