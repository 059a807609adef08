//! A Parquet file, made of the lines of JSON that a run has written: one pass, and memory for one row group.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use serde_json::{Map, Value};

use super::field::{Field, Kind};
use super::place::beside;

/// Bytes of lines that make a row group. Their values take some three times as much memory.
const GROUP: usize = 16 << 20;
const BUFFER: usize = 1 << 20;

/// Makes the file `to` of the lines of `from`, whole or not at all.
///
/// # Errors
/// When one cannot be read, or the other not be written.
pub(super) fn make<F: Field>(from: &Path, to: &Path, fields: &[F]) -> Result<()> {
    make_in_groups(from, to, fields, GROUP)
}

fn make_in_groups<F: Field>(from: &Path, to: &Path, fields: &[F], group: usize) -> Result<()> {
    let new = beside(to, ".new");
    let made = write(from, &new, fields, group).and_then(|()| Ok(fs::rename(&new, to)?));
    if made.is_err() {
        // The room that it takes is wanted, and a part of such a file is of no use. Where it was not made, there is none.
        let _ = fs::remove_file(&new);
    }
    made.with_context(|| format!("write {}", to.display()))
}

fn write<F: Field>(from: &Path, to: &Path, fields: &[F], group: usize) -> Result<()> {
    let asked = || format!("read {}", from.display());
    let mut lines = BufReader::with_capacity(BUFFER, File::open(from).with_context(asked)?);
    let file = File::create(to)?;
    let mut columns = columns(fields);
    let schema = parse_message_type(&schema(&columns)).map_err(cause)?;
    let properties = WriterProperties::builder()
        .set_created_by(concat!("linerate ", env!("CARGO_PKG_VERSION")).into())
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .build();
    let mut writer =
        SerializedFileWriter::new(&file, schema.into(), Arc::new(properties)).map_err(cause)?;
    let (mut line, mut size) = (String::new(), 0);
    for number in 1_u64.. {
        line.clear();
        let length = lines.read_line(&mut line).with_context(asked)?;
        if length == 0 {
            break;
        }
        add(&mut columns, &line)
            .with_context(|| format!("{}: line {number} is no row", from.display()))?;
        size += length;
        if size >= group {
            flush(&mut writer, &mut columns).map_err(cause)?;
            size = 0;
        }
    }
    if size > 0 {
        flush(&mut writer, &mut columns).map_err(cause)?;
    }
    writer.close().map_err(cause)?;
    Ok(file.sync_all()?)
}

/// Writes the rows at hand as a row group.
fn flush(
    writer: &mut SerializedFileWriter<&File>,
    columns: &mut [Column],
) -> Result<(), ParquetError> {
    let mut group = writer.next_row_group()?;
    columns.iter_mut().try_for_each(|column| column.write(&mut group))?;
    group.close().map(drop)
}

/// What the system said.
fn cause(error: ParquetError) -> anyhow::Error {
    match error {
        ParquetError::External(cause) => anyhow!(cause),
        other => other.into(),
    }
}

/// Adds a row.
fn add(columns: &mut [Column], line: &str) -> Option<()> {
    let row: Map<String, Value> = serde_json::from_str(line).ok()?;
    columns.iter_mut().try_for_each(|column| column.add(row.get(&column.name)?))
}

/// A field's values in a row group.
struct Column {
    name: String,
    values: Values,
    /// Of each value, and of what is none, how far it is defined; and whether it belongs to the same row as the one before.
    levels: Vec<i16>,
    repeats: Vec<i16>,
}

enum Values {
    Flags(Vec<bool>),
    Numbers(Vec<i64>),
    /// Microseconds since 1970.
    Times(Vec<i64>),
    Texts(Vec<ByteArray>),
    Lists(Vec<ByteArray>),
}

/// A column for each field that is asked for, again or not.
fn columns<F: Field>(fields: &[F]) -> Vec<Column> {
    let mut columns: Vec<Column> = Vec::new();
    for field in fields {
        let name = field.name();
        if columns.iter().any(|column| column.name == name) {
            continue;
        }
        let values = match field.kind() {
            Kind::Flag => Values::Flags(Vec::new()),
            Kind::Number => Values::Numbers(Vec::new()),
            Kind::Time => Values::Times(Vec::new()),
            Kind::Address | Kind::Word(_) | Kind::Text => Values::Texts(Vec::new()),
            Kind::Texts => Values::Lists(Vec::new()),
        };
        columns.push(Column { name, values, levels: Vec::new(), repeats: Vec::new() });
    }
    columns
}

