//! What goes wrong while tcpdump and dumpcap capture by our library: nothing is lost unsaid, and nothing stays behind.

use std::fs::{self, File};
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use linerate_lab::traffic::Flow;
use linerate_lab::{Child, Host, Lab, need};
use tempfile::TempDir;

use crate::library;

/// Back ends that see what both programs ask for.
const BACK_ENDS: [&str; 3] = ["tap", "ring", "socket"];

/// The port that datagrams go to.
const PORT: u16 = 9;

struct Stage {
    lab: Lab,
    library: TempDir,
    folder: TempDir,
}

/// A program that captures, and what it says.
struct Running {
    child: Child,
    said: std::path::PathBuf,
}

impl Stage {
    /// `None` where a program, from this Debian package, or a privilege is missing.
    fn set(program: &str, package: &str) -> Option<Self> {
        (need::root() && need::program(program, package)).then(Self::new)
    }

    fn new() -> Self {
        let lab = Lab::plan().host("a").host("b").quiet().without_offloads().build();
        let folder = TempDir::new().expect("a folder");
        Self { lab: lab.expect("a lab"), library: library(), folder }
    }

    fn hosts(&self) -> (&Host, &Host) {
        (self.lab.host("a"), self.lab.host("b"))
    }

    /// Starts a program on `b` that says when it listens.
    fn start(&self, backend: &str, program: &str, arguments: &[&str], begun: &str) -> Running {
        let said = self.folder.path().join("said");
        let b = self.lab.host("b");
        let mut command = b.command_with_sysfs(program);
        command.args(["-i", b.interface()]).args(arguments).stdout(Stdio::null());
        command.stderr(File::create(&said).expect("a file"));
        command.env("LD_LIBRARY_PATH", self.library.path()).env("LINERATE_BACKEND", backend);
        let running = Running { child: Child::start(command).expect("it starts"), said };
        wait_for(begun, || running.said().contains(begun));
        running
    }

    fn send(&self, count: u64) {
        let (a, b) = self.hosts();
        Flow::ipv4(a, b, 1000, PORT).send_frames(count, 100).expect("sent");
    }
}

impl Running {
    fn said(&self) -> String {
        fs::read_to_string(&self.said).unwrap_or_default()
    }

    /// Waits for its end; its status and what it said.
    fn end(self) -> (Option<i32>, String) {
        let said = self.said.clone();
        let output = self.child.output().expect("it ends");
        (output.status.code(), fs::read_to_string(said).expect("read"))
    }

    fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let status = Command::new("kill").args(["-s", name, &id]).status().expect("kill runs");
        assert!(status.success());
    }
}

fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(40), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The number before these words.
fn before(said: &str, words: &str) -> u64 {
    let number = said.split(words).next().and_then(|text| text.split_whitespace().last());
    number.and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("no {words:?} in {said}"))
}

