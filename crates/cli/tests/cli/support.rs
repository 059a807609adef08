//! Running the command as a user would.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ::linerate::sys::bpf::Object;
use linerate_lab::traffic::Flow;
use linerate_lab::{Child, Host, Lab, Offload, need};
use serde_json::Value;

/// The path of the command.
pub(crate) const LINERATE: &str = env!("CARGO_BIN_EXE_linerate");

/// The back ends that show all that an interface receives, and leave it to the host.
pub(crate) const BACKENDS: [&str; 4] = ["tap", "tap-xdp", "ring", "socket"];

/// Those of them that also show what it sends.
pub(crate) const BOTH_WAYS: [&str; 3] = ["tap", "ring", "socket"];

/// What a finished command left.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Finished {
    /// The exit status as the shell sees it.
    pub(crate) fn code(&self) -> i32 {
        self.status.code().unwrap_or_else(|| panic!("killed by a signal: {self:?}"))
    }

    /// Itself, if the command succeeded.
    pub(crate) fn success(self) -> Self {
        assert_eq!(self.code(), 0, "{self:?}");
        self
    }

    /// The number before ` captured` in the summary.
    pub(crate) fn captured(&self) -> u64 {
        self.summary("packets captured")
    }

    /// The last line of standard output, as what programs get.
    pub(crate) fn json(&self) -> Value {
        let line = self.stdout.lines().last().unwrap_or_else(|| panic!("no output: {self:?}"));
        serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }

    /// The number before `what` in the summary, of several or of one.
    pub(crate) fn summary(&self, what: &str) -> u64 {
        let one = what.replacen("ies ", "y ", 1).replacen("s ", " ", 1);
        let what = if self.stderr.contains(what) { what } else { &one };
        let found =
            self.stderr.split(what).next().filter(|before| before.len() < self.stderr.len());
        let word = found.and_then(|before| before.split_whitespace().last());
        let digits = word.map(|word| word.replace(',', ""));
        digits.and_then(|d| d.parse().ok()).unwrap_or_else(|| panic!("no `{what}` in {self:?}"))
    }
}

/// Runs the command to its end.
pub(crate) fn linerate<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>) -> Finished {
    finish(Command::new(LINERATE).args(args).stdin(Stdio::null()))
}

/// Waits for the end of a command whose output and errors were piped.
pub(crate) fn wait(mut child: Child) -> Finished {
    let stderr = collect(child.stderr.take().expect("piped"));
    let stdout = to_text(child.stdout.take().expect("piped"));
    Finished { status: child.wait().unwrap(), stdout, stderr: stderr.join().expect("read") }
}

/// Starts a command whose output and errors are piped.
pub(crate) fn start(mut command: Command) -> Child {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Child::start(command).expect("it starts")
}

