//! Answers, a line each.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result};
use clap::ValueEnum;
use linerate::scan::{Answer, Class, Target};
use linerate::tcp::quote::Trouble;
use serde_json::{Map, Value, json};

use crate::args::{FieldArg, RowsArg, ScanArgs};

/// Where answers are written.
pub(super) struct Rows {
    out: BufWriter<Box<dyn Write + Send>>,
    format: RowsArg,
    fields: Vec<FieldArg>,
}

impl Rows {
    /// Opens the output, and tells which targets it has already, where a scan goes on.
    ///
    /// # Errors
    /// When the file cannot be made or read.
    pub(super) fn open(args: &ScanArgs) -> Result<(Self, Vec<Target>)> {
        let (format, fields) = (args.format, args.fields.clone());
        let (mut known, mut is_begun) = (Vec::new(), false);
        let out: Box<dyn Write + Send> = match &args.output {
            None => Box::new(io::stdout()),
            Some(path) if args.resume => {
                let text = whole_lines(path)?;
                is_begun = !text.is_empty();
                known = targets(&text, format, &fields);
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
        let mut rows = Self { out: BufWriter::new(out), format, fields };
        if format == RowsArg::Csv && !is_begun {
            rows.line(&rows.fields.iter().map(|field| name(*field)).collect::<Vec<_>>().join(","))?;
        }
        Ok((rows, known))
    }

    /// Writes an answer.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn add(&mut self, answer: &Answer) -> Result<()> {
        let fields = self.fields.iter();
        let line = match self.format {
            RowsArg::Csv => {
                fields.map(|field| bare(&value(answer, *field))).collect::<Vec<_>>().join(",")
            }
            RowsArg::Json => {
                let object: Map<_, _> =
                    fields.map(|field| (name(*field), value(answer, *field))).collect();
                Value::Object(object).to_string()
            }
        };
        self.line(&line)
    }

    fn line(&mut self, line: &str) -> Result<()> {
        writeln!(self.out, "{line}").context("write answers")
    }

    /// Makes everything visible.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub(super) fn flush(&mut self) -> Result<()> {
        self.out.flush().context("write answers")
    }
}

fn name(field: FieldArg) -> String {
    let value = field.to_possible_value();
    value.map_or_else(String::new, |value| value.get_name().to_owned())
}

fn value(answer: &Answer, field: FieldArg) -> Value {
    match field {
        FieldArg::Address => json!(answer.target.address),
        FieldArg::Port => json!(answer.target.port),
        FieldArg::Class => json!(answer.class.name()),
        FieldArg::Code => match answer.class {
            Class::Unreachable(Trouble::Unreachable(code)) => json!(code),
            _ => Value::Null,
        },
        FieldArg::From => json!(answer.from),
        FieldArg::Ttl => json!(answer.hop_limit),
        FieldArg::Size => json!(answer.size),
        FieldArg::RttUs => json!(answer.rtt.map(|rtt| rtt.as_micros() as u64)),
        FieldArg::Time => {
            let time = answer.time;
            json!(format!("{}.{:06}", time.seconds(), time.subsec_nanos() / 1_000))
        }
    }
}

/// Without quotes; no value has commas.
fn bare(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
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

/// The targets of the answers in an output of these fields.
fn targets(text: &str, format: RowsArg, fields: &[FieldArg]) -> Vec<Target> {
    let place = |wanted| fields.iter().position(|field| *field == wanted);
    let of_csv = |line: &str| -> Option<Target> {
        let values: Vec<_> = line.split(',').collect();
        let port = place(FieldArg::Port).map_or(Some(0), |at| values.get(at)?.parse().ok())?;
        Some(Target { address: values.get(place(FieldArg::Address)?)?.parse().ok()?, port })
    };
    let of_json = |line: &str| -> Option<Target> {
        let object: Value = serde_json::from_str(line).ok()?;
        let port = object.get("port").map_or(Some(0), |port| u16::try_from(port.as_u64()?).ok())?;
        Some(Target { address: object.get("address")?.as_str()?.parse().ok()?, port })
    };
    match format {
        RowsArg::Csv => text.lines().filter_map(of_csv).collect(),
        RowsArg::Json => text.lines().filter_map(of_json).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate::base::Timestamp;
    use std::time::Duration;

    fn answer() -> Answer {
        let address = "192.0.2.7".parse().unwrap();
        Answer {
            target: Target { address, port: 80 },
            class: Class::Open,
            from: address,
            hop_limit: 63,
            size: 0,
            time: Timestamp::from_parts(5, 6_000),
            rtt: Some(Duration::from_micros(250)),
        }
    }

    #[test]
    fn answers_read_back_whatever_the_form() {
        let fields =
            [FieldArg::Class, FieldArg::Port, FieldArg::RttUs, FieldArg::Time, FieldArg::Address];
        let values = fields.map(|field| bare(&value(&answer(), field)));
        assert_eq!(values, ["open", "80", "250", "5.000006", "192.0.2.7"]);
        let object: Map<_, _> =
            fields.iter().map(|field| (name(*field), value(&answer(), *field))).collect();
        let (csv, json) = (values.join(","), Value::Object(object).to_string());
        let header = "class,port,rtt_us,time,address\n";
        assert_eq!(targets(&format!("{header}{csv}\n"), RowsArg::Csv, &fields), [answer().target]);
        assert_eq!(targets(&json, RowsArg::Json, &fields), [answer().target]);
    }
}
