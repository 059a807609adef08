//! P4, tables 1 and 2: the highest rate without loss, and the throughput at it, by approach.

use anyhow::Result;

use super::findings::{Figures, Findings, by_case};
use super::{Conditions, figures};
use crate::bench::capture::can_begin;
use crate::bench::capture::measure::{Effort, all};
use crate::bench::capture::stage::Stage;
use crate::bench::capture::subject::{Subject, libpcap, ours};
use crate::bench::progress::Progress;
use crate::bench::row::{Row, compare};
use crate::bench::runner::Samples;
use crate::bench::search::Bracket;
use crate::chart::{Axis, Line, Scale, lines};

const EXPERIMENT: &str = "P4.table1";
/// The paper's frames have 64, 400, 600 and 1500 bytes, of which the last four are the check sequence.
const SIZES: [usize; 4] = [60, 396, 596, 1496];
/// MiB, of which a tap has a core's share. The paper's buffers were smaller; trials fill them twice, and so would be long
/// with larger ones.
pub(super) const BUFFER: u64 = 32;
/// Bytes of preamble, check sequence and gap.
const AROUND: f64 = 24.0;

pub(super) const LIBPCAP: &str = "libpcap";

/// A socket, the installed libpcap, and the tap.
pub(super) fn subjects() -> Vec<Subject> {
    let own = |backend| ours(backend, &["--backend", backend], true, BUFFER, "/dev/null");
    let libpcap = libpcap(LIBPCAP, BUFFER, "/dev/null");
    [Some(own("socket")), libpcap, Some(own("tap"))].into_iter().flatten().collect()
}

pub(super) fn run(conditions: &Conditions) -> Result<Findings> {
    let mut rows = limits(conditions, subjects(), &SIZES, BUFFER, LIBPCAP)?;
    let cases = SIZES.map(case);
    let line = |subject: &Subject| {
        let rates = by_case(&rows, &cases, &subject.name);
        let points = SIZES.iter().zip(rates).filter_map(|(x, y)| Some((*x as f64, y?)));
        Line { name: subject.name.clone(), points: points.collect() }
    };
    let shown: Vec<_> = subjects().iter().map(line).collect();
    let x = Axis { label: "bytes of a frame".into(), scale: Scale::Linear };
    let y = Axis { label: "packets/s without loss".into(), scale: Scale::Linear };
    let svg = lines("P4, table 1: highest rate without loss", &x, &y, &shown);
    let throughput: Vec<_> = rows.iter().filter_map(throughput).collect();
    rows.extend(throughput);
    Findings::of(EXPERIMENT, rows, &figures::APPROACHES)
        .remark(
            "libpcap is the installed one, read by a program that does nothing but save (pcap_dispatch with pcap_dump); all write a savefile to \
             /dev/null and have 32 MiB of buffer, of which the tap has one core's share. The \
             throughput is that on a wire, with preamble, check sequence and gap. Where no rate failed, the sender came to its \
             own limit.",
        )
        .chart(svg, "Highest rates without loss against the size of frames, as lines")
}

fn case(size: usize) -> String {
    format!("{size} B, no loss up to")
}

/// The rows of the highest rates without loss, by size of frames; the spread ends with the lowest rate that failed.
///
/// # Errors
/// A subject's that fails.
pub(super) fn limits(
    conditions: &Conditions,
    mut subjects: Vec<Subject>,
    sizes: &[usize],
    buffer: u64,
    baseline: &str,
) -> Result<Vec<Row>> {
    let stage = Stage::new()?;
    subjects.retain(|subject| can_begin(&stage, subject));
    let progress = &mut Progress::new(sizes.len() * 2 * subjects.len());
    let mut rows = Vec::new();
    for size in sizes {
        let found = found(conditions, &stage, &subjects, *size, buffer, progress)?;
        rows.extend(between(&case(*size), baseline, &found));
    }
    Ok(rows)
}

/// The rates between which the limit of each subject lies.
///
/// # Errors
/// A subject's that fails.
pub(super) fn found(
    conditions: &Conditions,
    stage: &Stage,
    subjects: &[Subject],
    size: usize,
    buffer: u64,
    progress: &mut Progress,
) -> Result<Vec<(String, Bracket)>> {
    let effort = Effort { repeats: 1, ..conditions.effort(buffer) };
    let results = all(stage, subjects, size, &effort, progress)?;
    let found = subjects.iter().zip(results);
    Ok(found.filter_map(|(subject, r)| Some((subject.name.clone(), r.limit?))).collect())
}

/// The same as rows: the highest rates that passed, with the lowest that failed as the other end of the spread.
pub(super) fn between(case: &str, baseline: &str, found: &[(String, Bracket)]) -> Vec<Row> {
    let passed =
        |(name, limit): &(String, Bracket)| (name.clone(), Some(Samples::new(vec![limit.passed])));
    let figures: Figures = found.iter().map(passed).collect();
    let mut rows = compare(EXPERIMENT, case, "packets/s", baseline, &figures);
    for (row, (_, limit)) in rows.iter_mut().zip(found) {
        row.spread = Some((limit.passed, limit.failed.unwrap_or(limit.passed)));
    }
    rows
}

/// The same in bits on a wire.
fn throughput(row: &Row) -> Option<Row> {
    let size: f64 = row.case.split(' ').next()?.parse().ok()?;
    let bits = |rate: f64| rate * (size + AROUND) * 8.0 / 1e6;
    Some(Row {
        case: format!("{size} B, throughput"),
        value: row.value.map(bits),
        spread: row.spread.map(|(a, b)| (bits(a), bits(b))),
        unit: "Mbit/s",
        ..row.clone()
    })
}