/// Their types, as the format's own language has them.
fn schema(columns: &[Column]) -> String {
    let column = |Column { name, values, .. }: &Column| match values {
        Values::Flags(_) => format!("OPTIONAL BOOLEAN {name};"),
        Values::Numbers(_) => format!("OPTIONAL INT64 {name};"),
        Values::Times(_) => format!("OPTIONAL INT64 {name} (TIMESTAMP(MICROS,true));"),
        Values::Texts(_) => format!("OPTIONAL BYTE_ARRAY {name} (STRING);"),
        Values::Lists(_) => format!(
            "OPTIONAL GROUP {name} (LIST) {{ REPEATED GROUP list {{ REQUIRED BYTE_ARRAY element (STRING); }} }}"
        ),
    };
    format!("message rows {{ {} }}", columns.iter().map(column).collect::<String>())
}

impl Column {
    /// Adds a value; `None` where it is not of the column's type.
    fn add(&mut self, value: &Value) -> Option<()> {
        let level = match (&mut self.values, value) {
            (_, Value::Null) => 0,
            (Values::Flags(all), Value::Bool(flag)) => put(all, *flag),
            (Values::Numbers(all), Value::Number(number)) => put(all, number.as_i64()?),
            (Values::Times(all), Value::String(time)) => put(all, micros(time)?),
            (Values::Texts(all), Value::String(text)) => put(all, text.as_str().into()),
            (Values::Lists(_), Value::Array(values)) if values.is_empty() => 1,
            (Values::Lists(all), Value::Array(values)) => {
                for (place, value) in values.iter().enumerate() {
                    all.push(value.as_str()?.into());
                    self.levels.push(2);
                    self.repeats.push(i16::from(place > 0));
                }
                return Some(());
            }
            _ => return None,
        };
        self.levels.push(level);
        self.repeats.push(0);
        Some(())
    }

    /// Writes the values as the next column of a row group, and forgets them.
    fn write(&mut self, group: &mut Group<'_, '_>) -> Result<(), ParquetError> {
        let levels = [&self.levels[..], &self.repeats];
        match &mut self.values {
            Values::Flags(all) => write_next::<BoolType>(group, all, levels)?,
            Values::Numbers(all) | Values::Times(all) => {
                write_next::<Int64Type>(group, all, levels)?;
            }
            Values::Texts(all) | Values::Lists(all) => {
                write_next::<ByteArrayType>(group, all, levels)?;
            }
        }
        self.levels.clear();
        self.repeats.clear();
        Ok(())
    }
}

/// Adds a value, which is defined so far.
fn put<T>(all: &mut Vec<T>, value: T) -> i16 {
    all.push(value);
    1
}

type Group<'a, 'file> = SerializedRowGroupWriter<'a, &'file File>;

fn write_next<T: DataType>(
    group: &mut Group<'_, '_>,
    values: &mut Vec<T::T>,
    [levels, repeats]: [&[i16]; 2],
) -> Result<(), ParquetError> {
    let mut column = group.next_column()?.expect("there is one for each field");
    column.typed::<T>().write_batch(values, Some(levels), Some(repeats))?;
    values.clear();
    column.close()
}

