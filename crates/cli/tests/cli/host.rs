//! The host's own traffic, and what becomes of it while a capture runs, stands still, is killed or has its
//! interface changed.

use std::net::UdpSocket;
use std::thread;
use std::time::{Duration, Instant};

use ::linerate::sys::bpf::Object;
use ::linerate::sys::ethtool;
use linerate_lab::traffic::Flow;
use linerate_lab::{Lab, need};

use crate::support::{BACKENDS, Finished, LINERATE, Live, count, finish, quiet_pair, send, text};

/// How long objects of a killed process may stay in the kernel of a busy machine; the aim is 100 ms.
const LONGEST: Duration = Duration::from_secs(5);

/// As many datagrams as a socket's buffer holds without a reader.
const LOT: u64 = 100;

/// Sends datagrams from `a` to port 7 of `b`, where an application gets every one of them.
fn converse(lab: &Lab, lots: u64) {
    let (a, b) = (lab.host("a"), lab.host("b"));
    let taker = b.run(|| UdpSocket::bind((b.ipv4(), 7))).expect("a free port");
    taker.set_read_timeout(Some(Duration::from_secs(20))).expect("a time");
    for lot in 0..lots {
        Flow::ipv4(a, b, 5000, 7).send_frames(LOT, 100).expect("sent");
        for number in 0..LOT {
            let got = taker.recv(&mut [0; 200]);
            got.unwrap_or_else(|e| panic!("datagram {number} of lot {lot}: {e}"));
        }
    }
}

/// What was sent is captured, filtered or dropped, and nothing else.
fn assert_balance(done: &Finished, sent: u64) {
    let [seen, filtered] = ["seen", "filtered"].map(|what| done.summary(what));
    let (captured, dropped) = (done.captured(), done.summary("dropped"));
    assert_eq!((seen, captured + filtered + dropped), (sent, sent), "{done:?}");
}

#[test]
fn a_capture_that_stands_still_does_not_hold_up_the_host_and_counts_its_drops() {
    let Some(lab) = quiet_pair() else { return };
    for backend in BACKENDS {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("f.pcapng");
        let args = ["--backend", backend, "--strict", "-B", "256k", "-w", text(&file)];
        let live = Live::start(lab.host("b"), &args);
        live.signal("STOP");
        converse(&lab, 200);
        live.signal("CONT");
        let done = live.interrupt();
        assert_eq!(done.code(), 3, "{backend}: {done:?}");
        assert!(done.summary("packets dropped") > 0, "{backend}: {done:?}");
        assert_eq!(count(&file), done.captured(), "{backend}");
        assert_balance(&done, 200 * LOT);
    }
}

#[test]
fn a_killed_capture_leaves_nothing_in_the_kernel_and_the_host_unharmed() {
    let Some(lab) = quiet_pair() else { return };
    for backend in BACKENDS.into_iter().chain(["xdp"]) {
        // AF_XDP would keep what the filter does from the host.
        let live = Live::start(lab.host("b"), &["--backend", backend, "udp port 9"]);
        let objects = Object::of_process(live.id()).expect("a process of ours");
        assert!(!objects.is_empty(), "{backend}: at least a program that filters");
        thread::scope(|scope| {
            let talk = scope.spawn(|| converse(&lab, 100));
            thread::sleep(Duration::from_millis(20));
            live.signal("KILL");
            let killed = Instant::now();
            for object in &objects {
                while object.exists().expect("root may look") {
                    assert!(killed.elapsed() < LONGEST, "{backend}: {object:?} is still there");
                    thread::sleep(Duration::from_micros(100));
                }
            }
            println!("{backend}: {} objects gone after {:?}", objects.len(), killed.elapsed());
            talk.join().expect("the host got all of its packets");
        });
        converse(&lab, 1);
    }
}

