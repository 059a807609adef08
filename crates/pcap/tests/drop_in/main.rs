//! Programs that were made for libpcap, with our library in the place of the system's.

mod faults;
mod live;
mod peers;
mod programs;
mod symbols;
mod tcpdump;

use std::os::unix::fs::symlink;

use tempfile::TempDir;

/// A folder in which our library has the name that programs look for.
fn library() -> TempDir {
    let test = std::env::current_exe().expect("this test's path");
    let built = test.with_file_name("libpcap.so");
    assert!(built.is_file(), "{} is built with the tests", built.display());
    let folder = TempDir::new().expect("a folder");
    symlink(built, folder.path().join("libpcap.so.0.8")).expect("a link");
    folder
}
