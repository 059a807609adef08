//! Programs that people use, side by side: by the system's library and by ours they must say the same of the same traffic.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use linerate_lab::traffic::Flow;
use linerate_lab::{Child, Host, Lab, need};
use tempfile::TempDir;

use crate::library;

/// The port that datagrams go to, and the one where a server listens.
const PORT: u16 = 9;
const SERVER: u16 = 80;

/// What each datagram carries.
const WORDS: &[u8] = b"greetings from the lab";

/// The longest that a program may run, in seconds.
const LIMIT: &str = "60";

/// Two hosts, one program, and the two libraries.
struct Stage {
    lab: Lab,
    library: TempDir,
    folder: TempDir,
}

impl Stage {
    /// `None` where a program, from this Debian package, or a privilege is missing.
    fn set(program: &str, package: &str) -> Option<Self> {
        if !need::root() || !need::program(program, package) {
            return None;
        }
        let lab = Lab::plan().host("a").host("b").quiet().without_offloads().build();
        let folder = || TempDir::new().expect("a folder");
        Some(Self { lab: lab.expect("a lab"), library: library(), folder: folder() })
    }

    fn hosts(&self) -> (&Host, &Host) {
        (self.lab.host("a"), self.lab.host("b"))
    }

    /// What it prints on a host by the system's library, and by ours.
    fn both(&self, host: &Host, program: &str, arguments: &[&str]) -> [String; 2] {
        [None, Some(self.library.path())].map(|library| {
            let output = command(host, program, arguments, library).output().expect("it runs");
            text(program, &output)
        })
    }
}

/// A program on a host, by the library in a folder, or by the system's.
fn command(host: &Host, program: &str, arguments: &[&str], library: Option<&Path>) -> Command {
    let mut command = host.command_with_sysfs("timeout");
    command.args([LIMIT, program]).args(arguments).env_remove("LD_LIBRARY_PATH");
    if let Some(library) = library {
        command.env("LD_LIBRARY_PATH", library);
    }
    command
}

/// What a program has printed that ended well.
fn text(program: &str, output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program}: {:?}\n{text}{errors}", output.status);
    text
}

/// Datagrams from one host to another, every few milliseconds, until it is dropped.
struct Chatter {
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Chatter {
    fn start(from: &Host, to: &Host) -> Self {
        let ends = Arc::new(AtomicBool::new(false));
        let (until, source, target) = (ends.clone(), from.ipv4(), to.ipv4());
        let talk = move || {
            let socket = UdpSocket::bind((source, 1000)).expect("a socket");
            while !until.load(Ordering::Relaxed) {
                // Nobody listens, and the socket hears of it.
                let _ = socket.send_to(WORDS, (target, PORT));
                thread::sleep(Duration::from_millis(3));
            }
        };
        Self { ends, thread: Some(from.spawn(talk)) }
    }
}

impl Drop for Chatter {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        self.thread.take().map(JoinHandle::join);
    }
}

/// A server that answers whoever connects. It ends with the process.
fn serve(host: &Host) {
    let listener = host.run(|| TcpListener::bind((host.ipv4(), SERVER))).expect("a port");
    thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.expect("a connection");
            // A scanner does not wait for an answer.
            let _ = connection.write_all(WORDS);
        }
    });
}

/// What the server answers.
fn ask(from: &Host, to: &Host) -> Vec<u8> {
    let mut answer = Vec::new();
    let mut connection = from
        .run(|| std::net::TcpStream::connect((to.ipv4(), SERVER)))
        .expect("the server is there");
    connection.read_to_end(&mut answer).expect("an answer");
    answer
}

fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(40), "{what}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// The lines that begin so.
fn lines<'a>(text: &'a str, beginning: &str) -> Vec<&'a str> {
    text.lines().filter(|line| line.starts_with(beginning)).collect()
}

