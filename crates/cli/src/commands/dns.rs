//! `linerate dns`: many questions, and what is answered.

mod fields;
mod ledger;
mod plan;
mod questions;
mod whom;

use std::collections::HashSet;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use linerate::base::{Sink, Source};
use linerate::capture::Interrupt;
use linerate::dns::{Asker, Event, Streams, type_name};
use linerate::scan::Shard;
use linerate::transmit::{Hops, sink};

use self::ledger::Ledger;
use self::plan::Plan;
use self::questions::{Next, Questions};
use self::whom::Whom;
use super::survey::{Cell, Clock, Journal, Line, Rows, Sieve, Tempo};
use crate::args::{DnsArgs, DnsFieldArg};
use crate::exit::{Outcome, usage};
use crate::live::{LiveLine, ahead, packets};
use crate::output;
use crate::signals::Requests;
use crate::units::{counted, grouped};

/// How long to wait for packets when nothing is to be sent.
const WAIT: Duration = Duration::from_millis(1);
/// Queries that are handed over together.
const BATCH: usize = 64;
/// How often what was done is kept.
const KEEP: Duration = Duration::from_millis(500);

pub(super) fn run(args: &DnsArgs) -> Result<Outcome> {
    check(args)?;
    let sieve = Sieve::parse(args.run.output_filter.as_deref())?;
    let questions = Questions::new(args)?;
    let mut journal = Journal::begin(&args.run, None)?;
    let plan = Plan::new(args)?;
    journal.describe(&args.run, plan::fingerprint(args)?, Shard::WHOLE)?;
    let interrupt = Interrupt::new()?;
    let requests = Requests::default();
    requests.watch(interrupt.clone())?;
    let (capture, is_ours) = plan.open(args, interrupt)?;
    let (asker, whom) = plan.asker(args, is_ours);
    let hops = plan.hops()?;
    let mut clock = Clock::new();
    let streams = is_ours.then(|| plan.streams(args, clock.now())).transpose()?;
    let longest = streams.as_ref().map_or(0, Streams::longest).max(asker.longest());
    let opened = sink::open_fast(&Plan::sink(args, longest))
        .with_context(|| format!("ask from {}", args.way.interface))?;
    capture.notes.iter().chain(&opened.notes).for_each(output::tell);
    let (rows, known) = Rows::open(&args.run, &args.fields, sieve, asked)?;
    output::tell(format_args!(
        "asking {}{} from {}, rate {}",
        counted(plan.count() as u64, if args.iterate { "root servers" } else { "servers" }),
        if args.iterate { " and whom they name" } else { "" },
        args.way.interface,
        args.way.rate
    ));
    let mut round = Round {
        asker,
        whom,
        streams,
        hops,
        clock,
        source: capture.source,
        sink: opened.sink,
        tempo: Tempo::new(args.way.rate)?,
        questions,
        is_read: false,
        asked: 0,
        first: journal.position,
        known: known.into_iter().collect(),
        book: Book {
            rows,
            ledger: Ledger::new(journal.position),
            tells_all: args.every_query,
            done: 0,
            failure: None,
        },
        journal,
        kept: Instant::now(),
        line: LiveLine::new(true),
    };
    let began = Instant::now();
    let gone = round.all(&|| requests.stop());
    let is_done = matches!(gone, Ok(true));
    let ended = round.finish(is_done);
    round.report(began.elapsed());
    round.journal.tell_end();
    gone?;
    ended?;
    Ok(Outcome::Success)
}

fn check(args: &DnsArgs) -> Result<()> {
    let is_stdin = args.names_file.as_deref().is_some_and(|path| path.as_os_str() == "-");
    if args.run.resume && is_stdin {
        return Err(usage(
            "--resume: standard input cannot be read again; put the names into a file",
        ));
    }
    let has = |field| args.fields.contains(&field);
    if args.run.resume && !(has(DnsFieldArg::Name) && has(DnsFieldArg::Type)) {
        return Err(usage(
            "--resume: without the --fields name and type nobody knows what was asked",
        ));
    }
    Ok(())
}

