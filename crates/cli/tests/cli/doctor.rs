//! `linerate doctor`: planted faults are found and named.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use linerate_lab::traffic::{Flow, send_frames};
use linerate_lab::{Child, Host, Lab, need};
use serde_json::Value;

use crate::privileges::{NOBODY, reachable};
use crate::seen::{examine, finding};
use crate::support::{Finished, LINERATE, Live, finish, linerate, quiet_pair, text};

/// Examines a host while something happens over and over; a thousand times at most.
fn examine_while(host: &Host, span: &str, happens: impl Fn() + Sync) -> (Finished, Value) {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut left = 1000;
            while left > 0 && !is_over.load(Ordering::Relaxed) {
                happens();
                left -= 1;
            }
        });
        let examined = examine(host, span);
        is_over.store(true, Ordering::Relaxed);
        examined
    })
}

/// Frames of about a kilobyte from `a` to `b`.
fn frames(lab: &Lab, count: usize) -> Vec<Vec<u8>> {
    vec![Flow::ipv4(lab.host("a"), lab.host("b"), 5000, 7).frame(&[0; 900]); count]
}

/// Examines `b` while `a` sends to it, a thousand packets at a time.
fn examine_under_traffic(lab: &Lab) -> (Finished, Value) {
    let frames = frames(lab, 1000);
    examine_while(lab.host("b"), "2s", || {
        send_frames(lab.host("a"), &frames).expect("sent");
        thread::sleep(Duration::from_millis(5));
    })
}

fn signal(process: u32, name: &str) {
    let script = format!("kill -{name} {process}");
    assert!(Command::new("sh").args(["-c", &script]).status().expect("a shell").success());
}

#[test]
fn a_healthy_host_gets_no_word() {
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    let mut command = b.command(LINERATE);
    command.args(["doctor", "-i", b.interface(), "--for", "300ms"]);
    let done = finish(command.stdin(Stdio::null())).success();
    assert_eq!((done.stdout.as_str(), done.stderr.as_str()), ("", ""));
}

#[test]
fn captures_are_those_of_the_interface_that_is_asked_for() {
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    let buffers = |interface: &str| -> Vec<Value> {
        let mut command = b.command(LINERATE);
        command.args(["doctor", "-i", interface, "--json", "--for", "100ms"]);
        let done = finish(command.stdin(Stdio::null()));
        let seen: Value = serde_json::from_str(&done.stdout).unwrap();
        let captures = seen["captures"].as_array().unwrap().iter();
        captures.map(|capture| capture["buffer"].clone()).collect()
    };
    for backend in ["ring", "tap", "xdp"] {
        let live = Live::start(b, &["--backend", backend, "--force", "-w", "/dev/null"]);
        assert_eq!(buffers(b.interface()), [backend]);
        assert_eq!(buffers("lo"), Vec::<Value>::new(), "{backend}");
        live.interrupt();
    }
}

#[test]
fn a_stopped_reader_is_named() {
    let Some(lab) = quiet_pair() else { return };
    for backend in ["ring", "socket", "tap", "xdp"] {
        let b = lab.host("b");
        let args = ["-B", "1M", "--backend", backend, "--force", "-w", "/dev/null"];
        let live = Live::start(b, &args);
        live.signal("STOP");
        let (done, seen) = examine_under_traffic(&lab);
        live.signal("CONT");
        let finding = finding(&seen, "stopped_reader");
        assert_eq!(done.code(), 3, "{seen:#}");
        let subject = finding["subject"].as_str().unwrap();
        assert_eq!(subject, format!("linerate (process {})", live.id()));
        let change = finding["advice"][0]["change"].as_str().unwrap();
        assert!(change.contains(&format!("kill -CONT {}", live.id())), "{change}");
        let stage = if ["tap", "xdp"].contains(&backend) { backend } else { "socket" };
        assert_eq!(finding["stage"], stage);
        live.interrupt();
    }
}

