//! What was found, a line each, with the fields that were asked for.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result};
use clap::ValueEnum;
use linerate::scan::Target;
use serde_json::{Map, Value};

use super::Cell;
use crate::args::{RowsArg, RunArgs};

/// Where it is written. `F` are the fields that there may be.
pub(in super::super) struct Rows<F> {
    out: BufWriter<Box<dyn Write + Send>>,
    form: Form<F>,
    /// The line at hand, whose memory serves for all of them.
    line: String,
}

/// Bytes that are written together.
const BUFFER: usize = 1 << 16;

impl<F: ValueEnum + Copy> Rows<F> {
    /// Opens the output, and tells what `read` makes of the lines that are there already, where a run goes on.
    ///
    /// # Errors
    /// When the file cannot be made or read.
    pub(in super::super) fn open<T>(
        args: &RunArgs,
        fields: &[F],
        read: impl Fn(&Line) -> Option<T>,
    ) -> Result<(Self, Vec<T>)> {
        let (mut known, mut is_begun) = (Vec::new(), false);
        let out: Box<dyn Write + Send> = match &args.output {
            None => Box::new(io::stdout()),
            Some(path) if args.resume => {
                let text = whole_lines(path)?;
                is_begun = !text.is_empty();
                known = lines(&text, args.format).iter().filter_map(read).collect();
                let asked = || format!("go on with {}", path.display());
                let file = OpenOptions::new().append(true).create(true).open(path);
                let file = file.with_context(asked)?;
                // A line that was cut off would spoil the next one.
                file.set_len(text.len() as u64).with_context(asked)?;
                Box::new(file)
            }
            Some(path) => {
                Box::new(File::create(path).with_context(|| format!("write {}", path.display()))?)
            }
        };
        let form = Form::new(args.format, fields);
        let out = BufWriter::with_capacity(BUFFER, out);
        let mut rows = Self { out, form, line: String::new() };
        if args.format == RowsArg::Csv && !is_begun {
            rows.line = fields.iter().map(name).collect::<Vec<_>>().join(",") + "\n";
            rows.write()?;
        }
        Ok((rows, known))
    }

    /// Writes a line, of which `put` gives each field's cell its value.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(in super::super) fn add(&mut self, put: impl Fn(F, Cell<'_>)) -> Result<()> {
        self.line.clear();
        self.form.fill(&mut self.line, put);
        self.write()
    }

    fn write(&mut self) -> Result<()> {
        self.out.write_all(self.line.as_bytes()).context("write what was found")
    }

    /// Makes everything visible.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub(in super::super) fn flush(&mut self) -> Result<()> {
        self.out.flush().context("write what was found")
    }
}

/// A field's name.
pub(super) fn name<F: ValueEnum>(field: &F) -> String {
    let value = field.to_possible_value();
    value.map_or_else(String::new, |value| value.get_name().to_owned())
}

/// How a line is made up.
struct Form<F> {
    format: RowsArg,
    /// The fields, each with what stands before its value.
    columns: Vec<(String, F)>,
    end: &'static str,
}

impl<F: ValueEnum + Copy> Form<F> {
    fn new(format: RowsArg, fields: &[F]) -> Self {
        let mut named: Vec<_> = fields.iter().map(|field| (name(field), *field)).collect();
        if format == RowsArg::Json {
            // An object has each of its members once, and ours has them by their names.
            named.sort_by(|(one, _), (other, _)| one.cmp(other));
            named.dedup_by(|(one, _), (other, _)| one == other);
        }
        let column = |(place, (name, field))| match (format, place) {
            (RowsArg::Csv, 0) => (String::new(), field),
            (RowsArg::Csv, _) => (",".into(), field),
            (RowsArg::Json, 0) => (format!("{{\"{name}\":"), field),
            (RowsArg::Json, _) => (format!(",\"{name}\":"), field),
        };
        let columns = named.into_iter().enumerate().map(column).collect();
        let end = if format == RowsArg::Json { "}\n" } else { "\n" };
        Self { format, columns, end }
    }

    fn fill(&self, line: &mut String, put: impl Fn(F, Cell<'_>)) {
        for (before, field) in &self.columns {
            line.push_str(before);
            put(*field, Cell::new(line, self.format));
        }
        line.push_str(self.end);
    }
}

/// Without quotes.
pub(super) fn bare(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(bare).collect::<Vec<_>>().join("; "),
        other => other.to_string(),
    }
}