/// Microseconds since 1970, of a text as [`seconds`](super::seconds) makes it.
fn micros(time: &str) -> Option<i64> {
    let (seconds, micros) = time.split_once('.')?;
    seconds.parse::<i64>().ok()?.checked_mul(1_000_000)?.checked_add(micros.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::path::PathBuf;

    use clap::ValueEnum;
    use linerate::base::Timestamp;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field as Found;
    use proptest::prelude::*;
    use tempfile::tempdir;

    use super::super::{Cell, Journal, Rows, Sieve, seconds};
    use super::*;
    use crate::args::{RowsArg, RunArgs};

    #[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
    enum Part {
        Word,
        Flag,
        List,
        Time,
        Number,
        Address,
    }

    impl Field for Part {
        fn kind(self) -> Kind {
            match self {
                Self::Word => Kind::Text,
                Self::Flag => Kind::Flag,
                Self::List => Kind::Texts,
                Self::Time => Kind::Time,
                Self::Number => Kind::Number,
                Self::Address => Kind::Address,
            }
        }
    }

    #[derive(Clone, Debug)]
    struct Row {
        word: Option<String>,
        flag: Option<bool>,
        list: Vec<String>,
        time: Option<i64>,
        number: Option<u64>,
        address: [u8; 4],
    }

    fn rows() -> impl Strategy<Value = Vec<Row>> {
        let text = "[ -~äß]{0,12}";
        let row = (
            prop::option::of(text),
            any::<Option<bool>>(),
            prop::collection::vec(text, 0..4),
            prop::option::of(0..4_000_000_000_000_000_000_i64),
            prop::option::of(0..=i64::MAX as u64),
            any::<[u8; 4]>(),
        );
        let row = row.prop_map(|(word, flag, list, time, number, address)| Row {
            word,
            flag,
            list,
            time,
            number,
            address,
        });
        prop::collection::vec(row, 0..60)
    }

    fn put(row: &Row, part: Part, cell: Cell<'_>) {
        match part {
            Part::Word => cell.text_if(row.word.as_ref()),
            Part::Flag => cell.flag(row.flag),
            Part::List => cell.list(row.list.iter()),
            Part::Time => cell.text_if(row.time.map(|time| seconds(Timestamp::from_nanos(time)))),
            Part::Number => cell.number(row.number),
            Part::Address => cell.text(std::net::Ipv4Addr::from(row.address)),
        }
    }

    fn run(output: PathBuf, format: RowsArg) -> RunArgs {
        RunArgs {
            output: Some(output),
            format: Some(format),
            output_filter: None,
            metadata: None,
            resume: false,
            contact: None,
        }
    }

    /// Has all rows written, to the end.
    fn written(args: &RunArgs, rows: &[Row]) {
        let (all, sieve) = (Part::value_variants(), Sieve::parse(None).unwrap());
        let mut journal = Journal::begin(args, None).unwrap();
        let (mut out, _) = Rows::open(args, all, sieve, |_| None::<()>).unwrap();
        rows.iter().for_each(|row| out.add(|part, cell| put(row, part, cell)).unwrap());
        out.end(&mut journal, true).unwrap();
    }

    /// A value as a file of comma-separated ones has it.
    fn csv(value: &Found) -> String {
        let mut text = String::new();
        let cell = Cell::new(&mut text, super::super::cell::Form::Csv);
        match value {
            Found::Null => cell.null(),
            Found::Bool(flag) => cell.flag(Some(*flag)),
            Found::Long(number) => cell.number(*number as u64),
            Found::TimestampMicros(time) => {
                cell.text(format_args!("{}.{:06}", time / 1_000_000, time % 1_000_000));
            }
            Found::Str(value) => cell.text(value),
            Found::ListInternal(list) => {
                let text = |value: &Found| match value {
                    Found::Str(value) => value.clone(),
                    other => panic!("{other} in a list"),
                };
                cell.list(list.elements().iter().map(text));
            }
            other => panic!("{other}"),
        }
        text
    }

    /// The rows of a Parquet file in the same form.
    fn read(path: &Path) -> String {
        let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
        let descriptor = reader.metadata().file_metadata().schema();
        let names: Vec<_> = descriptor.get_fields().iter().map(|field| field.name()).collect();
        let mut text = names.join(",") + "\n";
        for row in reader.get_row_iter(None).unwrap() {
            let row = row.unwrap();
            let cells: Vec<_> = row.get_column_iter().map(|(_, value)| csv(value)).collect();
            writeln!(text, "{}", cells.join(",")).unwrap();
        }
        text
    }

    proptest! {
        #[test]
        fn a_parquet_file_has_the_rows_of_one_of_comma_separated_values(rows in rows()) {
            let folder = tempdir().unwrap();
            let (one, other) = (folder.path().join("csv"), folder.path().join("parquet"));
            written(&run(one.clone(), RowsArg::Csv), &rows);
            written(&run(other.clone(), RowsArg::Parquet), &rows);
            prop_assert_eq!(read(&other), fs::read_to_string(&one).unwrap());
            prop_assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        }

        #[test]
        fn row_groups_of_any_size_have_the_same_rows(count in 0..200_usize, group in 1..3_000_usize) {
            let folder = tempdir().unwrap();
            let (from, to) = (folder.path().join("lines"), folder.path().join("parquet"));
            let line = |n| format!("{{\"number\":{n},\"list\":[\"a\",\"b\"],\"word\":null}}\n");
            fs::write(&from, (0..count).map(line).collect::<String>()).unwrap();
            make_in_groups(&from, &to, &[Part::Number, Part::List, Part::Word], group).unwrap();
            let expected: String = (0..count).map(|n| format!("{n},a; b,\n")).collect();
            prop_assert_eq!(read(&to), format!("number,list,word\n{expected}"));
            let reader = SerializedFileReader::new(File::open(&to).unwrap()).unwrap();
            let most = (group / line(0).len() + 1) as i64;
            prop_assert!(reader.metadata().row_groups().iter().all(|it| (1..=most).contains(&it.num_rows())));
        }
    }

    #[test]
    fn what_is_no_row_is_told_with_its_line_and_no_file_is_left() {
        let folder = tempdir().unwrap();
        let (from, to) = (folder.path().join("lines"), folder.path().join("parquet"));
        for bad in ["{\"number\":-", "[]", "{}", "{\"number\":\"x\"}", "{\"number\":1.5}"] {
            fs::write(&from, format!("{{\"number\":null}}\n{bad}\n")).unwrap();
            let error = make(&from, &to, &[Part::Number]).unwrap_err();
            assert!(format!("{error:#}").contains("lines: line 2 is no row"), "{error:#}");
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "{bad}");
        }
        assert_eq!(
            (micros("12.000345"), micros("x.1"), micros("5")),
            (Some(12_000_345), None, None)
        );
    }
}
