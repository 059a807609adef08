//! The wire of the benches: two hosts, `a` that sends and `b` that receives, each with a core of its own.

use std::panic::resume_unwind;
use std::process::Command;
use std::thread;

use anyhow::{Result, ensure};
use linerate::bpf::extended::{Instruction, Register};
use linerate::lab::{Child, Host, Lab, Offload};
use linerate::sys::bpf::{Link, Program, ProgramKind, ProgramSpec, XdpMode};
use linerate::sys::cpu;

/// The first core and the last one.
///
/// # Errors
/// When there is only one.
pub(super) fn cores() -> Result<(usize, usize)> {
    let cores = cpu::allowed()?;
    let (first, last) = (cores[0], cores[cores.len() - 1]);
    ensure!(first != last, "this is measured on two cores, one of them for the sender");
    Ok((first, last))
}

/// Two silent hosts on a wire with so many queues.
///
/// # Errors
/// As [`linerate::lab::Plan::build`].
pub(super) fn pair(queues: u32) -> Result<Lab> {
    let plan = Lab::plan().host("a").host("b").queues(queues).quiet();
    // Without an XDP program an interface takes live frames only with GRO switched on.
    Ok(plan.offload(Offload::GenericReceive, true).build()?)
}

/// Has the host's driver drop every packet, as long as the link is held.
///
/// # Errors
/// When the program cannot be attached.
pub(super) fn drop_all(host: &Host) -> Result<Link> {
    /// `enum xdp_action`.
    const XDP_DROP: i32 = 1;
    let program = [Instruction::mov(Register::R0, XDP_DROP), Instruction::exit()];
    let words = program.map(|instruction| instruction.encode());
    let program = Program::load(&ProgramSpec::new(ProgramKind::Xdp, &words, "drop_all"))?;
    Ok(host.run(|| Link::xdp(&program, host.interface_index(), XdpMode::Native))?)
}

/// Starts a program on these cores: a child has its cores from the thread that starts it.
///
/// # Errors
/// When the program cannot be started.
pub(super) fn start_on(cores: &[usize], command: Command) -> Result<Child> {
    let start = || {
        cpu::keep_on(cores)?;
        Child::start(command)
    };
    let child = thread::scope(|scope| scope.spawn(start).join());
    Ok(child.unwrap_or_else(|panic| resume_unwind(panic))?)
}
