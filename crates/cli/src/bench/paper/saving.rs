//! P2, test 3: everything is written to a file, on a disk and in memory.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use linerate::sys::filesystem;

use super::findings::{Figures, Findings};
use super::{Conditions, figures};
use crate::bench::capture::stage::Stage;
use crate::bench::capture::subject::{Subject, ours, tcpdump_with};
use crate::bench::disk::scratch::Scratch;
use crate::bench::disk::trial::{Ground, LoadRate, Overload, highest, run as trial};
use crate::bench::progress::Progress;
use crate::bench::row::{Row, compare};
use crate::bench::runner::{Samples, in_turn};
use crate::chart::bars;
use crate::output;

const EXPERIMENT: &str = "P2.test3";
const SIZES: [usize; 3] = [101, 500, 1514];
/// Bytes of a packet that are saved.
const SHORT: usize = 68;
const BUFFER: u64 = 64;
/// Where files are in memory on every Linux.
const MEMORY: &str = "/dev/shm";
/// Bytes that a file has at the most, and that there have to be.
const ROOM: u64 = 3_000_000_000;

const LINERATE: &str = "linerate";
const TCPDUMP: &str = "tcpdump";

pub(super) fn run(conditions: &Conditions) -> Result<Findings> {
    let disk = Scratch::new(conditions.folder.as_deref(), ROOM).context("on the disk")?;
    let mut places = vec![("disk", disk)];
    match memory() {
        Ok(scratch) => places.push(("memory", scratch)),
        Err(error) => output::tell(format_args!("without files in memory: {error:#}")),
    }
    let progress = &mut Progress::new(places.len() * SIZES.len() * 2 * 2);
    let time = Duration::from_millis(if conditions.quick { 500 } else { 1000 });
    let (mut rows, mut cases) = (Vec::new(), Vec::new());
    for (place, mut scratch) in places {
        scratch.room = scratch.room.min(ROOM);
        let mut ground = Ground { stage: Stage::new()?, scratch, size: 0, captured: 0, time };
        for size in SIZES {
            for captured in [SHORT, size] {
                let what = if captured == size { "all of it" } else { "68 bytes" };
                let case = format!("{size} B, {what}, {place}");
                (ground.size, ground.captured) = (size, captured);
                rows.extend(of_case(&ground, &case, conditions.repeats(), progress)?);
                cases.push(case);
            }
        }
    }
    let saved = |row: &&Row| cases.contains(&row.case);
    let groups = rows.iter().filter(saved).filter(|row| row.subject == LINERATE).map(|row| {
        let other = rows.iter().find(|other| other.case == row.case && other.subject == TCPDUMP);
        (row.case.clone(), vec![row.value, other.and_then(|other| other.value)])
    });
    let groups: Vec<_> = groups.collect();
    let title = "P2, test 3: share of the packets that is in the file";
    let svg = bars(title, "per cent of the packets sent", &groups, &[LINERATE, TCPDUMP]);
    Findings::of(EXPERIMENT, rows, &figures::SAVING)
        .remark(
            "As many packets as can be sent beside either program, or as there is room for, for a second; then it is counted \
             what is in the file. What fits the page cache in that time counts as saved: `linerate bench disk` has longer trials. The paper's \
             shares are of frames of 101 bytes at 67,000 a second, of which a hundredth of the time is enough today.",
        )
        .chart(svg, "Shares of the packets that are in the file, by sizes, snapshot lengths and file systems, as bars")
}

fn memory() -> Result<Scratch> {
    let folder = Path::new(MEMORY);
    let found = filesystem::of(folder).with_context(|| format!("look at {MEMORY}"))?;
    anyhow::ensure!(found.is_memory, "{MEMORY} is no file system in memory");
    Scratch::new(Some(folder), ROOM)
}

fn of_case(
    ground: &Ground,
    case: &str,
    repeats: usize,
    progress: &mut Progress,
) -> Result<Vec<Row>> {
    let file = ground.scratch.file();
    let snaplen = ground.captured.to_string();
    let (flags, file) = (["-s", &snaplen], file.to_string_lossy());
    let ours = ours(LINERATE, &flags, true, BUFFER, &file);
    let theirs = tcpdump_with(BUFFER, &flags, &file);
    let subjects = [Some(ours), theirs.map(|subject| Subject { name: TCPDUMP.into(), ..subject })];
    let subjects: Vec<_> = subjects.into_iter().flatten().collect();
    let seen = in_turns(ground, &subjects, case, repeats, progress)?;
    let figures = |of: fn(&Overload) -> f64| -> Figures {
        let one = |(subject, trials): (&Subject, &Vec<Overload>)| {
            (subject.name.clone(), Some(Samples::new(trials.iter().map(of).collect())))
        };
        subjects.iter().zip(&seen).map(one).collect()
    };
    let saved = figures(|o| 100.0 * (1.0 - o.trial.loss()));
    let mut rows = compare(EXPERIMENT, case, "%", TCPDUMP, &saved);
    // More is better here.
    rows.iter_mut().for_each(|row| row.ratio = row.ratio.map(f64::recip));
    let load = figures(|o| 100.0 * o.load);
    rows.extend(compare(EXPERIMENT, &format!("{case}, load"), "%", TCPDUMP, &load));
    let rate = figures(|o| o.trial.rate * (1.0 - o.trial.loss()));
    rows.extend(compare(EXPERIMENT, &format!("{case}, saved"), "packets/s", TCPDUMP, &rate));
    Ok(rows)
}

/// Trials of all subjects at one load: the highest that the sender reaches beside each of them.
fn in_turns(
    ground: &Ground,
    subjects: &[Subject],
    case: &str,
    repeats: usize,
    progress: &mut Progress,
) -> Result<Vec<Vec<Overload>>> {
    let rates = subjects.iter().map(|subject| Ok(highest(ground, subject)?.expected));
    let rates = rates.collect::<Result<Vec<_>>>().with_context(|| case.to_owned())?;
    let load = LoadRate::exact(rates.into_iter().fold(f64::INFINITY, f64::min));
    let mut all: Vec<_> = subjects.iter().collect();
    let name = |subject: &&Subject| format!("{case}, {}", subject.name);
    in_turn(&mut all, repeats, progress, name, |_, subject| trial(ground, subject, load))
}
