//! The one loop: batches from sources to whoever wants them, until the end.
//!
//! Of several sources each has a thread of its own. The threads share the consumers behind one lock,
//! taken for each batch, so that the packets of a source stay in their order.

mod desk;

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use linerate::base::{Batch, Error, ErrorKind, Source, Stats};
use linerate::capture::Interrupt;
use linerate::capture::disk::Stalls;
use linerate::sys::cpu;

use crate::live::{EVERY, LiveLine};
use crate::output;
use crate::signals::Requests;
use crate::summary::Form;
use desk::Desk;

/// Somebody who wants the packets: printer, saver.
pub(crate) trait Consumer: Send {
    /// Takes the packets of one batch.
    ///
    /// # Errors
    /// When they cannot be written.
    fn batch(&mut self, batch: &Batch<'_>) -> Result<()>;

    /// Called when nothing came for a while: what is buffered should become visible.
    ///
    /// # Errors
    /// When it cannot be written.
    fn idle(&mut self) -> Result<()>;

    /// Told from time to time how the sources fare.
    fn stats(&mut self, _: &Stats) {}

    /// How often and how long it has waited for a disk.
    fn stalls(&self) -> Stalls {
        Stalls::default()
    }

    /// True when this consumer wants no more packets.
    fn full(&self) -> bool {
        false
    }
}

/// A source that a thread may have.
pub(crate) type Sent<'a> = &'a mut (dyn Source + Send);

/// When to end, and whom to tell meanwhile.
pub(crate) struct Pump {
    pub(crate) requests: Requests,
    pub(crate) interrupt: Interrupt,
    /// Packets to take at the most.
    pub(crate) limit: Option<u64>,
    pub(crate) deadline: Option<Instant>,
    pub(crate) live: LiveLine,
    /// How the counters are told when the user asks for them.
    pub(crate) form: Form,
}

/// The longest wait for packets: as long as buffered output may stay unseen.
const TICK: Duration = Duration::from_millis(100);

impl Pump {
    /// Runs until the source ends, a limit is reached or the user wants an end, then stops the source.
    /// Gives the number of packets that the consumers took, and the source's or a consumer's error.
    pub(crate) fn run(
        &mut self,
        source: Sent<'_>,
        consumers: Vec<&mut dyn Consumer>,
    ) -> (u64, Result<()>) {
        let (taken, result) = self.run_all(&mut [source], consumers, &[]);
        (taken[0], result)
    }

    /// Runs until all `sources` have ended, each on a thread of its own that stays on one of `cores`. Gives the
    /// number of packets that the consumers took of each source, and the first error.
    pub(crate) fn run_all(
        &mut self,
        sources: &mut [Sent<'_>],
        consumers: Vec<&mut dyn Consumer>,
        cores: &[usize],
    ) -> (Vec<u64>, Result<()>) {
        let crew = Crew {
            requests: &self.requests,
            interrupt: &self.interrupt,
            deadline: self.deadline,
            over: AtomicBool::new(false),
            ending: AtomicBool::new(false),
            reports: AtomicU32::new(0),
            desk: Desk::new(consumers, self.limit, sources.len(), &mut self.live, &self.form),
        };
        let result = match sources {
            [source] => Worker::new(&crew, 0).run(*source),
            _ => crew.spread(sources, cores),
        };
        let taken = crew.desk.into_taken();
        self.live.clear();
        (taken, result)
    }
}

/// What the threads have in common.
struct Crew<'a> {
    requests: &'a Requests,
    interrupt: &'a Interrupt,
    deadline: Option<Instant>,
    /// Nothing more is to be taken.
    over: AtomicBool,
    /// What is captured is to be taken, then it is over.
    ending: AtomicBool,
    /// How often the user has asked for the counters.
    reports: AtomicU32,
    desk: Desk<'a>,
}

impl Crew<'_> {
    fn spread(&self, sources: &mut [Sent<'_>], cores: &[usize]) -> Result<()> {
        thread::scope(|scope| {
            let mut threads = Vec::new();
            for (number, source) in sources.iter_mut().enumerate() {
                let core = cores.get(number % cores.len().max(1)).copied();
                let work = move || Worker::new(self, number).run_on(core, *source);
                let name = format!("capture-{number}");
                let started = thread::Builder::new().name(name).spawn_scoped(scope, work);
                if started.is_err() {
                    self.end(&self.over);
                }
                threads.push(started.context("start a thread that captures"));
            }
            let join = |started: Result<thread::ScopedJoinHandle<'_, Result<()>>>| {
                started?.join().unwrap_or_else(|panic| resume_unwind(panic))
            };
            // All are joined, whatever the first of them says.
            let results: Vec<_> = threads.into_iter().map(join).collect();
            results.into_iter().collect()
        })
    }

