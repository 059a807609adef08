//! Programs that others wrote.

use std::process::Command;

/// Its version, the first word with a digit that `--version` prints; `None` where it is not installed.
pub(super) fn version(program: &str) -> Option<String> {
    let output = Command::new(program).arg("--version").output().ok()?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    let has_digit = |word: &&str| word.chars().any(|c| c.is_ascii_digit());
    let version = text.split_whitespace().find(has_digit).unwrap_or("of unknown version");
    Some(version.trim_end_matches(',').into())
}