/// The question of a line that was written before.
fn asked(line: &Line) -> Option<(String, String)> {
    Some((line.value("name")?.to_owned(), line.value("type")?.to_owned()))
}

/// All questions.
struct Round {
    asker: Asker,
    whom: Whom,
    streams: Option<Streams>,
    hops: Hops,
    clock: Clock,
    source: Box<dyn Source + Send>,
    sink: Box<dyn Sink + Send>,
    tempo: Tempo,
    questions: Questions,
    /// There are no more of them.
    is_read: bool,
    /// Those that were put to somebody.
    asked: u64,
    /// Those with lower numbers were done before.
    first: u64,
    /// Questions that the output has already.
    known: HashSet<(String, String)>,
    book: Book,
    journal: Journal,
    kept: Instant,
    line: LiveLine,
}

/// What came of questions.
struct Book {
    rows: Rows<DnsFieldArg>,
    ledger: Ledger,
    tells_all: bool,
    done: u64,
    /// Why no more can be written.
    failure: Option<anyhow::Error>,
}

impl Book {
    fn note(&mut self, event: &Event<'_>) {
        let put = |field, cell: Cell<'_>| fields::put(event, field, cell);
        if (event.is_last || self.tells_all)
            && self.rows.keeps(put)
            && let Err(error) = self.rows.add(put)
        {
            self.failure.get_or_insert(error);
        }
        if event.is_last {
            self.ledger.finish(event.tag);
            self.done += 1;
        }
    }
}

