//! What was found, a line each, with the fields that were asked for.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};

use anyhow::{Context, Result};
use linerate::scan::Target;
use serde_json::{Map, Value};

use super::cell::{Cell, Form};
use super::field::Field;
use super::place::Place;
use super::{Journal, Sieve, parquet};
use crate::args::RunArgs;
use crate::exit::usage;
use crate::output;
use crate::patience::{SOON, with_a_word};

/// Where it is written. `F` are the fields that there may be.
pub(in super::super) struct Rows<F> {
    out: BufWriter<Box<dyn Write + Send>>,
    place: Place,
    fields: Vec<F>,
    layout: Layout<F>,
    sieve: Sieve<F>,
    /// The line at hand, whose memory serves for all of them.
    line: String,
}

/// Bytes that are written together.
const BUFFER: usize = 1 << 16;

impl<F: Field> Rows<F> {
    /// Opens the output for what `sieve` keeps, and tells what `read` makes of the lines that are there already, where a run goes on.
    ///
    /// # Errors
    /// When the file cannot be made or read; of usage, when a run is to go on with other fields.
    pub(in super::super) fn open<T>(
        args: &RunArgs,
        fields: &[F],
        sieve: Sieve<F>,
        read: impl Fn(&Line) -> Option<T>,
    ) -> Result<(Self, Vec<T>)> {
        let place = Place::of(args)?;
        let layout = Layout::new(place.form, fields);
        let (mut known, mut length) = (Vec::new(), 0);
        let out: Box<dyn Write + Send> = match &place.lines {
            None => Box::new(io::stdout()),
            Some(path) if args.resume => {
                let asked = || format!("go on with {}", path.display());
                let file = OpenOptions::new().read(true).append(true).create(true).open(path);
                let file = file.with_context(asked)?;
                (known, length) = layout.known(&file, read).with_context(asked)?;
                // A line that was cut off would spoil the next one.
                file.set_len(length).with_context(asked)?;
                Box::new(file)
            }
            Some(path) => Box::new(File::create(path).with_context(|| place.asked())?),
        };
        let out = BufWriter::with_capacity(BUFFER, out);
        let fields = fields.to_vec();
        let mut rows = Self { out, place, fields, layout, sieve, line: String::new() };
        if rows.place.form == Form::Csv && length == 0 {
            rows.line = rows.layout.names().join(",") + "\n";
            rows.write()?;
        }
        Ok((rows, known))
    }

    /// True for what is to be written: `put` gives each field's cell its value.
    pub(in super::super) fn keeps(&mut self, put: impl Fn(F, Cell<'_>)) -> bool {
        self.sieve.keeps(&mut self.line, &put)
    }

    /// Writes a line, of which `put` gives each field's cell its value.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(in super::super) fn add(&mut self, put: impl Fn(F, Cell<'_>)) -> Result<()> {
        self.line.clear();
        self.layout.fill(&mut self.line, put);
        self.write()
    }

    fn write(&mut self) -> Result<()> {
        self.out.write_all(self.line.as_bytes()).with_context(|| self.place.asked())
    }

    /// Makes everything visible.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub(in super::super) fn flush(&mut self) -> Result<()> {
        self.out.flush().with_context(|| self.place.asked())
    }

    /// Writes what is left to be written, makes the file of it that is wanted, and notes in the journal whether all was done: only once
    /// its rows are where they belong a run is complete.
    ///
    /// # Errors
    /// As [`add`](Self::add), and those of the journal. Lines that were written stay.
    pub(in super::super) fn end(&mut self, journal: &mut Journal, is_done: bool) -> Result<()> {
        let kept = self.flush().and_then(|()| self.convert(journal));
        let ended = journal.end(is_done && kept.is_ok());
        kept.and(ended)?;
        let (Some(lines), Some(made)) = (&self.place.lines, &self.place.parquet) else {
            return Ok(());
        };
        if journal.can_go_on() {
            let (lines, made) = (lines.display(), made.display());
            output::tell(format_args!("{made} has what was found so far; {lines} is for --resume"));
            return Ok(());
        }
        fs::remove_file(lines).with_context(|| format!("remove {}", lines.display()))
    }

    /// Makes a Parquet file of the lines, if one is wanted.
    fn convert(&self, journal: &Journal) -> Result<()> {
        let (Some(lines), Some(made)) = (&self.place.lines, &self.place.parquet) else {
            return Ok(());
        };
        let say = || output::tell(format_args!("making {}", made.display()));
        let how = match journal.is_kept() {
            true => ", of which the same command with --resume makes it once it can",
            false => "",
        };
        with_a_word(SOON, say, || parquet::make(lines, made, &self.fields))
            .with_context(|| format!("all rows are in {}{how}", lines.display()))
    }
}

/// How a line is made up.
struct Layout<F> {
    form: Form,
    /// The fields, each with what stands before its value.
    columns: Vec<(String, F)>,
    end: &'static str,
}

impl<F: Field> Layout<F> {
    fn new(form: Form, fields: &[F]) -> Self {
        let mut fields = fields.to_vec();
        if form == Form::Json {
            // An object has each of its members once, and ours has them by their names.
            fields.sort_by_key(|field| field.name());
            fields.dedup_by_key(|field| field.name());
        }
        let before = |(place, field): (usize, &F)| match (form, place) {
            (Form::Json, 0) => format!("{{\"{}\":", field.name()),
            (Form::Json, _) => format!(",\"{}\":", field.name()),
            (_, 0) => String::new(),
            (_, _) => ",".into(),
        };
        let columns = fields.iter().enumerate().map(|column| (before(column), *column.1)).collect();
        let end = if form == Form::Json { "}\n" } else { "\n" };
        Self { form, columns, end }
    }

