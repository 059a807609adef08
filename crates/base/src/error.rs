//! One error type with three parts: what was asked, what the system answered, what to do.

use std::fmt;
use std::io;

/// A result whose error is [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// What kind of failure it was, for callers that act on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A capability or file permission is missing.
    Permission,
    /// The named interface, file, namespace or symbol does not exist.
    NotFound,
    /// The thing was there and went away while in use: interface deleted, namespace gone.
    Gone,
    /// The interface is there but down.
    Down,
    /// Somebody else holds it.
    Busy,
    /// Memory, descriptors or disk space ran out.
    Exhausted,
    /// The kernel, driver, link type or construct cannot do this.
    Unsupported,
    /// Input bytes that break their format.
    Malformed,
    /// An argument that makes no sense.
    Invalid,
    /// Somebody wanted an end before it was done.
    Interrupted,
    /// Whoever read what is written has gone.
    BrokenPipe,
    /// Any other failure of the system.
    Io,
}

/// What was asked, what the system answered, and what to do about it.
///
/// Displays as `asked: answered (advice)`.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    asked: String,
    answered: String,
    advice: Option<String>,
    os_error: Option<i32>,
}

impl Error {
    /// An error in which `asked` names the attempt ("open eth7") and `answered` the reason.
    pub fn new(kind: ErrorKind, asked: impl Into<String>, answered: impl Into<String>) -> Self {
        Self { kind, asked: asked.into(), answered: answered.into(), advice: None, os_error: None }
    }

    /// The error that the system gave to `asked`; its kind follows from the system's.
    #[expect(clippy::needless_pass_by_value, reason = "so that it fits `map_err`")]
    pub fn system(asked: impl Into<String>, source: io::Error) -> Self {
        Self {
            kind: kind_of(&source),
            asked: asked.into(),
            answered: source.to_string(),
            advice: None,
            os_error: source.raw_os_error(),
        }
    }

    /// The same error with a word on what to do.
    #[must_use]
    pub fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    /// The same error as another kind, where the caller knows better than the system's number.
    #[must_use]
    pub fn as_kind(mut self, kind: ErrorKind) -> Self {
        self.kind = kind;
        self
    }

    /// The same error with the place where it happened, such as a file, before what was asked.
    #[must_use]
    pub fn within(mut self, place: &str) -> Self {
        self.asked = format!("{place}: {}", self.asked);
        self
    }

    /// The same error as the answer to what the caller was asked for, instead of to a step on the way.
    #[must_use]
    pub fn asking(mut self, asked: impl Into<String>) -> Self {
        self.asked = asked.into();
        self
    }

    /// What kind of failure it was.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// What was attempted.
    pub fn asked(&self) -> &str {
        &self.asked
    }

    /// What the system, or the input, answered.
    pub fn answered(&self) -> &str {
        &self.answered
    }

    /// What the user can do about it.
    pub fn advice(&self) -> Option<&str> {
        self.advice.as_deref()
    }

    /// The system's error number, where the system gave one.
    pub fn raw_os_error(&self) -> Option<i32> {
        self.os_error
    }
}

fn kind_of(error: &io::Error) -> ErrorKind {
    match error.kind() {
        io::ErrorKind::PermissionDenied => ErrorKind::Permission,
        io::ErrorKind::NotFound => ErrorKind::NotFound,
        io::ErrorKind::NetworkDown => ErrorKind::Down,
        io::ErrorKind::ResourceBusy | io::ErrorKind::AddrInUse | io::ErrorKind::AlreadyExists => {
            ErrorKind::Busy
        }
        io::ErrorKind::OutOfMemory | io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            ErrorKind::Exhausted
        }
        io::ErrorKind::Unsupported => ErrorKind::Unsupported,
        io::ErrorKind::BrokenPipe => ErrorKind::BrokenPipe,
        io::ErrorKind::InvalidInput => ErrorKind::Invalid,
        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => ErrorKind::Malformed,
        _ => ErrorKind::Io,
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.asked, self.answered)?;
        match &self.advice {
            Some(advice) => write!(f, " ({advice})"),
            None => Ok(()),
        }
    }
}

/// What the system answered is in the text already, so there is no further source to print.
impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_has_all_three_parts() {
        let error = Error::new(ErrorKind::NotFound, "open eth7", "no such interface")
            .advise("`linerate interfaces` lists them");
        assert_eq!(
            error.to_string(),
            "open eth7: no such interface (`linerate interfaces` lists them)"
        );
    }

    #[test]
    fn the_kind_follows_the_system() {
        let error = Error::system("write f.pcap", io::Error::from_raw_os_error(28));
        assert_eq!((error.kind(), error.raw_os_error()), (ErrorKind::Exhausted, Some(28)));
    }
}
