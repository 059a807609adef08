//! What is wrong with a packet expression, and where.

use std::fmt;
use std::ops::Range;

use linerate_base as base;
use linerate_base::{Excerpt, Word};

/// A result whose error is [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// What is wrong, where, and what to do about it.
///
/// ```text
/// TCP.dport has 16 bits: at most 65535
///   IP()/TCP(dport=80000)
///                  ^^^^^
///   the fields of ...
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    message: String,
    advice: Option<String>,
    place: Range<usize>,
    expression: String,
}

impl Error {
    /// An error at the bytes `place` of the expression.
    pub(super) fn at(place: &Range<usize>, message: impl Into<String>) -> Self {
        let place = place.clone();
        Self { message: message.into(), advice: None, place, expression: String::new() }
    }

    /// The same error with a word on what to do.
    pub(super) fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    /// The same error knowing the expression, so that it can show the place.
    pub(super) fn within(mut self, expression: &str) -> Self {
        self.expression = expression.to_owned();
        self
    }

    /// What is wrong, in one line.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Where, in bytes of the expression.
    pub fn place(&self) -> Range<usize> {
        self.place.clone()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        Excerpt::new(&self.expression, self.place()).fmt(f)?;
        match &self.advice {
            Some(advice) => write!(f, "\n  {advice}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {}

impl From<Error> for base::Error {
    fn from(error: Error) -> Self {
        let line = error.expression.trim().replace(char::is_control, " ");
        let asked = format!("make packets of `{}`", Word(&line));
        Self::new(base::ErrorKind::Invalid, asked, error.to_string())
    }
}
