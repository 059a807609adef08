//! AF_XDP: the capture has what its filter keeps, and the host the rest.

use std::fs;
use std::io::Read;
use std::net::UdpSocket;
use std::process::Stdio;
use std::time::Duration;

use linerate_lab::Child;
use linerate_lab::traffic::{Flow, send_frames, tagged};

use crate::support::{LINERATE, Live, count, linerate, quiet_pair, text};

#[test]
fn what_the_filter_keeps_is_captured_and_the_rest_is_the_hosts() {
    let Some(lab) = quiet_pair() else { return };
    let (a, b) = (lab.host("a"), lab.host("b"));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f.pcapng");
    let live = Live::start(b, &["--backend", "xdp", "-w", text(&file), "udp port 7"]);
    let [own, hosts] = [7, 8].map(|port| b.run(|| UdpSocket::bind((b.ipv4(), port)).unwrap()));
    Flow::ipv4(a, b, 5000, 7).send_frames(1000, 100).unwrap();
    Flow::ipv4(a, b, 5000, 8).send_frames(100, 100).unwrap();
    hosts.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    for _ in 0..100 {
        assert_eq!(hosts.recv(&mut [0; 200]).expect("the host's packet"), 100);
    }
    own.set_nonblocking(true).unwrap();
    assert!(own.recv(&mut [0; 200]).is_err(), "the host got a packet that the filter keeps");
    let done = live.interrupt().success();
    assert_eq!((done.captured(), count(&file)), (1000, 1000), "{done:?}");
    assert_eq!([done.summary("seen"), done.summary("filtered")], [1100, 100], "{done:?}");
    assert!(done.stderr.contains("do not reach the host's own stack"), "{done:?}");
}

/// AF_XDP takes what the filter keeps, and all else must flow on while nobody takes packets out.
#[test]
fn a_capture_that_stands_still_does_not_hold_up_the_host_and_counts_its_drops() {
    let Some(lab) = quiet_pair() else { return };
    let (a, b) = (lab.host("a"), lab.host("b"));
    let live = Live::start(b, &["--backend", "xdp", "--strict", "-B", "1M", "udp port 7"]);
    live.signal("STOP");
    let hosts = b.run(|| UdpSocket::bind((b.ipv4(), 8)).unwrap());
    hosts.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    Flow::ipv4(a, b, 5000, 7).send_frames(10_000, 100).unwrap();
    Flow::ipv4(a, b, 5000, 8).send_frames(100, 100).unwrap();
    for _ in 0..100 {
        assert_eq!(hosts.recv(&mut [0; 200]).expect("the host's packet"), 100);
    }
    live.signal("CONT");
    let done = live.interrupt();
    assert_eq!(done.code(), 3, "{done:?}");
    let [seen, filtered, dropped] =
        ["seen", "filtered", "packets dropped"].map(|what| done.summary(what));
    assert_eq!((seen, filtered, done.captured() + dropped), (10_100, 100, 10_000), "{done:?}");
    assert!(dropped > 0 && done.captured() >= 256, "{done:?}");
}

#[test]
fn an_interrupt_while_a_large_buffer_is_made_ends_it_as_any_other() {
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    let mut command = b.command(LINERATE);
    command.args(["capture", "-i", b.interface(), "--backend", "xdp", "-B", "1G", "udp port 7"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = Child::start(command).expect("linerate starts");
    while !catches_interrupts(child.id()) {
        std::thread::sleep(Duration::from_millis(1));
    }
    child.interrupt().expect("running");
    let mut said = String::new();
    child.stderr.take().expect("piped").read_to_string(&mut said).unwrap();
    assert!(child.wait().unwrap().success(), "{said}");
    assert!(said.contains("0 packets captured"), "{said}");
}

/// Whether the process has a handler for SIGINT (proc_pid_status(5), SigCgt).
fn catches_interrupts(id: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{id}/status")).expect("it runs");
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).expect("a mask");
    u64::from_str_radix(caught.trim(), 16).expect("a number") & 1 << 1 != 0
}

#[test]
fn a_driver_that_is_polled_delivers_every_packet() {
    let Some(lab) = quiet_pair() else { return };
    let (a, b) = (lab.host("a"), lab.host("b"));
    let args = ["--backend", "xdp", "--busy-poll", "-B", "64M", "udp port 7"];
    let live = Live::start(b, &args);
    for (port, packets) in [(7, 5000), (8, 100), (7, 5000)] {
        Flow::ipv4(a, b, 5000, port).send_frames(packets, 100).unwrap();
    }
    let done = live.interrupt().success();
    assert_eq!([done.summary("seen"), done.captured()], [10_100, 10_000], "{done:?}");
    assert_eq!([done.summary("filtered"), done.summary("dropped")], [100, 0], "{done:?}");
}

#[test]
fn busy_polling_is_refused_by_all_other_back_ends() {
    for backend in [&[][..], &["--backend", "tap"], &["--backend", "ring"]] {
        let done = linerate([&["capture", "-i", "lo", "--busy-poll"], backend].concat());
        assert_eq!(done.code(), 1, "{done:?}");
        assert!(done.stderr.contains("the back end xdp only"), "{done:?}");
        assert!(
            done.stderr.contains("ask for --backend xdp, or leave out --busy-poll"),
            "{done:?}"
        );
    }
}

/// The tag is beside the packet at traffic control and in packet sockets, and among its bytes at the XDP hook.
#[test]
fn a_filter_for_a_host_keeps_tagged_packets_by_the_back_ends_that_see_no_tag() {
    let Some(lab) = quiet_pair() else { return };
    let (a, b) = (lab.host("a"), lab.host("b"));
    let frame = Flow::ipv4(a, b, 5000, 7).frame(&[7; 60]);
    let sent = [vec![tagged(&frame, 5); 10], vec![frame; 3]].concat();
    for (backend, kept) in [("tap", 13), ("ring", 13), ("socket", 13), ("tap-xdp", 3), ("xdp", 3)] {
        for (filter, kept) in [
            ("src host 10.0.0.1", kept),
            ("vlan and src host 10.0.0.1", 10),
            ("src host 10.0.0.1 or (vlan and src host 10.0.0.1)", 13),
        ] {
            let live = Live::start(b, &["--backend", backend, "--force", "-Q", "in", filter]);
            send_frames(a, &sent).unwrap();
            let done = live.interrupt().success();
            assert_eq!(done.captured(), kept, "{backend}, {filter}: {done:?}");
        }
    }
}
