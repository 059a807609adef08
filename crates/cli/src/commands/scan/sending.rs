//! The sending side of a scan: passes over the targets.

use std::sync::atomic::Ordering;
use std::thread;
use std::time::Instant;

use anyhow::Result;
use linerate::base::Sink;
use linerate::scan::Target;
use linerate::transmit::pacing::Pace;
use linerate::transmit::{End, Supply, run_supply};

use super::{LOOK, Plan, Shared};
use crate::args::ScanArgs;
use crate::commands::survey::Clock;

/// Says whether somebody wants an end.
type Stop<'a> = dyn Fn() -> bool + 'a;

/// Who sends.
pub(super) struct Sending<'a> {
    pub(super) args: &'a ScanArgs,
    pub(super) plan: &'a Plan,
    pub(super) shared: &'a Shared,
    pub(super) sink: Box<dyn Sink + Send>,
}

impl Sending<'_> {
    /// Goes through all targets, and again through those that did not answer, and waits for answers after each time. True
    /// when it came to the end.
    pub(super) fn all(&mut self, stop: &Stop<'_>) -> Result<bool> {
        let first = self.shared.pass.load(Ordering::Relaxed);
        for pass in first..=u64::from(self.args.retries) {
            if pass > first {
                self.shared.position.store(0, Ordering::Relaxed);
                self.shared.pass.store(pass, Ordering::Relaxed);
            }
            let mut probes = Probes::new(self.plan, self.shared, pass, stop);
            let (report, result) =
                run_supply(&mut probes, &Pace::new(self.args.way.rate), &mut *self.sink);
            probes.publish();
            result?;
            if report.end != Some(End::Complete) || self.wait(stop) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Waits for answers; true when somebody wanted an end meanwhile.
    fn wait(&self, stop: &Stop<'_>) -> bool {
        let start = Instant::now();
        while start.elapsed() < self.args.cooldown && !stop() {
            thread::sleep(LOOK);
        }
        stop()
    }
}

/// The probes of one pass.
struct Probes<'a> {
    plan: &'a Plan,
    shared: &'a Shared,
    stop: &'a Stop<'a>,
    /// Those that have answered are left out.
    is_again: bool,
    position: u64,
    end: u64,
    next: Option<Target>,
    clock: Clock,
    /// Probes of this pass.
    sent: u64,
    /// Of the passes before.
    sent_before: u64,
}

impl<'a> Probes<'a> {
    fn new(plan: &'a Plan, shared: &'a Shared, pass: u64, stop: &'a Stop<'a>) -> Self {
        let mut probes = Self {
            plan,
            shared,
            stop,
            is_again: pass > 0,
            position: shared.position.load(Ordering::Relaxed),
            end: plan.targets.count_in(plan.shard),
            next: None,
            clock: Clock::new(),
            sent: 0,
            sent_before: shared.sent.load(Ordering::Relaxed),
        };
        probes.advance();
        probes
    }

    /// Finds the next target.
    fn advance(&mut self) {
        self.next = None;
        while self.next.is_none() && self.position < self.end {
            let target = self.plan.targets.at(self.plan.shard, self.position);
            match self.is_again && self.shared.has_answered(&target) {
                true => self.position += 1,
                false => self.next = Some(target),
            }
        }
    }

    /// Tells how far it is.
    fn publish(&self) {
        self.shared.position.store(self.position, Ordering::Relaxed);
        self.shared.sent.store(self.sent_before + self.sent, Ordering::Relaxed);
    }
}

impl Supply for Probes<'_> {
    fn is_empty(&self) -> bool {
        self.next.is_none()
    }

    fn fill(&mut self, slot: &mut [u8]) -> usize {
        let Some(target) = self.next else { return 0 };
        let now = self.clock.now();
        let length = self.plan.prober.write(target, now, slot);
        self.position += 1;
        self.sent += 1;
        self.advance();
        length
    }

    fn is_stopped(&mut self) -> bool {
        self.publish();
        (self.stop)()
    }
}
