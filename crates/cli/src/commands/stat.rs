//! `linerate stat`: packets and bytes by filter, counted in the kernel.

mod report;

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use linerate::base::{self, ErrorKind};
use linerate::capture::{self, Interrupt, MAX_SNAPLEN, Meter, MeterConfig, MeterFilter};
use linerate::filter::{Options, without_comments};

use super::capture::netmask;
use crate::args::StatArgs;
use crate::exit::{Outcome, usage};
use crate::patience::{SOON, with_a_word};
use crate::signals::Requests;
use crate::{compile, output};
use report::Report;

pub(super) fn run(args: &StatArgs) -> Result<Outcome> {
    let interrupt = Interrupt::new()?;
    let config = MeterConfig {
        interface: args.interface.clone(),
        direction: args.direction.into(),
        filters: filters(args)?,
        interrupt: interrupt.clone(),
    };
    let requests = Requests::default();
    requests.watch(interrupt).context("watch for signals")?;
    let say_slow = || output::tell("the kernel verifies the filters, which takes some seconds");
    let meter = with_a_word(SOON, say_slow, || Meter::open(&config))?;
    let names = config.filters.iter().map(|filter| filter.text.clone()).collect();
    output::tell(format_args!("counting on {}", config.interface));
    let mut running = Running {
        meter,
        report: Report::new(names, args.json),
        requests,
        interrupt: config.interrupt,
        every: args.every,
        left: args.count,
        end: args.duration.map(|span| Instant::now() + span),
    };
    running.count()?;
    Ok(Outcome::Success)
}

/// The filters of the command line, then those of the file.
fn filters(args: &StatArgs) -> Result<Vec<MeterFilter>> {
    let words = args.filters.iter().map(|word| word.to_str().map(str::to_owned));
    let words: Option<Vec<_>> = words.collect();
    let words = words.ok_or_else(|| usage("a filter is not valid UTF-8"))?;
    // An interface that cannot be counted on says so later, by its name.
    let link_types = capture::link_types(&args.interface)
        .map_err(|error| error.asking(format!("count packets on {}", args.interface)))?;
    let netmask = Some(netmask(&args.interface));
    let options = Options { netmask, ..compile::options(link_types[0], MAX_SNAPLEN) };
    let options = args.language.of(options);
    let compile = |text: String| compile::for_meter(text, &options);
    let mut filters: Vec<_> = words.into_iter().map(compile).collect::<Result<_>>()?;
    if let Some(file) = &args.filter_file {
        for (number, line) in lines(file)? {
            let place = || format!("{}, line {number}", file.display());
            filters.push(compile(line).with_context(place)?);
        }
    }
    Ok(filters)
}

/// The lines that have a filter, with their numbers.
fn lines(file: &Path) -> Result<Vec<(usize, String)>> {
    let text = std::fs::read_to_string(file)
        .with_context(|| format!("read filters from {}", file.display()))?;
    let text = without_comments(&text);
    let lines = (1..).zip(text.lines().map(str::trim)).filter(|(_, line)| !line.is_empty());
    Ok(lines.map(|(number, line)| (number, line.to_owned())).collect())
}

struct Running {
    meter: Meter,
    report: Report,
    requests: Requests,
    interrupt: Interrupt,
    every: Duration,
    /// Readings to come.
    left: Option<u64>,
    end: Option<Instant>,
}

impl Running {
    fn count(&mut self) -> Result<()> {
        let mut due = Instant::now();
        let fault = loop {
            due = next(due, self.every);
            match self.wait(self.end.map_or(due, |end| end.min(due))) {
                Ok(true) => {}
                Ok(false) => break None,
                Err(fault) => break Some(fault),
            }
            self.left = self.left.map(|left| left - 1);
            if self.left == Some(0) || self.is_over() {
                break None;
            }
            self.report.add(&self.meter.read()?)?;
        };
        self.meter.stop();
        self.report.finish(&self.meter.read()?)?;
        fault.map_or(Ok(()), |fault| Err(fault.into()))
    }

    /// Waits until a reading is due; false when the user wants an end.
    fn wait(&mut self, due: Instant) -> base::Result<bool> {
        loop {
            match self.meter.wait(due) {
                Ok(false) => return Ok(true),
                Ok(true) if self.requests.stop() => return Ok(false),
                // The user wants to see the counters, and does.
                Ok(true) => self.interrupt.clear(),
                Err(error) if error.kind() == ErrorKind::Down => self.report.note(&error),
                Err(error) => return Err(error),
            }
        }
    }

    fn is_over(&self) -> bool {
        self.end.is_some_and(|end| Instant::now() >= end)
    }
}

/// The next time after `last` by whole intervals that is not over yet.
fn next(last: Instant, every: Duration) -> Instant {
    let mut next = last + every;
    let now = Instant::now();
    if next < now {
        next = now + every;
    }
    next
}
