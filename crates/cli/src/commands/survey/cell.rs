//! A value of a line, written where the line grows: millions of lines a second go by here.

use std::fmt::{Display, Write as _};

use serde_json::Value;

/// How values are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Csv,
    Json,
    /// As they are, several of them each on a line of its own.
    Plain,
}

/// The place of one value, which has to be given one.
#[must_use]
pub(in super::super) struct Cell<'a> {
    line: &'a mut String,
    form: Form,
}

impl<'a> Cell<'a> {
    pub(super) fn new(line: &'a mut String, form: Form) -> Self {
        Self { line, form }
    }

    /// There is none.
    pub(in super::super) fn null(self) {
        if self.form == Form::Json {
            self.line.push_str("null");
        }
    }

    /// A number, if there is one.
    pub(in super::super) fn number(self, value: impl Into<Option<u64>>) {
        self.bare(value.into());
    }

    /// True or false, if it is known.
    pub(in super::super) fn flag(self, value: Option<bool>) {
        self.bare(value);
    }

    fn bare(self, value: Option<impl Display>) {
        match value {
            Some(value) => put(self.line, value),
            None => self.null(),
        }
    }

    /// A text without ends of lines.
    pub(in super::super) fn text(self, value: impl Display) {
        let start = self.line.len();
        match self.form {
            Form::Csv => {
                put(self.line, value);
                quote(self.line, start);
            }
            Form::Json => string(self.line, value),
            Form::Plain => put(self.line, value),
        }
    }

    /// The same, if there is any.
    pub(in super::super) fn text_if(self, value: Option<impl Display>) {
        match value {
            Some(value) => self.text(value),
            None => self.null(),
        }
    }

    /// Several of them.
    pub(in super::super) fn list(self, values: impl Iterator<Item = impl Display>) {
        let start = self.line.len();
        match self.form {
            Form::Csv => {
                join(self.line, "; ", values, put);
                quote(self.line, start);
            }
            Form::Json => {
                self.line.push('[');
                join(self.line, ",", values, string);
                self.line.push(']');
            }
            Form::Plain => join(self.line, "\n", values, put),
        }
    }
}

fn put(line: &mut String, value: impl Display) {
    // A String takes everything.
    let _ = write!(line, "{value}");
}

fn join<T>(
    line: &mut String,
    between: &str,
    values: impl Iterator<Item = T>,
    write: impl Fn(&mut String, T),
) {
    for (place, value) in values.enumerate() {
        if place > 0 {
            line.push_str(between);
        }
        write(line, value);
    }
}

/// Puts what begins at `start` in quotes where it has to be in any (RFC 4180 2).
fn quote(line: &mut String, start: usize) {
    if line.as_bytes()[start..].iter().any(|byte| b",\"".contains(byte)) {
        let text = line.split_off(start);
        put(line, format_args!("\"{}\"", text.replace('"', "\"\"")));
    }
}

/// Adds a string of JSON (RFC 8259 7).
fn string(line: &mut String, value: impl Display) {
    let start = line.len();
    put(line, format_args!("\"{value}"));
    match line.as_bytes()[start + 1..].iter().any(|byte| b"\"\\".contains(byte) || *byte < b' ') {
        false => line.push('"'),
        true => {
            let text = line.split_off(start + 1);
            line.truncate(start);
            put(line, Value::String(text));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(form: Form, put: impl FnOnce(Cell<'_>)) -> String {
        let mut line = String::from("x,");
        put(Cell::new(&mut line, form));
        line.split_off(2)
    }

    #[test]
    fn values_look_as_each_form_has_them() {
        let all =
            |put: fn(Cell<'_>)| [Form::Csv, Form::Json, Form::Plain].map(|form| written(form, put));
        assert_eq!(all(|cell| cell.number(80)), ["80", "80", "80"]);
        assert_eq!(all(|cell| cell.number(None)), ["", "null", ""]);
        assert_eq!(all(|cell| cell.flag(Some(true))), ["true", "true", "true"]);
        assert_eq!(all(|cell| cell.text("a b")), ["a b", "\"a b\"", "a b"]);
        assert_eq!(all(|cell| cell.text_if(None::<&str>)), ["", "null", ""]);
        assert_eq!(all(|cell| cell.text("a,\"")), ["\"a,\"\"\"", "\"a,\\\"\"", "a,\""]);
        assert_eq!(all(|cell| cell.list(["a", "b"].iter())), ["a; b", "[\"a\",\"b\"]", "a\nb"]);
        assert_eq!(all(|cell| cell.list([0_u8; 0].iter())), ["", "[]", ""]);
        assert_eq!(all(|cell| cell.list(["a,b", "c"].iter()))[0], "\"a,b; c\"");
    }

    proptest! {
        #[test]
        fn strings_of_json_read_back(texts: Vec<String>) {
            let list = written(Form::Json, |cell| cell.list(texts.iter()));
            prop_assert_eq!(serde_json::from_str::<Vec<String>>(&list).unwrap(), texts);
        }
    }
}
