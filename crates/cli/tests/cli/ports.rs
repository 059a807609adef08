//! Ports of the host's own address: what comes to them comes to us, and everything else to the host.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use linerate_lab::{Child, Host, Lab, need};
use tempfile::tempdir;

use crate::connect::serve;
use crate::mirrored::{lab, mirror, rows};
use crate::support::{COMPLAINTS, Finished, LINERATE, Live, finish, text, tshark_of_conversations};

fn command(host: &Host, name: &str, args: &[&str]) -> Command {
    let mut command = host.command(LINERATE);
    command.args([name, "-i", host.interface(), "--allow-reserved", "--cooldown", "1s"]);
    command.args(args).stdin(Stdio::null());
    command
}

fn run(host: &Host, name: &str, args: &[&str]) -> Finished {
    finish(&mut command(host, name, args))
}

/// `b` says hello at port 80 of its addresses and of all in 10.64.0.0/16.
fn greet(lab: &Lab) {
    let b = lab.host("b");
    let local = ["route", "add", "local", "10.64.0.0/16", "dev", "lo"];
    finish(b.command("ip").args(local)).success();
    greet_at(b, 80);
}

fn greet_at(host: &Host, port: u16) {
    serve(host, port, |mut stream| {
        let _ = stream.read(&mut [0; 100]);
        let _ = stream.write_all(b"hello");
    });
}

fn greeted(address: SocketAddr) -> String {
    let mut stream = TcpStream::connect(address).expect("connected");
    stream.write_all(b"x").expect("written");
    let mut said = String::new();
    stream.read_to_string(&mut said).expect("read");
    said
}

#[test]
fn connections_are_from_the_hosts_address_and_the_host_has_its_own_beside() {
    if !need::program("tshark", "tshark") {
        return;
    }
    let Some(lab) = lab() else { return };
    let (a, b) = (lab.host("a"), lab.host("b"));
    greet(&lab);
    greet_at(a, 60_999);
    let folder = tempdir().expect("a folder");
    let file = folder.path().join("wire.pcapng");
    let capture = Live::start(b, &["-w", text(&file), "tcp"]);
    let of_the_host = a.spawn(|| {
        (0..200).for_each(|_| assert_eq!(greeted(([10, 0, 0, 2], 80).into()), "hello"));
    });
    let args = ["-p", "80", "-r", "500", "--request", "text:x", "--fields", "address,outcome,data"];
    let whom = ["--close", "fin", "10.64.0.0/24", "fd00::2"];
    let done = run(a, "connect", &[&args[..], &whom].concat()).success();
    of_the_host.join().expect("the host's connections");
    b.run(|| assert_eq!(greeted(([10, 0, 0, 1], 60_999).into()), "hello"));
    let found = rows(&done.stdout);
    assert_eq!(found.len(), 257, "{}", done.stderr);
    assert!(found.iter().all(|row| row.ends_with(",finished,hello")), "{found:?}");
    assert!(done.stderr.contains("ports 61000-65535 of 10.0.0.1 are not"), "{}", done.stderr);
    capture.interrupt().success();
    let of_ours = |test: &str| {
        let filter = format!("tcp.srcport >= 61000 && ({test})");
        tshark_of_conversations(&file, &filter, &["frame.number", "_ws.expert.message"])
    };
    assert_eq!(of_ours("tcp.flags.syn == 1").len(), 257);
    // Nobody but us ended them, and we did by FIN.
    assert!(of_ours(&format!("tcp.flags.reset == 1 || {COMPLAINTS}")).is_empty());
}

#[test]
fn a_scan_refuses_what_it_is_offered_and_hears_of_errors() {
    let Some(lab) = lab() else { return };
    let (a, b) = (lab.host("a"), lab.host("b"));
    greet(&lab);
    let folder = tempdir().expect("a folder");
    let file = folder.path().join("wire.pcapng");
    let capture =
        Live::start(b, &["-w", text(&file), "src 10.0.0.1 and tcp[tcpflags] & tcp-rst != 0"]);
    let done = run(a, "scan", &["-p", "80", "--fields", "class", "10.0.0.2"]).success();
    assert_eq!(rows(&done.stdout), ["open".to_owned()].into(), "{}", done.stderr);
    assert_eq!(capture.interrupt().success().captured(), 1, "one RST, ours");
    for (target, code) in [("10.0.0.2", 3), ("fd00::2", 4)] {
        let args = ["--probe", "udp", "-p", "9", "--all", "--fields", "class,code", target];
        let done = run(a, "scan", &args).success();
        assert_eq!(rows(&done.stdout), [format!("unreachable,{code}")].into(), "{}", done.stderr);
    }
}

