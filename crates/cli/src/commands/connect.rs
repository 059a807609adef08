//! `linerate connect`: a connection to each of many targets, a request, and what is answered.

mod fields;
mod keeper;
mod plan;
mod progress;
mod wire;

use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use linerate::base::Timestamp;
use linerate::capture::Interrupt;
use linerate::scan::Walk;
use linerate::scan::visit::{Departure, Visit, Visitor};
use linerate::tcp::{Client, Counters};
use linerate::transmit::sink;

use self::keeper::{Keeper, Moment, State};
use self::plan::Plan;
use self::progress::Progress;
use super::survey::{self, Hits, Journal, Rows, Sieve, Tempo};
use crate::args::ConnectArgs;
use crate::exit::Outcome;
use crate::output;
use crate::signals::Requests;
use crate::units::{counted, grouped};

pub(crate) use self::wire::Wire;

/// Moments that wait to be written, at most.
const MOMENTS: usize = 64;
/// Bytes of a SYN's frame: Ethernet's header, IP's, and TCP's with its options.
const SYN: [usize; 2] = [14 + 20 + 40, 14 + 40 + 40];
/// How long to wait for packets when nothing is due.
const WAIT: Duration = Duration::from_millis(10);
/// The same where targets wait, for their hosts' turn or for their neighbours' answers.
const GLANCE: Duration = Duration::from_millis(1);
/// Visits are handed over to be written after this time, or when there are so many.
const EVERY: Duration = Duration::from_millis(50);
const MANY: usize = 4_096;
/// Visits that may wait to be written.
const MOST_OVER: usize = 1 << 18;

pub(super) fn run(args: &ConnectArgs) -> Result<Outcome> {
    let sieve = Sieve::parse(args.pass.output_filter(args.run.output_filter.as_deref()))?;
    let mut journal = Journal::begin_targets(&args.run, &args.whom)?;
    let (plan, hops) = Plan::new(args, journal.seed)?;
    journal.describe_targets(&args.run, &plan.targets, args.whom.shard)?;
    let interrupt = Interrupt::new()?;
    let requests = Requests::default();
    requests.watch(interrupt.clone())?;
    let capture = plan.open(args, interrupt)?;
    let client = Client::new(plan.client.clone(), Timestamp::EPOCH)?;
    let opened = sink::open_fast(&Plan::sink(args, client.longest()))
        .with_context(|| format!("connect from {}", args.way.interface))?;
    capture.notes.iter().chain(&opened.notes).for_each(output::tell);
    let mut wire = Wire::new(client, hops, capture.source, opened.sink);
    let (rows, known) = Rows::open(&args.run, &args.fields, sieve, survey::target)?;
    survey::announce(&plan.targets, plan.shard, &args.way, &journal);
    let walk = Walk::new(
        plan.targets.clone(),
        plan.shard,
        journal.position,
        plan.caps.clone(),
        wire.now(),
    );
    // Who has answered matters only where somebody is asked again.
    let walk = if args.pass.retries > 0 || args.run.resume { walk.without(known) } else { walk };
    let walk =
        if args.follow { walk.following(survey::blocklist(&args.whom.leave_out)?) } else { walk };
    let state = State { pass: journal.pass, position: journal.position, ..State::default() };
    let is_in_vain = AtomicBool::new(false);
    let hits = Hits::new(args.gentle.stop_below);
    let mut keeper = Keeper { rows, journal, state, hits, is_in_vain: &is_in_vain };
    let (moments, to_keep) = sync_channel(MOMENTS);
    let has_failed = AtomicBool::new(false);
    let mut round = Round {
        args,
        wire: &mut wire,
        visitor: Visitor::new(plan.order.clone(), plan.doors.clone(), walk),
        tempo: Tempo::new(args.way.rate)?,
        moments,
        over: Vec::new(),
        handed_over: Instant::now(),
        state,
        progress: Progress::new(plan.targets.count_in(plan.shard), args.pass.retries),
        is_held: false,
        is_stopped: &|| {
            let is_set = |flag: &AtomicBool| flag.load(Ordering::Relaxed);
            requests.stop() || is_set(&has_failed) || is_set(&is_in_vain)
        },
    };
    let began = Instant::now();
    let (gone, kept) = thread::scope(|scope| {
        let keeping = scope.spawn(|| {
            let result = keeper.run(&to_keep);
            has_failed.store(result.is_err(), Ordering::Relaxed);
            // Nobody waits for room any more.
            drop(to_keep);
            result
        });
        let gone = round.all();
        let (state, counters) = (round.state, round.wire.client.counters());
        let unreached = round.visitor.unreached();
        // Nothing more comes.
        drop(round);
        let kept = keeping.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        report(state, counters, unreached, began.elapsed());
        (gone, kept)
    });
    let is_done = matches!(gone, Ok(true)) && kept.is_ok();
    let ended = keeper.end(is_done);
    keeper.journal.tell_end();
    kept?;
    if let Ok(lost @ 1..) = wire.lost() {
        output::tell(format_args!(
            "{} lost, as more came than could be looked at: a lower --rate loses none",
            counted(lost, "packets")
        ));
    }
    gone?;
    ended?;
    Ok(Outcome::Success)
}

