//! The calling process, what its children begin with, and how they are asked to end.
//!
//! The functions that take a `Command` add a step that the child takes between fork and exec.
//! Only async-signal-safe calls are allowed there (signal-safety(7)): every step prepares what
//! it needs beforehand, and then makes bare system calls.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

use linerate_base::{Error, ErrorKind, Result};

use crate::netns::{self, Namespace};

/// The effective user of this process; 0 is root, of the user namespace it is in.
pub fn effective_user() -> u32 {
    // SAFETY: geteuid(2) takes nothing, cannot fail and touches no memory of ours.
    unsafe { libc::geteuid() }
}

/// The effective group of this process.
pub fn effective_group() -> u32 {
    // SAFETY: getegid(2) takes nothing, cannot fail and touches no memory of ours.
    unsafe { libc::getegid() }
}

/// Has the processes that the calling thread starts from now on begin in a new PID namespace.
///
/// When the first of them ends, the kernel kills the others and all that they have started,
/// whatever user they run as (pid_namespaces(7)). The thread cannot start threads any more.
///
/// # Errors
/// Without CAP_SYS_ADMIN.
pub fn contain_children() -> Result<()> {
    // SAFETY: unshare(2) takes no pointer; it changes only the calling thread.
    let result = unsafe { libc::unshare(libc::CLONE_NEWPID) };
    if result == 0 {
        return Ok(());
    }
    Err(Error::system("create a PID namespace", io::Error::last_os_error()))
}

/// Asks a process to end, as Ctrl-C does (SIGINT).
///
/// # Errors
/// When there is no such process, or it is not ours.
pub fn interrupt(process: u32) -> Result<()> {
    signal(process, libc::SIGINT)
}

/// Asks a process to end, as a service manager does (SIGTERM).
///
/// # Errors
/// When there is no such process, or it is not ours.
pub fn terminate(process: u32) -> Result<()> {
    signal(process, libc::SIGTERM)
}

fn signal(process: u32, signal: libc::c_int) -> Result<()> {
    let asked = || format!("send signal {signal} to the process {process}");
    // Zero and negative numbers would mean whole groups of processes.
    let process = libc::pid_t::try_from(process).ok().filter(|process| *process > 0);
    let Some(process) = process else {
        return Err(Error::new(ErrorKind::Invalid, asked(), "no process has this number"));
    };
    // SAFETY: kill(2) takes no pointer.
    let result = unsafe { libc::kill(process, signal) };
    if result == 0 { Ok(()) } else { Err(Error::system(asked(), io::Error::last_os_error())) }
}

/// Has the child run in `namespace`, which the command holds from now on.
pub fn enter_namespace(command: &mut Command, namespace: Namespace) {
    // SAFETY: the step makes one system call on a descriptor that it owns.
    unsafe { command.pre_exec(move || netns::set(namespace.as_fd())) };
}

/// Has the child killed when the *thread* that spawned it ends, however that happens.
///
/// The kernel forgets this when the child changes its user or executes a file with capabilities
/// (PR_SET_PDEATHSIG(2const)).
pub fn die_with_parent(command: &mut Command) {
    let parent = std::process::id();
    // SAFETY: the step makes two system calls and passes no pointer.
    unsafe { command.pre_exec(move || ask_to_die_with(parent)) };
}

fn ask_to_die_with(parent: u32) -> io::Result<()> {
    // SAFETY: PR_SET_PDEATHSIG takes a signal's number and no pointer.
    if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // The parent may have died before the request was made. One outside the child's PID namespace
    // is number 0.
    // SAFETY: getppid(2) takes nothing and cannot fail.
    let found = unsafe { libc::getppid() };
    if found != 0 && u32::try_from(found) != Ok(parent) {
        return Err(io::Error::from_raw_os_error(libc::ESRCH));
    }
    Ok(())
}
