//! What the shell is told: 0 success, 1 error, 2 usage, 3 packets lost. (Ended by a signal, it is 128 and
//! the signal's number.)

use std::fmt;
use std::io;
use std::process::ExitCode;

use linerate::base;

use crate::output;

/// How a command ended that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Success,
    /// Packets were lost, and the user asked to be told so.
    Lost,
    /// What a program that was run has told.
    Program(u8),
}

/// The user asked for something that makes no sense: exit status 2.
#[derive(Debug)]
pub(crate) struct Usage(pub(crate) String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// An error of usage, with this text.
pub(crate) fn usage(text: impl Into<String>) -> anyhow::Error {
    anyhow::Error::new(Usage(text.into()))
}

/// Reports a failure on standard error and gives the status; a reader that went away is no
/// failure, since `linerate ... | head` is how people look at a capture.
pub(crate) fn code(result: anyhow::Result<Outcome>) -> ExitCode {
    match result {
        Ok(Outcome::Success) => ExitCode::SUCCESS,
        Ok(Outcome::Lost) => ExitCode::from(3),
        Ok(Outcome::Program(code)) => ExitCode::from(code),
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            output::tell(format_args!("{error:#}"));
            ExitCode::from(if error.is::<Usage>() { 2 } else { 1 })
        }
    }
}

/// True when the error is that nobody reads our standard output any more.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let of_system = |cause: &io::Error| cause.kind() == io::ErrorKind::BrokenPipe;
    let of_ours = |cause: &base::Error| cause.kind() == base::ErrorKind::BrokenPipe;
    error.chain().any(|cause| {
        cause.downcast_ref().is_some_and(of_system) || cause.downcast_ref().is_some_and(of_ours)
    })
}
