//! `linerate send`: packets that vary, to an interface.

mod preview;

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Result;
use linerate::base;
use linerate::capture::Interrupt;
use linerate::sys::cpu;
use linerate::transmit::pacing::{Pace, Rate};
use linerate::transmit::replay::Timing;
use linerate::transmit::sink::FileSink;
use linerate::transmit::template::{Surroundings, Walk};
use linerate::transmit::{self, BATCH, Outlet, Plan, Report, Sender, Template, Watch};

use self::preview::Preview;
use super::sending::{self, Facts, Progress, Shown, Taker};
use crate::args::{Count, SendArgs};
use crate::exit::{Outcome, usage};
use crate::output;
use crate::patience;
use crate::signals::Requests;
use crate::units::grouped;

/// What is sent of a user who names neither.
const DEFAULT_RATE: Rate = Rate::Frames(1_000_000);
const DEFAULT_COUNT: u64 = 10_000;

pub(super) fn run(args: &SendArgs) -> Result<Outcome> {
    let seed = args.seed.unwrap_or_else(chance);
    let blocklist = sending::blocklist(args.blocklist.as_deref())?;
    let (rate, burst) = (args.rate.unwrap_or(DEFAULT_RATE), args.burst);
    let pace = Pace { rate, burst, gaps: args.gaps, ramp: args.ramp, seed };
    // What makes no sense is refused whether or not anything is sent.
    sending::check_pace(&pace)?;
    let queue = sending::queue(&args.outlet)?;
    let threads = threads(args.threads)?;
    let surroundings = surroundings(args)?;
    let compile = || Template::compile(&args.packets, &*surroundings, &blocklist, seed);
    let wait = || output::tell("asking the next hop for its hardware address");
    let template = patience::with_a_word(patience::SOON, wait, compile)
        .map_err(|error| usage(format!("packets: {error}")))?;
    template.notes().iter().for_each(output::tell);
    let count = count(args, &template)?;
    let plan = Plan { template: &template, pace, count, duration: args.duration, threads };
    if args.outlet.show.is_some() {
        return show(args, &plan);
    }
    announce(&template, &pace);
    match &args.outlet.write {
        Some(path) => write(args, &plan, path),
        None => send(args, &plan, queue),
    }
}

/// A seed that programs which know numbers as floating point read exactly.
fn chance() -> u64 {
    RandomState::new().build_hasher().finish() >> 11
}

/// As many threads as asked for, if each can have a core.
fn threads(asked: u32) -> Result<usize> {
    let (asked, cores) = (asked as usize, cpu::allowed()?.len());
    if asked > 1 && asked > cores {
        return Err(usage(format!(
            "--threads {asked}: each needs a core of its own, and this process may use {cores}"
        )));
    }
    Ok(asked)
}

/// The interface. Where packets are to be sent, and may be, its neighbours are asked for what is not known.
fn surroundings(args: &SendArgs) -> Result<Box<dyn Surroundings>> {
    let outlet = Outlet::find(&args.interface)?;
    if args.outlet.sends_nothing() {
        return Ok(Box::new(Preview(outlet)));
    }
    sending::check_network(&args.interface, args.outlet.on_real_network, &outlet)?;
    Ok(Box::new(outlet.asking()))
}

/// How many packets are to be sent. Without a number, each combination once, but not too many; with a time, as many
/// as there is time for. Of those that are only shown, a few.
///
/// # Errors
/// Of usage, where all are to be sent and have no end.
fn count(args: &SendArgs, template: &Template) -> Result<Option<u64>> {
    let all = u64::try_from(template.count()).ok();
    let named = match args.count {
        Some(Count::Of(count)) => Some(count),
        Some(Count::All) if is_random(template) => {
            return Err(usage("--count all: random values have no end; name a number of packets"));
        }
        Some(Count::All) => all,
        None => None,
    };
    Ok(match (named, args.outlet.show) {
        (named, Some(most)) => Some(named.map_or(most, |count| count.min(most))),
        (None, None) if args.count.is_none() && args.duration.is_none() => {
            if template.count() > DEFAULT_COUNT.into() {
                output::tell(format_args!(
                    "of {} packets the first {} are sent: `--count all` sends all",
                    template.count(),
                    grouped(DEFAULT_COUNT)
                ));
            }
            Some(all.unwrap_or(u64::MAX).min(DEFAULT_COUNT))
        }
        (named, None) => named,
    })
}

