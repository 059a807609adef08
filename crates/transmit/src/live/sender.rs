//! Live frames of a template, as a plan has them.

use std::os::fd::{AsFd, AsRawFd};
use std::panic::resume_unwind;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use linerate_base::{Error, ErrorKind, Result, SinkStats};
use linerate_bpf::extended::Instruction;
use linerate_sys::bpf::{LiveRun, Map, MapSpec, Program, ProgramKind, ProgramSpec};
use linerate_sys::thread::Thread;

use super::Stamp;
use super::device::{Device, asked};
use super::program::{self, Setup, control, state};
use crate::pacing::{Gaps, Rate, wire_bits};
use crate::run::{End, Plan, Report, Stop};

/// A plan that the kernel carries out, by a program of its own: loaded, and not begun.
#[derive(Debug)]
pub struct Live {
    frame: Vec<u8>,
    device: Device,
    control: Map,
    state: Map,
    program: Program,
    group: u32,
    count: Option<u64>,
}

const NAME: &str = "linerate_send";

/// The one key of both maps.
const KEY: [u8; 4] = [0; 4];

/// How often it is looked whether all is sent: what is left of a call is then cut off.
const GLANCE: Duration = Duration::from_millis(10);

/// How many glances later it is looked whether the device is still there.
const LOOK: u32 = 10;

impl Live {
    /// Loads the program that carries out `plan` on the interface called `name`, of the calling thread's namespace.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] when the template, the rhythm or the device does not suit, with the reason;
    /// [`ErrorKind::Permission`] without CAP_BPF and CAP_NET_ADMIN; [`ErrorKind::NotFound`] without the interface,
    /// [`ErrorKind::Down`] when it is down.
    pub fn new(plan: &Plan<'_>, name: &str) -> Result<Self> {
        let unsupported = |reason: &str| Error::new(ErrorKind::Unsupported, asked(name), reason);
        let stamp = Stamp::new(plan.template).map_err(unsupported)?;
        if plan.pace.gaps != Gaps::Constant || plan.pace.ramp.is_some() {
            return Err(unsupported("gaps that vary, and ramps, are not for the program"));
        }
        let device = Device::find(name, stamp.frame())?;
        let control = Map::new(&MapSpec::array(NAME, control::SIZE, 1))?;
        let limit = plan.duration.map_or(u64::MAX, |span| span.as_nanos() as u64);
        control.insert(&KEY, &bytes(&[plan.count.unwrap_or(u64::MAX), limit]))?;
        let state = Map::new(&MapSpec::array(NAME, state::SIZE, 1))?;
        let group = group(plan.pace.rate).max(plan.pace.burst);
        let program = program::assemble(&Setup {
            stamp: &stamp,
            pace: plan.pace.rate.time_of(stamp.frame().len()),
            group,
            interface: device.index,
            control: control.as_fd().as_raw_fd(),
            state: state.as_fd().as_raw_fd(),
        });
        let words: Vec<_> = program.iter().map(Instruction::encode).collect();
        let program = Program::load(&ProgramSpec::new(ProgramKind::Xdp, &words, NAME))?;
        let frame = stamp.frame().to_vec();
        Ok(Self { frame, device, control, state, program, group, count: plan.count })
    }

    /// Sends until the plan is done, or `stop`, which is asked every 10 ms, says true.
    ///
    /// # Errors
    /// When the kernel does not run the program any further, the interface goes down or away; the report is of what
    /// was sent before.
    pub fn run(&self, stop: &Stop<'_>) -> (Report, Result<()>) {
        let ended = match Thread::current() {
            Ok(sending) => self.send_watched(sending, stop),
            Err(error) => Err(Error::system("prepare to interrupt the program", error)),
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

    fn send_watched(&self, sending: Thread, stop: &Stop<'_>) -> Result<bool> {
        thread::scope(|scope| {
            let (done, is_done) = mpsc::channel::<()>();
            let watch = scope.spawn(move || self.watch(sending, stop, &is_done));
            let ended = self.send(stop);
            drop(done);
            let watched = watch.join().unwrap_or_else(|panic| resume_unwind(panic));
            watched.and(ended)
        })
    }

    /// Cuts off a call when all is sent or no more is to be, and looks after the device: nobody tells the program that it
    /// is gone.
    fn watch(&self, sending: Thread, stop: &Stop<'_>, is_done: &Receiver<()>) -> Result<()> {
        let (mut glances, mut fault) = (0, None);
        while is_done.recv_timeout(GLANCE) == Err(RecvTimeoutError::Timeout) {
            glances += 1;
            if fault.is_none() && glances % LOOK == 0 {
                fault = self.device.check().err();
                if fault.is_some() {
                    self.control.insert(&KEY, &bytes(&[0, 0]))?;
                }
            }
            // Again and again: it may come when the call has not begun.
            if stop() || self.number(state::ENDED).map_or(true, |ended| ended != 0) {
                sending.interrupt();
            }
        }
        fault.map_or_else(|| self.device.check(), Err)
    }

    /// True when it was stopped.
    fn send(&self, stop: &Stop<'_>) -> Result<bool> {
        // A call costs some 24 ms, so there shall be one; the watch ends it. Of the loopback interface every namespace
        // has one.
        let batch = self.group.min(256);
        let run = LiveRun { frame: &self.frame, interface: 0, repeat: u32::MAX, batch };
        while self.number(state::ENDED)? == 0 {
            self.program.live_run(&run)?;
            if stop() {
                return Ok(true);
            }
        }
        Ok(false)
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
            end: None,
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
