//! The sending side of a scan: passes over the targets.

use std::sync::atomic::Ordering;
use std::thread;
use std::time::Instant;

use anyhow::Result;
use linerate::base::{Error, Hop, Sink, Timestamp};
use linerate::scan::{Target, Walk};
use linerate::transmit::pacing::Pace;
use linerate::transmit::{End, Hops, Supply, run_supply};

use super::{LOOK, Plan, Shared};
use crate::args::ScanArgs;
use crate::commands::survey::Clock;

/// So many targets are looked at for one that can be probed, before something else is done.
const LOOKS: usize = 64;

/// Says whether somebody wants an end.
type Stop<'a> = dyn Fn() -> bool + 'a;

/// Who sends.
pub(super) struct Sending<'a> {
    pub(super) args: &'a ScanArgs,
    pub(super) plan: &'a Plan,
    pub(super) shared: &'a Shared,
    pub(super) sink: Box<dyn Sink + Send>,
    pub(super) walk: Walk,
    pub(super) hops: Hops,
}

impl Sending<'_> {
    /// Goes through all targets, and again through those that did not answer, and waits for answers after each time. True
    /// when it came to the end.
    pub(super) fn all(&mut self, stop: &Stop<'_>) -> Result<bool> {
        let first = self.shared.pass.load(Ordering::Relaxed);
        let mut clock = Clock::new();
        for pass in first..=u64::from(self.args.pass.retries) {
            if pass > first {
                self.walk.again(clock.now());
                self.shared.position.store(0, Ordering::Relaxed);
                self.shared.pass.store(pass, Ordering::Relaxed);
            }
            let Self { shared, plan, walk, hops, .. } = self;
            let mut probes = Probes::new(plan, shared, (walk, hops), pass, stop);
            let (report, result) =
                run_supply(&mut probes, &Pace::new(self.args.way.rate), &mut *self.sink);
            probes.publish();
            probes.fault.take().map_or(Ok(()), Err)?;
            result?;
            if report.end != Some(End::Complete) || self.wait(stop) {
                return Ok(false);
            }
        }
        self.shared.position.store(self.walk.count(), Ordering::Relaxed);
        Ok(true)
    }

    /// Waits for answers; true when somebody wanted an end meanwhile.
    fn wait(&self, stop: &Stop<'_>) -> bool {
        let start = Instant::now();
        while start.elapsed() < self.args.pass.cooldown && !stop() {
            thread::sleep(LOOK);
        }
        stop()
    }
}

/// The probes of one pass.
struct Probes<'a> {
    plan: &'a Plan,
    shared: &'a Shared,
    walk: &'a mut Walk,
    hops: &'a mut Hops,
    stop: &'a Stop<'a>,
    /// Those that have answered are left out.
    is_again: bool,
    /// The next target, and by whom it is reached.
    next: Option<(Target, [u8; 6])>,
    /// Why the ways of targets cannot be found.
    fault: Option<Error>,
    clock: Clock,
    /// Probes of this pass.
    sent: u64,
    /// Of the passes before.
    sent_before: u64,
}

impl<'a> Probes<'a> {
    fn new(
        plan: &'a Plan,
        shared: &'a Shared,
        (walk, hops): (&'a mut Walk, &'a mut Hops),
        pass: u64,
        stop: &'a Stop<'a>,
    ) -> Self {
        let mut clock = Clock::new();
        let now = clock.now();
        let mut probes = Self {
            plan,
            shared,
            walk,
            hops,
            stop,
            is_again: pass > 0,
            next: None,
            fault: None,
            clock,
            sent: 0,
            sent_before: shared.sent.load(Ordering::Relaxed),
        };
        probes.advance(now);
        probes
    }

    /// Finds the next target; none where all were taken, or none may be probed now.
    fn advance(&mut self, now: Timestamp) {
        self.next = None;
        for _ in 0..LOOKS {
            let Some(target) = self.walk.next(now) else { return };
            if self.is_again && self.shared.has_answered(&target) {
                self.walk.give_up(target);
                continue;
            }
            match self.hops.to(target.address) {
                Ok(Hop::At(hop)) => {
                    self.next = Some((target, hop));
                    return;
                }
                Ok(Hop::Asked) => self.walk.put_off(target, now),
                Ok(Hop::Nowhere) => {
                    self.walk.give_up(target);
                    let first = u64::from(!self.is_again);
                    self.shared.unreached.fetch_add(first, Ordering::Relaxed);
                }
                Err(error) => {
                    self.walk.put_off(target, now);
                    self.fault = Some(error);
                    return;
                }
            }
        }
    }

    /// Tells how far it is: before that position all were probed, and had time to answer.
    fn publish(&self) {
        self.shared.position.store(self.walk.settled(), Ordering::Relaxed);
        self.shared.sent.store(self.sent_before + self.sent, Ordering::Relaxed);
    }
}

impl Supply for Probes<'_> {
    fn is_empty(&self) -> bool {
        self.fault.is_some() || self.next.is_none() && self.walk.is_done()
    }

    fn is_held(&mut self) -> bool {
        if self.next.is_none() {
            let now = self.clock.now();
            self.advance(now);
        }
        self.next.is_none()
    }

    fn fill(&mut self, slot: &mut [u8]) -> usize {
        let Some((target, hop)) = self.next else { return 0 };
        let now = self.clock.now();
        let length = self.plan.prober.write(target, hop, now, slot);
        self.sent += 1;
        self.advance(now);
        length
    }

    fn is_stopped(&mut self) -> bool {
        let now = self.clock.now();
        self.walk.advance(now);
        self.publish();
        (self.stop)()
    }
}
