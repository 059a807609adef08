//! What a test needs of the machine: root, a program, the folder of captures.
//!
//! Where it is missing, a test skips aloud on a user's machine and fails in CI:
//!
//! ```
//! fn a_test() {
//!     if !linerate_lab::need::root() {
//!         return;
//!     }
//!     // ...
//! }
//! ```
//! The line that says so goes straight to standard error, past the test harness's capture.
//!
//! # Panics
//! With the environment variable `CI` set, every function here panics instead of skipping.

use std::env;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread;

/// True when the test runs as root, of the machine or of a user namespace.
pub fn root() -> bool {
    let is_root = linerate_sys::process::effective_user() == 0;
    is_root || skip("root", "run the tests as root")
}

/// True when the program `name` is installed; `package` is the Debian package that has it.
pub fn program(name: &str, package: &str) -> bool {
    is_installed(name) || skip(&format!("the program {name}"), &format!("apt install {package}"))
}

/// True when the file at `path` is there; `package` is the Debian package that has it.
pub fn file(path: &str, package: &str) -> bool {
    Path::new(path).is_file() || skip(path, &format!("apt install {package}"))
}

/// True when the file at `path`, which `command` builds, is there.
pub fn built(path: &Path, command: &str) -> bool {
    path.is_file() || skip(&path.display().to_string(), command)
}

/// The folder of sample captures: the one that `LINERATE_CAPTURES` names, else
/// `../shared/captures` beside the repository's root. `None` where there is none.
pub fn captures() -> Option<PathBuf> {
    let folder = env::var_os("LINERATE_CAPTURES").map_or_else(default_captures, PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    skip(&format!("captures in {}", folder.display()), "name their folder in LINERATE_CAPTURES");
    None
}

fn default_captures() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().unwrap_or(root).join("../shared/captures")
}

/// System programs may lie outside an ordinary user's path.
fn is_installed(name: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    env::split_paths(&path).chain(system).any(|folder| folder.join(name).is_file())
}

/// Says what is missing and answers false; panics in CI.
pub(crate) fn skip(what: &str, remedy: &str) -> bool {
    let line = skip_line(thread::current().name(), what, remedy);
    assert!(env::var_os("CI").is_none(), "{line}: in CI nothing may skip");
    // Standard error may be closed; a skip is no reason to fail then.
    let _ = writeln!(io::stderr(), "{line}");
    false
}

/// The harness names each test's thread after the test.
fn skip_line(test: Option<&str>, what: &str, remedy: &str) -> String {
    format!("SKIPPED {}: needs {what} ({remedy})", test.unwrap_or("a test"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_names_the_test_and_the_remedy() {
        assert_eq!(
            skip_line(Some("reads_all"), "the program tshark", "apt install tshark"),
            "SKIPPED reads_all: needs the program tshark (apt install tshark)"
        );
    }

    #[test]
    fn programs_are_found_by_name() {
        assert!(is_installed("sh"));
        assert!(!is_installed("no-such-program-anywhere"));
    }

    #[test]
    fn the_default_folder_lies_beside_the_repository() {
        assert!(default_captures().ends_with("../shared/captures"));
    }
}
