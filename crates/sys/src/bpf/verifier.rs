//! What the kernel's verifier says about a program.

use std::env;
use std::ffi::{CStr, OsStr};
use std::fmt;
use std::fs::OpenOptions;
use std::io::Write;

use linerate_base::{Error, ErrorKind};

use crate::capability::{self, Capability};

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
        let error = Error::new(kind_of(error), error.asked(), answer);
        let kept = keep(env::var_os(FILE).as_deref(), &error, &log);
        let advice = if capability::has_for_bpf(Capability::Perfmon) {
            kept
        } else {
            format!("the verifier is stricter with a process without CAP_PERFMON; {kept}")
        };
        Self { error: error.advise(advice), log }
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

/// The environment variable that names the file where whole logs are kept.
const FILE: &str = "LINERATE_VERIFIER_LOG";

/// Adds the log to the file that was asked for, and says where it is.
fn keep(file: Option<&OsStr>, error: &Error, log: &str) -> String {
    let Some(file) = file else { return format!("{FILE}=FILE keeps the verifier's whole log") };
    let name = file.to_string_lossy();
    let append = || {
        let mut file = OpenOptions::new().append(true).create(true).open(file)?;
        writeln!(file, "{error}\n{log}")
    };
    match append() {
        Ok(()) => format!("the verifier's whole log is in {name}"),
        Err(e) => format!("the verifier's log cannot be kept in {name}: {e}"),
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

    #[test]
    fn whole_logs_are_kept_where_it_is_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("log");
        let error = Error::new(ErrorKind::Invalid, "load it", "no");
        for log in ["first", "second"] {
            let said = keep(Some(file.as_os_str()), &error, log);
            assert!(said.ends_with(file.to_str().unwrap()), "{said}");
        }
        let kept = std::fs::read_to_string(&file).unwrap();
        assert_eq!(kept, "load it: no\nfirst\nload it: no\nsecond\n");
        let said = keep(Some(folder.path().as_os_str()), &error, "");
        assert!(said.contains("cannot be kept"), "{said}");
        assert!(keep(None, &error, "").starts_with(FILE));
    }
}
