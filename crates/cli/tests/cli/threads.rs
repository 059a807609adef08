//! Many cores: several threads of one capture.

use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use ::linerate::base::{Source, Timestamp};
use ::linerate::{capture, sys};
use linerate_lab::traffic::Flow;
use linerate_lab::{Lab, need};

use crate::support::{BACKENDS, Finished, Live, count, linerate, send, text};

/// Two silent hosts whose interfaces have so many queues.
fn wide_pair(queues: u32) -> Option<Lab> {
    let plan = Lab::plan().host("a").host("b").queues(queues).quiet().without_offloads();
    need::root().then(|| plan.build().expect("a lab"))
}

/// Datagrams from `a` to `b`: so many from each of two ports, sent on two cores at the same time where the
/// machine has them.
fn send_from_two_cores(lab: &Lab, count: u64) {
    let (a, b) = (lab.host("a"), lab.host("b"));
    let _taker = b.run(|| UdpSocket::bind((b.ipv4(), 7))).expect("a free port");
    let cores = sys::cpu::allowed().expect("cores");
    thread::scope(|scope| {
        for number in 0..2 {
            let core = cores[number % cores.len()];
            scope.spawn(move || {
                sys::cpu::pin(core).expect("an allowed core");
                Flow::ipv4(a, b, 5000 + number as u16, 7).send_frames(count, 100).expect("sent");
            });
        }
    });
}

/// A packet of a flow, as it stands in a savefile.
struct Numbered {
    time: Timestamp,
    source_port: u16,
    number: u64,
}

fn numbered(file: &Path) -> Vec<Numbered> {
    let mut source = capture::open_file(file).expect("a savefile");
    let mut packets = Vec::new();
    while let Some(batch) = source.next_batch(Duration::MAX).expect("readable") {
        packets.extend(batch.iter().map(|packet| Numbered {
            time: packet.time,
            source_port: u16::from_be_bytes(packet.data[34..36].try_into().expect("2 bytes")),
            number: u64::from_be_bytes(packet.data[42..50].try_into().expect("8 bytes")),
        }));
    }
    packets
}

/// Captures what is sent from two cores, and interrupts.
fn capture_two_flows(lab: &Lab, flags: &[&str], count: u64) -> (Finished, Vec<Numbered>) {
    let folder = tempfile::tempdir().unwrap();
    let file: PathBuf = folder.path().join("f.pcapng");
    let args = [&["-w", text(&file)], flags].concat();
    let live = Live::start(lab.host("b"), &args);
    send_from_two_cores(lab, count);
    let done = live.interrupt().success();
    (done, numbered(&file))
}

/// The numbers of one flow's packets.
fn flow(packets: &[Numbered], source_port: u16) -> Vec<u64> {
    packets.iter().filter(|p| p.source_port == source_port).map(|p| p.number).collect()
}

#[test]
fn every_packet_is_captured_by_one_thread_and_flows_keep_their_order() {
    for queues in [1, 2, 4] {
        let Some(lab) = wide_pair(queues) else { return };
        // An AF_XDP socket has a whole queue.
        for backend in BACKENDS.into_iter().chain((queues > 1).then_some("xdp")) {
            let flags = ["--backend", backend, "--threads", "2", "--force"];
            let (done, packets) = capture_two_flows(&lab, &flags, 3000);
            let all: Vec<_> = (0..3000).collect();
            assert_eq!(flow(&packets, 5000), all, "{backend}, {queues} queues: {done:?}");
            assert_eq!(flow(&packets, 5001), all, "{backend}, {queues} queues: {done:?}");
            assert_eq!(done.captured(), 6000, "{done:?}");
            assert_eq!(done.summary("seen"), 6000, "{done:?}");
        }
    }
}

#[test]
fn ordered_packets_of_all_threads_are_in_the_order_of_their_times() {
    let Some(lab) = wide_pair(2) else { return };
    for backend in BACKENDS.into_iter().chain(["xdp"]) {
        let flags = ["--backend", backend, "--threads", "2", "--ordered", "--force"];
        let (done, packets) = capture_two_flows(&lab, &flags, 3000);
        assert_eq!((done.captured(), packets.len()), (6000, 6000), "{done:?}");
        assert!(packets.is_sorted_by_key(|packet| packet.time), "{backend}: {done:?}");
    }
}

#[test]
fn a_count_is_exact_whichever_threads_reach_it() {
    let Some(lab) = wide_pair(2) else { return };
    for flags in [&["--threads", "2"][..], &["--threads", "auto"], &["--threads", "2", "--ordered"]]
    {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("f.pcapng");
        let args = [&["-c", "1000", "-w", text(&file)], flags].concat();
        let live = Live::start(lab.host("b"), &args);
        send_from_two_cores(&lab, 2000);
        let done = live.wait().success();
        assert_eq!((done.captured(), count(&file)), (1000, 1000), "{done:?}");
        let left = done.summary("left in the buffer");
        assert_eq!(done.summary("seen"), 1000 + left, "{done:?}");
    }
}

#[test]
fn idle_threads_end_on_a_signal_and_after_a_time() {
    let Some(lab) = wide_pair(2) else { return };
    for flags in [&["--threads", "3"][..], &["--threads", "2", "--ordered"]] {
        let done = Live::start(lab.host("b"), flags).interrupt().success();
        assert_eq!(done.captured(), 0);
        let flags = [flags, &["--for", "200ms"]].concat();
        assert_eq!(Live::start(lab.host("b"), &flags).wait().success().captured(), 0);
    }
}