#[test]
fn tcpdump_tells_the_same_of_interfaces_and_filters() {
    let Some(stage) = Stage::set("tcpdump", "tcpdump") else { return };
    let (a, _) = stage.hosts();
    let [system, ours] = stage.both(a, "tcpdump", &["-D"]);
    // Of the kernel's devices that are no interfaces we have none.
    let name = |line: &str| line.split_once('.').map(|(_, name)| name.to_owned());
    let devices = |text: &str| -> Vec<_> { text.lines().filter_map(name).collect() };
    let known: Vec<_> = ["any", "lo", a.interface()].map(|name| format!("{name} ")).to_vec();
    let of = |text: &str| -> Vec<_> {
        let is_known = |device: &String| known.iter().any(|name| device.starts_with(name));
        devices(text).into_iter().filter(is_known).collect()
    };
    assert_eq!(of(&ours), of(&system));
    assert_eq!(devices(&ours), of(&ours), "and no others");
    let [system, ours] = stage.both(a, "tcpdump", &["-L", "-i", a.interface()]);
    assert_eq!(ours, system);
    let [system, ours] = stage.both(a, "tcpdump", &["-L", "-i", "lo"]);
    assert_eq!(ours, system);
    let [system, ours] = stage.both(a, "tcpdump", &["-i", a.interface(), "-d", "ip"]);
    assert_eq!(ours, system);
}

#[test]
fn tcpdump_rotates_files() {
    let Some(stage) = Stage::set("tcpdump", "tcpdump") else { return };
    let (a, b) = stage.hosts();
    let counts = [None, Some(stage.library.path())].map(|library| {
        let folder = TempDir::new_in(stage.folder.path()).expect("a folder");
        let (file, said) = (folder.path().join("file"), stage.folder.path().join("said"));
        let file = file.display().to_string();
        let mut tcpdump = command(b, "tcpdump", &[], library);
        tcpdump.args([
            "-Z",
            "root",
            "-i",
            b.interface(),
            "-B",
            "16384",
            "-c",
            "3000",
            "-C",
            "1",
            "-w",
            &file,
            "udp",
        ]);
        tcpdump.stderr(File::create(&said).expect("a file"));
        let tcpdump = Child::start(tcpdump).expect("it starts");
        wait_for("tcpdump does not begin", || {
            fs::read_to_string(&said).is_ok_and(|said| said.contains("listening on"))
        });
        Flow::ipv4(a, b, 1000, PORT).send_frames(3000, 1400).expect("sent");
        text("tcpdump", &tcpdump.output().expect("it ends"));
        let files =
            fs::read_dir(folder.path()).expect("read").map(|file| file.expect("read").path());
        let mut counts: Vec<_> = files.map(|file| count(b, &file)).collect();
        counts.sort_unstable();
        counts
    });
    assert_eq!((counts[0].len(), counts[0].iter().sum()), (5, 3000));
    assert_eq!(counts[1], counts[0]);
}

/// How many packets tcpdump finds in a file.
fn count(host: &Host, file: &Path) -> usize {
    let arguments = ["-n", "-r", &file.display().to_string()];
    let output = command(host, "tcpdump", &arguments, None).output().expect("it runs");
    text("tcpdump", &output).lines().count()
}

#[test]
fn dumpcap_and_tshark_capture() {
    let Some(stage) = Stage::set("tshark", "tshark") else { return };
    let (a, b) = stage.hosts();
    let _chatter = Chatter::start(a, b);
    let arguments = [
        "-i",
        b.interface(),
        "-f",
        "udp port 9",
        "-c",
        "40",
        "-T",
        "fields",
        "-e",
        "ip.dst",
        "-e",
        "udp.dstport",
        "-e",
        "frame.len",
    ];
    let [system, ours] = stage.both(b, "tshark", &arguments);
    assert_eq!(system.lines().count(), 40);
    assert_eq!(ours, system);
    let file = stage.folder.path().join("file");
    let name = file.display().to_string();
    let arguments = ["-q", "-P", "-i", b.interface(), "-f", "udp port 9", "-c", "500", "-w", &name];
    for library in [None, Some(stage.library.path())] {
        text("dumpcap", &command(b, "dumpcap", &arguments, library).output().expect("it runs"));
        assert_eq!(count(b, &file), 500);
    }
}

