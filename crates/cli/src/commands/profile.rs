//! `linerate profile`: what a packet costs, by component.

mod flame;
mod own;
mod page;
mod report;

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use linerate::base::{Error, ErrorKind};
use linerate::capture::Interrupt;
use linerate::profile::cost::Cost;
use linerate::profile::counters::{Snapshot, Watcher};
use linerate::profile::flame::frames;
use linerate::profile::sampling::{Classifier, Sampling};
use linerate::profile::symbols::UserSymbols;
use linerate::sys::{cpu, task};

use crate::args::ProfileArgs;
use crate::exit::Outcome;
use crate::output;
use crate::signals::Requests;
use own::OwnCapture;

/// How often the samples are fetched.
const EVERY: Duration = Duration::from_millis(100);

pub(super) fn run(args: &ProfileArgs) -> Result<Outcome> {
    if let [before, after] = args.compare.as_slice() {
        output::text(report::compare(&read(before)?, &read(after)?))?;
        return Ok(Outcome::Success);
    }
    let requests = Requests::default();
    let interrupt = Interrupt::new()?;
    requests.watch(interrupt.clone()).context("watch for signals")?;
    let subject = Subject::begin(args, interrupt)?;
    let mut sampling = Sampling::start().map_err(with_remedy)?;
    let begun = Instant::now();
    let before = subject.packets()?;
    let mut users = UserSymbols::default();
    users.note(subject.process());
    wait(&mut sampling, args.duration, &requests, &subject);
    let after = match subject.packets() {
        Ok(packets) => packets,
        Err(error) => {
            // What the capture itself failed with says more.
            subject.end()?;
            return Err(error);
        }
    };
    let (packets, elapsed) = (after.saturating_sub(before), begun.elapsed());
    let samples = sampling.finish()?;
    // While the capture's programs are still there, and have names.
    let (classifier, process) = (Classifier::new()?, subject.process());
    let (weights, name) = (classifier.weigh(&samples, &[process]), subject.name());
    // What it has loaded meanwhile.
    users.note(process);
    subject.end()?;
    let cpus = cpu::online()?.len();
    let cost = Cost::new(&weights, &samples, packets, elapsed.as_secs_f64(), cpus);
    if let Some(file) = &args.html {
        let frames = frames(&classifier, &mut users, &samples, &[process]);
        page::page(&name, &cost, &frames)?.write(file)?;
    }
    if args.json {
        output::text(serde_json::to_string_pretty(&cost)? + "\n")?;
    } else {
        output::text(report::table(&cost))?;
    }
    report::remarks(&cost).iter().for_each(output::tell);
    Ok(Outcome::Success)
}

fn read(file: &Path) -> Result<Cost> {
    let asked = || format!("read a profile from {}", file.display());
    let text = std::fs::read_to_string(file).with_context(asked)?;
    serde_json::from_str(&text).with_context(asked)
}

fn with_remedy(error: Error) -> Error {
    if error.kind() != ErrorKind::Permission {
        return error;
    }
    error.advise("as root, with CAP_PERFMON, or after `sysctl kernel.perf_event_paranoid=-1`")
}

/// Until the time is over, the user wants an end, or the process is gone.
fn wait(sampling: &mut Sampling, duration: Duration, requests: &Requests, subject: &Subject) {
    let (begun, is_shown) = (Instant::now(), io::stderr().is_terminal());
    while begun.elapsed() < duration && !requests.stop() && subject.goes_on() {
        let left = duration.saturating_sub(begun.elapsed());
        if is_shown {
            let seconds = left.as_secs_f64().ceil();
            // A terminal that is gone is no reason to end.
            let _ = write!(io::stderr(), "\r\x1b[Klinerate: sampling, {seconds:.0} s left");
        }
        sleep(EVERY.min(left));
        sampling.collect();
    }
    if is_shown {
        let _ = write!(io::stderr(), "\r\x1b[K");
    }
}

/// Whose packets are looked at.
enum Subject {
    /// A capture of this process.
    Own(OwnCapture),
    /// Another process; its packets are those of one interface, or of all.
    Process { process: u32, interface: Option<String> },
}

impl Subject {
    fn begin(args: &ProfileArgs, interrupt: Interrupt) -> Result<Self> {
        match (args.pid, &args.interface) {
            (Some(process), interface) => {
                task::used(process).with_context(|| format!("look at the process {process}"))?;
                Ok(Self::Process { process, interface: interface.clone() })
            }
            (None, interface) => {
                let interface = interface.clone().unwrap_or_default();
                Ok(Self::Own(OwnCapture::begin(args, interface, interrupt)?))
            }
        }
    }

    fn process(&self) -> u32 {
        match self {
            Self::Own(_) => std::process::id(),
            Self::Process { process, .. } => *process,
        }
    }

    /// What it is called.
    fn name(&self) -> String {
        match self {
            Self::Own(own) => own.name().to_owned(),
            Self::Process { process, .. } => format!("{} ({process})", task::name(*process)),
        }
    }

    /// Packets that the capture saw so far, whatever a filter makes of them; of another process's, packets of the
    /// interface in both directions, as packet sockets see them.
    fn packets(&self) -> Result<u64> {
        match self {
            Self::Own(own) => own.seen(),
            Self::Process { interface, .. } => {
                let now = Snapshot::take(interface.as_deref(), &mut Watcher::new().0)?;
                let counters = now.interfaces.iter().map(|interface| &interface.counters);
                Ok(counters.map(|counters| counters.received + counters.sent).sum())
            }
        }
    }

    fn goes_on(&self) -> bool {
        match self {
            Self::Own(own) => own.goes_on(),
            Self::Process { process, .. } => {
                let goes_on = task::used(*process).is_ok();
                if !goes_on {
                    output::tell(format_args!("the process {process} has ended; so far:"));
                }
                goes_on
            }
        }
    }

    fn end(self) -> Result<()> {
        match self {
            Self::Own(own) => own.end(),
            Self::Process { .. } => Ok(()),
        }
    }
}
