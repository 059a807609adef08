//! `linerate with`: programs of others by our libpcap.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use linerate_lab::need;
use linerate_lab::traffic::Flow;

use crate::support::{Finished, LINERATE, finish, quiet_pair, start, wait};

/// The library that the tests build.
fn library() -> PathBuf {
    Path::new(LINERATE).with_file_name("deps/libpcap.so")
}

/// Runs a program that asks for no libpcap, so that any file may be the library.
fn with(arguments: &[&str]) -> Finished {
    let mut command = Command::new(LINERATE);
    // Tests run with the folders of what was built there.
    command.env_remove("LD_LIBRARY_PATH").env("LINERATE_LIBPCAP", LINERATE);
    finish(command.arg("with").args(arguments))
}

/// A program with these bytes.
fn program(folder: &Path, name: &str, bytes: &[u8], mode: u32) -> String {
    let file = folder.join(name);
    fs::write(&file, bytes).expect("written");
    fs::set_permissions(&file, fs::Permissions::from_mode(mode)).expect("set");
    file.display().to_string()
}

#[test]
fn tcpdump_captures_by_our_library_and_the_report_says_so() {
    let built = need::built(&library(), "cargo test --workspace builds it");
    let (true, Some(lab)) = (built && need::program("tcpdump", "tcpdump"), quiet_pair()) else {
        return;
    };
    let (a, b) = (lab.host("a"), lab.host("b"));
    let mut command = b.command(LINERATE);
    command.args(["with", "--report", "--backend", "tap", "tcpdump", "-n", "-Z", "root", "-i"]);
    command.args([b.interface(), "-c", "20", "udp port 9"]).env("LINERATE_LIBPCAP", library());
    let tcpdump = start(command);
    let flow = Flow::ipv4(a, b, 1000, 9);
    let mut tcpdump = tcpdump;
    while tcpdump.try_wait().expect("it can be waited for").is_none() {
        flow.send_frames(1, 100).expect("sent");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let done = wait(tcpdump).success();
    assert_eq!(done.stdout.lines().count(), 20, "{done:?}");
    let report = done.stderr.lines().last().expect("a report");
    assert!(report.starts_with(&format!("linerate: {}: ", b.interface())), "{done:?}");
    assert!(report.contains("packets captured, 0 dropped, "), "{done:?}");
    assert!(report.ends_with("0 sent, by the back end tap (TCX)"), "{done:?}");
}

#[test]
fn the_exit_status_is_the_programs() {
    assert_eq!(with(&["sh", "-c", "exit 7"]).code(), 7);
    assert_eq!(with(&["sh", "-c", "kill -9 $$"]).code(), 128 + 9);
    let done =
        with(&["--report", "sh", "-c", "echo $LD_LIBRARY_PATH; ls $LD_LIBRARY_PATH"]).success();
    let (folder, names) = done.stdout.split_once('\n').expect("lines");
    assert_eq!(
        names.split_whitespace().collect::<Vec<_>>(),
        ["libpcap.so", "libpcap.so.0.8", "libpcap.so.1"]
    );
    assert!(!Path::new(folder).exists(), "the folder goes: {done:?}");
    assert!(done.stderr.contains("the program began none"), "{done:?}");
}

#[test]
fn what_cannot_be_run_so_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut header = fs::read("/bin/true").expect("read")[..64].to_vec();
    header[56..58].fill(0);
    let cases = [
        (program(folder.path(), "static", &header, 0o755), "it is linked statically"),
        ("no-such-program".into(), "there is no such program"),
        (
            program(folder.path(), "narrow", b"\x7fELF\x01", 0o755),
            "it is no program for 64-bit machines",
        ),
    ];
    for (program, reason) in cases {
        let done = with(&[&program]);
        assert_eq!(done.code(), 1, "{done:?}");
        assert!(done.stderr.contains(reason), "{done:?}");
    }
    if need::root() {
        let setuid = program(folder.path(), "setuid", b"#!/bin/sh\n", 0o755);
        chown(&setuid, Some(65534), None).expect("root may");
        fs::set_permissions(&setuid, fs::Permissions::from_mode(0o4755)).expect("root may");
        let done = with(&[&setuid]);
        assert!(done.stderr.contains("(setuid)") && done.code() == 1, "{done:?}");
    }
    assert_eq!(with(&[]).code(), 2);
}

#[test]
fn a_library_that_is_not_there_is_named() {
    let mut command = Command::new(LINERATE);
    let done =
        finish(command.args(["with", "true"]).env("LINERATE_LIBPCAP", "/nowhere/libpcap.so"));
    assert_eq!(done.code(), 1);
    assert!(done.stderr.contains("it is not at /nowhere/libpcap.so"), "{done:?}");
}
