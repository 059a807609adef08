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
use linerate::profile::sampling::{Classifier, Samples, Sampling, Stacks};
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
    if let Some(file) = &args.html {
        crate::page::check(file)?;
    }
    let requests = Requests::default();
    let interrupt = Interrupt::new()?;
    requests.watch(interrupt.clone()).context("watch for signals")?;
    let subject = Subject::begin(args, interrupt)?;
    let mut missing = subject.missing();
    let sampling = sampling(args, &mut missing)?;
    let mut users = UserSymbols::default();
    users.note(subject.process());
    let seen = match watch(args.duration, &requests, &subject, sampling) {
        Ok(seen) => seen,
        Err(error) => {
            // What the capture itself failed with says more.
            subject.end()?;
            return Err(error);
        }
    };
    // While the capture's programs are still there, and have names.
    let classifier = seen.samples.as_ref().map(|_| classifier(&mut missing));
    let (process, name) = (subject.process(), subject.name());
    // What it has loaded meanwhile.
    users.note(process);
    subject.end()?;
    let sampled = classifier.as_ref().zip(seen.samples.as_ref());
    let cost = match sampled {
        Some((classifier, samples)) => {
            let (weights, cpus) = (classifier.weigh(samples, &[process]), cpu::online()?.len());
            Cost::new(&weights, samples, seen.packets, seen.seconds, cpus)
        }
        None => Cost::accounted(seen.user, seen.system, seen.packets, seen.seconds),
    };
    let cost = Cost { missing, ..cost };
    if let Some(file) = &args.html {
        let frames = sampled
            .map(|(classifier, samples)| frames(classifier, &mut users, samples, &[process]));
        page::page(&name, &cost, frames.as_ref())?.write(file)?;
    }
    if args.json {
        output::text(serde_json::to_string_pretty(&cost)? + "\n")?;
    } else {
        output::text(report::table(&cost))?;
    }
    report::remarks(&cost).iter().for_each(output::tell);
    Ok(Outcome::Success)
}

/// Samples on their way; `None` where they are not permitted, and a word on that.
fn sampling(args: &ProfileArgs, missing: &mut Vec<String>) -> Result<Option<Sampling>> {
    // Names of the process's functions are for the page.
    let stacks = if args.html.is_some() { Stacks::Both } else { Stacks::Kernel };
    match Sampling::start(stacks) {
        Ok(sampling) => Ok(Some(sampling)),
        Err(error) if error.kind() == ErrorKind::Permission => {
            let error = error.advise(
                "as root, with CAP_PERFMON, or after `sysctl kernel.perf_event_paranoid=-1`",
            );
            missing.push(format!(
                "{error}; without samples, costs are the process's own time, in user mode and in the kernel (unclassified)"
            ));
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

/// With the kernel's symbols, or, where they are hidden, without and a word on that.
fn classifier(missing: &mut Vec<String>) -> Classifier {
    Classifier::new().unwrap_or_else(|error| {
        missing.push(format!(
            "{error}; the process's time in the kernel is unclassified, and receiving while others have their turn is left out"
        ));
        Classifier::without_symbols()
    })
}

fn read(file: &Path) -> Result<Cost> {
    let asked = || format!("read a profile from {}", file.display());
    let text = std::fs::read_to_string(file).with_context(asked)?;
    serde_json::from_str(&text).with_context(asked)
}

/// What was seen of a subject.
struct Seen {
    packets: u64,
    seconds: f64,
    samples: Option<Samples>,
    /// Processor time of the process in user mode, and in the kernel.
    user: Duration,
    system: Duration,
}

/// Until the time is over, the user wants an end, or the process is gone.
fn watch(
    duration: Duration,
    requests: &Requests,
    subject: &Subject,
    mut sampling: Option<Sampling>,
) -> Result<Seen> {
    let (begun, is_shown) = (Instant::now(), io::stderr().is_terminal());
    // A terminal that is gone is no reason to end, here and below.
    let show = |text: &str| {
        let _ = write!(io::stderr(), "\r\x1b[K{text}");
    };
    let before = subject.packets()?;
    let first = task::used(subject.process()).unwrap_or_default();
    let mut last = first;
    while begun.elapsed() < duration && !requests.stop() && subject.goes_on() {
        let left = duration.saturating_sub(begun.elapsed());
        if is_shown {
            show(&format!("linerate: sampling, {:.0} s left", left.as_secs_f64().ceil()));
        }
        sleep(EVERY.min(left));
        sampling.iter_mut().for_each(Sampling::collect);
        last = task::used(subject.process()).unwrap_or(last);
    }
    if is_shown {
        show("");
    }
    let after = subject.packets()?;
    Ok(Seen {
        packets: after.saturating_sub(before),
        seconds: begun.elapsed().as_secs_f64(),
        samples: sampling.map(Sampling::finish).transpose()?,
        user: last.0.saturating_sub(first.0),
        system: last.1.saturating_sub(first.1),
    })
}

fn no_process(process: u32, error: io::Error) -> Error {
    let asked = format!("look at the process {process}");
    match error.kind() {
        io::ErrorKind::NotFound => Error::new(ErrorKind::NotFound, asked, "there is none")
            .advise("`pgrep -a tcpdump` tells the numbers of all that run tcpdump"),
        _ => Error::system(asked, error),
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
                task::used(process).map_err(|error| no_process(process, error))?;
                Ok(Self::Process { process, interface: interface.clone() })
            }
            (None, interface) => {
                let interface = interface.clone().unwrap_or_default();
                Ok(Self::Own(OwnCapture::begin(args, interface, interrupt)?))
            }
        }
    }

    /// What is not to be known of it, and what would allow it.
    fn missing(&self) -> Vec<String> {
        match self {
            // Of a process that may not be looked at, that is not to be known either.
            Self::Process { process, .. }
                if matches!(task::is_in_this_namespace(*process), Ok(false)) =>
            {
                vec![format!(
                    "the process {process} is in another network namespace, and packets are counted in this one: \
                     `nsenter -n -t {process} linerate profile --pid {process}` counts its own"
                )]
            }
            _ => Vec::new(),
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
                let goes_on = !task::has_ended(*process);
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
