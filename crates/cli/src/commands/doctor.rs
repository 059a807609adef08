//! `linerate doctor`: where packets are being lost right now.

mod report;

use std::io::{self, IsTerminal, Write};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use linerate::capture::Interrupt;
use linerate::profile::doctor::{Examination, diagnose};

use crate::args::DoctorArgs;
use crate::exit::Outcome;
use crate::output;
use crate::signals::Requests;

/// How often it is looked what those who capture are doing.
const EVERY: Duration = Duration::from_millis(50);

pub(super) fn run(args: &DoctorArgs) -> Result<Outcome> {
    let requests = Requests::default();
    requests.watch(Interrupt::new()?).context("watch for signals")?;
    let mut examination = Examination::begin(args.interface.as_deref())?;
    watch(&mut examination, args.duration, &requests);
    let seen = examination.finish()?;
    let findings = diagnose(&seen);
    if args.json {
        output::text(report::json(&seen, &findings))?;
    } else {
        output::text(report::text(&findings))?;
        seen.missing.iter().for_each(output::tell);
    }
    let is_lossy = findings.iter().any(|finding| finding.is_loss);
    Ok(if is_lossy { Outcome::Lost } else { Outcome::Success })
}

/// Until the time is over, or the user wants an end.
fn watch(examination: &mut Examination, duration: Duration, requests: &Requests) {
    let (begun, is_shown) = (Instant::now(), io::stderr().is_terminal());
    // A terminal that is gone is no reason to end, here and below.
    let show = |text: &str| {
        let _ = write!(io::stderr(), "\r\x1b[K{text}");
    };
    while begun.elapsed() < duration && !requests.stop() {
        let left = duration.saturating_sub(begun.elapsed());
        if is_shown {
            show(&format!("linerate: watching, {:.0} s left", left.as_secs_f64().ceil()));
        }
        sleep(EVERY.min(left));
        examination.look();
    }
    if is_shown {
        show("");
    }
}
