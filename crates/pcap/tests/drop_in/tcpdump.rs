//! tcpdump: what it prints of savefiles and of a wire.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use linerate_lab::traffic::Flow;
use linerate_lab::{Child, Lab, need};

use crate::library;

/// Reads all captures, and not only every so many-th.
const ALL: &str = "LINERATE_ALL_CAPTURES";

/// How many captures there are to each that is read.
const SHARE: usize = 12;

/// What tcpdump prints of a capture by the library in a folder, or by the system's, and its exit status.
fn printed(capture: &Path, library: Option<&Path>) -> (String, Option<i32>) {
    let mut tcpdump = Command::new("tcpdump");
    tcpdump.args(["-n", "-e", "-tttt", "-vv", "-r"]).arg(capture).env_remove("LD_LIBRARY_PATH");
    if let Some(library) = library {
        tcpdump.env("LD_LIBRARY_PATH", library);
    }
    let output = tcpdump.output().expect("tcpdump runs");
    (String::from_utf8_lossy(&output.stdout).into_owned(), output.status.code())
}

/// Captures that the two libraries read differently, for the reasons in `docs/libpcap.md`.
const DIFFERENT: &[&str] = &["atm-oam-loopback-print-overrun.pcap"];

fn differs(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| DIFFERENT.contains(&name))
}

/// The captures to read.
fn sample(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("read").path());
    let is_capture = |path: &PathBuf| {
        path.extension().is_some_and(|extension| extension == "pcap" || extension == "pcapng")
    };
    let mut files: Vec<_> = files.filter(is_capture).collect();
    files.sort();
    let share = if env::var_os(ALL).is_some() { 1 } else { SHARE };
    files.into_iter().step_by(share).filter(|path| !differs(path)).collect()
}

#[test]
fn savefiles_read_the_same() {
    let (true, Some(folder)) = (need::program("tcpdump", "tcpdump"), need::captures()) else {
        return;
    };
    let library = library();
    for capture in sample(&folder) {
        let (system, ours) = (printed(&capture, None), printed(&capture, Some(library.path())));
        assert_eq!(ours, system, "{}", capture.display());
    }
}

fn wait_for(file: &Path, text: &str) {
    let begun = Instant::now();
    while !fs::read_to_string(file).is_ok_and(|found| found.contains(text)) {
        assert!(begun.elapsed() < Duration::from_secs(30), "no {text:?} in {}", file.display());
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Captures by our library on a back end what is sent, and counts what tcpdump wrote.
fn captures_all(backend: &str) {
    const SENT: u64 = 1000;
    let (lab, library) =
        (Lab::plan().host("a").host("b").quiet().build().expect("a lab"), library());
    let (a, b) = (lab.host("a"), lab.host("b"));
    let folder = tempfile::tempdir().expect("a folder");
    let (saved, said) = (folder.path().join("saved.pcap"), folder.path().join("said"));
    let mut tcpdump = b.command("sh");
    let script = "exec tcpdump -Z root -U -n -i \"$1\" -c 1000 -w \"$2\" udp port 9 2>\"$3\"";
    tcpdump.args(["-c", script, "sh", b.interface()]).arg(&saved).arg(&said);
    tcpdump.env("LD_LIBRARY_PATH", library.path()).env("LINERATE_BACKEND", backend);
    let tcpdump = Child::start(tcpdump).expect("tcpdump starts");
    wait_for(&said, "listening on");
    Flow::ipv4(a, b, 1000, 10).send_frames(10, 100).expect("sent");
    Flow::ipv4(a, b, 1000, 9).send_frames(SENT, 100).expect("sent");
    let output = tcpdump.output().expect("tcpdump ends by itself");
    let said = fs::read_to_string(said).expect("read");
    assert!(output.status.success(), "{said}");
    assert!(said.contains("1000 packets captured"), "{said}");
    assert!(said.contains("0 packets dropped by kernel"), "{said}");
    let count = printed(&saved, None).0.lines().filter(|line| !line.starts_with(' ')).count();
    assert_eq!(count as u64, SENT, "{said}");
}

#[test]
fn a_wire_is_captured_by_each_back_end() {
    if !need::root() || !need::program("tcpdump", "tcpdump") {
        return;
    }
    for backend in ["", "tap", "ring", "socket"] {
        captures_all(backend);
    }
}