impl Round {
    /// Asks all questions. True when it came to the end.
    fn all(&mut self, is_stopped: &dyn Fn() -> bool) -> Result<bool> {
        while !is_stopped() {
            self.hear()?;
            self.fill()?;
            self.send()?;
            self.keep()?;
            self.draw();
            if self.is_read && self.whom.is_idle(&self.asker) {
                self.sink.flush(&mut || is_stopped())?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Takes what came, and what did not.
    fn hear(&mut self) -> Result<()> {
        let now = self.clock.now();
        let wait = if self.asker.has_due(now) { self.tempo.wait().min(WAIT) } else { WAIT };
        let batch = self.source.next_batch(wait)?;
        let now = self.clock.now();
        let (book, whom) = (&mut self.book, &mut self.whom);
        let mut tell = |event: &Event<'_>| whom.note(event, now, &mut |event| book.note(event));
        if let Some(batch) = batch {
            batch.iter().for_each(|packet| self.asker.hear(packet.data, packet.time, &mut tell));
            self.streams.iter_mut().for_each(|streams| streams.receive(&batch, now));
        }
        self.asker.expire(now, &mut tell);
        if let Some(streams) = &mut self.streams {
            let hops = &self.hops;
            let by = |to| hops.known(to);
            streams.drive(&mut self.asker, now, &mut *self.sink, &by, &mut tell)?;
        }
        self.whom.go_on(&mut self.asker, now, &mut |event| self.book.note(event));
        self.book.failure.take().map_or(Ok(()), Err)
    }

    /// Takes as many questions as there is room for.
    fn fill(&mut self) -> Result<()> {
        let now = self.clock.now();
        while !self.is_read && self.whom.room(&self.asker) > 0 {
            match self.questions.next()? {
                Next::Wait => break,
                Next::End => self.is_read = true,
                Next::Nothing(number) => self.book.ledger.finish(number),
                Next::Question(number, _) if number < self.first => {}
                Next::Question(number, question) => {
                    let is_known = !self.known.is_empty() && {
                        let name = question.name().to_string();
                        self.known.contains(&(name, type_name(question.rtype()).to_string()))
                    };
                    match is_known {
                        true => self.book.ledger.finish(number),
                        false => {
                            self.asked += 1;
                            self.whom.ask(&mut self.asker, question, number, now);
                        }
                    }
                }
            }
        }
        self.whom.go_on(&mut self.asker, now, &mut |event| self.book.note(event));
        Ok(())
    }

    /// Sends the queries that are due.
    fn send(&mut self) -> Result<()> {
        self.tempo.catch_up();
        let now = self.clock.now();
        let Self { asker, whom, book, hops, .. } = self;
        let mut ways = |to| hops.to(to);
        let mut tell = |event: &Event<'_>| whom.note(event, now, &mut |event| book.note(event));
        while self.tempo.is_due() && asker.has_due(now) {
            let mut slots = self.sink.acquire(BATCH)?;
            let room = slots.room();
            while slots.room() > 0 && self.tempo.is_due() {
                let written = slots.try_push(|slot| {
                    let written = asker.write(now, slot, &mut ways, &mut tell);
                    written.map_err(Some).and_then(|length| length.ok_or(None))
                });
                match written {
                    Ok(length) => self.tempo.sent(length),
                    Err(Some(error)) => return Err(error.into()),
                    Err(None) => break,
                }
            }
            let is_full = slots.room() == 0;
            if slots.room() < room {
                self.sink.submit()?;
            }
            if !is_full || room == 0 {
                break;
            }
        }
        Ok(())
    }

    /// What was found first: a position that is written is one before which nothing is missing.
    fn keep(&mut self) -> Result<()> {
        if self.kept.elapsed() < KEEP {
            return Ok(());
        }
        self.kept = Instant::now();
        self.book.rows.flush()?;
        self.describe();
        self.journal.write()
    }

    fn describe(&mut self) {
        self.journal.position = self.book.ledger.position();
        self.journal.sent = self.asker.counters().sent;
        self.journal.answered = self.asker.counters().answers;
    }

    /// Writes what is left to be written.
    fn finish(&mut self, is_done: bool) -> Result<()> {
        self.line.clear();
        self.describe();
        self.book.rows.end(&mut self.journal, is_done)
    }

    fn draw(&mut self) {
        if !self.line.is_due() {
            return;
        }
        let (counters, done) = (self.asker.counters(), self.book.done);
        let under_way = self.asked.saturating_sub(done);
        let left = self.questions.left().map(|left| left + under_way);
        self.line.show(counters.sent, |rate, elapsed| {
            let begin = packets(counters.sent, rate, elapsed).replace("packets", "queries");
            let share = 100.0 * counters.answers as f64 / counters.sent.max(1) as f64;
            // Each takes as many queries as those before it.
            let queries =
                |left: u64| (left as f64 * counters.sent as f64 / done.max(1) as f64) as u64;
            let end = left.map_or_else(String::new, |left| {
                format!("  {}", ahead(queries(left), counters.sent, rate, elapsed))
            });
            format!(
                "{begin}  {} answers ({share:.1} %)  {} questions done{end}",
                grouped(counters.answers),
                grouped(done)
            )
        });
    }

    fn report(&self, elapsed: Duration) {
        let counters = self.asker.counters();
        output::tell(format_args!(
            "{} done in {:.1} s: {} sent, {}, {} over TCP; {} not in time, {} unexpected, {} malformed",
            counted(self.book.done, "questions"),
            elapsed.as_secs_f64(),
            counted(counters.sent, "queries"),
            counted(counters.answers, "answers"),
            grouped(counters.streamed),
            grouped(counters.silent),
            grouped(counters.unexpected),
            grouped(counters.malformed)
        ));
        if let Whom::Walked(walker, _) = &self.whom {
            let travels = walker.counters();
            output::tell(format_args!(
                "{} followed, {}, {} for addresses of servers",
                counted(travels.referrals, "delegations"),
                counted(travels.lame, "lame answers"),
                counted(travels.searches, "walks")
            ));
        }
    }
}
