//! What the kernel's verifier says about a program.

use std::ffi::CStr;
use std::fmt;

use linerate_base::{Error, ErrorKind};

use super::privilege;
use crate::capability::Capability;

/// The kernel's refusal of a program, with all that its verifier said.
#[derive(Debug)]
pub struct LoadError {
    error: Error,
    log: String,
}

impl LoadError {
    /// The program did not come before the verifier.
    pub(super) fn unverified(error: Error) -> Self {
        Self { error, log: String::new() }
    }

    /// The verifier refused, and said this.
    pub(super) fn verified(error: &Error, log: String) -> Self {
        let answer = format!("{}: {}", error.answered(), last_useful_lines(&log));
        let mut error = Error::new(kind_of(error), error.asked(), answer);
        if !privilege::has(Capability::Perfmon) {
            error = error.advise("the verifier is stricter with a process without CAP_PERFMON");
        }
        Self { error, log }
    }

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

/// The kernel answers EACCES to a program that does what programs may not do.
fn kind_of(error: &Error) -> ErrorKind {
    match error.kind() {
        ErrorKind::Permission => ErrorKind::Invalid,
        kind => kind,
    }
}

/// Where the verifier writes.
pub(super) struct Log {
    pub(super) level: u32,
    pub(super) buffer: Vec<u8>,
}

impl Log {
    pub(super) const FAILING_PATH: u32 = 1;
    pub(super) const EVERY_INSTRUCTION: u32 = 2;
    /// Since Linux 6.4 a fuller log keeps its end, which is what matters.
    const SIZE: usize = 1 << 20;

    pub(super) fn new(level: u32) -> Self {
        Self { level, buffer: vec![0; Self::SIZE] }
    }

    pub(super) fn text(&self) -> String {
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
