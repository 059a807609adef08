//! `linerate send`: packets that vary, to an interface.

mod preview;
mod progress;
pub(super) mod summary;

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::path::Path;
use std::time::SystemTime;

use anyhow::Result;
use linerate::base::{Batch, Descriptor, Direction, Interface, LinkType, Timestamp};
use linerate::capture::Interrupt;
use linerate::transmit::pacing::{Pace, Rate, Schedule};
use linerate::transmit::sink::FileSink;
use linerate::transmit::template::{Surroundings, Walk};
use linerate::transmit::{self, Outlet, Plan, Report, Sender, Template};

use self::preview::Preview;
use super::way_out;
use crate::args::{Count, SendArgs};
use crate::exit::{Outcome, usage};
use crate::output;
use crate::patience;
use crate::pump::Consumer;
use crate::show::Printer;
use crate::signals::Requests;
use crate::units::grouped;

/// What is sent of a user who names neither.
const DEFAULT_RATE: Rate = Rate::Frames(1_000_000);
const DEFAULT_COUNT: u64 = 10_000;

pub(super) fn run(args: &SendArgs) -> Result<Outcome> {
    let seed = args.seed.unwrap_or_else(|| RandomState::new().build_hasher().finish());
    let blocklist = way_out::blocklist(args.blocklist.as_deref())?;
    let pace = pace(args, seed);
    // What makes no sense is refused whether or not anything is sent.
    let schedule = Schedule::new(&pace)?;
    let surroundings = surroundings(args)?;
    let compile = || Template::compile(&args.packets, &*surroundings, &blocklist, seed);
    let wait = || output::tell("asking the next hop for its hardware address");
    let template = patience::with_a_word(patience::SOON, wait, compile)
        .map_err(|error| usage(format!("packets: {error}")))?;
    if let Some(most) = args.show {
        let count = match args.count {
            Some(_) => count(args, &template)?.map_or(most, |count| count.min(most)),
            None => most,
        };
        return show(args, &template, schedule, count);
    }
    let count = count(args, &template)?;
    let (duration, threads) = (args.duration, args.threads.into());
    let plan = Plan { template: &template, pace, count, duration, threads };
    announce(&template, &pace, seed);
    match &args.write {
        Some(path) => write(args, &plan, path),
        None => send(args, &plan),
    }
}

/// The interface. Where packets are to be sent, and may be, its neighbours are asked for what is not known.
fn surroundings(args: &SendArgs) -> Result<Box<dyn Surroundings>> {
    let outlet = Outlet::find(&args.interface)?;
    if args.show.is_some() || args.write.is_some() {
        return Ok(Box::new(Preview(outlet)));
    }
    way_out::check_network(&args.interface, args.on_real_network, &outlet)?;
    Ok(Box::new(outlet.asking()))
}

/// A savefile takes packets as fast as they are made, unless a rate is named.
fn pace(args: &SendArgs, seed: u64) -> Pace {
    let unnamed = if args.write.is_some() { Rate::Unlimited } else { DEFAULT_RATE };
    let rate = args.rate.unwrap_or(unnamed);
    Pace { rate, burst: args.burst, gaps: args.gaps, ramp: args.ramp, seed }
}

/// How many packets are to be sent. Without a number, each combination once, but not too many; with a time, as many
/// as there is time for.
///
/// # Errors
/// Of usage, where all are to be sent and have no end.
fn count(args: &SendArgs, template: &Template) -> Result<Option<u64>> {
    let all = u64::try_from(template.count()).ok();
    Ok(match args.count {
        Some(Count::Of(count)) => Some(count),
        Some(Count::All) if is_random(template) => {
            return Err(usage("--count all: random values have no end; name a number of packets"));
        }
        Some(Count::All) => all,
        None if args.duration.is_some() => None,
        None => {
            if template.count() > DEFAULT_COUNT.into() {
                output::tell(format_args!(
                    "of {} packets the first {} are sent: `--count all` sends all",
                    template.count(),
                    grouped(DEFAULT_COUNT)
                ));
            }
            Some(all.unwrap_or(u64::MAX).min(DEFAULT_COUNT))
        }
    })
}

/// True when packets vary, and only at random.
fn is_random(template: &Template) -> bool {
    let mut varying = template.varying().iter().peekable();
    varying.peek().is_some() && varying.all(|field| matches!(field.walk, Walk::Random))
}

fn announce(template: &Template, pace: &Pace, seed: u64) {
    for varying in template.varying() {
        let order = match varying.walk {
            Walk::Sequence => "one after the other",
            Walk::Permutation => "permuted",
            Walk::Random => "at random",
        };
        let values = varying.values.count();
        output::tell(format_args!("{}: {values} values, {order}", varying.name));
    }
    output::tell(format_args!("rate {}, seed {seed}", pace.rate));
}

fn send(args: &SendArgs, plan: &Plan<'_>) -> Result<Outcome> {
    let mut sender = Sender::open(plan, &args.interface, args.backend)?;
    sender.notes().iter().for_each(output::tell);
    let backend = sender.backend().to_string();
    carry_out(args, plan, &backend, |stop| sender.run(plan, stop))
}

fn write(args: &SendArgs, plan: &Plan<'_>, path: &Path) -> Result<Outcome> {
    let longest = plan.template.longest();
    let mut file = FileSink::create(path, &args.interface, transmit::BATCH, longest)?;
    let ended = carry_out(args, plan, "file", |stop| transmit::run(plan, &mut file, stop));
    file.finish()?;
    ended
}

/// Runs the plan until it is done or the user wants an end, and says what was sent.
fn carry_out(
    args: &SendArgs,
    plan: &Plan<'_>,
    backend: &str,
    run: impl FnOnce(&transmit::Stop<'_>) -> (Report, linerate::base::Result<()>),
) -> Result<Outcome> {
    let requests = Requests::default();
    requests.watch(Interrupt::new()?)?;
    output::tell(format_args!("sending on {}, back end {backend}", args.interface));
    let (report, result) = progress::with_line(&args.interface, || run(&|| requests.stop()));
    let facts = summary::Facts { interface: &args.interface, backend, asked: plan.pace.rate };
    summary::report(&report, &facts, args.print.json);
    result?;
    Ok(Outcome::Success)
}

/// Prints the first packets, with the times at which they would be due if they were sent now.
fn show(
    args: &SendArgs,
    template: &Template,
    mut schedule: Schedule,
    count: u64,
) -> Result<Outcome> {
    let mut printer = Printer::new(&args.print, false);
    let interfaces = [Interface {
        name: args.interface.clone(),
        link_type: LinkType::ETHERNET,
        ..Interface::default()
    }];
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let mut packet = vec![0; template.longest()];
    for number in 0..count {
        let length = template.fill(number, &mut packet) as u32;
        let due = std::time::Duration::from_nanos(schedule.due());
        schedule.sent(length as usize);
        let descriptor = Descriptor {
            time: Timestamp::EPOCH + now + due,
            captured: length,
            length,
            direction: Direction::Out,
            ..Descriptor::default()
        };
        printer.batch(&Batch::new(&packet, &[descriptor], &interfaces))?;
    }
    printer.idle()?;
    Ok(Outcome::Success)
}
