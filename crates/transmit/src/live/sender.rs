//! Live frames of a template, as a plan has them.

use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use linerate_base::{Result, SinkStats};
use linerate_bpf::extended::Instruction;
use linerate_sys::bpf::{LiveRun, Map, MapSpec, Program, ProgramKind, ProgramSpec};

use super::Stamp;
use super::device::Device;
use super::program::{self, Setup, control, state};
use super::watch;
use crate::pacing::{Gaps, Rate, wire_bits};
use crate::run::{End, Plan, Report, Stop};

/// A plan that the kernel carries out, by a program of its own: loaded, and not begun.
#[derive(Debug)]
pub struct Live {
    frame: Vec<u8>,
    device: Device,
    state: Map,
    program: Program,
    group: u32,
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

const NAME: &str = "linerate_send";

/// The one key of both maps.
const KEY: [u8; 4] = [0; 4];

impl Live {
    /// Loads the program that carries out `plan`, whose `stamp` it is, on the interface called `name`, of the calling
    /// thread's namespace.
    ///
    /// # Errors
    /// Of kind `Unsupported` when the device does not take redirected frames; `Permission` without CAP_BPF and
    /// CAP_NET_ADMIN; `NotFound` without the interface, `Down` when it is down.
    pub fn new(plan: &Plan<'_>, stamp: &Stamp, name: &str) -> Result<Self> {
        let device = Device::find(name)?;
        device.fits(stamp.frame())?;
        let wire = Map::new(&MapSpec::device_map(NAME, 1))?;
        wire.insert(&KEY, &device.index.to_ne_bytes())?;
        let control = Map::new(&MapSpec::array(NAME, control::SIZE, 1))?;
        let limit = plan.duration.map_or(u64::MAX, |span| span.as_nanos() as u64);
        control.insert(&KEY, &bytes(&[plan.count.unwrap_or(u64::MAX), limit]))?;
        let state = Map::new(&MapSpec::array(NAME, state::SIZE, 1))?;
        let group = group(plan.pace.rate).max(plan.pace.burst);
        let program = program::assemble(&Setup {
            stamp,
            pace: plan.pace.rate.time_of(stamp.frame().len()),
            group,
            wire: wire.as_fd().as_raw_fd(),
            control: control.as_fd().as_raw_fd(),
            state: state.as_fd().as_raw_fd(),
        });
        let words: Vec<_> = program.iter().map(Instruction::encode).collect();
        let program = Program::load(&ProgramSpec::new(ProgramKind::Xdp, &words, NAME))?;
        let frame = stamp.frame().to_vec();
        Ok(Self { frame, device, state, program, group, count: plan.count })
    }

    /// Sends until the plan is done, or `stop`, which is asked every 10 ms, says true.
    ///
    /// # Errors
    /// When the kernel does not run the program any further, the interface goes down or away; the report is of what
    /// was sent before.
    pub fn run(&self, stop: &Stop<'_>) -> (Report, Result<()>) {
        let ended = self.send(stop);
        let report = self.report().map(|report| match &ended {
            Ok(stopped) => Report { end: Some(self.end(&report, *stopped)), ..report },
            Err(_) => report,
        });
        match report {
            Ok(report) => (report, ended.map(drop)),
            Err(error) => (Report::default(), ended.and(Err(error))),
        }
    }

    /// True when it was stopped.
    fn send(&self, stop: &Stop<'_>) -> Result<bool> {
        // A call costs some 24 ms, so there shall be one; the watch ends it. Of the loopback interface every namespace
        // has one.
        let batch = self.group.min(256);
        let run = LiveRun { frame: &self.frame, interface: 0, repeat: u32::MAX, batch };
        let has_ended = || self.number(state::ENDED).map_or(true, |ended| ended != 0);
        watch::call(&self.program, &run, &self.device, || stop() || has_ended())?;
        Ok(!has_ended())
    }

    fn end(&self, report: &Report, stopped: bool) -> End {
        match stopped {
            true => End::Stopped,
            false if Some(report.stats.submitted) == self.count => End::Complete,
            false => End::Time,
        }
    }

    fn report(&self) -> Result<Report> {
        let submitted = self.number(state::NUMBER)?;
        let refused = (self.number(state::REFUSED)? + self.device.dropped()).min(submitted);
        let sent = submitted - refused;
        let began = self.number(state::BEGAN)?;
        let ended = match self.number(state::ENDED)? {
            0 => linerate_sys::clock::monotonic() as u64,
            ended => ended,
        };
        let elapsed = if began == 0 { 0 } else { ended.saturating_sub(began) };
        Ok(Report {
            stats: SinkStats {
                submitted,
                sent,
                sent_bytes: sent * self.frame.len() as u64,
                refused,
                pending: 0,
            },
            wire_bits: submitted * wire_bits(self.frame.len()),
            elapsed: Duration::from_nanos(elapsed),
            lost: Duration::from_nanos(self.number(state::LOST)?),
            ..Report::default()
        })
    }

    fn number(&self, offset: i16) -> Result<u64> {
        let value = self.state.lookup(&KEY)?.unwrap_or_default();
        let at = offset as usize;
        Ok(value
            .get(at..at + 8)
            .map_or(0, |b| u64::from_ne_bytes(b.try_into().expect("eight bytes"))))
    }
}

fn bytes(numbers: &[u64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_ne_bytes()).collect()
}

/// Frames between two looks at the clock, which are also passed on together: one by one where there is time for it.
fn group(rate: Rate) -> u32 {
    match rate {
        Rate::Frames(..2_500_000_000) | Rate::Bits(..1_680_000_000) => 1,
        Rate::Frames(..5_000_000_000) | Rate::Bits(..3_360_000_000) => 4,
        Rate::Frames(..8_000_000_000) | Rate::Bits(..5_376_000_000) => 16,
        _ => 64,
    }
}
