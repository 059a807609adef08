//! One core's share of a load: its maps and its program in the kernel.

use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use linerate_base::{Error, ErrorKind, Result};
use linerate_bpf::extended::Instruction;
use linerate_sys::bpf::{LiveEnd, LiveRun, Map, MapSpec, Program, ProgramKind, ProgramSpec};
use linerate_sys::usage;

use super::Load;
use super::program::{self, GAP_BITS, WAIT, control, state};

/// What one core sends.
#[derive(Debug)]
pub(super) struct Share {
    control: Map,
    state: Map,
    program: Program,
    first: u64,
    repeat: u32,
    group: u32,
}

/// What one core has sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    pub(super) sent: u64,
    /// Times by the kernel's clock; 0 before.
    pub(super) began: u64,
    pub(super) ended: u64,
}

impl Share {
    /// The share of core number `index`, from the interface `interface` of the calling thread's
    /// namespace.
    pub(super) fn new(load: &Load, index: usize, interface: u32) -> Result<Self> {
        let cores = load.cores.len();
        let rate = load.rate.map(|rate| rate / cores as f64);
        let group = group(rate);
        let [first, end] = [index, index + 1].map(|i| border(load.count, i, cores, group));
        let control = Map::new(&MapSpec::array(NAME, control::SIZE, 1))?;
        let limit = load.limit.as_nanos() as u64;
        control.insert(&KEY, &bytes(&[end, gap(rate), limit]))?;
        let state = Map::new(&MapSpec::array(NAME, state::SIZE, 1))?;
        state.insert(&KEY, &bytes(&[first, 0, 0, 0]))?;
        let wire = Map::new(&MapSpec::device_map(NAME, 1))?;
        wire.insert(&KEY, &interface.to_ne_bytes())?;
        let plan = program::Plan {
            control: control.as_fd().as_raw_fd(),
            state: state.as_fd().as_raw_fd(),
            wire: wire.as_fd().as_raw_fd(),
            group,
        };
        let program = load_program(&program::assemble(&plan))?;
        let repeat = repeat(end - first, rate, load.limit);
        Ok(Self { control, state, program, first, repeat, group })
    }

    /// Sends, and gives the processor time that it took; the calling thread is on its core and in the
    /// sending host.
    pub(super) fn run(&self, frame: &[u8]) -> Result<Duration> {
        let before = usage::of_this_thread();
        // Of the loopback interface every namespace has one.
        let run = LiveRun { frame, interface: 0, repeat: self.repeat, batch: self.group };
        while self.progress()?.ended == 0 {
            if self.program.live_run(&run)? == LiveEnd::Interrupted {
                let answered = "a signal came in between";
                return Err(Error::new(ErrorKind::Io, "send live frames", answered));
            }
        }
        Ok(usage::of_this_thread() - before)
    }

    /// Has the program send no more. It may still take milliseconds for each 100,000 frames.
    pub(super) fn stop(&self) -> Result<()> {
        self.control.insert(&KEY, &bytes(&[0, 0, 0]))
    }

    pub(super) fn progress(&self) -> Result<Progress> {
        let value = self.state.lookup(&KEY)?.unwrap_or_default();
        let field = |offset: i16| {
            let at = offset as usize;
            u64::from_ne_bytes(value[at..at + 8].try_into().expect("eight bytes"))
        };
        let sent = field(state::NUMBER) - self.first;
        Ok(Progress { sent, began: field(state::BEGAN), ended: field(state::ENDED) })
    }
}

/// The first number of a core's share: a group begins with it.
fn border(count: u64, index: usize, cores: usize, group: u32) -> u64 {
    let even = u128::from(count) * index as u128 / cores as u128;
    if index == cores { count } else { (even as u64).next_multiple_of(group.into()).min(count) }
}

const NAME: &str = "linerate_load";

/// The one key of both maps.
const KEY: [u8; 4] = [0; 4];

fn bytes(numbers: &[u64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_ne_bytes()).collect()
}

fn load_program(instructions: &[Instruction]) -> Result<Program> {
    let words: Vec<_> = instructions.iter().map(Instruction::encode).collect();
    Ok(Program::load(&ProgramSpec::new(ProgramKind::Xdp, &words, NAME))?)
}

/// From one frame to the next, as the program counts it.
fn gap(rate: Option<f64>) -> u64 {
    rate.map_or(0, |rate| (1e9 / rate * f64::from(1 << GAP_BITS)) as u64)
}

/// Frames between two looks at the clock, which are also passed on together: one by one where there
/// is time for it.
fn group(rate: Option<f64>) -> u32 {
    match rate {
        Some(..1e6) => 1,
        Some(..2.5e6) => 4,
        Some(..5e6) => 16,
        _ => 64,
    }
}

/// How often the program will have to run: once for each frame, for each time that it gives the core
/// back to wait, and once at the end.
fn repeat(count: u64, rate: Option<f64>, limit: Duration) -> u32 {
    let time = |rate| limit.as_nanos().min((count as f64 / rate * 1e9) as u128);
    let waiting = (rate.map_or(0, time) / WAIT.as_nanos()) as u64;
    u32::try_from(count.saturating_add(waiting).saturating_add(1)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_have_a_fraction() {
        assert_eq!(gap(None), 0);
        assert_eq!(gap(Some(1e9)), 1 << GAP_BITS);
        assert_eq!(gap(Some(1.0)), 1_000_000_000 << GAP_BITS);
    }

    #[test]
    fn shares_are_even_and_leave_nothing_out() {
        let borders = |count, group| [0, 1, 2, 3].map(|index| border(count, index, 3, group));
        assert_eq!(borders(3000, 64), [0, 1024, 2048, 3000]);
        assert_eq!(borders(3000, 1), [0, 1000, 2000, 3000]);
        assert_eq!(borders(50, 64), [0, 50, 50, 50]);
        assert_eq!(border(u64::MAX, 1, 1, 64), u64::MAX);
    }

    #[test]
    fn groups_are_powers_of_two() {
        let rates = [None, Some(1.0), Some(2e6), Some(4e6), Some(9e6)];
        assert!(rates.into_iter().all(|rate| group(rate).is_power_of_two()));
    }

    #[test]
    fn runs_are_as_many_as_frames_and_waits() {
        let limit = Duration::from_secs(1);
        assert_eq!(repeat(10, None, limit), 11);
        assert_eq!(repeat(10, Some(1.0), limit), 100_011);
        assert_eq!(repeat(10, Some(100.0), limit), 10_011);
        assert_eq!(repeat(1 << 32, None, limit), u32::MAX);
    }
}