/// Packets in a file, by the system's tcpdump.
fn count(file: &Path) -> u64 {
    let mut tcpdump = Command::new("tcpdump");
    tcpdump.args(["-n", "-r"]).arg(file).env_remove("LD_LIBRARY_PATH");
    let output = tcpdump.output().expect("tcpdump runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout.iter().filter(|byte| **byte == b'\n').count() as u64
}

const LISTENING: &str = "listening on";

#[test]
fn what_finds_no_room_is_told_by_tcpdump() {
    const SENT: u64 = 100_000;
    let Some(stage) = Stage::set("tcpdump", "tcpdump") else { return };
    let file = stage.folder.path().join("file");
    for backend in BACK_ENDS {
        let path = file.display().to_string();
        let arguments = ["-Z", "root", "-n", "-B", "1024", "-w", &path, "udp port 9"];
        let tcpdump = stage.start(backend, "tcpdump", &arguments, LISTENING);
        tcpdump.signal("STOP");
        stage.send(SENT);
        tcpdump.signal("CONT");
        // Everything has come: the last packets are asked for before the end.
        std::thread::sleep(Duration::from_millis(500));
        tcpdump.signal("INT");
        let (status, said) = tcpdump.end();
        let captured = before(&said, " packets captured");
        let dropped = before(&said, " packets dropped by kernel");
        assert_eq!((status, captured + dropped), (Some(0), SENT), "{backend}: {said}");
        assert!(dropped > 0, "{backend}: {said}");
        assert_eq!(before(&said, " packets received by filter"), SENT, "{backend}: {said}");
        assert_eq!(count(&file), captured, "{backend}");
    }
}

/// It captures by rings and sockets, as it gives up the privilege for programs in the kernel.
#[test]
fn what_finds_no_room_is_told_by_dumpcap() {
    const SENT: u64 = 100_000;
    let Some(stage) = Stage::set("dumpcap", "wireshark-common") else { return };
    let file = stage.folder.path().join("file");
    for backend in ["ring", "socket"] {
        let path = file.display().to_string();
        let arguments = ["-B", "1", "-w", &path, "-f", "udp port 9"];
        let dumpcap = stage.start(backend, "dumpcap", &arguments, "File: ");
        dumpcap.signal("STOP");
        stage.send(SENT);
        dumpcap.signal("CONT");
        std::thread::sleep(Duration::from_millis(500));
        dumpcap.signal("INT");
        let (status, said) = dumpcap.end();
        let counts = said.split("on interface ").last().and_then(|rest| rest.split("': ").nth(1));
        let counts = counts.and_then(|rest| rest.split(' ').next()?.split_once('/'));
        let (received, dropped) = counts.unwrap_or_else(|| panic!("no counts in {said}"));
        let [received, dropped] = [received, dropped].map(|n| n.parse::<u64>().expect("a number"));
        assert_eq!(count(&file), received, "{backend}");
        assert_eq!((status, received + dropped), (Some(0), SENT), "{backend}: {said}");
        assert!(dropped > 0, "{backend}: {said}");
    }
}

#[test]
fn larger_packets_than_there_were_at_first_come_whole() {
    let Some(stage) = Stage::set("tcpdump", "tcpdump") else { return };
    let file = stage.folder.path().join("file");
    let (a, b) = stage.hosts();
    for backend in BACK_ENDS {
        let path = file.display().to_string();
        let tcpdump =
            stage.start(backend, "tcpdump", &["-Z", "root", "-w", &path, "udp port 9"], LISTENING);
        stage.send(20);
        for host in [a, b] {
            host.set_mtu(9000).expect("set");
        }
        Flow::ipv4(a, b, 1000, PORT).send_frames(20, 8000).expect("sent");
        std::thread::sleep(Duration::from_millis(500));
        tcpdump.signal("TERM");
        let (status, said) = tcpdump.end();
        assert_eq!((status, count(&file)), (Some(0), 40), "{backend}: {said}");
        let bytes = fs::metadata(&file).expect("a file").len();
        assert_eq!(bytes, 24 + 20 * (16 + 142) + 20 * (16 + 8042), "{backend}");
        for host in [a, b] {
            host.set_mtu(1500).expect("set");
        }
    }
}

/// The capabilities to keep, what tcpdump then says, and the back end that captures.
const PRIVILEGES: [(&str, Option<&str>); 3] = [
    ("-all,+net_raw,+net_admin,+bpf", Some("the back end tap")),
    ("-all,+net_raw", Some("the back end ring")),
    ("-all", None),
];

#[test]
fn without_privileges_the_next_back_end_captures_or_the_reason_is_told() {
    let Some(stage) = Stage::set("tcpdump", "tcpdump") else { return };
    if !need::program("setpriv", "util-linux") {
        return;
    }
    let (b, report) = (stage.lab.host("b"), stage.folder.path().join("report"));
    for (kept, way) in PRIVILEGES {
        let mut command = b.command("setpriv");
        command.args(["--bounding-set", kept, "--inh-caps", "-all", "timeout", "5", "tcpdump"]);
        command.args(["-Z", "root", "-p", "-i", b.interface(), "-w", "/dev/null"]);
        command.env("LD_LIBRARY_PATH", stage.library.path()).env("LINERATE_REPORT", &report);
        let output = command.output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        let told = fs::read_to_string(&report).unwrap_or_default();
        match way {
            Some(way) => {
                assert!(told.lines().last().is_some_and(|l| l.contains(way)), "{told}{said}");
            }
            None => assert!(said.contains("You don't have permission"), "{said}"),
        }
    }
}

#[test]
fn what_the_environment_asks_for_is_done_or_refused_by_name() {
    let Some(stage) = Stage::set("tcpdump", "tcpdump") else { return };
    let (a, b) = stage.hosts();
    let tcpdump = |variable: &str, value: &str| {
        let mut command = b.command("timeout");
        command.args(["40", "tcpdump", "-Z", "root", "-c", "20", "-i", b.interface()]);
        command.args(["-w", "/dev/null", "udp port 9"]).env(variable, value);
        command.env("LD_LIBRARY_PATH", stage.library.path());
        command
    };
    for (variable, value, reason) in [
        ("LINERATE_BACKEND", "rocket", "LINERATE_BACKEND: "),
        ("LINERATE_TIMESTAMPS", "sun", "LINERATE_TIMESTAMPS: "),
        // The host's own interface is not taken from it.
        ("LINERATE_EXCLUSIVE", "yes", "LINERATE_EXCLUSIVE=force"),
    ] {
        let output = tcpdump(variable, value).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(reason), "{variable}: {said}");
    }
    let said = stage.folder.path().join("said");
    let mut command = tcpdump("LINERATE_EXCLUSIVE", "force");
    command.stderr(File::create(&said).expect("a file"));
    let socket = b.run(|| UdpSocket::bind((b.ipv4(), PORT))).expect("a socket");
    socket.set_nonblocking(true).expect("set");
    stage.send(1);
    wait_for("the host has its packets", || socket.recv(&mut [0; 100]).is_ok());
    let child = Child::start(command).expect("it starts");
    wait_for("tcpdump does not begin", || {
        fs::read_to_string(&said).is_ok_and(|said| said.contains(LISTENING))
    });
    Flow::ipv4(a, b, 1000, PORT).send_frames(20, 100).expect("sent");
    assert!(child.output().expect("it ends").status.success());
    assert!(socket.recv(&mut [0; 100]).is_err(), "none of them reaches the host");
}