/// True when packets vary, and only at random.
fn is_random(template: &Template) -> bool {
    let mut varying = template.varying().iter().peekable();
    varying.peek().is_some() && varying.all(|field| matches!(field.walk, Walk::Random))
}

fn announce(template: &Template, pace: &Pace) {
    for varying in template.varying() {
        let order = match varying.walk {
            Walk::Sequence => "one after the other",
            Walk::Permutation => "permuted",
            Walk::Random => "at random",
        };
        let values = varying.values.count();
        output::tell(format_args!("{}: {values} values, {order}", varying.name));
    }
    output::tell(format_args!("rate {}, seed {}", pace.rate, pace.seed));
}

fn send(args: &SendArgs, plan: &Plan<'_>, queue: u32) -> Result<Outcome> {
    let mut sender = Sender::open(plan, &args.interface, args.outlet.backend, queue)?;
    sender.notes().iter().for_each(output::tell);
    let (backend, why) = (sender.backend().to_string(), sender.why());
    output::tell(format_args!("sending on {}, back end {backend}: {why}", args.interface));
    let taker = Taker::BackEnd(&backend, sender.offloads());
    carry_out(args, plan, taker, |watch| sender.run(plan, watch))
}

fn write(args: &SendArgs, plan: &Plan<'_>, path: &Path) -> Result<Outcome> {
    let longest = plan.template.longest();
    let mut file = FileSink::create(path, &args.interface, BATCH, longest)?;
    output::tell(format_args!("writing {}", path.display()));
    let run = |watch: &Watch<'_>| transmit::run(plan, &mut file, watch);
    let ended = carry_out(args, plan, Taker::Savefile, run);
    file.finish()?;
    ended
}

/// Runs the plan until it is done or the user wants an end, and says what was sent.
fn carry_out(
    args: &SendArgs,
    plan: &Plan<'_>,
    taker: Taker<'_>,
    run: impl FnOnce(&Watch<'_>) -> (Report, base::Result<()>),
) -> Result<Outcome> {
    let requests = Requests::default();
    requests.watch(Interrupt::new()?)?;
    let progress = Mutex::new(Progress::new());
    let (report, result) = run(&|submitted| {
        let percent = || percent(submitted, plan.count);
        lock(&progress).at(submitted, Duration::ZERO, percent);
        requests.stop()
    });
    lock(&progress).clear();
    let facts = Facts {
        interface: &args.interface,
        taker,
        asked: Timing::Paced(plan.pace),
        seed: Some(plan.pace.seed),
        replayed: None,
    };
    let told = sending::report(&report, &facts, args.print.json);
    result?;
    told?;
    Ok(Outcome::Success)
}

fn percent(submitted: u64, count: Option<u64>) -> Option<u64> {
    count.map(|count| (u128::from(submitted) * 100 / u128::from(count.max(1))) as u64)
}

fn lock(progress: &Mutex<Progress>) -> MutexGuard<'_, Progress> {
    progress.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Prints the first packets, with the times at which they would be due if they were sent now.
fn show(args: &SendArgs, plan: &Plan<'_>) -> Result<Outcome> {
    let mut shown = Shown::new(&args.print, &args.interface, plan.template.longest());
    let (_, result) = transmit::run(plan, &mut shown, &|_| false);
    shown.finish()?;
    result?;
    Ok(Outcome::Success)
}
