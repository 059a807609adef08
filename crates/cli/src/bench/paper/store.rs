//! Results that are kept: rows as they are, the page and what is in it, and what machine they are from.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::{Done, report, table};
use crate::args::BenchArgs;
use crate::bench::report::lines;
use crate::machine::Machine;
use crate::{output, page};

/// Looks whether there will be a place for what is asked for, before the experiments are made.
///
/// # Errors
/// When there is none.
pub(super) fn check(args: &BenchArgs) -> Result<()> {
    if let Some(file) = &args.html {
        page::check(file)?;
    }
    args.save.as_ref().map_or(Ok(()), |folder| {
        fs::create_dir_all(folder).with_context(|| format!("make the folder {}", folder.display()))
    })
}

/// Writes what was asked for.
///
/// # Errors
/// When a file cannot be written.
pub(super) fn keep(args: &BenchArgs, done: &[Done]) -> Result<()> {
    if args.html.is_none() && args.save.is_none() {
        return Ok(());
    }
    let machine = Machine::of_this();
    if let Some(file) = &args.html {
        report::page(&machine, args.quick, done).write(file)?;
        output::tell(format_args!("the page is {}", file.display()));
    }
    if let Some(parent) = &args.save {
        let folder = parent.join(format!("{}-{}", machine.date, machine.host));
        save(&folder, &machine, args.quick, done)
            .with_context(|| format!("keep the results in {}", folder.display()))?;
        output::tell(format_args!("results, page, charts and machine are in {}", folder.display()));
    }
    Ok(())
}

fn save(folder: &Path, machine: &Machine, is_quick: bool, done: &[Done]) -> Result<()> {
    fs::create_dir_all(folder)?;
    let rows = lines(done.iter().flat_map(|done| done.findings.all()))?;
    fs::write(folder.join("results.jsonl"), rows)?;
    fs::write(folder.join("machine.json"), serde_json::to_string_pretty(machine)? + "\n")?;
    fs::write(folder.join("table.md"), table::markdown(done))?;
    for done in done {
        for (number, (svg, _)) in done.findings.charts.iter().enumerate() {
            let name = format!("{}-{}.svg", done.experiment.names[0], number + 1);
            fs::write(folder.join(name), svg)?;
        }
    }
    report::page(machine, is_quick, done).write(&folder.join("page.html"))
}
