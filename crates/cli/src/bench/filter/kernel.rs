//! Filters as the kernel runs them, compiled to native code: for a socket, and as a part of a tap.

use std::fs;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Instant;

use anyhow::{Context, Result, anyhow, ensure};
use linerate::base::Packet;
use linerate::bpf::classic::Input;
use linerate::bpf::extended::{Hook, Instruction, Predicate, Register, Size, from_classic};
use linerate::filter::Filter;
use linerate::sys::bpf::{Map, MapKind, Program, ProgramKind, ProgramSpec, TestRun};

use crate::bench::runner::Subject;

/// The classic program, in the form in which our packet sockets have it, which counts what it sees.
pub(in crate::bench) const KERNEL: &str = "kernel's JIT";

/// Our fragment of an extended program, as taps have it.
pub(in crate::bench) const FRAGMENT: &str = "tap's fragment";

/// Of a measurement: a few milliseconds.
const RUNS: u32 = 1 << 18;

const NAME: &str = "linerate_bench";

/// Where `struct __sk_buff` has the packet's length, its beginning and its end.
const LENGTH: i16 = 0;
const START: i16 = 76;
const END: i16 = 80;

/// Runs over one packet, in nanoseconds each beyond those of an empty filter, as `BPF_PROG_TEST_RUN` takes its time between
/// them; missing where programs may not be loaded or are not compiled.
pub(super) fn socket<'a>(filter: &Filter, empty: &Filter, packet: &Packet<'a>) -> Subject<'a> {
    subject(KERNEL, classic, filter, empty, packet)
}

/// The same of the fragment.
pub(super) fn tap<'a>(filter: &Filter, empty: &Filter, packet: &Packet<'a>) -> Subject<'a> {
    subject(FRAGMENT, fragment, filter, empty, packet)
}

fn subject<'a>(
    name: &str,
    load: impl Fn(&Filter) -> Result<Program>,
    filter: &Filter,
    empty: &Filter,
    packet: &Packet<'a>,
) -> Subject<'a> {
    let keeps = filter.program().run(&Input::of(packet, None)) != 0;
    let data = packet.data;
    let programs = load(filter).and_then(|program| Ok((program, load(empty)?)));
    let run = programs.ok().filter(|_| is_compiled()).map(|(program, empty)| {
        Box::new(move || Ok(nanoseconds(&program, data, keeps)? - nanoseconds(&empty, data, true)?))
            as _
    });
    Subject { name: name.into(), run }
}

/// It is run as a program at traffic control, which is given the packet with its link-layer header.
fn classic(filter: &Filter) -> Result<Program> {
    let counter = Map::counters(MapKind::PerCpuArray, 1, NAME)?;
    loaded(&from_classic(filter.program(), counter.as_fd().as_raw_fd())?)
}

fn fragment(filter: &Filter) -> Result<Program> {
    let predicate = filter.predicate().map_err(|e| anyhow!("{e}"))?;
    ensure!(predicate.needs().is_empty(), "it asks for what the bytes do not say");
    let word = |to, at| Instruction::load(Size::Word, to, Predicate::CONTEXT, at);
    let mut code = vec![
        Instruction::mov(Predicate::CONTEXT, Register::R1),
        word(Predicate::START, START),
        word(Predicate::END, END),
        word(Predicate::LENGTH, LENGTH),
    ];
    code.extend(predicate.instructions(Hook::Ingress));
    code.push(Instruction::exit());
    loaded(&code)
}

fn loaded(code: &[Instruction]) -> Result<Program> {
    let words: Vec<_> = code.iter().map(Instruction::encode).collect();
    Ok(Program::load(&ProgramSpec::new(ProgramKind::Classifier, &words, NAME))?)
}

/// `net.core.bpf_jit_enable`; a kernel without the setting has no interpreter.
fn is_compiled() -> bool {
    let setting = fs::read_to_string("/proc/sys/net/core/bpf_jit_enable");
    !setting.is_ok_and(|setting| setting.trim() == "0")
}

fn nanoseconds(program: &Program, frame: &[u8], keeps: bool) -> Result<f64> {
    let began = Instant::now();
    let done = program.test_run(&TestRun { repeat: RUNS, ..TestRun::once(frame) });
    let elapsed = began.elapsed();
    let kept = done.context("run a filter in the kernel")?.verdict != 0;
    ensure!(kept == keeps, "the kernel keeps the packet: {kept}, we: {keeps}");
    Ok(elapsed.as_secs_f64() * 1e9 / f64::from(RUNS))
}