#[test]
fn captures_on_one_interface_do_not_disturb_each_other() {
    let Some(lab) = quiet_pair() else { return };
    for backends in BACKENDS.into_iter().flat_map(|a| BACKENDS.map(|b| [a, b])) {
        if backends == ["tap-xdp"; 2] {
            continue; // one XDP program is all that an interface has
        }
        let lives =
            backends.map(|backend| Live::start(lab.host("b"), &["--backend", backend, "udp"]));
        converse(&lab, 3);
        let [first, second] = lives;
        assert_balance(&first.interrupt().success(), 3 * LOT);
        converse(&lab, 2);
        let done = second.interrupt().success();
        assert_eq!(done.captured(), 5 * LOT, "{backends:?}: {done:?}");
        assert_balance(&done, 5 * LOT);
    }
}

#[test]
fn packets_of_a_raised_mtu_are_captured_whole() {
    for backend in BACKENDS {
        let Some(lab) = quiet_pair() else { return };
        let (a, b) = (lab.host("a"), lab.host("b"));
        let live = Live::start(b, &["--backend", backend, "-t", "udp port 7"]);
        send(&lab, 7, 10);
        send(&lab, 9, 5);
        b.set_mtu(9000).unwrap_or_else(|e| panic!("{backend}: {e}"));
        a.set_mtu(9000).unwrap();
        let _taker = b.run(|| UdpSocket::bind((b.ipv4(), 7))).unwrap();
        Flow::ipv4(a, b, 5000, 7).send_frames(10, 8900).unwrap();
        let done = live.interrupt().success();
        assert_balance(&done, 25);
        assert_eq!(done.summary("filtered"), 5, "{backend}: {done:?}");
        assert_eq!(done.stdout.matches("UDP, length 100\n").count(), 10, "{backend}: {done:?}");
        assert_eq!(done.stdout.matches("UDP, length 8900\n").count(), 10, "{backend}: {done:?}");
    }
}

#[test]
fn a_change_of_queues_loses_nothing() {
    let wide = || Lab::plan().host("a").host("b").queues(4).quiet().without_offloads().build();
    if !need::root() {
        return;
    }
    for backend in BACKENDS {
        let lab = wide().expect("a lab");
        let live = Live::start(lab.host("b"), &["--backend", backend, "udp"]);
        for (queues, hosts) in [(1, ["a", "b"]), (4, ["b", "a"]), (2, ["a", "b"])] {
            // An interface with an XDP program has no fewer queues to receive than its peer has to send.
            for host in hosts.map(|name| lab.host(name)) {
                host.run(|| ethtool::set_queues(host.interface(), queues)).unwrap();
            }
            while !lab.host("a").state().unwrap().is_running {
                thread::sleep(Duration::from_millis(10));
            }
            converse(&lab, 2);
        }
        assert_balance(&live.interrupt().success(), 6 * LOT);
    }
}

#[test]
fn an_exclusive_capture_takes_the_packets_from_the_host_when_forced_to() {
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    let mut command = b.command(LINERATE);
    let done = finish(command.args(["capture", "-i", b.interface(), "--exclusive", "-c", "1"]));
    assert_eq!(done.code(), 1, "{done:?}");
    let own = format!("the host has the address {} there (--force", b.ipv4());
    assert!(done.stderr.contains(&own), "{done:?}");

    let live = Live::start(b, &["--exclusive", "--force", "udp port 9"]);
    let taker = b.run(|| UdpSocket::bind((b.ipv4(), 7))).unwrap();
    taker.set_nonblocking(true).unwrap();
    Flow::ipv4(lab.host("a"), b, 5000, 7).send_frames(LOT, 100).unwrap();
    send(&lab, 9, 20);
    let done = live.interrupt().success();
    assert!(taker.recv(&mut [0; 200]).is_err(), "what the filter turns away is taken, too");
    drop(taker);
    assert!(done.stderr.contains("back end tap-xdp (native XDP)\n"), "{done:?}");
    assert_eq!(done.captured(), 20);
    assert_balance(&done, LOT + 20);
    converse(&lab, 1);
}

#[test]
fn a_back_end_that_cannot_be_exclusive_says_so() {
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    for backend in ["tap", "ring", "socket"] {
        let mut command = b.command(LINERATE);
        command.args(["capture", "-i", b.interface(), "--exclusive", "--backend", backend]);
        let done = finish(&mut command);
        assert_eq!(done.code(), 1, "{done:?}");
        assert!(done.stderr.contains("cannot take packets away from the host"), "{done:?}");
    }
}
