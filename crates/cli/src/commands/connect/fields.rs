//! What is told of a visit.

use std::fmt::Write as _;
use std::time::Duration;

use linerate::scan::visit::{Outcome, Visit};
use linerate::tcp::quote::Trouble;
use serde_json::{Value, json};

use crate::args::VisitFieldArg;
use crate::commands::survey::seconds;

/// The value of a field.
pub(super) fn value(visit: &Visit, field: VisitFieldArg) -> Value {
    let micros = |span: Option<Duration>| json!(span.map(|span| span.as_micros() as u64));
    match field {
        VisitFieldArg::Address => json!(visit.target.address),
        VisitFieldArg::Port => json!(visit.target.port),
        VisitFieldArg::Outcome => json!(visit.outcome.name()),
        VisitFieldArg::Code => match visit.outcome {
            Outcome::Unreachable(Trouble::Unreachable(code)) => json!(code),
            _ => Value::Null,
        },
        VisitFieldArg::ConnectMs => json!(visit.connect.map(|span| span.as_millis() as u64)),
        VisitFieldArg::FirstUs => micros(visit.first),
        VisitFieldArg::OpenUs => micros(visit.open),
        VisitFieldArg::Bytes => json!(visit.received),
        VisitFieldArg::Data => json!(escaped(&visit.data)),
        VisitFieldArg::Time => json!(seconds(visit.time)),
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
