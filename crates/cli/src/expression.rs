//! The filter's text, from words on the command line or from a file.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context, Result};
use linerate::filter::without_comments;

use crate::exit::usage;

/// Joins `words` by spaces, or reads `file`, which may have comments, where one is given.
///
/// # Errors
/// When the file cannot be read or a word is not UTF-8.
pub(crate) fn text(words: &[OsString], file: Option<&Path>) -> Result<String> {
    match file {
        Some(file) => std::fs::read_to_string(file)
            .map(|text| without_comments(&text))
            .with_context(|| format!("read the filter from {}", file.display())),
        None => joined(words),
    }
}

fn joined(words: &[OsString]) -> Result<String> {
    let words: Option<Vec<_>> = words.iter().map(|word| word.to_str()).collect();
    words.map(|words| words.join(" ")).ok_or_else(|| usage("the filter is not valid UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_file_may_have_comments() {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(b"tcp # not udp\nport 80\n").expect("writes");
        let text = text(&[], Some(file.path())).expect("reads");
        assert_eq!(text, "tcp          \nport 80\n");
    }
}
