//! Carrying out what the flags of `linerate capture` mean: opening, pumping, and the sum at the end.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use linerate::base::{Interface, Stats, Timestamp};
use linerate::capture::{self, Capture};
use linerate::sys::capability;

use super::Plan;
use crate::args::CaptureArgs;
use crate::exit::Outcome;
use crate::live::LiveLine;
use crate::pump::{Consumer, Pump, Sent};
use crate::save::Saver;
use crate::show::Printer;
use crate::signals::Requests;
use crate::{output, summary};

pub(super) fn run(mut plan: Plan, args: &CaptureArgs) -> Result<Outcome> {
    let mut captures = capture::open_many(&plan.config, plan.threads)?;
    if let Some(user) = &plan.user {
        let asked = || format!("go on as user {}", args.user.as_deref().unwrap_or_default());
        capability::become_user(user).with_context(asked)?;
    }
    if plan.ordered && captures.len() > 1 {
        captures = vec![capture::merge(captures, &plan.config)?];
    }
    let interfaces = [Interface { filter: plan.text.clone(), ..captures[0].interface.clone() }];
    let saver = plan.save.take().map(|save| save.open(&interfaces, Some(now()))).transpose();
    let mut saver = match &args.user {
        Some(user) => saver.with_context(|| format!("as user {user}"))?,
        None => saver?,
    };
    let requests = Requests::default();
    requests.watch(plan.config.interrupt.clone())?;
    announce(&captures[0], &plan);
    let mut printer = plan.prints.then(|| Printer::new(&args.print, true));
    let mut pump = Pump {
        requests,
        interrupt: plan.config.interrupt.clone(),
        limit: args.count,
        deadline: args.duration.map(|span| Instant::now() + span),
        live: LiveLine::new(!plan.prints),
    };
    let mut consumers: Vec<&mut dyn Consumer> = Vec::new();
    consumers.extend(printer.as_mut().map(|printer| printer as _));
    consumers.extend(saver.as_mut().map(|saver| saver as _));
    let cores = capture::consumer_cores(&plan.config.interface)?;
    let mut sources: Vec<Sent<'_>> = captures.iter_mut().map(|c| &mut *c.source as _).collect();
    let (taken, result) = pump.run_all(&mut sources, consumers, &cores);
    let shown = printer.as_mut().map_or(Ok(()), Consumer::idle);
    let (stats, saved) = settle(&mut captures, &taken, saver.as_mut())?;
    let stalls = saver.as_ref().map(Consumer::stalls).unwrap_or_default();
    summary::report(&stats, stalls, &mut pump.live);
    if let Some(saver) = &saver {
        summary::report_overwritten(&saver.totals());
    }
    result.and(shown).and(saved)?;
    Ok(if args.strict && summary::lost(&stats) { Outcome::Lost } else { Outcome::Success })
}

/// The counters at the end: captured means printed, or written where packets were to be saved.
fn settle(
    captures: &mut [Capture],
    taken: &[u64],
    saver: Option<&mut Saver>,
) -> Result<(Stats, Result<()>)> {
    let stats: Result<Vec<_>, _> = captures.iter_mut().map(|c| c.source.stats()).collect();
    let stats = stats.map(summary::sum);
    let taken = taken.iter().sum();
    let Some(saver) = saver else { return Ok((summary::settle(stats?, taken), Ok(()))) };
    // What was captured is written out even where there are no counters to go with it.
    let recorded = stats.as_ref().ok().map(|stats| summary::settle(*stats, taken));
    let saved = saver.finish(recorded.as_ref());
    Ok((summary::settle(stats?, saver.totals().written.packets), saved))
}

fn announce(capture: &Capture, plan: &Plan) {
    for note in plan.notes.iter().chain(&capture.notes) {
        output::tell(note);
    }
    let Interface { name, link_type, snaplen, .. } = &capture.interface;
    let described = link_type.description().map_or(String::new(), |text| format!(" ({text})"));
    let threads = match plan.threads {
        1 => String::new(),
        count => format!(", {count} threads"),
    };
    output::tell(format_args!(
        "listening on {name}, link type {link_type}{described}, \
         snaplen {snaplen} bytes, back end {}{threads}",
        capture.backend
    ));
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::EPOCH + since
}
