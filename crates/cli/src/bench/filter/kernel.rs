//! A filter as the kernel runs it for a socket: compiled to native code.

use std::fs;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use linerate::bpf::extended::{Instruction, from_classic};
use linerate::filter::Filter;
use linerate::sys::bpf::{Map, MapKind, Program, ProgramKind, ProgramSpec, TestRun};

use crate::bench::runner::Subject;

pub(in crate::bench) const KERNEL: &str = "kernel's JIT";

/// Of a measurement: a few milliseconds.
const RUNS: u32 = 1 << 18;

/// Runs over one packet, in nanoseconds each beyond those of an empty filter, as `BPF_PROG_TEST_RUN` takes its time between
/// them; missing where programs may not be loaded or are not compiled.
pub(super) fn subject<'a>(filter: &Filter, empty: &Filter, frame: &'a [u8]) -> Subject<'a> {
    let programs = load(filter).and_then(|program| Ok((program, load(empty)?)));
    let run = programs.ok().filter(|_| is_compiled()).map(|(program, empty)| {
        Box::new(move || Ok(nanoseconds(&program, frame)? - nanoseconds(&empty, frame)?)) as _
    });
    Subject { name: KERNEL.into(), run }
}

/// In the form in which our packet sockets have it, which counts what it sees. It is run as one at traffic control, which is
/// given the packet with its link-layer header.
fn load(filter: &Filter) -> Result<Program> {
    const NAME: &str = "linerate_bench";
    let counter = Map::counters(MapKind::PerCpuArray, 1, NAME)?;
    let code = from_classic(filter.program(), counter.as_fd().as_raw_fd())?;
    let words: Vec<_> = code.iter().map(Instruction::encode).collect();
    Ok(Program::load(&ProgramSpec::new(ProgramKind::Classifier, &words, NAME))?)
}

/// `net.core.bpf_jit_enable`; a kernel without the setting has no interpreter.
fn is_compiled() -> bool {
    let setting = fs::read_to_string("/proc/sys/net/core/bpf_jit_enable");
    !setting.is_ok_and(|setting| setting.trim() == "0")
}

fn nanoseconds(program: &Program, frame: &[u8]) -> Result<f64> {
    let began = Instant::now();
    let done = program.test_run(&TestRun { repeat: RUNS, ..TestRun::once(frame) });
    let elapsed = began.elapsed();
    ensure!(done.context("run a filter in the kernel")?.verdict != 0, "it keeps nothing");
    Ok(elapsed.as_secs_f64() * 1e9 / f64::from(RUNS))
}
