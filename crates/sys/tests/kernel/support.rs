//! Labs, and programs of two instructions.

use linerate_bpf::extended::{Instruction, Register};
use linerate_lab::{Host, Lab, need};
use linerate_sys::bpf::{LoadError, Program, ProgramKind, ProgramSpec};

/// Verdicts of XDP programs, `enum xdp_action`.
pub(crate) const XDP_DROP: i32 = 1;
pub(crate) const XDP_PASS: i32 = 2;
/// Verdicts of TCX programs, `enum tcx_action_base`.
pub(crate) const TCX_NEXT: i32 = -1;
pub(crate) const TCX_PASS: i32 = 0;
pub(crate) const TCX_DROP: i32 = 2;

/// Two hosts who say nothing of themselves, or `None` where the test may not make them.
pub(crate) fn quiet_pair() -> Option<Lab> {
    need::root().then(|| Lab::plan().host("a").host("b").quiet().build().expect("a lab"))
}

/// The program that does nothing but return `verdict`.
pub(crate) fn returning(verdict: i32) -> Vec<u64> {
    encode(&[Instruction::mov(Register::R0, verdict), Instruction::exit()])
}

pub(crate) fn encode(program: &[Instruction]) -> Vec<u64> {
    program.iter().map(Instruction::encode).collect()
}

pub(crate) fn try_load(kind: ProgramKind, words: &[u64]) -> Result<Program, LoadError> {
    Program::load(&ProgramSpec::new(kind, words, "test"))
}

pub(crate) fn load(kind: ProgramKind, words: &[u64]) -> Program {
    try_load(kind, words).unwrap_or_else(|e| panic!("{e}\n{}", e.log()))
}

pub(crate) fn xdp(verdict: i32) -> Program {
    load(ProgramKind::Xdp, &returning(verdict))
}

pub(crate) fn classifier(verdict: i32) -> Program {
    load(ProgramKind::Classifier, &returning(verdict))
}

/// A frame to `host` of a version of IP that nobody speaks: it takes it, counts it and drops it.
pub(crate) fn broken_ip(host: &Host) -> Vec<u8> {
    let mut frame = [&host.mac()[..], &[2; 6], &[0x08, 0x00]].concat();
    frame.resize(60, 0);
    frame
}

/// Packets that the calling thread's host took for broken IP.
pub(crate) fn broken_headers() -> u64 {
    let snmp = std::fs::read_to_string("/proc/thread-self/net/snmp").unwrap();
    let mut lines = snmp.lines().filter(|line| line.starts_with("Ip:"));
    let [names, values] = [lines.next().unwrap(), lines.next().unwrap()];
    let at = names.split(' ').position(|name| name == "InHdrErrors").unwrap();
    values.split(' ').nth(at).unwrap().parse().unwrap()
}
