//! `linerate bench compile`: `host a or host b or ...`, against libpcap.

use std::fmt::Write as _;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use linerate::base::LinkType;
use linerate::filter::{self, Hermetic, Options};
use linerate::sys::libpcap::{CompileFor, Libpcap};
use linerate::sys::usage;

use super::progress::Progress;
use super::row::{Row, compare};
use super::runner::{Subject, measure, seconds};
use crate::args::BenchArgs;

/// Ours, timed in this process; and the program whose memory is told.
const OURS: &str = "linerate";
const MEMORY: &str = "linerate filter";

/// Past these many hosts libpcap takes minutes and more.
const LIBPCAP_GIVES_UP: usize = 1000;

pub(super) fn run(args: &BenchArgs) -> Result<Vec<Row>> {
    args.check_only([OURS, MEMORY, "libpcap"])?;
    let cases: &[usize] = if args.quick { &[200, 400] } else { &[200, 400, 1000, 10_000] };
    let mut rows = Vec::new();
    // Memory, ours, and libpcap's for those that it can do.
    let steps = 2 * cases.len() + cases.iter().filter(|hosts| **hosts <= LIBPCAP_GIVES_UP).count();
    let progress = &mut Progress::new(steps);
    // A child's largest resident set counts what it had as a copy of this process: so memory comes
    // first, before libpcap has filled this process with its own.
    for hosts in cases {
        rows.extend(memory(args, *hosts, progress)?);
    }
    let libpcap = Libpcap::load().ok();
    for hosts in cases {
        rows.extend(time(args, *hosts, libpcap, progress)?);
    }
    Ok(rows)
}

/// `host 10.0.0.0 or host 10.0.0.7 or ...`, addresses seven apart so that none are neighbours.
pub(super) fn any_of_hosts(count: usize) -> String {
    let mut text = String::new();
    for i in 0..count {
        let n = i * 7;
        let or = if i == 0 { "" } else { " or " };
        let _ = write!(text, "{or}host 10.{}.{}.{}", n >> 16 & 255, n >> 8 & 255, n & 255);
    }
    text
}

fn time(
    args: &BenchArgs,
    hosts: usize,
    libpcap: Option<Libpcap>,
    progress: &mut Progress,
) -> Result<Vec<Row>> {
    let case = format!("{hosts} hosts");
    let expression = &any_of_hosts(hosts);
    let peer = libpcap.map_or("libpcap".into(), |l| short_version(&l.version()));
    let contender = libpcap.filter(|_| hosts <= LIBPCAP_GIVES_UP);
    let mut subjects = vec![Subject {
        name: OURS.into(),
        run: Some(Box::new(|| seconds(|| ours(expression)).map(milliseconds))),
    }];
    if hosts <= LIBPCAP_GIVES_UP {
        let run = move |l: Libpcap| seconds(|| theirs(l, expression)).map(milliseconds);
        subjects.push(Subject {
            name: peer.clone(),
            run: contender.map(|l| Box::new(move || run(l)) as Box<dyn FnMut() -> Result<f64>>),
        });
    }
    subjects.retain(|subject| subject.name == peer || args.wants(&subject.name));
    let results = measure(&case, subjects, args.repeats(), progress)?;
    Ok(compare("compile", &case, "ms", &peer, &results))
}

fn milliseconds(seconds: f64) -> f64 {
    seconds * 1e3
}

/// `libpcap version 1.10.3 (with TPACKET_V3)` as `libpcap 1.10.3`.
fn short_version(version: &str) -> String {
    version
        .split_whitespace()
        .filter(|word| *word != "version")
        .take(2)
        .collect::<Vec<_>>()
        .join(" ")
}

fn ours(expression: &str) -> Result<()> {
    let options = Options::new(LinkType::ETHERNET, &Hermetic);
    let filter = filter::compile(expression, &options).map_err(|e| anyhow::anyhow!("{e}"))?;
    std::hint::black_box(filter.program());
    Ok(())
}

/// libpcap as programs use it: with its optimiser.
fn theirs(libpcap: Libpcap, expression: &str) -> Result<()> {
    let target = CompileFor {
        link_type: LinkType::ETHERNET.0,
        snaplen: 262_144,
        optimise: true,
        netmask: None,
    };
    std::hint::black_box(libpcap.compile(expression, &target)?);
    Ok(())
}

/// The largest resident set of a process that compiles the filter and prints its length: the whole
/// program, not only the compiler.
fn memory(args: &BenchArgs, hosts: usize, progress: &mut Progress) -> Result<Vec<Row>> {
    let case = format!("{hosts} hosts, memory");
    let file = tempfile::NamedTempFile::new().context("make a file for the filter")?;
    std::fs::write(&file, any_of_hosts(hosts))?;
    let linerate = || {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["filter", "-ddd", "-F"]).arg(file.path());
        peak(command)
    };
    let subject = Subject { name: MEMORY.into(), run: Some(Box::new(linerate)) };
    let results = measure(&case, vec![subject], args.repeats(), progress)?;
    Ok(compare("compile", &case, "MB", "", &results))
}

fn peak(mut command: Command) -> Result<f64> {
    let child = command.stdout(Stdio::null()).spawn()?;
    let usage = usage::wait(child)?;
    if !usage.status.success() {
        bail!("{:?} ended with {}", command.get_program(), usage.status);
    }
    Ok(usage.max_resident as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_expression_names_every_host_once() {
        assert_eq!(any_of_hosts(2), "host 10.0.0.0 or host 10.0.0.7");
        assert_eq!(short_version("libpcap version 1.10.3 (with TPACKET_V3)"), "libpcap 1.10.3");
    }
}