    fn names(&self) -> Vec<String> {
        self.columns.iter().map(|(_, field)| field.name()).collect()
    }

    /// What `read` makes of each line of a run that goes on, and how many bytes the lines have that are whole.
    fn known<T>(
        &self,
        file: impl Read,
        read: impl Fn(&Line) -> Option<T>,
    ) -> Result<(Vec<T>, u64)> {
        let mut lines = BufReader::with_capacity(BUFFER, file);
        let (names, mut known, mut length) = (self.names(), Vec::new(), 0);
        let mut line = Vec::new();
        loop {
            line.clear();
            lines.read_until(b'\n', &mut line)?;
            let Some(whole) = line.strip_suffix(b"\n") else { return Ok((known, length)) };
            let text = str::from_utf8(whole)?;
            if length == 0 {
                self.check(text)?;
            }
            match self.form {
                Form::Json => known.extend(read(&Line::of_json(text))),
                _ if length == 0 => {}
                _ => known.extend(read(&Line::of_csv(&names, text))),
            }
            length += line.len() as u64;
        }
    }

    /// That the first line is one with the same fields.
    fn check(&self, first: &str) -> Result<()> {
        let found: Vec<String> = match self.form {
            Form::Json => {
                let object: Map<_, _> = serde_json::from_str(first).unwrap_or_default();
                object.into_iter().map(|(name, _)| name).collect()
            }
            _ => first.split(',').map(str::to_owned).collect(),
        };
        match found == self.names() {
            true => Ok(()),
            false => Err(usage(format!(
                "--resume: it was begun with another --format or other --fields: its first line is `{}`",
                first.chars().take(100).collect::<String>()
            ))),
        }
    }

    fn fill(&self, line: &mut String, put: impl Fn(F, Cell<'_>)) {
        for (before, field) in &self.columns {
            line.push_str(before);
            put(*field, Cell::new(line, self.form));
        }
        line.push_str(self.end);
    }
}

/// Without quotes.
fn bare(value: &Value) -> String {
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
    fn of_csv(names: &[String], line: &str) -> Self {
        Self(names.iter().cloned().zip(cells(line)).collect())
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

#[cfg(test)]
mod tests {
    use super::super::Kind;
    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
    enum Part {
        Class,
        Port,
        Address,
    }

    impl Field for Part {
        fn kind(self) -> Kind {
            match self {
                Self::Class => Kind::Text,
                Self::Port => Kind::Number,
                Self::Address => Kind::Address,
            }
        }
    }

    const FIELDS: [Part; 3] = [Part::Class, Part::Port, Part::Address];

    fn line(form: Form, fields: &[Part]) -> String {
        let mut line = String::new();
        Layout::new(form, fields).fill(&mut line, |field, cell| match field {
            Part::Class => cell.null(),
            Part::Port => cell.number(80),
            Part::Address => cell.text("192.0.2.7"),
        });
        line
    }

    #[test]
    fn lines_read_back_whatever_the_form() {
        let expected = Target { address: "192.0.2.7".parse().unwrap(), port: 80 };
        let csv = line(Form::Csv, &FIELDS);
        assert_eq!(csv, ",80,192.0.2.7\n");
        let json = line(Form::Json, &[FIELDS, FIELDS].concat());
        assert_eq!(json, "{\"address\":\"192.0.2.7\",\"class\":null,\"port\":80}\n");
        for (form, text) in [(Form::Csv, format!("class,port,address\n{csv}")), (Form::Json, json)]
        {
            let whole = text.len() as u64;
            for text in [text.clone(), text + "{\"address\":\"192.0.2.8"] {
                let known = Layout::new(form, &FIELDS).known(text.as_bytes(), target).unwrap();
                assert_eq!(known, (vec![expected], whole), "{form:?}");
            }
        }
    }

    #[test]
    fn a_run_goes_on_with_the_same_fields_only() {
        for (form, text) in
            [(Form::Csv, "class,port,address\n".into()), (Form::Json, line(Form::Json, &FIELDS))]
        {
            let known = |fields| Layout::new(form, fields).known(text.as_bytes(), target);
            assert!(known(&FIELDS).is_ok(), "{form:?}");
            let error = known(&FIELDS[..2]).unwrap_err();
            assert!(error.to_string().contains("was begun with another --format"), "{error}");
            let none = Layout::new(form, &FIELDS).known(&b""[..], target).unwrap();
            assert_eq!(none, (vec![], 0), "{form:?}");
        }
    }

    #[test]
    fn commas_and_quotes_read_back() {
        for text in ["plain", "a,b", "say \"a,b\"", "\"", ""] {
            let mut line = String::new();
            Cell::new(&mut line, Form::Csv).text(text);
            line.push(',');
            Cell::new(&mut line, Form::Csv).list(["1", "x"].iter());
            assert_eq!(cells(&line), [text, "1; x"], "{line}");
        }
    }

    #[test]
    fn what_names_no_target_is_passed_over() {
        let bare = Target { address: [10, 0, 0, 1].into(), port: 0 };
        let fields = ["address".to_owned(), "port".to_owned()];
        for (text, expected) in [("x,80", None), ("", None), ("10.0.0.1", Some(bare))] {
            assert_eq!(target(&Line::of_csv(&fields, text)), expected, "{text}");
        }
        for text in ["[1]", "{}", "{\"address\":7}", "{\"address\""] {
            assert_eq!(target(&Line::of_json(text)), None, "{text}");
        }
    }
}