#[test]
fn ports_that_the_host_needs_are_not_taken() {
    let Some(lab) = lab() else { return };
    let a = lab.host("a");
    greet(&lab);
    let listener = a.run(|| TcpListener::bind(("10.0.0.1", 62_000))).expect("a free port");
    for name in ["connect", "scan"] {
        let refused = run(a, name, &["-p", "80", "10.0.0.2"]);
        assert_eq!(refused.code(), 1, "{refused:?}");
        assert!(refused.stderr.contains("a socket of TCP has port 62000"), "{refused:?}");
    }
    drop(listener);
    let args = ["-p", "80", "--source-port", "40000-40009", "--request", "text:x", "10.0.0.2"];
    let refused = run(a, "connect", &args);
    assert!(refused.code() == 1 && refused.stderr.contains("chooses from 32768-60999"));
    let reserve = |ports: &str| {
        let file = "/proc/sys/net/ipv4/ip_local_reserved_ports";
        a.run(|| fs::write(file, ports)).expect("written");
    };
    assert!(refused.stderr.contains("ip_local_reserved_ports=40000-40009`"), "{refused:?}");
    reserve("22,40000-40008");
    let refused = run(a, "connect", &args);
    assert!(refused.stderr.contains("=22,40000-40008,40000-40009`"), "{refused:?}");
    reserve("22,40000-40008,40000-40009");
    let done = run(a, "connect", &args).success();
    assert_eq!((rows(&done.stdout).len(), done.summary("opened")), (1, 1), "{}", done.stderr);
    let refused = run(a, "connect", &["--own", "10.0.0.1", "-p", "80", "10.0.0.2"]);
    assert!(refused.code() == 2 && refused.stderr.contains("10.0.0.1 is the host's"));
}

#[test]
fn who_is_killed_leaves_the_host_its_ports() {
    let Some(lab) = lab() else { return };
    let (a, b) = (lab.host("a"), lab.host("b"));
    let mirror = mirror(&lab, &[]);
    // The host refuses what it gets, as nobody listens.
    let knock = || {
        let to = ([10, 0, 0, 1], 65_000).into();
        let knocked = b.run(|| TcpStream::connect_timeout(&to, Duration::from_millis(200)));
        knocked.expect_err("nobody listens").kind()
    };
    assert_eq!(knock(), ErrorKind::ConnectionRefused);
    // (`connect` would refuse it as well.)
    let mut slow = command(a, "scan", &["-p", "80", "-r", "10", "10.64.0.0/16"]);
    slow.stdout(Stdio::null()).stderr(Stdio::null());
    let child = Child::start(slow).expect("linerate starts");
    let await_kind = |kind: ErrorKind| {
        let began = Instant::now();
        while knock() != kind {
            assert!(began.elapsed() < Duration::from_secs(30), "{kind}");
            thread::sleep(Duration::from_millis(20));
        }
    };
    await_kind(ErrorKind::TimedOut);
    drop(child);
    await_kind(ErrorKind::ConnectionRefused);
    mirror.interrupt().success();
}

#[test]
fn without_the_privilege_a_scan_goes_beside_the_host_and_a_connection_cannot() {
    if !need::program("setpriv", "util-linux") {
        return;
    }
    let Some(lab) = lab() else { return };
    let a = lab.host("a");
    let mirror = mirror(&lab, &[]);
    let run = |name: &str| {
        let mut command = a.command("setpriv");
        command.args(["--bounding-set", "-all,+net_raw,+net_admin", "--inh-caps", "-all"]);
        command.args([LINERATE, name, "-i", a.interface(), "--allow-reserved", "--cooldown", "1s"]);
        finish(command.args(["-p", "80", "10.64.0.0/28"]).stdin(Stdio::null()))
    };
    let done = run("scan").success();
    assert_eq!(rows(&done.stdout).len(), 16, "{}", done.stderr);
    assert!(done.stderr.contains("the host gets the answers, too: "), "{}", done.stderr);
    let refused = run("connect");
    assert_eq!(refused.code(), 1, "{refused:?}");
    assert!(refused.stderr.contains("CAP_BPF"), "{refused:?}");
    mirror.interrupt().success();
}