#[test]
fn a_report_has_the_counters_of_all_threads() {
    let Some(lab) = wide_pair(2) else { return };
    for flags in [&["--threads", "2"][..], &["--threads", "2", "--ordered"]] {
        let live = Live::start(lab.host("b"), flags);
        send_from_two_cores(&lab, 50);
        thread::sleep(Duration::from_millis(600));
        live.signal("USR1");
        thread::sleep(Duration::from_millis(300));
        send_from_two_cores(&lab, 50);
        let done = live.interrupt().success();
        assert_eq!(done.stderr.matches("packets captured").count(), 2, "{done:?}");
        assert_eq!(done.captured(), 100, "the report in between: {done:?}");
        assert_eq!(done.stdout.lines().count(), 200);
    }
}

#[test]
fn the_packets_of_all_threads_go_into_rotated_files() {
    let Some(lab) = wide_pair(2) else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f.pcapng");
    let args = ["--threads", "2", "-C", "100k", "-c", "3000", "-w", text(&file)];
    let live = Live::start(lab.host("b"), &args);
    send_from_two_cores(&lab, 1500);
    assert_eq!(live.wait().success().captured(), 3000);
    let files: Vec<_> = folder.path().read_dir().unwrap().map(|e| e.unwrap().path()).collect();
    assert!(files.len() > 3, "{files:?}");
    assert_eq!(files.iter().map(|file| count(file)).sum::<u64>(), 3000);
}

#[test]
fn threads_that_are_stopped_lose_packets_that_are_counted() {
    let Some(lab) = wide_pair(2) else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f.pcapng");
    let args = ["--threads", "2", "--strict", "-B", "512k", "-w", text(&file)];
    let live = Live::start(lab.host("b"), &args);
    live.signal("STOP");
    send_from_two_cores(&lab, 10_000);
    live.signal("CONT");
    let done = live.interrupt();
    assert_eq!(done.code(), 3, "{done:?}");
    let (captured, dropped) = (done.captured(), done.summary("packets dropped"));
    assert_eq!(captured + dropped, 20_000, "{done:?}");
    assert_eq!(count(&file), captured);
}

#[test]
fn a_deleted_interface_ends_all_threads_after_their_packets() {
    for flags in [&["--threads", "2"][..], &["--threads", "2", "--ordered"]] {
        let Some(lab) = wide_pair(2) else { return };
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("f.pcapng");
        let live = Live::start(lab.host("b"), &[&["-w", text(&file)], flags].concat());
        send_from_two_cores(&lab, 25);
        lab.host("b").delete_link().unwrap();
        let done = live.wait();
        assert_eq!(done.code(), 1, "{done:?}");
        assert_eq!((done.captured(), count(&file)), (50, 50), "{done:?}");
        assert_eq!(done.stderr.matches("was deleted").count(), 1, "said once: {done:?}");
    }
}

#[test]
fn an_interface_that_comes_back_is_captured_on_by_all_threads() {
    for flags in [&["--threads", "2"][..], &["--threads", "2", "--ordered"]] {
        let Some(lab) = wide_pair(2) else { return };
        let live = Live::start(lab.host("b"), &[&["-c", "20"], flags].concat());
        send_from_two_cores(&lab, 5);
        lab.host("b").set_link_up(false).unwrap();
        thread::sleep(Duration::from_millis(500));
        lab.host("b").set_link_up(true).unwrap();
        while !lab.host("a").state().unwrap().is_running {
            thread::sleep(Duration::from_millis(10));
        }
        send_from_two_cores(&lab, 5);
        let done = live.wait().success();
        assert_eq!(done.captured(), 20, "{done:?}");
        assert_eq!(done.stderr.matches("waiting for it to come back").count(), 1, "{done:?}");
    }
}

#[test]
fn the_share_of_each_thread_is_told_when_asked_for() {
    let Some(lab) = wide_pair(2) else { return };
    let capture = |flags: &[&str]| {
        let flags = [&["--threads", "2", "-c", "200"], flags].concat();
        let live = Live::start(lab.host("b"), &flags);
        send_from_two_cores(&lab, 100);
        live.wait().success()
    };
    for ordered in [&[][..], &["--ordered"]] {
        let done = capture(&[&["-v"], ordered].concat());
        assert!(
            done.stderr.contains("\nthread 0: ") && done.stderr.contains("\nthread 1: "),
            "{done:?}"
        );
        let done = capture(&[&["--json"], ordered].concat());
        let last = done.stderr.lines().last().unwrap();
        let summary: serde_json::Value = serde_json::from_str(last).expect("JSON");
        assert_eq!((&summary["captured"], &summary["interface"]), (&200.into(), &"wire0".into()));
        let shares: Vec<_> = summary["threads"].as_array().unwrap().iter().collect();
        assert_eq!(shares.iter().map(|s| s["captured"].as_u64().unwrap()).sum::<u64>(), 200);
        assert_eq!(shares.len(), 2);
    }
}

#[test]
fn all_interfaces_are_shared_by_threads() {
    let Some(lab) = wide_pair(2) else { return };
    let live = Live::start_with(lab.host("b"), &[], |command| {
        *command = lab.host("b").command(crate::support::LINERATE);
        command.args(["capture", "-i", "any", "--threads", "auto", "-c", "100", "-e", "-t"]);
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    });
    send(&lab, 7, 100);
    let done = live.wait().success();
    assert_eq!(done.stdout.matches("10.0.0.1.5000 > 10.0.0.2.7").count(), 100, "{done:?}");
}

#[test]
fn a_number_of_threads_that_makes_no_sense_is_a_usage_error() {
    for number in ["-1", "many", "1000"] {
        let done = linerate(["capture", "-i", "lo", "--threads", number]);
        assert_eq!(done.code(), 2, "{done:?}");
    }
}
