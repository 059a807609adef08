use std::ffi::CStr;
use std::fmt;
use std::io;
use std::os::fd::OwnedFd;

use linerate_base::{Error, ErrorKind, Result};

use super::{PRIVILEGE, bpf_descriptor, command, object_name};

/// Where a program may be attached. Values: `enum bpf_prog_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ProgramKind {
    /// A filter on a socket.
    SocketFilter = 1,
}

/// The kernel's refusal of a program, with all that its verifier said.
#[derive(Debug)]
pub struct LoadError {
    error: Error,
    log: String,
}

impl LoadError {
    /// The verifier's whole log; empty when the program did not come before it.
    pub fn log(&self) -> &str {
        &self.log
    }
}

impl fmt::Display for LoadError {
    /// The error with the last useful lines of the log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for LoadError {}

impl From<LoadError> for Error {
    fn from(refused: LoadError) -> Self {
        refused.error
    }
}

/// Loads a program, given as encoded instructions (8 bytes each, in memory order).
///
/// # Errors
/// Without the privilege, or when the verifier refuses the program.
pub fn load_program(
    kind: ProgramKind,
    instructions: &[u64],
    name: &str,
) -> std::result::Result<OwnedFd, LoadError> {
    let load = Load { kind, instructions, name };
    load.submit(None).map_err(|e| load.refused(e))
}

/// Loads a program only to hear the verifier: its log, instruction by instruction.
///
/// # Errors
/// As [`load_program`].
pub fn explain_program(kind: ProgramKind, instructions: &[u64]) -> Result<String> {
    let load = Load { kind, instructions, name: "explained" };
    let mut log = Log::new(Log::EVERY_INSTRUCTION);
    load.submit(Some(&mut log)).map_err(|e| load.refused(e))?;
    Ok(log.text())
}

struct Load<'a> {
    kind: ProgramKind,
    instructions: &'a [u64],
    name: &'a str,
}

/// `BPF_PROG_LOAD`'s part of `union bpf_attr`, as far as it is used.
#[repr(C)]
struct LoadAttributes {
    prog_type: u32,
    insn_cnt: u32,
    insns: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log_buf: u64,
    kern_version: u32,
    prog_flags: u32,
    name: [u8; 16],
}

/// The kernel asks under which licence a program is, for helpers reserved to GPL-compatible ones.
const LICENSE: &CStr = c"Dual MIT/GPL";

impl Load<'_> {
    fn submit(&self, mut log: Option<&mut Log>) -> io::Result<OwnedFd> {
        let mut attributes = LoadAttributes {
            prog_type: self.kind as u32,
            insn_cnt: self.instructions.len() as u32,
            insns: self.instructions.as_ptr() as u64,
            license: LICENSE.as_ptr() as u64,
            log_level: log.as_ref().map_or(0, |log| log.level),
            log_size: log.as_ref().map_or(0, |log| log.buffer.len() as u32),
            log_buf: log.as_mut().map_or(0, |log| log.buffer.as_mut_ptr() as u64),
            kern_version: 0,
            prog_flags: 0,
            name: object_name(self.name),
        };
        // SAFETY: the attributes are those of BPF_PROG_LOAD; the instructions are borrowed during
        // the call, the licence is a C string, the log's buffer is ours and has the given size.
        unsafe { bpf_descriptor(command::PROG_LOAD, &mut attributes) }
    }

    /// Loading without a log is quicker, so that the log is made when it is needed.
    fn refused(&self, error: io::Error) -> LoadError {
        let error = Error::system(format!("load the BPF program {}", self.name), error);
        if error.raw_os_error() == Some(libc::EPERM) {
            return LoadError { error: error.advise(PRIVILEGE), log: String::new() };
        }
        let mut log = Log::new(Log::FAILING_PATH);
        // Refused again, for the same reason; or let in this time, and the log says nothing.
        drop(self.submit(Some(&mut log)));
        let log = log.text();
        let answer = format!("{}: {}", error.answered(), last_useful_lines(&log));
        LoadError { error: Error::new(kind_of(&error), error.asked(), answer), log }
    }
}

/// The kernel answers EACCES to a program that does what programs may not do.
fn kind_of(error: &Error) -> ErrorKind {
    match error.kind() {
        ErrorKind::Permission => ErrorKind::Invalid,
        kind => kind,
    }
}

/// Where the verifier writes.
struct Log {
    level: u32,
    buffer: Vec<u8>,
}

impl Log {
    const FAILING_PATH: u32 = 1;
    const EVERY_INSTRUCTION: u32 = 2;
    /// Since Linux 6.4 a fuller log keeps its end, which is what matters.
    const SIZE: usize = 1 << 20;

    fn new(level: u32) -> Self {
        Self { level, buffer: vec![0; Self::SIZE] }
    }

    fn text(&self) -> String {
        let text = CStr::from_bytes_until_nul(&self.buffer).unwrap_or_default();
        text.to_string_lossy().into_owned()
    }
}

/// The reason and the instruction it belongs to come last, before the statistics.
fn last_useful_lines(log: &str) -> String {
    let statistics = |line: &&str| !line.starts_with("processed ");
    let mut lines: Vec<_> = log.lines().rev().filter(statistics).take(3).collect();
    lines.reverse();
    lines.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_useful_lines_are_the_last_before_the_statistics() {
        let log = "0: (b7) r0 = 0\n1: (bf) r0 = r2\nR2 !read_ok\nprocessed 2 insns (limit 1)\n";
        assert_eq!(last_useful_lines(log), "0: (b7) r0 = 0; 1: (bf) r0 = r2; R2 !read_ok");
        assert_eq!(last_useful_lines(""), "");
    }
}