#[test]
fn ngrep_finds_words() {
    let Some(stage) = Stage::set("ngrep", "ngrep") else { return };
    let (a, b) = stage.hosts();
    let _chatter = Chatter::start(a, b);
    let arguments =
        ["-q", "-l", "-n", "20", "-W", "byline", "-d", b.interface(), "greet.*lab", "udp port 9"];
    let [system, ours] = stage.both(b, "ngrep", &arguments);
    assert_eq!(lines(&system, "greetings from the lab").len(), 20);
    assert_eq!(lines(&ours, "greetings"), lines(&system, "greetings"));
}

#[test]
fn nmap_finds_the_open_port() {
    let Some(stage) = Stage::set("nmap", "nmap") else { return };
    let (a, b) = stage.hosts();
    serve(b);
    let target = b.ipv4().to_string();
    let ports: &[&str] = &["-n", "-sS", "-p", "70-90", "-oG", "-", &target];
    let system: &[&str] = &["-n", "-O", "--max-os-tries", "1", "-p", "79-80", "-oG", "-", &target];
    for arguments in [ports, system] {
        // The time that it took stands behind the last tab of a line.
        let told = stage.both(a, "nmap", arguments).map(|text| {
            let line = |line: &str| line.split("\tSeq Index").next().unwrap_or_default().to_owned();
            lines(&text, "Host:").into_iter().map(line).collect::<Vec<_>>()
        });
        assert!(told[0].iter().any(|line| line.contains("80/open/tcp")), "{told:?}");
        assert_eq!(told[1], told[0]);
    }
}

#[test]
fn p0f_knows_the_systems() {
    let Some(stage) = Stage::set("p0f", "p0f") else { return };
    let (a, b) = stage.hosts();
    serve(b);
    let known = [None, Some(stage.library.path())].map(|library| {
        let log = stage.folder.path().join(format!("log of {}", library.is_some()));
        let arguments = ["-i", b.interface(), "-o", &log.display().to_string()];
        let mut p0f = command(b, "p0f", &arguments, library);
        p0f.stdout(Stdio::null());
        let p0f = Child::start(p0f).expect("it starts");
        let mut found = Vec::new();
        wait_for("p0f sees no connection", || {
            ask(a, b);
            let text = fs::read_to_string(&log).unwrap_or_default();
            let of_kind = |kind: &str| {
                let line = text.lines().find(|line| line.contains(kind))?;
                line.split_once("|os=").map(|(_, rest)| rest.to_owned())
            };
            found = ["mod=syn|", "mod=syn+ack|"].iter().filter_map(|kind| of_kind(kind)).collect();
            found.len() == 2
        });
        p0f.interrupt().expect("it is there");
        p0f.output().expect("it ends");
        found
    });
    assert_eq!(known[1], known[0]);
}

#[test]
fn tcpflow_keeps_what_was_said() {
    let Some(stage) = Stage::set("tcpflow", "tcpflow-nox") else { return };
    let (a, b) = stage.hosts();
    serve(b);
    for library in [None, Some(stage.library.path())] {
        let folder = TempDir::new_in(stage.folder.path()).expect("a folder");
        let path = folder.path().display().to_string();
        let arguments = ["-i", b.interface(), "-o", &path, "-X", "/dev/null", "tcp port 80"];
        let mut tcpflow = command(b, "tcpflow", &arguments, library);
        tcpflow.stdout(Stdio::null()).stderr(Stdio::null());
        let tcpflow = Child::start(tcpflow).expect("it starts");
        wait_for("tcpflow keeps nothing", || {
            assert_eq!(ask(a, b), WORDS);
            let files = fs::read_dir(folder.path()).expect("read").filter_map(Result::ok);
            let mut said = files.filter_map(|file| fs::read(file.path()).ok());
            said.any(|said| said == WORDS)
        });
        tcpflow.interrupt().expect("it is there");
        tcpflow.output().expect("it ends");
    }
}