/// The values of a line of comma-separated ones.
fn cells(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut is_quoted = false;
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        let cell = cells.last_mut().expect("there is one at least");
        match character {
            '"' if is_quoted && characters.next_if_eq(&'"').is_some() => cell.push('"'),
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => cells.push(String::new()),
            other => cell.push(other),
        }
    }
    cells
}

/// A line that was written before: its values by their fields' names.
pub(in super::super) struct Line(HashMap<String, String>);

impl Line {
    fn of_csv(names: &str, line: &str) -> Self {
        Self(names.split(',').map(str::to_owned).zip(cells(line)).collect())
    }

    fn of_json(line: &str) -> Self {
        let object: Map<_, _> = serde_json::from_str(line).unwrap_or_default();
        Self(object.into_iter().map(|(name, value)| (name, bare(&value))).collect())
    }

    /// The value of this field, if it was among them.
    pub(in super::super) fn value(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}

/// The target of a line with the fields `address` and, where there are ports, `port`.
pub(in super::super) fn target(line: &Line) -> Option<Target> {
    let port = line.value("port").map_or(Some(0), |port| port.parse().ok())?;
    Some(Target { address: line.value("address")?.parse().ok()?, port })
}

/// The lines of a file that are whole; none where there is no file.
fn whole_lines(path: &Path) -> Result<String> {
    let mut text = match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        read => read.with_context(|| format!("go on with {}", path.display()))?,
    };
    text.truncate(text.rfind('\n').map_or(0, |end| end + 1));
    Ok(text)
}

/// The lines of an output of this form.
fn lines(text: &str, format: RowsArg) -> Vec<Line> {
    let mut lines = text.lines();
    match format {
        RowsArg::Csv => {
            let names = lines.next().unwrap_or_default();
            lines.map(|line| Line::of_csv(names, line)).collect()
        }
        RowsArg::Json => lines.map(Line::of_json).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
    enum Field {
        Class,
        Port,
        Address,
    }

    fn line(format: RowsArg, fields: &[Field]) -> String {
        let mut line = String::new();
        Form::new(format, fields).fill(&mut line, |field, cell| match field {
            Field::Class => cell.null(),
            Field::Port => cell.number(80),
            Field::Address => cell.text("192.0.2.7"),
        });
        line
    }

    #[test]
    fn lines_read_back_whatever_the_form() {
        let fields = [Field::Class, Field::Port, Field::Address];
        let expected = Target { address: "192.0.2.7".parse().unwrap(), port: 80 };
        let csv = line(RowsArg::Csv, &fields);
        assert_eq!(csv, ",80,192.0.2.7\n");
        let json = line(RowsArg::Json, &[fields, fields].concat());
        assert_eq!(json, "{\"address\":\"192.0.2.7\",\"class\":null,\"port\":80}\n");
        for (format, text) in
            [(RowsArg::Csv, format!("class,port,address\n{csv}")), (RowsArg::Json, json)]
        {
            let found: Vec<_> = lines(&text, format).iter().filter_map(target).collect();
            assert_eq!(found, [expected], "{format:?}");
        }
    }

    #[test]
    fn commas_and_quotes_read_back() {
        for text in ["plain", "a,b", "say \"a,b\"", "\"", ""] {
            let mut line = String::new();
            Cell::new(&mut line, RowsArg::Csv).text(text);
            line.push(',');
            Cell::new(&mut line, RowsArg::Csv).list(["1", "x"].iter());
            assert_eq!(cells(&line), [text, "1; x"], "{line}");
        }
    }

    #[test]
    fn what_names_no_target_is_passed_over() {
        for (format, text) in
            [(RowsArg::Csv, "address,port\nx,80\n10.0.0.1\n"), (RowsArg::Json, "[1]\n{}\n")]
        {
            let targets = lines(text, format).iter().filter_map(target).collect::<Vec<_>>();
            let bare = Target { address: [10, 0, 0, 1].into(), port: 0 };
            assert!(targets.iter().all(|target| *target == bare), "{targets:?}");
        }
    }
}
