//! Where rows go, and how: what --output, --format and --resume mean together.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::cell::Form;
use crate::args::{RowsArg, RunArgs};
use crate::exit::usage;

/// Where rows go.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The file of lines; `None`: standard output.
    pub(super) lines: Option<PathBuf>,
    pub(super) form: Form,
    /// The Parquet file that is made of the lines in the end.
    pub(super) parquet: Option<PathBuf>,
}

impl Place {
    /// # Errors
    /// Of usage, for a Parquet file that has no name, or is no file; for what cannot be gone on with.
    pub(super) fn of(args: &RunArgs) -> Result<Self> {
        let file = args.output.as_deref().filter(|path| path.as_os_str() != "-");
        let format = args.format.unwrap_or_else(|| file.map_or(RowsArg::Csv, by_ending));
        match (format, file) {
            (_, None) if args.resume => Err(usage(
                "--resume: what went to standard output is not known: name a file by --output",
            )),
            (RowsArg::Parquet, None) => Err(usage(
                "--format parquet: such a file is whole at its end only, and cannot go to standard output: name it by --output",
            )),
            (RowsArg::Parquet, Some(path)) if fs::metadata(path).is_ok_and(|it| !it.is_file()) => {
                Err(usage(format!("--output: {} is no file", path.display())))
            }
            (RowsArg::Parquet, Some(path)) => Ok(Self {
                lines: Some(beside(path, ".jsonl")),
                form: Form::Json,
                parquet: Some(path.to_owned()),
            }),
            (format, file) => Ok(Self {
                lines: file.map(Path::to_owned),
                form: if format == RowsArg::Csv { Form::Csv } else { Form::Json },
                parquet: None,
            }),
        }
    }

    /// What is asked of the system when a line is written.
    pub(super) fn asked(&self) -> String {
        match &self.lines {
            Some(path) => format!("write {}", path.display()),
            None => "write standard output".into(),
        }
    }

    /// Refuses to lose rows that are there already, and to go on without those that were.
    ///
    /// # Errors
    /// Of usage. `has_rows` where a run is to go on that has written some.
    pub(super) fn check(&self, is_resumed: bool, has_rows: bool) -> Result<()> {
        let Some(lines) = &self.lines else { return Ok(()) };
        let (is_there, name) = (lines.exists(), lines.display());
        if is_resumed && has_rows && !is_there {
            return Err(usage(format!(
                "--resume: {name}, which has the rows so far, is not there"
            )));
        }
        if !is_resumed && is_there && self.parquet.is_some() {
            return Err(usage(format!(
                "{name} has the rows of a run that did not end: with its --metadata and --resume it goes on; to begin anew, move that file away"
            )));
        }
        Ok(())
    }
}

/// The format that a file's name tells.
fn by_ending(path: &Path) -> RowsArg {
    match path.extension().and_then(OsStr::to_str) {
        Some("json" | "jsonl" | "ndjson") => RowsArg::Json,
        Some("parquet") => RowsArg::Parquet,
        _ => RowsArg::Csv,
    }
}

/// A file whose name has something behind it.
pub(super) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.to_owned().into_os_string();
    name.push(ending);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(output: Option<&str>, format: Option<RowsArg>) -> RunArgs {
        RunArgs {
            output: output.map(PathBuf::from),
            format,
            output_filter: None,
            metadata: None,
            resume: false,
            contact: None,
        }
    }

    #[test]
    fn the_format_is_the_one_named_or_that_of_the_ending() {
        let of = |output, format| {
            let place = Place::of(&args(output, format)).unwrap();
            (
                place.lines.map(|path| path.display().to_string()),
                place.form,
                place.parquet.is_some(),
            )
        };
        let file = |name: &str| Some(name.to_owned());
        assert_eq!(of(None, None), (None, Form::Csv, false));
        assert_eq!(of(Some("-"), Some(RowsArg::Json)), (None, Form::Json, false));
        assert_eq!(of(Some("a.txt"), None), (file("a.txt"), Form::Csv, false));
        assert_eq!(of(Some("a.jsonl"), None), (file("a.jsonl"), Form::Json, false));
        assert_eq!(of(Some("a.json"), Some(RowsArg::Csv)), (file("a.json"), Form::Csv, false));
        assert_eq!(of(Some("a.parquet"), None), (file("a.parquet.jsonl"), Form::Json, true));
        let parquet = Some(RowsArg::Parquet);
        assert_eq!(of(Some("a"), parquet), (file("a.jsonl"), Form::Json, true));
        for (output, word) in
            [(None, "--output"), (Some("-"), "--output"), (Some("/dev/null"), "no file")]
        {
            let error = Place::of(&args(output, parquet)).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }
}
