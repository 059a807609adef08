//! The filter's text, from words on the command line or from a file.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context, Result};

use crate::exit::usage;

/// Joins `words` by spaces, or reads `file` where one is given.
///
/// # Errors
/// When the file cannot be read or a word is not UTF-8.
pub(crate) fn text(words: &[OsString], file: Option<&Path>) -> Result<String> {
    match file {
        Some(file) => std::fs::read_to_string(file)
            .with_context(|| format!("read the filter from {}", file.display())),
        None => joined(words),
    }
}

fn joined(words: &[OsString]) -> Result<String> {
    let words: Option<Vec<_>> = words.iter().map(|word| word.to_str()).collect();
    words.map(|words| words.join(" ")).ok_or_else(|| usage("the filter is not valid UTF-8"))
}
