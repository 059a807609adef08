//! What is told of a visit.

use std::fmt::Write as _;
use std::time::Duration;

use linerate::scan::visit::{Outcome, Visit};
use linerate::tcp::quote::Trouble;

use crate::args::VisitFieldArg;
use crate::commands::survey::{Cell, Field, Kind, seconds};

/// Gives a field its value.
pub(super) fn put(visit: &Visit, field: VisitFieldArg, cell: Cell<'_>) {
    let micros = |span: Option<Duration>| span.map(|span| span.as_micros() as u64);
    match field {
        VisitFieldArg::Address => cell.text(visit.target.address),
        VisitFieldArg::Port => cell.number(u64::from(visit.target.port)),
        VisitFieldArg::Outcome => cell.text(visit.outcome.name()),
        VisitFieldArg::Success => cell.flag(Some(visit.outcome.was_open())),
        VisitFieldArg::Code => match visit.outcome {
            Outcome::Unreachable(Some(Trouble::Unreachable(code))) => cell.number(u64::from(code)),
            _ => cell.null(),
        },
        VisitFieldArg::ConnectMs => cell.number(visit.connect.map(|span| span.as_millis() as u64)),
        VisitFieldArg::FirstUs => cell.number(micros(visit.first)),
        VisitFieldArg::OpenUs => cell.number(micros(visit.open)),
        VisitFieldArg::Bytes => cell.number(visit.received),
        VisitFieldArg::Data => cell.text(escaped(&visit.data)),
        VisitFieldArg::Time => cell.text(seconds(visit.time)),
    }
}

impl Field for VisitFieldArg {
    fn kind(self) -> Kind {
        match self {
            Self::Address => Kind::Address,
            Self::Outcome => Kind::Word(Outcome::NAMES),
            Self::Success => Kind::Flag,
            Self::Port
            | Self::Code
            | Self::ConnectMs
            | Self::FirstUs
            | Self::OpenUs
            | Self::Bytes => Kind::Number,
            Self::Data => Kind::Text,
            Self::Time => Kind::Time,
        }
    }
}

/// Printable ASCII as it is, but for what a line of comma-separated values cannot have, and backslashes.
fn escaped(data: &[u8]) -> String {
    let mut text = String::with_capacity(data.len());
    for byte in data {
        match byte {
            b' '..=b'~' if !b",\"\\".contains(byte) => text.push(char::from(*byte)),
            b'\r' => text += "\\r",
            b'\n' => text += "\\n",
            b'\\' => text += "\\\\",
            // A String takes everything.
            other => drop(write!(text, "\\x{other:02x}")),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_are_one_word_without_commas() {
        assert_eq!(escaped(b"a, \"b\"\\\r\n\0\xff~"), r"a\x2c \x22b\x22\\\r\n\x00\xff~");
    }
}
