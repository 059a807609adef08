//! tcpdump reads: a savefile with a filter, and a filter that is long.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Result, ensure};

use super::EXPERIMENT;
use super::library::{Libraries, Which};
use crate::args::BenchArgs;
use crate::bench::capture::subject::TCPDUMP;
use crate::bench::compile::any_of_hosts;
use crate::bench::progress::Progress;
use crate::bench::read::{MIXED, write};
use crate::bench::row::{Row, compare};
use crate::bench::runner::{Subject, measure, seconds};

/// Bytes of a file with few packets.
const SHORT: u64 = 10_000;

/// Filters, and how many of the packets they keep: one of 256, every second, and all but one of 256.
const FILTERS: [(&str, &str); 3] = [
    ("few", "dst net 10.0.1.0/24"),
    ("half", "tcp port 80"),
    ("most", "tcp and not dst net 10.0.1.0/24"),
];

/// `tcpdump -r` of 1 GB with a filter, to `/dev/null`.
pub(super) fn savefile(args: &BenchArgs, libraries: &Libraries) -> Result<Vec<Row>> {
    let bytes: u64 = if args.quick { 100_000_000 } else { 1_000_000_000 };
    let file = tempfile::NamedTempFile::new()?;
    write(file.as_file(), MIXED, bytes)?;
    let mut rows = Vec::new();
    for (share, filter) in FILTERS {
        let case = format!("read {} MB, a filter that keeps {share}", bytes / 1_000_000);
        rows.extend(timed(args, libraries, &case, &[filter], file.path(), 1.0, "s")?);
    }
    Ok(rows)
}

/// `tcpdump -r` of few packets with a filter of many hosts.
pub(super) fn filter(args: &BenchArgs, libraries: &Libraries) -> Result<Vec<Row>> {
    let hosts = if args.quick { 200 } else { 1000 };
    let (file, filter) = (tempfile::NamedTempFile::new()?, tempfile::NamedTempFile::new()?);
    write(file.as_file(), MIXED, SHORT)?;
    std::fs::write(&filter, any_of_hosts(hosts))?;
    let filter = filter.path().to_string_lossy();
    let case = format!("start with a filter of {hosts} hosts");
    timed(args, libraries, &case, &["-F", &filter], file.path(), 1e3, "ms")
}

/// How long tcpdump takes by either library, in units of which a second has so many.
fn timed(
    args: &BenchArgs,
    libraries: &Libraries,
    case: &str,
    filter: &[&str],
    file: &Path,
    units: f64,
    unit: &'static str,
) -> Result<Vec<Row>> {
    let subject = |which| {
        let run = move || Ok(units * seconds(|| read(libraries, which, filter, file))?);
        Subject { name: libraries.tcpdump(which), run: Some(Box::new(run)) }
    };
    let subjects = Which::BOTH.map(subject).into();
    let results = measure(case, subjects, args.repeats(), &mut Progress::new(2))?;
    Ok(compare(EXPERIMENT, case, unit, &libraries.tcpdump(Which::System), &results))
}

fn read(libraries: &Libraries, which: Which, filter: &[&str], file: &Path) -> Result<()> {
    let mut tcpdump = Command::new(TCPDUMP);
    tcpdump.args(["-n", "-Z", "root", "-w", "/dev/null", "-r"]).arg(file).args(filter);
    libraries.choose(which, &mut tcpdump);
    let output = tcpdump.stdin(Stdio::null()).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{tcpdump:?} said: {}", said.trim());
    Ok(())
}
