//! P2, tests 1 and 2: the load of two filters that reject everything, and of taking everything to throw it away.
//!
//! The load is told for the paper's 67,000 frames a second, from what a packet costs when as many come as can be sent.

use anyhow::Result;

use super::findings::Findings;
use super::{Conditions, figures};
use crate::bench::capture::measure::Overload;
use crate::bench::capture::stage::Stage;
use crate::bench::capture::subject::{STACK, Subject, ours, tcpdump_with};
use crate::bench::profile::filter::tests;
use crate::bench::profile::trials::{Trials, nobody};
use crate::bench::progress::Progress;
use crate::bench::row::{Row, compare};
use crate::chart::bars;

/// Frames a second.
const RATE: f64 = 67_000.0;
/// Frames a second of which a nanosecond each makes one per cent of a core.
const ONE_PER_CENT: f64 = 1e7;

const BUFFER: u64 = 64;
const BACKENDS: [&str; 3] = ["ring", "tap", "tcpdump"];

/// Test 1.
pub(super) fn rejecting(conditions: &Conditions) -> Result<Findings> {
    const EXPERIMENT: &str = "P2.test1";
    // The load is UDP: the last test fails.
    let filters = [(5, 0), (13, 4)].map(|(length, count)| {
        (format!("{length} instructions"), format!("{} and ip[9] = 6", tests(count)))
    });
    let cases = filters.iter().map(|(case, filter)| (case.clone(), vec![filter.as_str()]));
    let cases: Vec<_> = cases.collect();
    let progress = &mut Progress::new(1 + BACKENDS.len() * cases.len());
    let rows = rows(conditions, EXPERIMENT, 101, &cases, progress)?;
    let svg = chart("P2, test 1: everything is rejected, 101 bytes", &rows);
    findings(EXPERIMENT, rows)
        .chart(svg, "Load of each program for two filters that reject everything, as bars")
}

/// Test 2.
pub(super) fn accepting(conditions: &Conditions) -> Result<Findings> {
    const EXPERIMENT: &str = "P2.test2";
    let sizes = [101, 500, 1514];
    let progress = &mut Progress::new(sizes.len() * (1 + 2 * BACKENDS.len()));
    let mut all = Vec::new();
    for size in sizes {
        let cases = [("68 bytes", vec!["-s", "68"]), ("all of it", vec![])];
        let cases = cases.map(|(what, flags)| (format!("{size} B, {what}"), flags));
        all.extend(rows(conditions, EXPERIMENT, size, &cases, progress)?);
    }
    let svg = chart("P2, test 2: everything is taken and thrown away", &all);
    findings(EXPERIMENT, all)
        .chart(svg, "Load of each program by sizes of packets and snapshot lengths, as bars")
}

fn findings(experiment: &'static str, rows: Vec<Row>) -> Findings {
    Findings::of(experiment, rows, &[] as &[figures::Figure]).remark(
        "Load of all cores beyond that of a host where nobody captures, in per cent of one core, at the paper's 67,000 \
         frames a second; the paper shows its own as curves. Less than nothing means less than the spread of the trials.",
    )
}

fn rows(
    conditions: &Conditions,
    experiment: &'static str,
    size: usize,
    cases: &[(String, Vec<&str>)],
    progress: &mut Progress,
) -> Result<Vec<Row>> {
    let stage = Stage::new()?;
    let ways = |(case, flags): &(String, Vec<&str>)| {
        BACKENDS.into_iter().filter_map(|backend| way(backend, case, flags)).collect::<Vec<_>>()
    };
    let mut subjects = vec![nobody()];
    subjects.extend(cases.iter().flat_map(ways));
    let trials = Trials::make(&stage, subjects, size, &conditions.effort(BUFFER), progress)?;
    let of_case = |(case, _): &(String, Vec<&str>)| {
        let load = |backend: &str| {
            let name = name(backend, case);
            (backend.to_owned(), trials.beyond(&name, STACK, ONE_PER_CENT / RATE, Overload::whole))
        };
        compare(experiment, case, "%", "tcpdump", &BACKENDS.map(load))
    };
    Ok(cases.iter().flat_map(of_case).collect())
}

fn name(backend: &str, case: &str) -> String {
    format!("{backend}, {case}")
}

/// `None` where tcpdump is not installed.
fn way(backend: &str, case: &str, flags: &[&str]) -> Option<Subject> {
    let subject = match backend {
        "tcpdump" => tcpdump_with(BUFFER, flags, "/dev/null")?,
        _ => ours("", &[&["--backend", backend], flags].concat(), true, BUFFER, "/dev/null"),
    };
    Some(Subject { name: name(backend, case), ..subject })
}

fn chart(title: &str, rows: &[Row]) -> Result<String> {
    let mut groups: Vec<(String, Vec<Option<f64>>)> = Vec::new();
    for row in rows {
        match groups.last_mut().filter(|(case, _)| *case == row.case) {
            Some((_, values)) => values.push(row.value),
            None => groups.push((row.case.clone(), vec![row.value])),
        }
    }
    bars(title, "per cent of a core at 67,000 packets/s", &groups, &BACKENDS)
}