#[test]
fn another_programs_tiny_buffer_is_named() {
    if !need::program("tcpdump", "tcpdump") {
        return;
    }
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    let mut tcpdump = b.command("tcpdump");
    tcpdump.args(["-i", b.interface(), "-n", "-B", "16", "-w", "/dev/null"]);
    let mut tcpdump = Child::start({
        tcpdump.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        tcpdump
    })
    .expect("tcpdump");
    wait_until_it_listens(&mut tcpdump);
    let (id, late) = (tcpdump.id(), frames(&lab, 2000));
    let (done, seen) = examine_while(b, "2s", || {
        // It is late for a moment, in which more comes than its buffer holds.
        signal(id, "STOP");
        send_frames(lab.host("a"), &late).expect("sent");
        signal(id, "CONT");
        thread::sleep(Duration::from_millis(300));
    });
    let finding = finding(&seen, "small_buffer");
    assert_eq!(done.code(), 3, "{seen:#}");
    let subject = finding["subject"].as_str().unwrap();
    assert!(subject.starts_with("tcpdump (process "), "{subject}");
    assert!(finding["explanation"].as_str().unwrap().contains("KiB"), "{finding}");
}

fn wait_until_it_listens(tcpdump: &mut Child) {
    use std::io::{BufRead, BufReader};
    let mut stderr = BufReader::new(tcpdump.stderr.take().expect("piped"));
    let mut line = String::new();
    while !line.contains("listening on") {
        line.clear();
        assert_ne!(stderr.read_line(&mut line).expect("readable"), 0, "tcpdump ended");
    }
    // It says more when it ends, and must not wait for a reader then.
    thread::spawn(move || stderr.lines().for_each(drop));
}

#[test]
fn a_slow_disk_is_named_with_its_file() {
    let Some(lab) = quiet_pair() else { return };
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("slow.pcap");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    // Opened for both ways, the pipe takes what fits and then nothing.
    let taker = fs::File::options().read(true).write(true).open(&pipe).unwrap();
    let b = lab.host("b");
    let args = ["-B", "1M", "--format", "pcap", "-w", text(&pipe)];
    let live = Live::start(b, &args);
    let (done, seen) = examine_under_traffic(&lab);
    let finding = finding(&seen, "slow_storage");
    assert_eq!(done.code(), 3, "{seen:#}");
    let name = Path::new(&pipe).file_name().unwrap().to_str().unwrap();
    assert!(finding["explanation"].as_str().unwrap().contains(name), "{finding}");
    // What waits for the pipe is killed.
    drop(live);
    drop(taker);
}

#[test]
fn packets_for_others_are_told_and_are_no_loss() {
    let Some(lab) = quiet_pair() else { return };
    let (a, b) = (lab.host("a"), lab.host("b"));
    let mut frame = Flow::ipv4(a, b, 5000, 7).frame(b"for somebody else");
    frame[..6].copy_from_slice(&[2, 0, 0, 0, 9, 9]);
    let (done, seen) = examine_while(b, "1s", || {
        send_frames(a, &[frame.clone()]).expect("sent");
        thread::sleep(Duration::from_millis(10));
    });
    let finding = finding(&seen, "wrong_destination");
    assert!(finding["explanation"].as_str().unwrap().contains("OTHERHOST in ip_rcv"), "{seen:#}");
    assert!(finding["packets"].as_u64().unwrap() > 0);
    assert_eq!(done.code(), 0, "{seen:#}");
}

#[test]
fn what_may_not_be_looked_at_is_said() {
    if !need::root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(reachable(&folder));
    command.args(["doctor", "-i", "lo", "--for", "100ms"]).uid(NOBODY).gid(NOBODY);
    let done = finish(&mut command);
    assert_ne!(done.code(), 1, "{done:?}");
    assert!(done.stderr.contains("CAP_BPF and CAP_PERFMON"), "{done:?}");
    let missing = linerate(["doctor", "-i", "no-such-link"]);
    assert_eq!(missing.code(), 1, "{missing:?}");
    assert!(missing.stderr.contains("no-such-link"), "{missing:?}");
}
