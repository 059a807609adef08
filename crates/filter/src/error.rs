//! What is wrong with an expression, and where.

use crate::hint::hint;
use crate::syntax::Span;
use linerate_base as base;
use linerate_base::{Excerpt, Word};
use std::fmt;

/// A result whose error is [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// What kind of failure it was, for callers that act on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The expression is not of the language.
    Syntax,
    /// It is of the language but says nothing: a port of ICMP, a VLAN tag of 5000.
    Meaning,
    /// A name that the resolver does not know.
    Name,
    /// The link type cannot do this, or we cannot yet.
    Unsupported,
    /// It is nested too deeply, or needs more scratch memory than the machine has.
    Limit,
    /// The kernel takes no program this large: filter in user space.
    TooLarge,
    /// The kernel takes no program that loops (`protochain`): filter in user space.
    Loop,
    /// The kernel shows a socket no cooked header, which user space makes: filter there.
    Hidden,
}

/// What is wrong, where, and what was expected there.
///
/// Displays as the message and, where the place is known, the expression (of a long one what is
/// around the place) with carets under it; and, where there is any, what to do about it:
///
/// ```text
/// a port is at most 65535
///   tcp port 80000
///            ^^^^^
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    expected: Option<Box<str>>,
    advice: Option<Box<str>>,
    span: Option<Span>,
    expression: Box<str>,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            expected: None,
            advice: None,
            span: None,
            expression: Box::default(),
        }
    }

    pub(crate) fn at(kind: ErrorKind, message: impl Into<String>, span: Span) -> Self {
        Self::new(kind, message).placed(span)
    }

    pub(crate) fn syntax(message: impl Into<String>, span: Span) -> Self {
        Self::at(ErrorKind::Syntax, message, span)
    }

    pub(crate) fn meaning(message: impl Into<String>, span: Span) -> Self {
        Self::at(ErrorKind::Meaning, message, span)
    }

    pub(crate) fn unsupported(message: impl Into<String>, span: Span) -> Self {
        Self::at(ErrorKind::Unsupported, message, span)
    }

    /// The same error with what would have been right.
    pub(crate) fn expected(mut self, expected: impl Into<Box<str>>) -> Self {
        self.expected = Some(expected.into());
        self
    }

    /// An error of the kernel alone, with the reason.
    pub(crate) fn kernel(kind: ErrorKind, reason: impl fmt::Display) -> Self {
        let message = format!("the kernel cannot take this filter: {reason}");
        Self::new(kind, message).advise("a live capture filters it in user space")
    }

    /// The same error about a place.
    pub(crate) fn placed(mut self, span: Span) -> Self {
        self.span = Some(span);
        self
    }

    /// The same error with what to do about it.
    pub(crate) fn advise(mut self, advice: impl Into<Box<str>>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    /// The same error knowing the whole expression, so that it can show the place,
    /// and give a hint if that is a common mistake.
    pub(crate) fn within(mut self, expression: &str) -> Self {
        self.expression = expression.into();
        let hint = || hint(self.kind, expression, self.span?).map(Into::into);
        self.advice = self.advice.or_else(hint);
        self
    }

    /// What kind of failure it was.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// True when the kernel cannot run this filter and user space can.
    pub fn user_space_can(&self) -> bool {
        matches!(self.kind, ErrorKind::TooLarge | ErrorKind::Loop | ErrorKind::Hidden)
    }

    /// What is wrong, in one line.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Where in the expression, in bytes; `None` when it is about the whole.
    pub fn span(&self) -> Option<Span> {
        self.span
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if let Some(expected) = &self.expected {
            write!(f, ": expected {expected}")?;
        }
        if let Some(span) = self.span {
            Excerpt::new(&self.expression, span.start..span.end).fmt(f)?;
        }
        match &self.advice {
            Some(advice) => write!(f, "\n  {advice}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {}

impl From<Error> for base::Error {
    fn from(error: Error) -> Self {
        let kind = match error.kind {
            ErrorKind::Syntax | ErrorKind::Meaning => base::ErrorKind::Invalid,
            ErrorKind::Name => base::ErrorKind::NotFound,
            _ => base::ErrorKind::Unsupported,
        };
        let line = error.expression.trim().replace(char::is_control, " ");
        let asked = format!("compile the filter `{}`", Word(&line));
        Self::new(kind, asked, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caret_stands_under_the_place() {
        let span = Span { start: 5, end: 8 };
        let error = Error::meaning("bad", span).expected("good").within("tcp\tfoo bar");
        assert_eq!(error.to_string(), "bad: expected good\n  tcp foo bar\n       ^^^");
    }

    #[test]
    fn the_end_of_the_expression_has_a_caret_too() {
        let error = Error::syntax("more", Span { start: 3, end: 3 }).within("tcp");
        assert_eq!(error.to_string(), "more\n  tcp\n     ^");
    }

    #[test]
    fn what_to_do_comes_last() {
        let error = Error::kernel(ErrorKind::Hidden, "why").placed(Span { start: 0, end: 2 });
        assert_eq!(
            error.within("ip").to_string(),
            "the kernel cannot take this filter: why\n  ip\n  ^^\n  \
             a live capture filters it in user space"
        );
    }

    #[test]
    fn without_a_place_there_is_only_the_message() {
        let error = Error::new(ErrorKind::TooLarge, "too large").within("tcp");
        assert_eq!(error.to_string(), "too large");
    }
}