#[test]
fn masscan_and_zmap_find_the_open_port() {
    let Some(stage) = Stage::set("masscan", "masscan") else { return };
    if !need::program("zmap", "zmap") {
        return;
    }
    let (a, b) = stage.hosts();
    serve(b);
    // By the system's library both wait for a packet when they are to end.
    let _chatter = Chatter::start(b, a);
    let (target, gateway, own) = (b.ipv4().to_string(), colons(b.mac()), a.ipv4().to_string());
    let masscan = [
        target.as_str(),
        "-p",
        "78-82",
        "--rate",
        "1000",
        "--wait",
        "2",
        "--interface",
        a.interface(),
        "--source-ip",
        &own,
        "--source-port",
        "61000",
        "--router-mac",
        &gateway,
        "-oL",
        "-",
    ];
    let [system, ours] = stage.both(a, "masscan", &masscan).map(|text| {
        lines(&text, "open tcp")
            .iter()
            .map(|line| line.rsplit_once(' ').expect("a time").0.to_owned())
            .collect::<Vec<_>>()
    });
    assert_eq!(system, [format!("open tcp 80 {target}")]);
    assert_eq!(ours, system);
    let zmap = [
        "-p",
        "80",
        "-i",
        a.interface(),
        "-G",
        &gateway,
        "-S",
        &own,
        "-c",
        "2",
        "-q",
        "-b",
        "/dev/null",
        "-o",
        "-",
        &target,
    ];
    let [system, ours] = stage.both(a, "zmap", &zmap);
    assert_eq!((system.trim(), ours), (target.as_str(), system.clone()));
}

/// A hardware address as people write it.
fn colons(mac: [u8; 6]) -> String {
    mac.map(|byte| format!("{byte:02x}")).join(":")
}

/// Debian's, whichever else is first on the path: it is the one that finds Debian's Scapy.
const PYTHON: &str = "/usr/bin/python3";

#[test]
fn scapy_sniffs_and_asks() {
    let Some(stage) = Stage::set("python3", "python3") else { return };
    if !need::file("/usr/lib/python3/dist-packages/scapy/all.py", "python3-scapy") {
        return;
    }
    let (a, b) = stage.hosts();
    let _chatter = Chatter::start(a, b);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/sniff.py");
    let (script, own, other) =
        (script.display().to_string(), b.ipv4().to_string(), a.ipv4().to_string());
    let arguments = [&script, b.interface(), &own, &other, &colons(a.mac())];
    let [system, ours] = stage.both(b, PYTHON, &arguments);
    assert_eq!(lines(&system, "sniffed 30").len(), 1, "{system}");
    assert_eq!(ours, system);
}

/// The first so many datagrams from one host to another that tcpdump sees, in a file.
fn recorded(stage: &Stage, datagrams: u64) -> String {
    let (a, b) = stage.hosts();
    let (file, said) = (stage.folder.path().join("recorded"), stage.folder.path().join("said"));
    let (file, datagrams_text) = (file.display().to_string(), datagrams.to_string());
    let arguments = ["-Z", "root", "-i", b.interface(), "-c", &datagrams_text, "-w", &file, "udp"];
    let mut tcpdump = command(b, "tcpdump", &arguments, None);
    tcpdump.stderr(File::create(&said).expect("a file"));
    let tcpdump = Child::start(tcpdump).expect("it starts");
    wait_for("tcpdump does not begin", || {
        fs::read_to_string(&said).is_ok_and(|said| said.contains("listening on"))
    });
    Flow::ipv4(a, b, 1000, PORT).send_frames(datagrams, 100).expect("sent");
    text("tcpdump", &tcpdump.output().expect("it ends"));
    file
}

#[test]
fn tcpreplay_sends_what_is_in_a_file() {
    const COUNT: u64 = 500;
    let Some(stage) = Stage::set("tcpreplay", "tcpreplay") else { return };
    if !need::program("tcpdump", "tcpdump") {
        return;
    }
    let (a, b) = stage.hosts();
    let file = recorded(&stage, COUNT);
    for library in [None, Some(stage.library.path())] {
        let before = b.counters().expect("counters").received;
        let output = command(a, "tcpreplay", &["-t", "-i", a.interface(), &file], library).output();
        let said = text("tcpreplay", &output.expect("it runs"));
        assert!(said.contains(&format!("Actual: {COUNT} packets")), "{said}");
        wait_for("not all of the packets come", || {
            b.counters().expect("counters").received - before == COUNT
        });
    }
}