    /// Raises a flag that ends the work of all threads, and wakes those that wait.
    fn end(&self, flag: &AtomicBool) {
        flag.store(true, Ordering::Relaxed);
        self.interrupt.trigger();
    }

    fn is_over(&self) -> bool {
        self.requests.stop_now() || self.over.load(Ordering::Relaxed)
    }

    fn wants_end(&self) -> bool {
        self.requests.stop()
            || self.ending.load(Ordering::Relaxed)
            || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    fn wait(&self) -> Duration {
        let left = self.deadline.map(|d| d.saturating_duration_since(Instant::now()));
        left.map_or(TICK, |left| left.min(TICK))
    }

    fn hand_over(&self, number: usize, batch: Batch<'_>) -> Result<()> {
        let wish = self.desk.take(number, batch).inspect_err(|_| self.end(&self.over))?;
        match wish {
            desk::Wish::More => {}
            desk::Wish::Full => self.end(&self.ending),
            desk::Wish::LimitReached => self.end(&self.over),
        }
        Ok(())
    }
}

/// The work on one source.
struct Worker<'a, 'c> {
    crew: &'a Crew<'c>,
    number: usize,
    /// Reports that it has contributed to.
    reports: u32,
    /// When it last told its counters.
    told: Instant,
}

impl<'a, 'c> Worker<'a, 'c> {
    fn new(crew: &'a Crew<'c>, number: usize) -> Self {
        Self { crew, number, reports: 0, told: Instant::now() }
    }

    fn run_on(self, core: Option<usize>, source: Sent<'_>) -> Result<()> {
        if let Some(Err(error)) = core.map(cpu::pin) {
            output::tell(error);
        }
        self.run(source)
    }

    fn run(mut self, source: Sent<'_>) -> Result<()> {
        let result = self.until_end(source);
        if result.is_err() {
            // What the others have captured is not lost.
            self.crew.end(&self.crew.ending);
        }
        result.and(source.stop().map_err(Into::into))
    }

    fn until_end(&mut self, source: Sent<'_>) -> Result<()> {
        let mut stopping = false;
        while !self.crew.is_over() {
            if !stopping && self.crew.wants_end() {
                source.stop()?;
                stopping = true;
            }
            match source.next_batch(self.crew.wait()) {
                Ok(None) => break,
                Ok(Some(batch)) => self.crew.hand_over(self.number, batch)?,
                Err(error) if error.kind() == ErrorKind::Down => self.say_down(&error),
                Err(error) => return Err(error.into()),
            }
            self.tell(source)?;
        }
        Ok(())
    }

    /// The interface may come back, and a long capture should then still be there.
    fn say_down(&self, error: &Error) {
        if self.number == 0 {
            self.crew.desk.clear_line();
            output::tell(format_args!("{error}; waiting for it to come back"));
        }
    }

    fn tell(&mut self, source: Sent<'_>) -> Result<()> {
        let crew = self.crew;
        if crew.requests.take_report() {
            crew.interrupt.clear();
            crew.reports.fetch_add(1, Ordering::Relaxed);
        }
        let reports = crew.reports.load(Ordering::Relaxed);
        if reports != self.reports {
            self.reports = reports;
            crew.desk.report(self.number, source.stats()?, reports);
        }
        if self.told.elapsed() >= EVERY {
            self.told = Instant::now();
            crew.desk.note(self.number, source.stats()?);
        }
        Ok(())
    }
}
