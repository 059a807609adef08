//! C programs that capture and send on an interface of a lab.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use linerate_lab::traffic::Flow;
use linerate_lab::{Child, Host, Lab, need};
use tempfile::TempDir;

use crate::library;
use crate::programs::{assert_same, can_compile, compile, compiled, include};
use crate::tcpdump::wait_for;

/// The back ends that see packets on their way out; the first is the one that is taken unasked.
const BACK_ENDS: [&str; 4] = ["", "tap", "ring", "socket"];

/// A host of a silent lab, or `None` where something is missing.
fn lab() -> Option<Lab> {
    (need::root() && can_compile())
        .then(|| Lab::plan().host("a").host("b").quiet().build().expect("a lab"))
}

/// Runs a program on an interface by both libraries, ours by each of these back ends, and compares what it prints.
fn prints_the_same(name: &str, back_ends: &[&str]) {
    let Some(lab) = lab() else { return };
    let (folder, library) = (TempDir::new().expect("a folder"), library());
    let (host, program) = (lab.host("a"), compiled(name, folder.path()));
    let mut command = host.command(&program);
    command.arg(host.interface()).env_remove("LD_LIBRARY_PATH");
    let system = printed(command);
    for backend in back_ends {
        println!("by {backend:?}");
        let mut command = by(host, &program, &library, backend);
        command.arg(host.interface());
        assert_same(&system, &printed(command));
    }
}

/// What a program prints that ends well.
fn printed(mut command: Command) -> String {
    let output = command.output().expect("the program runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{:?}\n{text}{errors}", output.status);
    text
}

/// A command for a program on a host, by the library in a folder.
fn by(host: &Host, program: &Path, library: &TempDir, backend: &str) -> Command {
    let mut command = host.command(program);
    command.env("LD_LIBRARY_PATH", library.path());
    command.env("LD_BIND_NOW", "1").env("LINERATE_BACKEND", backend);
    command
}

#[test]
fn live_captures_are_the_same_by_each_back_end() {
    prints_the_same("live.c", &BACK_ENDS);
}

#[test]
fn interfaces_and_captures_on_all_of_them_are_the_same() {
    // A tap is on one interface.
    prints_the_same("devices.c", &["", "ring", "socket"]);
}

#[test]
fn threads_do_not_disturb_each_other() {
    prints_the_same("threads.c", &BACK_ENDS);
}

#[test]
fn a_descriptor_tells_of_packets_by_every_back_end() {
    const SENT: u64 = 300;
    let Some(lab) = lab() else { return };
    let (folder, library) = (TempDir::new().expect("a folder"), library());
    let (a, b, program) = (lab.host("a"), lab.host("b"), compiled("wait.c", folder.path()));
    let said = folder.path().join("said");
    for backend in ["tap", "tap-xdp", "xdp", "ring", "socket"] {
        let mut command = by(b, &program, &library, backend);
        command.args([b.interface(), &SENT.to_string()]).env("LINERATE_BUFFER", "7");
        // What an AF_XDP socket takes the host does not get.
        command.env("LINERATE_EXCLUSIVE", if backend == "xdp" { "force" } else { "" });
        command.stdout(File::create(&said).expect("a file"));
        let child = Child::start(command).expect("it starts");
        wait_for(&said, "ready");
        Flow::ipv4(a, b, 1000, 9).send_frames(SENT, 100).expect("sent");
        let output = child.output().expect("it ends");
        let said = fs::read_to_string(&said).expect("read");
        let expected = format!("ready, with {} bytes\ntook {SENT}\n", 7 << 20);
        assert!(output.status.success() && said == expected, "{backend}: {said}");
    }
}

#[test]
fn each_capture_has_its_line_however_the_program_ends() {
    let Some(lab) = lab() else { return };
    let (folder, library) = (TempDir::new().expect("a folder"), library());
    let (host, program) = (lab.host("a"), compiled("exit.c", folder.path()));
    let ways = ["return", "close", "callback", "handler", "thread", "fork", "child"];
    for (way, backend) in ways.iter().flat_map(|way| BACK_ENDS.map(|backend| (way, backend))) {
        let report = folder.path().join(format!("{way} {backend}"));
        let mut command = by(host, &program, &library, backend);
        command.args([host.interface(), way]).env("LINERATE_REPORT", &report);
        printed(command);
        let told = fs::read_to_string(&report).expect("a report");
        let begins = format!("{}: 10 packets captured, 0 dropped, ", host.interface());
        let lines: Vec<_> = told.lines().filter(|line| !line.contains(", 10 sent, ")).collect();
        assert!(lines.len() == 1 && lines[0].starts_with(&begins), "{way} by {backend:?}: {told}");
        assert_eq!(told.lines().count(), 2, "{way} by {backend:?}: {told}");
    }
}

#[test]
fn what_winpcap_has_works_by_each_back_end() {
    let Some(lab) = lab() else { return };
    let (folder, library) = (TempDir::new().expect("a folder"), library());
    let ours = library.path().join("libpcap.so.0.8");
    let include = include();
    let arguments = ["-I".as_ref(), include.as_os_str(), ours.as_os_str()];
    let program = compile("winpcap.c", folder.path(), &arguments);
    for backend in BACK_ENDS {
        println!("by {backend:?}");
        let mut command = by(lab.host("a"), &program, &library, backend);
        command.arg(lab.host("a").interface()).arg(folder.path().join("dump.pcap"));
        assert_eq!(printed(command), "");
    }
}

/// Valgrind does not know what of bpf(2)'s attributes the kernel reads, and so is not asked for what is not initialised.
#[test]
fn memory_of_live_captures_is_used_as_it_should_be() {
    let Some(lab) = lab() else { return };
    if !need::program("valgrind", "valgrind") {
        return;
    }
    let (folder, library) = (TempDir::new().expect("a folder"), library());
    let host = lab.host("a");
    let all_by_one = ["devices.c", "exit.c", "threads.c"].map(|name| (name, "ring"));
    let one_by_all = BACK_ENDS[1..].iter().map(|backend| ("live.c", *backend));
    for (name, backend) in one_by_all.chain(all_by_one) {
        let program = compiled(name, folder.path());
        let mut valgrind = by(host, "valgrind".as_ref(), &library, backend);
        valgrind.args(["-q", "--error-exitcode=99", "--undef-value-errors=no"]);
        valgrind.args(["--leak-check=full", "--errors-for-leak-kinds=definite"]);
        let output = valgrind.arg(&program).arg(host.interface()).output().expect("it runs");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}, {backend}: {:?}\n{errors}", output.status);
    }
}