/// By our library its thread, which the program cancels at the end, ends as well.
#[test]
fn iftop_tells_who_talks_to_whom() {
    let Some(stage) = Stage::set("iftop", "iftop") else { return };
    let (a, b) = stage.hosts();
    let _chatter = Chatter::start(a, b);
    let arguments = ["-t", "-s", "2", "-n", "-N", "-P", "-i", b.interface(), "-f", "udp port 9"];
    let ends = [format!("{}:{PORT}", b.ipv4()), format!("{}:1000", a.ipv4())];
    for said in stage.both(b, "iftop", &arguments) {
        let talking = said.lines().filter(|line| line.contains("=>") || line.contains("<="));
        let talking: Vec<_> = talking.collect();
        assert_eq!(talking.len(), 2, "{said}");
        assert!(talking.iter().zip(&ends).all(|(line, end)| line.contains(end)), "{said}");
    }
}

#[test]
fn darkstat_shows_who_is_there() {
    const PAGES: u16 = 8080;
    let Some(stage) = Stage::set("darkstat", "darkstat") else { return };
    let (a, b) = stage.hosts();
    let _chatter = Chatter::start(a, b);
    let folder = stage.folder.path().display().to_string();
    let pages = PAGES.to_string();
    let arguments = [
        "-i",
        b.interface(),
        "-p",
        &pages,
        "--no-daemon",
        "--no-dns",
        "--user",
        "root",
        "--chroot",
        &folder,
    ];
    for library in [None, Some(stage.library.path())] {
        let darkstat = Child::start(command(b, "darkstat", &arguments, library)).expect("started");
        let other = a.ipv4().to_string();
        wait_for("darkstat shows nobody", || page(b, PAGES).contains(&other));
        darkstat.interrupt().expect("it is there");
        let output = darkstat.output().expect("it ends");
        assert!(output.status.success(), "{:?}", output.status);
    }
}

/// The list of hosts that darkstat serves, if it does.
fn page(host: &Host, port: u16) -> String {
    let ask = || -> std::io::Result<String> {
        let mut connection = std::net::TcpStream::connect((host.ipv4(), port))?;
        connection.write_all(b"GET /hosts/ HTTP/1.0\r\n\r\n")?;
        let mut answer = String::new();
        connection.read_to_string(&mut answer)?;
        Ok(answer)
    };
    host.run(ask).unwrap_or_default()
}

#[test]
fn a_rule_of_suricata_fires() {
    let Some(stage) = Stage::set("suricata", "suricata") else { return };
    let (a, b) = stage.hosts();
    let _chatter = Chatter::start(a, b);
    let rules = stage.folder.path().join("rules");
    let words = String::from_utf8_lossy(WORDS);
    let rule = format!(
        "alert udp {} any -> any {PORT} (msg:\"somebody greets\"; content:\"{words}\"; sid:7001;)\n\
         alert udp any any -> any {PORT} (msg:\"nobody says that\"; content:\"farewell\"; sid:7002;)\n",
        a.ipv4()
    );
    fs::write(&rules, rule).expect("written");
    for library in [None, Some(stage.library.path())] {
        let folder = TempDir::new_in(stage.folder.path()).expect("a folder");
        let (path, rules) = (folder.path().display().to_string(), rules.display().to_string());
        let pcap = format!("--pcap={}", b.interface());
        let arguments = [pcap.as_str(), "-S", &rules, "-l", &path, "-k", "none"];
        let mut suricata = command(b, "suricata", &arguments, library);
        suricata.stdout(Stdio::null()).stderr(Stdio::null());
        let suricata = Child::start(suricata).expect("it starts");
        let alerts = || fs::read_to_string(folder.path().join("fast.log")).unwrap_or_default();
        wait_for("no alert comes", || alerts().contains("[1:7001:0] somebody greets"));
        suricata.interrupt().expect("it is there");
        let output = suricata.output().expect("it ends");
        assert!(output.status.success(), "{:?}", output.status);
        assert!(!alerts().contains("7002"), "{}", alerts());
    }
}