/// Kills what `host` sends with, and waits until nothing of it is left: no BPF object, and no packet that still leaves.
pub(crate) fn kill_sender(child: Child, host: &Host, backend: &str) {
    const LONGEST: Duration = Duration::from_secs(30);
    let objects = Object::of_process(child.id()).expect("a process of ours");
    assert_eq!(objects.is_empty(), backend != "live", "{backend}: {objects:?}");
    drop(child);
    let killed = Instant::now();
    let mut last = None;
    loop {
        let sent = Some(host.counters().expect("a lab's host").sent);
        let is_quiet = std::mem::replace(&mut last, sent) == sent;
        let remain = objects.iter().filter(|object| object.exists().expect("root may look"));
        if remain.count() == 0 && is_quiet {
            break;
        }
        assert!(killed.elapsed() < LONGEST, "{backend}: {objects:?}, {last:?} sent");
        thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(host.state().expect("a lab's host").xdp_program, None, "{backend}");
}

/// Runs any command to its end.
pub(crate) fn finish(command: &mut Command) -> Finished {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    Finished {
        status: output.status,
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Two silent hosts on one wire, where the test may have them.
pub(crate) fn quiet_pair() -> Option<Lab> {
    let plan = Lab::plan().host("a").host("b").quiet().without_offloads();
    need::root().then(|| plan.build().expect("a lab"))
}

/// A silent pair of hosts of which `b` takes redirected frames.
pub(crate) fn live_pair() -> Option<Lab> {
    let plan = Lab::plan().host("a").host("b").quiet().without_offloads();
    need::root().then(|| plan.offload(Offload::GenericReceive, true).build().expect("a lab"))
}

/// Datagrams from `a` to `b`, to a port where somebody takes them without a word.
pub(crate) fn send(lab: &Lab, port: u16, count: u64) {
    let (a, b) = (lab.host("a"), lab.host("b"));
    let _taker = b.run(|| UdpSocket::bind((b.ipv4(), port))).expect("a free port");
    Flow::ipv4(a, b, 5000, port).send_frames(count, 100).expect("sent");
}

/// `capture` or `stat` on a host's interface, running.
pub(crate) struct Live {
    child: Child,
    stderr: JoinHandle<String>,
    stdout: JoinHandle<String>,
    /// What it said before it was ready.
    opening: String,
}

impl Live {
    /// Starts `linerate capture -i IF ARGS...` inside `host` and waits until it listens.
    pub(crate) fn start(host: &Host, args: &[&str]) -> Self {
        Self::start_with(host, args, |_| {})
    }

    /// The same, with a say in how the command is started.
    pub(crate) fn start_with(host: &Host, args: &[&str], prepare: impl Fn(&mut Command)) -> Self {
        Self::begin(host, "capture", "listening on", args, prepare)
    }

    /// Starts `linerate stat -i IF ARGS...` inside `host` and waits until it counts.
    pub(crate) fn stat(host: &Host, args: &[&str]) -> Self {
        Self::begin(host, "stat", "counting on", args, |_| {})
    }

    /// Starts `linerate mirror -i IF ARGS...` inside `host` and waits until it answers.
    pub(crate) fn mirror(host: &Host, args: &[&str]) -> Self {
        Self::begin(host, "mirror", "answering on", args, |_| {})
    }

    fn begin(
        host: &Host,
        name: &str,
        ready: &str,
        args: &[&str],
        prepare: impl Fn(&mut Command),
    ) -> Self {
        let mut command = host.command(LINERATE);
        command.args([name, "-i", host.interface()]).args(args);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        prepare(&mut command);
        let mut child = Child::start(command).expect("linerate starts");
        let mut stderr = BufReader::new(child.stderr.take().expect("piped"));
        let stdout = child.stdout.take();
        let opening = read_until(ready, &mut stderr);
        Self {
            child,
            opening,
            stderr: collect(stderr),
            stdout: thread::spawn(move || stdout.map_or_else(String::new, to_text)),
        }
    }

    /// The process's number.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal by its name: `USR1`, `STOP`.
    pub(crate) fn signal(&self, name: &str) {
        let script = format!("kill -{name} {}", self.id());
        assert!(Command::new("sh").args(["-c", &script]).status().expect("a shell").success());
    }

    /// Interrupts it, as Ctrl-C does, and waits for its end.
    pub(crate) fn interrupt(self) -> Finished {
        self.child.interrupt().expect("running");
        self.wait()
    }

    /// Waits for its end.
    pub(crate) fn wait(mut self) -> Finished {
        let status = self.child.wait().expect("waited");
        let text = |thread: JoinHandle<String>| thread.join().expect("read");
        let stderr = self.opening + &text(self.stderr);
        Finished { status, stdout: text(self.stdout), stderr }
    }
}

fn read_until(ready: &str, stderr: &mut impl BufRead) -> String {
    let mut text = String::new();
    while !text.contains(ready) {
        let read = stderr.read_line(&mut text).expect("readable");
        assert_ne!(read, 0, "ended before it was ready: {text}");
    }
    text
}

fn collect(stream: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || to_text(stream))
}

fn to_text(mut stream: impl Read) -> String {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).expect("readable");
    String::from_utf8_lossy(&bytes).into_owned()
}

/// How many packets `linerate read` finds in a file.
pub(crate) fn count(file: &Path) -> u64 {
    let read = linerate([OsStr::new("read"), OsStr::new("--count"), file.as_os_str()]).success();
    let number = read.stdout.split_whitespace().next().and_then(|word| word.parse().ok());
    number.unwrap_or_else(|| panic!("no count in {read:?}"))
}

/// The files in a folder, by name.
pub(crate) fn files(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut names: Vec<_> =
        entries.map(|e| e.expect("an entry").file_name().into_string().expect("UTF-8")).collect();
    names.sort();
    names
}

/// The path as text.
pub(crate) fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// What tshark finds in the fields of each packet of a file, checksums verified. Packets of a template are no conversation,
/// and not looked at as one.
pub(crate) fn tshark(file: &Path, filter: &str, fields: &[&str]) -> Vec<String> {
    run_tshark(file, filter, fields, "FALSE")
}

/// The same of conversations by TCP, which are analysed.
pub(crate) fn tshark_of_conversations(file: &Path, filter: &str, fields: &[&str]) -> Vec<String> {
    run_tshark(file, filter, fields, "TRUE")
}

fn run_tshark(file: &Path, filter: &str, fields: &[&str], analyse: &str) -> Vec<String> {
    let mut command = Command::new("tshark");
    command.args(["-r", text(file), "-Y", filter, "-T", "fields"]);
    for option in ["ip.check_checksum", "tcp.check_checksum", "udp.check_checksum"] {
        command.args(["-o", &format!("{option}:TRUE")]);
    }
    command.args(["-o", &format!("tcp.analyze_sequence_numbers:{analyse}")]);
    command.args(fields.iter().flat_map(|field| ["-e", field]));
    finish(&mut command).success().stdout.lines().map(str::to_owned).collect()
}

/// What tshark complains of: broken packets, checksums that are bad (status 0), and what its experts (`epan/expert.h`)
/// say of checksums, of malformed packets and of what no protocol has, such as wrong lengths.
pub(crate) const COMPLAINTS: &str = "_ws.malformed || _ws.expert.group == 0x01000000 || \
                          _ws.expert.group == 0x07000000 || _ws.expert.group == 0x09000000 || ip.checksum.status == 0 || tcp.checksum.status == 0 || \
                          udp.checksum.status == 0 || icmp.checksum.status == 0 || \
                          icmpv6.checksum.status == 0";