/// tcpdump does not ask whether a packet could be written, and so goes on.
#[test]
fn a_full_disk_ends_dumpcap() {
    let Some(stage) = Stage::set("dumpcap", "wireshark-common") else { return };
    // A file system of 64 KiB in a mount namespace of dumpcap's own.
    let script =
        "mount -t tmpfs -o size=64k none \"$1\" && exec dumpcap -q -i \"$2\" -w \"$1/file\"";
    let (b, folder) = (stage.lab.host("b"), TempDir::new().expect("a folder"));
    let mut command = b.command_with_sysfs("sh");
    command.args(["-c", script, "sh"]).arg(folder.path()).arg(b.interface());
    let said = stage.folder.path().join("said");
    command.env("LD_LIBRARY_PATH", stage.library.path()).stdout(Stdio::null());
    command.stderr(File::create(&said).expect("a file"));
    let dumpcap = Running { child: Child::start(command).expect("it starts"), said };
    wait_for("dumpcap does not begin", || dumpcap.said().contains("File: "));
    stage.send(5000);
    let (status, said) = dumpcap.end();
    assert!(status != Some(0) && said.contains("no space left"), "{status:?} {said}");
}

#[test]
fn an_interface_that_goes_ends_a_capture_with_what_came_before() {
    if !need::root() || !need::program("dumpcap", "wireshark-common") {
        return;
    }
    for backend in BACK_ENDS {
        for program in ["tcpdump", "dumpcap"] {
            if (program, backend) == ("dumpcap", "tap") {
                // It gives up the privilege for programs in the kernel before it opens the interface.
                continue;
            }
            let stage = Stage::new();
            let file = stage.folder.path().join("file");
            let path = file.display().to_string();
            let (arguments, begun): (&[&str], _) = match program {
                "tcpdump" => (&["-Z", "root", "-w", &path, "udp port 9"], LISTENING),
                _ => (&["-q", "-w", &path, "-f", "udp port 9"], "File: "),
            };
            let running = stage.start(backend, program, arguments, begun);
            stage.send(20);
            stage.lab.host("b").delete_link().expect("deleted");
            let (_, said) = running.end();
            assert_eq!(count(&file), 20, "{program} by {backend:?}: {said}");
        }
    }
}

/// What `ip` says of the host's interface.
fn link(host: &Host) -> String {
    let mut ip = host.command("ip");
    let output =
        ip.args(["-d", "link", "show", "dev", host.interface()]).output().expect("it runs");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_killed_tcpdump_leaves_the_interface_as_it_was() {
    let Some(stage) = Stage::set("tcpdump", "tcpdump") else { return };
    if !need::program("ip", "iproute2") {
        return;
    }
    let (file, b) = (stage.folder.path().join("file"), stage.lab.host("b"));
    for backend in BACK_ENDS {
        let path = file.display().to_string();
        let promiscuous = || !link(b).contains("promiscuity 0");
        let tcpdump =
            stage.start(backend, "tcpdump", &["-Z", "root", "-U", "-w", &path], LISTENING);
        assert!(promiscuous(), "{backend}");
        stage.send(20);
        wait_for("the file does not grow", || {
            fs::metadata(&file).is_ok_and(|f| f.len() > 20 * 100)
        });
        tcpdump.signal("KILL");
        tcpdump.end();
        wait_for("the interface stays promiscuous", || !promiscuous());
        assert!(count(&file) > 0, "what is written is a savefile");
    }
}
