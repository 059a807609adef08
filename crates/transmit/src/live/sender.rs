//! Live frames of a template, as a plan has them.

use std::iter;
use std::panic::resume_unwind;
use std::thread;
use std::time::Duration;

use linerate_base::{Result, SinkStats};
use linerate_sys::cpu;

use super::Stamp;
use super::device::Device;
use super::share::{Progress, Share};
use crate::crew::cores;
use crate::handover::{End, Report};
use crate::pacing::{Gaps, wire_bits};
use crate::run::{Plan, Watch};

/// A plan that the kernel carries out, by programs of its own: loaded, and not begun.
#[derive(Debug)]
pub struct Live {
    frame: Vec<u8>,
    device: Device,
    shares: Vec<Share>,
    /// A core for each share; none where there is but one.
    cores: Vec<usize>,
    count: Option<u64>,
}

/// The stamp for a plan that a program can carry out.
///
/// # Errors
/// With the reason, where none can: for those of [`Stamp::new`], and for the rhythm's.
pub fn suits(plan: &Plan<'_>) -> std::result::Result<Stamp, &'static str> {
    if plan.pace.gaps != Gaps::Constant || plan.pace.ramp.is_some() {
        return Err("the gaps vary");
    }
    Stamp::new(plan.template)
}

impl Live {
    /// Loads the programs that carry out `plan`, whose `stamp` it is, on the interface called `name`, of the calling
    /// thread's namespace: one for each of the plan's threads, which will run on the first cores that the calling
    /// thread may use.
    ///
    /// # Errors
    /// Of kind `Unsupported` when the device does not take redirected frames; `Permission` without CAP_BPF and
    /// CAP_NET_ADMIN; `NotFound` without the interface, `Down` when it is down; `Invalid` with more threads than cores.
    pub fn new(plan: &Plan<'_>, stamp: &Stamp, name: &str) -> Result<Self> {
        let device = Device::find(name)?;
        let cores = cores(plan.threads)?;
        let share = |index| Share::new(plan, stamp, &device, index);
        let shares = (0..plan.threads).map(share).collect::<Result<_>>()?;
        Ok(Self { frame: stamp.frame().to_vec(), device, shares, cores, count: plan.count })
    }

    /// Sends until the plan is done, or `watch`, which is asked every 10 ms, says true. The plan's frames fit the device's
    /// MTU, or the kernel drops them without a word.
    ///
    /// # Errors
    /// When the kernel does not run a program any further, the interface goes down or away; the report is of what
    /// was sent before.
    pub fn run(&self, watch: &Watch<'_>) -> (Report, Result<()>) {
        let stop = || watch(self.submitted());
        let ended = match &self.shares[..] {
            [only] => only.run(&self.frame, &self.device, &stop),
            _ => self.run_all(&stop),
        };
        let report = self.report().map(|report| match &ended {
            Ok(stopped) => Report { end: Some(self.end(&report, *stopped)), ..report },
            Err(_) => report,
        });
        match report {
            Ok(report) => (report, ended.map(drop)),
            Err(error) => (Report::default(), ended.and(Err(error))),
        }
    }

    /// Frames sent so far, as far as the kernel tells.
    fn submitted(&self) -> u64 {
        self.shares.iter().map(|share| share.submitted().unwrap_or_default()).sum()
    }

    /// True when any was stopped.
    fn run_all(&self, stop: &(dyn Fn() -> bool + Sync)) -> Result<bool> {
        let run = |share: &Share, core| {
            cpu::pin(core)?;
            share.run(&self.frame, &self.device, stop)
        };
        thread::scope(|scope| {
            let shares = iter::zip(&self.shares, &self.cores);
            let start = |(share, core): (_, &usize)| {
                let core = *core;
                scope.spawn(move || run(share, core))
            };
            let threads: Vec<_> = shares.map(start).collect();
            let join = |thread: thread::ScopedJoinHandle<'_, _>| {
                thread.join().unwrap_or_else(|panic| resume_unwind(panic))
            };
            let ended: Vec<Result<bool>> = threads.into_iter().map(join).collect();
            ended.into_iter().try_fold(false, |any, stopped| Ok(any | stopped?))
        })
    }

    fn end(&self, report: &Report, stopped: bool) -> End {
        match stopped {
            true => End::Stopped,
            false if Some(report.stats.submitted) == self.count => End::Complete,
            false => End::Time,
        }
    }

    fn report(&self) -> Result<Report> {
        let shares = self.shares.iter().map(Share::progress).collect::<Result<Vec<_>>>()?;
        let sum = |of: fn(&Progress) -> u64| shares.iter().map(of).sum::<u64>();
        let submitted = sum(|share| share.submitted);
        let refused = (sum(|share| share.refused) + self.device.dropped()).min(submitted);
        let sent = submitted - refused;
        let length = self.frame.len();
        let lost = shares.iter().map(|share| share.lost).max().unwrap_or_default();
        Ok(Report {
            stats: SinkStats {
                submitted,
                sent,
                sent_bytes: sent * length as u64,
                refused,
                pending: 0,
            },
            wire_bits: submitted * wire_bits(length),
            elapsed: elapsed(&shares),
            lost: Duration::from_nanos(lost),
            ..Report::default()
        })
    }
}

/// From the first frame of any share to the end of the last.
fn elapsed(shares: &[Progress]) -> Duration {
    let began = shares.iter().map(|share| share.began).filter(|began| *began > 0).min();
    let ended = shares.iter().map(|share| share.ended).max();
    Duration::from_nanos(began.zip(ended).map_or(0, |(began, ended)| ended.saturating_sub(began)))
}
