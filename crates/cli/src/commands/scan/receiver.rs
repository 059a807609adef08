//! The receiving side of a scan: answers are recognised, told once, and what was done is kept.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use linerate::base::{Sink, Source};
use linerate::scan::Class;
use linerate::transmit::Backend;
use linerate::transmit::sink::{self, Config};

use super::super::survey::{self, Cell, Hits, Journal, Rows, Sieve};
use super::{Plan, Shared, fields};
use crate::args::{FieldArg, ScanArgs};
use crate::live::{LiveLine, ahead, packets};
use crate::units::grouped;

/// How long to wait for a packet before looking around.
const WAIT: Duration = Duration::from_millis(100);
/// How often what was done is kept.
const KEEP: Duration = Duration::from_millis(500);
/// SYN-ACKs that are answered together.
const BATCH: usize = 64;

/// Who receives.
pub(super) struct Receiver<'a> {
    plan: &'a Plan,
    shared: &'a Shared,
    source: Box<dyn Source + Send>,
    rows: Rows<FieldArg>,
    journal: Journal,
    line: LiveLine,
    retries: u32,
    kept: Instant,
    hits: Hits,
    /// What answers SYN-ACKs that the host does not get, as it does those that it gets.
    resets: Option<Box<dyn Sink + Send>>,
}

impl<'a> Receiver<'a> {
    /// One who takes answers from a source; with them true, where the host does not get them.
    ///
    /// # Errors
    /// When the output cannot be opened, or the way for refusals.
    pub(super) fn new(
        args: &ScanArgs,
        plan: &'a Plan,
        (source, is_ours): (Box<dyn Source + Send>, bool),
        shared: &'a Shared,
        journal: Journal,
        sieve: Sieve<FieldArg>,
    ) -> Result<Self> {
        let (rows, known) = Rows::open(&args.run, &args.fields, sieve, survey::target)?;
        if let Ok(mut answered) = shared.answered.lock() {
            answered.extend(known);
        }
        let resets = is_ours.then(|| open_resets(args, plan)).transpose()?;
        Ok(Self {
            plan,
            shared,
            source,
            rows,
            journal,
            line: LiveLine::new(true),
            retries: args.pass.retries,
            kept: Instant::now(),
            hits: Hits::new(args.gentle.stop_below),
            resets,
        })
    }

    /// Takes answers until no more are waited for.
    ///
    /// # Errors
    /// When the interface is gone, or what was heard cannot be written.
    pub(super) fn run(&mut self) -> Result<()> {
        let mut is_stopped = false;
        loop {
            if !is_stopped && self.shared.is_over.load(Ordering::Relaxed) {
                self.source.stop()?;
                is_stopped = true;
            }
            if !self.take()? {
                return Ok(());
            }
            self.keep_at_times()?;
            self.draw();
        }
    }

    /// Takes a batch; false when there will be none any more.
    fn take(&mut self) -> Result<bool> {
        let mut offers = Vec::new();
        let Some(batch) = self.source.next_batch(WAIT)? else { return Ok(false) };
        for packet in batch.iter() {
            let Some(answer) = self.plan.prober.recognise(packet.data, packet.time) else {
                continue;
            };
            self.shared.answers.fetch_add(1, Ordering::Relaxed);
            if answer.class == Class::Open && self.resets.is_some() {
                offers.push(packet.data);
            }
            let put = |field, cell: Cell<'_>| fields::put(&answer, field, cell);
            if !self.rows.keeps(put) {
                continue;
            }
            let is_new = self.shared.answered.lock().is_ok_and(|mut all| all.insert(answer.target));
            if is_new {
                self.rows.add(put)?;
            }
        }
        if let Some(sink) = &mut self.resets {
            reset(self.plan, &mut **sink, &offers)?;
        }
        Ok(true)
    }

    fn keep_at_times(&mut self) -> Result<()> {
        if self.kept.elapsed() < KEEP {
            return Ok(());
        }
        self.kept = Instant::now();
        // What was found first: a position that is written is one before which nothing is missing.
        let reached = self.position();
        self.rows.flush()?;
        self.note(reached);
        if self.hits.judge(&mut self.journal) {
            self.shared.is_in_vain.store(true, Ordering::Relaxed);
        }
        self.journal.write()
    }

    fn position(&self) -> (u64, u64) {
        let load = |value: &std::sync::atomic::AtomicU64| value.load(Ordering::Relaxed);
        (load(&self.shared.pass), load(&self.shared.position))
    }

    fn note(&mut self, (pass, position): (u64, u64)) {
        (self.journal.pass, self.journal.position) = (pass, position);
        self.journal.sent = self.shared.sent.load(Ordering::Relaxed);
        self.journal.answered = self.shared.found();
    }

    fn draw(&mut self) {
        if !self.line.is_due() {
            return;
        }
        let (sent, found) = (self.shared.sent.load(Ordering::Relaxed), self.shared.found());
        let (pass, position) = self.position();
        let targets = self.plan.targets.count_in(self.plan.shard);
        let [left, silent] = [position, found].map(|done| targets.saturating_sub(done));
        let left = survey::to_come(left, silent, pass, self.retries);
        self.line.show(sent, |rate, elapsed| {
            let share = 100.0 * found as f64 / sent.max(1) as f64;
            let begin = packets(sent, rate, elapsed).replace("packets", "probes");
            let end = ahead(left, sent, rate, elapsed);
            format!("{begin}  {} answered ({share:.2} %)  {end}", grouped(found))
        });
    }

    /// The metadata.
    pub(super) fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Writes what is left to be written. `is_done` when all targets were gone through.
    pub(super) fn finish(&mut self, is_done: bool) -> Result<()> {
        self.line.clear();
        let last = self.position();
        self.note(last);
        self.rows.end(&mut self.journal, is_done)
    }
}

fn open_resets(args: &ScanArgs, plan: &Plan) -> Result<Box<dyn Sink + Send>> {
    let config = Config { backend: Some(Backend::Mmsg), ..plan.sink(args) };
    let opened = sink::open(&config).context("refuse connections that are offered")?;
    Ok(opened.sink)
}

/// Refuses the connections that these SYN-ACKs offer. Where there is no room a server waits in vain, for a while.
fn reset(plan: &Plan, sink: &mut dyn Sink, offers: &[&[u8]]) -> Result<()> {
    let mut offers = offers.iter().peekable();
    while offers.peek().is_some() {
        let mut slots = sink.acquire(BATCH)?;
        if slots.room() == 0 {
            break;
        }
        while slots.room() > 0
            && let Some(offer) = offers.next()
        {
            // It was recognised as an offer, so there is a segment that refuses it.
            let _ = slots.try_push(|slot| plan.prober.write_reset(offer, slot).ok_or(()));
        }
        sink.submit()?;
    }
    Ok(())
}
