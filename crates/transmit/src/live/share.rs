//! One thread's share of a plan: a program, and what it tells.

use std::os::fd::{AsFd, AsRawFd};

use linerate_base::Result;
use linerate_bpf::extended::Instruction;
use linerate_sys::bpf::{LiveRun, Map, MapSpec, Program, ProgramKind, ProgramSpec};

use super::Stamp;
use super::device::Device;
use super::program::{self, Setup, control, state};
use super::watch;
use crate::run::Plan;

/// Of all packet numbers every so many-th: the shares take them in turn, so that each is sent once.
#[derive(Debug)]
pub(super) struct Share {
    state: Map,
    program: Program,
    first: u64,
    step: u64,
    group: u32,
}

/// What a share has sent. Times are `CLOCK_MONOTONIC`; 0 before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    pub(super) submitted: u64,
    pub(super) refused: u64,
    pub(super) began: u64,
    pub(super) ended: u64,
    /// Nanoseconds that its schedule was moved.
    pub(super) lost: u64,
}

const NAME: &str = "linerate_send";

/// The one key of all maps.
const KEY: [u8; 4] = [0; 4];

impl Share {
    /// Share number `index` of those that the plan has, for the calling thread's namespace.
    pub(super) fn new(
        plan: &Plan<'_>,
        stamp: &Stamp,
        device: &Device,
        index: usize,
    ) -> Result<Self> {
        let (first, step) = (index as u64, plan.threads as u64);
        let pace = plan.pace.rate.time_of(stamp.frame().len());
        let phase = pace.map_or(0, |(time, rate)| first * time / rate);
        let pace = pace.map(|(time, rate)| (time * step, rate));
        let group = group(pace).max(plan.pace.burst);
        let wire = Map::new(&MapSpec::device_map(NAME, 1))?;
        wire.insert(&KEY, &device.index().to_ne_bytes())?;
        let control = Map::new(&MapSpec::array(NAME, control::SIZE, 1))?;
        let limit = plan.duration.map_or(u64::MAX, |span| span.as_nanos() as u64);
        control.insert(&KEY, &bytes([plan.count.unwrap_or(u64::MAX), limit]))?;
        let state = Map::new(&MapSpec::array(NAME, state::SIZE, 1))?;
        state.insert(&KEY, &bytes([first, 0, 0, phase, 0, 0, 0, 0]))?;
        let program = program::assemble(&Setup {
            stamp,
            step: step as i32,
            pace,
            group,
            wire: wire.as_fd().as_raw_fd(),
            control: control.as_fd().as_raw_fd(),
            state: state.as_fd().as_raw_fd(),
        });
        let words: Vec<_> = program.iter().map(Instruction::encode).collect();
        let program = Program::load(&ProgramSpec::new(ProgramKind::Xdp, &words, NAME))?;
        Ok(Self { state, program, first, step, group })
    }

    /// Sends until the share is done, or `stop` says true; true when it was stopped.
    pub(super) fn run(
        &self,
        frame: &[u8],
        device: &Device,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<bool> {
        // A call costs some 24 ms, so there shall be one; the watch ends it. Of the loopback interface every namespace
        // has one.
        let batch = self.group.min(256);
        let run = LiveRun { frame, interface: 0, repeat: u32::MAX, batch };
        let has_ended = || self.number(state::ENDED).map_or(true, |ended| ended != 0);
        watch::call(&self.program, &run, device, || stop() || has_ended())?;
        Ok(!has_ended())
    }

    /// What it has sent so far; one that has not ended ends now.
    pub(super) fn progress(&self) -> Result<Progress> {
        let ended = match self.number(state::ENDED)? {
            0 => linerate_sys::clock::monotonic() as u64,
            ended => ended,
        };
        Ok(Progress {
            submitted: self.submitted()?,
            refused: self.number(state::REFUSED)?,
            began: self.number(state::BEGAN)?,
            ended,
            lost: self.number(state::LOST)?,
        })
    }

    /// Frames that it has sent so far.
    pub(super) fn submitted(&self) -> Result<u64> {
        Ok((self.number(state::NUMBER)? - self.first) / self.step)
    }

    fn number(&self, offset: i16) -> Result<u64> {
        let value = self.state.lookup(&KEY)?.unwrap_or_default();
        let at = offset as usize;
        Ok(value
            .get(at..at + 8)
            .map_or(0, |b| u64::from_ne_bytes(b.try_into().expect("eight bytes"))))
    }
}

fn bytes<const N: usize>(numbers: [u64; N]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_ne_bytes()).collect()
}

/// Frames between two looks at the clock, which are also passed on together: one by one where there is time for it.
fn group(pace: Option<(u64, u64)>) -> u32 {
    match pace.map(|(time, rate)| time / rate) {
        Some(400..) => 1,
        Some(200..) => 4,
        Some(125..) => 16,
        _ => 64,
    }
}
