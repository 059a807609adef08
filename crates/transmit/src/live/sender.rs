//! Live frames of a template, as a plan has them.

use std::os::fd::{AsFd, AsRawFd};
use std::thread;
use std::time::Duration;

use linerate_base::{Error, ErrorKind, Result, SinkStats};
use linerate_bpf::extended::Instruction;
use linerate_sys::bpf::{LiveEnd, LiveRun, Map, MapSpec, Program, ProgramKind, ProgramSpec};
use linerate_sys::{interface, netlink};

use super::Stamp;
use super::program::{self, Setup, control, state};
use crate::pacing::{Gaps, Rate, wire_bits};
use crate::run::{End, Plan, Report};

/// A plan that the kernel carries out, by a program of its own: loaded, and not begun.
#[derive(Debug)]
pub struct Live {
    frame: Vec<u8>,
    interface: u32,
    /// Frames that the interface had dropped before.
    dropped: u64,
    state: Map,
    program: Program,
    group: u32,
    count: Option<u64>,
    /// How often the program is run by one call.
    repeat: u32,
}

const NAME: &str = "linerate_send";

/// The one key of both maps.
const KEY: [u8; 4] = [0; 4];

/// About the least time that the program waits before it gives the core back.
const WAIT: Duration = Duration::from_micros(10);

/// A call that is not told how much there is to do runs the program so often: with its fixed cost of some 24 ms it
/// is worth it, and where sending has ended meanwhile, the rest takes a tenth of a second.
const CALL: u64 = 1 << 23;

/// How long a signal may be on its way to whoever asks for a stop.
const GRACE: Duration = Duration::from_millis(5);

impl Live {
    /// Loads the program that carries out `plan` on the interface called `name`, of the calling thread's namespace.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] when the template, the rhythm or the device does not suit, with the reason;
    /// [`ErrorKind::Permission`] without CAP_BPF and CAP_NET_ADMIN; [`ErrorKind::NotFound`] without the interface,
    /// [`ErrorKind::Down`] when it is down.
    pub fn new(plan: &Plan<'_>, name: &str) -> Result<Self> {
        let unsupported = |reason: &str| {
            Error::new(ErrorKind::Unsupported, format!("send live frames on {name}"), reason)
        };
        let stamp = Stamp::new(plan.template).map_err(unsupported)?;
        if plan.pace.gaps != Gaps::Constant || plan.pace.ramp.is_some() {
            return Err(unsupported("gaps that vary, and ramps, are not for the program"));
        }
        let (interface, dropped) = check_interface(name)?;
        let control = Map::new(&MapSpec::array(NAME, control::SIZE, 1))?;
        let limit = plan.duration.map_or(u64::MAX, |span| span.as_nanos() as u64);
        control.insert(&KEY, &bytes(&[plan.count.unwrap_or(u64::MAX), limit]))?;
        let state = Map::new(&MapSpec::array(NAME, state::SIZE, 1))?;
        let group = group(plan.pace.rate).max(plan.pace.burst);
        let program = program::assemble(&Setup {
            stamp: &stamp,
            pace: plan.pace.rate.time_of(stamp.frame().len()),
            group,
            interface,
            control: control.as_fd().as_raw_fd(),
            state: state.as_fd().as_raw_fd(),
        });
        let words: Vec<_> = program.iter().map(Instruction::encode).collect();
        let program = Program::load(&ProgramSpec::new(ProgramKind::Xdp, &words, NAME))?;
        let frame = stamp.frame().to_vec();
        let repeat = repeat(plan, frame.len());
        Ok(Self { frame, interface, dropped, state, program, group, count: plan.count, repeat })
    }

    /// Sends until the plan is done, or a signal has come and `stop` says true.
    ///
    /// # Errors
    /// When the kernel does not run the program any further; the report is of what was sent before.
    pub fn run(&self, stop: &dyn Fn() -> bool) -> (Report, Result<()>) {
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
    fn send(&self, stop: &dyn Fn() -> bool) -> Result<bool> {
        // Of the loopback interface every namespace has one.
        let batch = self.group.min(256);
        let run = LiveRun { frame: &self.frame, interface: 0, repeat: self.repeat, batch };
        while self.number(state::ENDED)? == 0 {
            if self.program.live_run(&run)? == LiveEnd::Interrupted {
                thread::sleep(GRACE);
            }
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
        let refused = (self.number(state::REFUSED)? + self.dropped()?).min(submitted);
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

    /// Frames that the device had no room for: nobody tells the program, but the device counts them.
    fn dropped(&self) -> Result<u64> {
        let counters = interface::by_index(self.interface)?.counters;
        Ok(counters.sent_dropped.saturating_sub(self.dropped))
    }

    fn number(&self, offset: i16) -> Result<u64> {
        let value = self.state.lookup(&KEY)?.unwrap_or_default();
        let at = offset as usize;
        Ok(value
            .get(at..at + 8)
            .map_or(0, |b| u64::from_ne_bytes(b.try_into().expect("eight bytes"))))
    }
}

/// The index of an interface that is up and takes redirected frames, and how many frames it has dropped so far.
fn check_interface(name: &str) -> Result<(u32, u64)> {
    let found = interface::by_name(name)?;
    let refuse = |kind, answered: &str, advice: &str| {
        Err(Error::new(kind, format!("send live frames on {name}"), answered).advise(advice))
    };
    if !found.is_running {
        return refuse(ErrorKind::Down, "the interface is down or has no carrier", "set it up");
    }
    if netlink::xdp_features(found.index)?.is_some_and(|features| !features.transmits()) {
        let advice = "of a veth pair the peer must have GRO switched on, or an XDP program";
        return refuse(ErrorKind::Unsupported, "the device takes no redirected frames", advice);
    }
    Ok((found.index, found.counters.sent_dropped))
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

/// How often the program has to run: once for each frame and for each time that it gives the core back, and once at
/// the end.
fn repeat(plan: &Plan<'_>, length: usize) -> u32 {
    let runs = match (plan.count, plan.pace.rate.time_of(length)) {
        (Some(count), None) if plan.duration.is_none() => count,
        (None, _) | (_, None) => CALL,
        (Some(count), Some((time, rate))) => {
            let nanoseconds = u128::from(count) * u128::from(time) / u128::from(rate);
            let waits = (nanoseconds / WAIT.as_nanos()).min(CALL.into()) as u64;
            count.saturating_add(waits).min(CALL)
        }
    };
    u32::try_from(runs.saturating_add(1)).unwrap_or(u32::MAX)
}
