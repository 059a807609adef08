//! `linerate scan`: probes of many targets, and who answers.

mod fields;
mod plan;
mod receiver;
mod sending;

use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use linerate::capture::Interrupt;
use linerate::scan::{Target, Walk};
use linerate::transmit::sink;

use self::plan::Plan;
use self::receiver::Receiver;
use self::sending::Sending;
use super::survey::{self, Clock, Journal, Sieve};
use crate::args::ScanArgs;
use crate::exit::Outcome;
use crate::output;
use crate::signals::Requests;
use crate::units::counted;

/// How often it is looked whether somebody wants an end.
const LOOK: Duration = Duration::from_millis(20);

/// What the threads of a scan share.
#[derive(Debug, Default)]
struct Shared {
    /// Those that have answered.
    answered: Mutex<HashSet<Target>>,
    /// Answers that came, again or not.
    answers: AtomicU64,
    /// Probes sent, in this run.
    sent: AtomicU64,
    /// Targets that no way leads to, as their neighbour does not answer.
    unreached: AtomicU64,
    /// Which time all targets are gone through, and how many of them were.
    pass: AtomicU64,
    position: AtomicU64,
    /// No more answers are waited for.
    is_over: AtomicBool,
    /// Too few answer.
    is_in_vain: AtomicBool,
    /// Something failed, and nothing is to be sent any more.
    has_failed: AtomicBool,
}

impl Shared {
    /// Nothing more is to be sent.
    fn is_ended(&self) -> bool {
        self.is_in_vain.load(Ordering::Relaxed) || self.has_failed.load(Ordering::Relaxed)
    }

    fn has_answered(&self, target: &Target) -> bool {
        self.answered.lock().is_ok_and(|answered| answered.contains(target))
    }

    /// How many have answered.
    fn found(&self) -> u64 {
        self.answered.lock().map_or(0, |answered| answered.len() as u64)
    }
}

/// Sets a flag once it is dropped: also when its thread panics, as others wait for it.
struct Raise<'a>(&'a AtomicBool);

impl Drop for Raise<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

pub(super) fn run(args: &ScanArgs) -> Result<Outcome> {
    let sieve = Sieve::parse(args.pass.output_filter(args.run.output_filter.as_deref()))?;
    let mut journal = Journal::begin_targets(&args.run, &args.whom)?;
    let (plan, hops) = Plan::new(args, journal.seed)?;
    journal.describe_targets(&args.run, &plan.targets, args.whom.shard)?;
    let interrupt = Interrupt::new()?;
    let requests = Requests::default();
    requests.watch(interrupt.clone())?;
    let (capture, is_ours) = plan.open(args, interrupt)?;
    capture.notes.iter().for_each(output::tell);
    let opened = sink::open_fast(&plan.sink(args))
        .with_context(|| format!("scan from {}", args.way.interface))?;
    opened.notes.iter().for_each(output::tell);
    survey::announce(&plan.targets, plan.shard, &args.way, &journal);
    let shared = Shared::default();
    shared.position.store(journal.position, Ordering::Relaxed);
    shared.pass.store(journal.pass, Ordering::Relaxed);
    let walk = Walk::new(
        plan.targets.clone(),
        plan.shard,
        journal.position,
        plan.caps.clone(),
        Clock::new().now(),
    );
    let heard = (capture.source, is_ours);
    let mut receiver = Receiver::new(args, &plan, heard, &shared, journal, sieve)?;
    let mut sending = Sending { args, plan: &plan, shared: &shared, sink: opened.sink, walk, hops };
    let began = Instant::now();
    let (sent, received) = thread::scope(|scope| {
        let receiving = scope.spawn(|| {
            let result = receiver.run();
            shared.has_failed.store(result.is_err(), Ordering::Relaxed);
            result
        });
        let over = Raise(&shared.is_over);
        let sent = sending.all(&|| requests.stop() || shared.is_ended());
        drop(over);
        let received = receiving.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (sent, received)
    });
    let is_done = matches!(sent, Ok(true)) && received.is_ok();
    let ended = receiver.finish(is_done);
    report(&shared, began.elapsed());
    receiver.journal().tell_end();
    received?;
    sent?;
    ended?;
    Ok(Outcome::Success)
}

fn report(shared: &Shared, elapsed: Duration) {
    let (sent, found) = (shared.sent.load(Ordering::Relaxed), shared.found());
    let again = shared.answers.load(Ordering::Relaxed).saturating_sub(found);
    output::tell(format_args!(
        "{} sent in {:.1} s, {} answered, {} came again",
        counted(sent, "probes"),
        elapsed.as_secs_f64(),
        counted(found, "targets"),
        counted(again, "answers")
    ));
    let unreached = shared.unreached.load(Ordering::Relaxed);
    if unreached > 0 {
        output::tell(format_args!(
            "{} not probed: no neighbour answered for them, or no route leads there",
            counted(unreached, "targets")
        ));
    }
}