fn report(state: State, counters: Counters, unreached: u64, elapsed: Duration) {
    output::tell(format_args!(
        "{} asked for in {:.1} s, {} opened; {} sent again, {} came again",
        counted(state.sent, "connections"),
        elapsed.as_secs_f64(),
        grouped(state.opened),
        counted(counters.again, "segments"),
        grouped(counters.duplicates)
    ));
    if unreached > 0 {
        output::tell(format_args!(
            "{} not visited: no neighbour answered for them, or no route leads there",
            counted(unreached, "targets")
        ));
    }
}

/// All visits.
struct Round<'a> {
    args: &'a ConnectArgs,
    wire: &'a mut Wire,
    visitor: Visitor,
    tempo: Tempo,
    moments: SyncSender<Moment>,
    /// Visits that are over and not handed over yet, and when some were for the last time.
    over: Vec<Visit>,
    handed_over: Instant,
    state: State,
    progress: Progress,
    /// Nobody could be visited the last time, though it was time.
    is_held: bool,
    is_stopped: &'a dyn Fn() -> bool,
}

impl Round<'_> {
    /// Visits all targets, and those who did not answer again. True when it came to the end.
    fn all(&mut self) -> Result<bool> {
        let gone = self.passes();
        match gone {
            Ok(true) => self.state.position = self.visitor.walk().count(),
            _ => self.state.position = self.visitor.walk().settled(),
        }
        self.take();
        self.leave();
        // Where nobody takes it any more there was an error, which is told by whom it befell.
        let _ = self.moments.send(Moment { visits: mem::take(&mut self.over), state: self.state });
        gone
    }

    fn passes(&mut self) -> Result<bool> {
        let retries = u64::from(self.args.pass.retries);
        for pass in self.state.pass..=retries {
            if pass > self.state.pass {
                let now = self.wire.now();
                self.visitor.walk().again(now);
                self.state.pass = pass;
            }
            if !self.pass(pass == retries)? {
                return Ok(false);
            }
        }
        self.wire.flush()?;
        Ok(true)
    }

    /// Goes through the targets once, and waits for answers; the last time, until all connections have ended.
    fn pass(&mut self, is_last: bool) -> Result<bool> {
        let mut asked = Instant::now();
        while !(self.is_stopped)() {
            let wait = self.wait();
            self.wire.turn(wait, &mut self.visitor)?;
            if self.ask()? > 0 {
                asked = Instant::now();
            }
            self.hand_over();
            self.draw();
            let is_over =
                self.visitor.walk().is_done() && asked.elapsed() >= self.args.pass.cooldown;
            // Who is open may name others yet.
            let is_last = is_last || self.args.follow;
            if is_over && (!is_last || self.visitor.open() == 0) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// How long the next turn may wait for packets.
    fn wait(&mut self) -> Duration {
        match self.has_room() && !self.visitor.walk().is_done() {
            true if self.is_held => GLANCE,
            true => self.tempo.wait().min(WAIT),
            false => WAIT,
        }
    }

    /// False where there are as many connections as there may be, or answers cannot be written as quickly as they come.
    fn has_room(&self) -> bool {
        let is_full = self.wire.client.connections() >= self.args.at_once as usize;
        self.over.len() < MOST_OVER && !is_full
    }

    /// Asks for the connections that are due.
    fn ask(&mut self) -> Result<u64> {
        if !self.has_room() {
            return Ok(0);
        }
        let Self { wire, visitor, tempo, is_held, .. } = self;
        tempo.catch_up();
        let asked = wire.ask(|now, hops| {
            if !tempo.is_due() {
                return Ok(None);
            }
            let next = visitor.next(now, &mut |to| hops.to(to))?;
            *is_held = next.is_none();
            Ok(next.map(|Departure { door, target, next_hop }| {
                tempo.sent(SYN[usize::from(target.address.is_ipv6())]);
                (door, (target.address, target.port).into(), next_hop)
            }))
        })?;
        self.state.sent += asked;
        Ok(asked)
    }

    /// Takes note of what happened.
    fn take(&mut self) {
        self.over.append(&mut self.visitor.take());
        self.state.opened = self.wire.client.counters().opened;
    }

    /// Has those who keep it write what happened, some times a second.
    fn hand_over(&mut self) {
        self.take();
        if self.handed_over.elapsed() < EVERY && self.over.len() < MANY {
            return;
        }
        self.handed_over = Instant::now();
        self.state.position = self.visitor.walk().settled();
        let moment = Moment { visits: mem::take(&mut self.over), state: self.state };
        if let Err(TrySendError::Full(moment)) = self.moments.try_send(moment) {
            self.over = moment.visits;
        }
    }

    /// Ends what is open: nobody shall wait for us. Visits that end so are not told, and are made again if the run goes on.
    fn leave(&mut self) {
        for connection in self.visitor.connections() {
            self.wire.client.abort(connection, &mut self.visitor);
        }
        // Where the interface is down they wait in vain.
        let _ = self.wire.turn(Duration::ZERO, &mut self.visitor).and_then(|()| self.wire.flush());
    }

    fn draw(&mut self) {
        let left = self.visitor.walk().left();
        self.progress.at(&self.state, self.visitor.open(), left);
    }
}
