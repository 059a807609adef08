//! Carrying out what the flags of `linerate capture` mean: opening, pumping, and the sum at the end.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use linerate::base::{ErrorKind, Interface, Stats, Timestamp};
use linerate::capture::{self, Capture};
use linerate::savefile::Totals;
use linerate::sys::capability;

use super::{Plan, simulated};
use crate::args::{CaptureArgs, PrintArgs};
use crate::exit::Outcome;
use crate::live::LiveLine;
use crate::output;
use crate::patience::{SOON, with_a_word};
use crate::pump::{Consumer, Pump, Sent};
use crate::save::Saver;
use crate::show::Printer;
use crate::signals::Requests;
use crate::summary::{self, Facts, Form, Summary};

pub(super) fn run(mut plan: Plan, args: &CaptureArgs) -> Result<Outcome> {
    let requests = Requests::default();
    let mut signals = requests.catch(plan.config.interrupt.clone())?;
    let mut captures = match signals.during(|| open(&plan)) {
        Err(error) if error.kind() == ErrorKind::Interrupted => {
            output::tell("stopped while opening: 0 packets captured");
            return Ok(Outcome::Success);
        }
        opened => opened?,
    };
    plan.threads = captures.len();
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
    let split = plan.split.take();
    let split = split.map(|split| split.open(&interfaces, index(&captures[0]), now())).transpose();
    let mut splitter = split?;
    signals.watch()?;
    announce(&captures[0], &plan);
    let mut printer = plan.prints.then(|| Printer::new(&args.print, true));
    let mut pump = Pump {
        requests,
        interrupt: plan.config.interrupt.clone(),
        limit: args.count,
        deadline: args.duration.map(|span| Instant::now() + span),
        live: LiveLine::new(!plan.prints),
        form: form(&args.print, &captures[0]),
    };
    let mut consumers: Vec<&mut dyn Consumer> = Vec::new();
    consumers.extend(printer.as_mut().map(|printer| printer as _));
    consumers.extend(saver.as_mut().map(|saver| saver as _));
    consumers.extend(splitter.as_mut().map(|splitter| splitter as _));
    let cores = capture::consumer_cores(&plan.config.interface)?;
    let mut sources: Vec<Sent<'_>> = captures.iter_mut().map(|c| &mut *c.source as _).collect();
    let began = Instant::now();
    let (taken, result) = pump.run_all(&mut sources, consumers, &cores);
    let shown = printer.as_mut().map_or(Ok(()), Consumer::idle);
    let (summary, saved) = settle(&mut captures, &taken, saver.as_mut())?;
    let divided = splitter.as_mut().map_or(Ok(()), |s| s.finish(Some(&summary.sum)));
    summary::report(&summary, &pump.form, &mut pump.live);
    if let Some(splitter) = &splitter {
        splitter.tell();
    }
    if let Some(saver) = saver.as_ref().filter(|_| args.simulate.simulate.is_some()) {
        let what = "simulated: nothing was written";
        simulated::report(what, &saver.totals(), began.elapsed());
    }
    result.and(shown).and(saved).and(divided)?;
    Ok(if args.strict && summary::lost(&summary.sum) { Outcome::Lost } else { Outcome::Success })
}

fn open(plan: &Plan) -> linerate::base::Result<Vec<Capture>> {
    with_a_word(
        SOON,
        || say_slow(&plan.config.interface),
        || capture::open_many(&plan.config, plan.threads),
    )
}

fn say_slow(interface: &str) {
    output::tell(format_args!(
        "opening {interface}: large filters, which the kernel verifies, and large buffers take some seconds"
    ));
}

/// The counters at the end: captured means printed, or written where packets were to be saved.
fn settle(
    captures: &mut [Capture],
    taken: &[u64],
    saver: Option<&mut Saver>,
) -> Result<(Summary, Result<()>)> {
    let stats: Result<Vec<_>, _> = captures.iter_mut().map(|c| c.source.stats()).collect();
    let sum = stats.as_ref().map(|stats| summary::sum(stats)).ok();
    let mut summary = Summary::default();
    let (mut captured, mut saved) = (taken.iter().sum(), Ok(()));
    if let Some(saver) = saver {
        // What was captured is written out even where there are no counters to go with it.
        saved = saver.finish(sum.map(|sum| summary::settle(sum, captured)).as_ref());
        let Totals { written, overwritten, .. } = saver.totals();
        captured = written.packets;
        (summary.stalls, summary.overwritten) = (saver.stalls(), overwritten);
    }
    let stats = stats?;
    summary.sum = summary::settle(summary::sum(&stats), captured);
    let settled = |(stats, taken): (&Stats, &u64)| summary::settle(*stats, *taken);
    summary.threads = stats.iter().zip(taken).map(settled).collect();
    if let [one] = captures {
        let shares = one.source.shares()?;
        if shares.len() > 1 {
            // They come ordered: whose the packets are that a limit left out, nobody knows.
            summary.threads = shares;
        }
    }
    Ok((summary, saved))
}

fn form(args: &PrintArgs, capture: &Capture) -> Form {
    if !args.json {
        return Form::Text { threads: args.verbose > 0 };
    }
    let Interface { name, timestamps, .. } = capture.interface.clone();
    Form::Json(Facts { interface: name, backend: capture.backend, hook: capture.hook, timestamps })
}

fn announce(capture: &Capture, plan: &Plan) {
    for note in plan.notes.iter().chain(&capture.notes) {
        output::tell(note);
    }
    let Interface { name, link_type, snaplen, .. } = &capture.interface;
    let described = link_type.description().map_or(String::new(), |text| format!(" ({text})"));
    let hook = capture.hook.map_or(String::new(), |hook| format!(" ({})", hook.name()));
    let threads = match plan.threads {
        1 => String::new(),
        count => format!(", {count} threads"),
    };
    output::tell(format_args!(
        "listening on {name}, link type {link_type}{described}, \
         snaplen {snaplen} bytes, back end {}{hook}{threads}",
        capture.backend
    ));
}

/// The number that the system gave to an interface; `None` for all of them at once.
fn index(capture: &Capture) -> Option<u32> {
    let all = capture::interfaces().ok()?;
    let known = all.into_iter().filter_map(|capturable| capturable.interface);
    known.into_iter().find(|known| known.name == capture.interface.name).map(|known| known.index)
}

pub(super) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::EPOCH + since
}
