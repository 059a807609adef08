//! `linerate stat`: exact counts by filter, whatever happens meanwhile.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use linerate_lab::need;
use linerate_lab::traffic::{Flow, payload, send_frames, tagged};
use serde_json::Value;

use crate::privileges::{NOBODY, reachable};
use crate::support::{Finished, LINERATE, Live, finish, linerate, quiet_pair, send, text};

/// Bytes of a frame that [`send`] sends: the headers, and 100 of payload.
const FRAME: u64 = 14 + 20 + 8 + 100;

/// Packets and bytes over all intervals: the total, then each filter.
fn sums(done: &Finished) -> Vec<(u64, u64)> {
    let mut sums = Vec::new();
    for line in done.stdout.lines() {
        let record: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {done:?}"));
        let filters = record["filters"].as_array().expect("a list");
        let all: Vec<_> = std::iter::once(&record).chain(filters).collect();
        sums.resize(all.len(), (0, 0));
        for (sum, part) in sums.iter_mut().zip(all) {
            let number = |name: &str| part[name].as_u64().expect("a number");
            *sum = (sum.0 + number("packets"), sum.1 + number("bytes"));
        }
    }
    sums
}

fn frames(count: u64) -> (u64, u64) {
    (count, count * FRAME)
}

#[test]
fn the_intervals_sum_is_what_was_sent_whatever_filters_overlap() {
    let Some(lab) = quiet_pair() else { return };
    let filters =
        ["udp", "port 7", "port 7 or port 9", "not port 7", "tcp", "greater 143", "inbound"];
    let args = [&["--json", "--every", "50ms"], &filters[..]].concat();
    let live = Live::stat(lab.host("b"), &args);
    send(&lab, 7, 300);
    sleep(Duration::from_millis(120));
    send(&lab, 9, 200);
    let done = live.interrupt().success();
    let expected = [500, 500, 300, 500, 200, 0, 0, 500].map(frames);
    assert_eq!(sums(&done), expected, "{done:?}");
    assert!(done.stdout.lines().count() > 2, "{done:?}");
    // The totals are an object like those of the intervals.
    let stdout = done.stderr.lines().last().unwrap().to_owned();
    assert_eq!(sums(&Finished { stdout, ..done }), expected);
}

#[test]
fn each_way_is_counted_where_it_is_asked_for() {
    let Some(lab) = quiet_pair() else { return };
    for (way, from_a, at_b) in [("in", 0, 50), ("out", 50, 0), ("inout", 50, 50)] {
        let args = ["--json", "-Q", way, "outbound"];
        let (a, b) = (Live::stat(lab.host("a"), &args), Live::stat(lab.host("b"), &args));
        send(&lab, 7, 50);
        let (a, b) = (a.interrupt().success(), b.interrupt().success());
        assert_eq!(sums(&a), [frames(from_a), frames(from_a)], "{way}");
        assert_eq!(sums(&b), [frames(at_b), frames(0)], "{way}");
    }
}

#[test]
fn tagged_packets_are_counted_with_their_tags() {
    let Some(lab) = quiet_pair() else { return };
    let (a, b) = (lab.host("a"), lab.host("b"));
    let args = ["--json", "vlan", "vlan 5", "vlan 6 and udp port 7", "not vlan"];
    let (sending, receiving) = (Live::stat(a, &args), Live::stat(b, &args));
    let flow = Flow::ipv4(a, b, 5000, 7);
    let frame = |n: u64| tagged(&flow.frame(&payload(n, 100)), 5 + u16::from(n >= 30));
    let all: Vec<_> = (0..70).map(frame).collect();
    send_frames(a, &all).expect("sent");
    let expected = [70, 70, 30, 40, 0].map(|count| (count, count * (FRAME + 4)));
    // On its way out the tag is among the bytes, on its way in beside them.
    for done in [sending.interrupt().success(), receiving.interrupt().success()] {
        assert_eq!(sums(&done), expected, "{done:?}");
    }
}

#[test]
fn hundreds_of_filters_are_counted_at_once() {
    let Some(lab) = quiet_pair() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("filters");
    let mut lines = "# one each\n\n".to_owned();
    for port in 0..500 {
        let _ = writeln!(lines, "udp dst port {port} or tcp[2:2] = {port} # a comment");
    }
    fs::write(&file, lines).unwrap();
    let live = Live::stat(lab.host("b"), &["--json", "-F", text(&file), "port 7"]);
    send(&lab, 7, 20);
    let sums = sums(&live.interrupt().success());
    assert_eq!(sums.len(), 502);
    let counted: Vec<_> = (0..).zip(&sums).filter(|(_, sum)| sum.0 > 0).collect();
    // The total, the one on the command line, and that of port 7.
    assert_eq!(counted, [(0, &frames(20)), (1, &frames(20)), (9, &frames(20))]);
}

#[test]
fn it_ends_after_so_many_readings_or_so_long() {
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    let done = Live::stat(b, &["--json", "--every", "20ms", "-c", "3"]).wait().success();
    assert_eq!(done.stdout.lines().count(), 3, "{done:?}");
    let done = Live::stat(b, &["--every", "1h", "--for", "50ms", "tcp"]).wait().success();
    let lines: Vec<_> = done.stdout.lines().map(|line| line.split("  ").last()).collect();
    assert_eq!(lines, [Some("filter"), Some("total"), Some("tcp")], "{done:?}");
    assert!(
        done.stdout.starts_with("   seconds      packets           bytes  filter\n"),
        "{done:?}"
    );
    assert!(done.stderr.contains("tcp    0 packets, 0 bytes"), "{done:?}");
    let live = Live::stat(b, &["--every", "1h"]);
    live.signal("TERM");
    assert!(live.wait().success().stderr.contains("total  0 packets, 0 bytes"));
}

#[test]
fn what_was_counted_before_the_interface_went_is_told() {
    let Some(lab) = quiet_pair() else { return };
    let live = Live::stat(lab.host("b"), &["--json", "--every", "1h", "udp"]);
    send(&lab, 7, 30);
    lab.host("b").delete_link().expect("deleted");
    let done = live.wait();
    assert_eq!(done.code(), 1, "{done:?}");
    assert!(done.stderr.contains("the interface was deleted"), "{done:?}");
    assert_eq!(sums(&done), [frames(30), frames(30)]);
}

#[test]
fn an_interface_that_is_down_is_waited_for_and_a_line_says_so() {
    let Some(lab) = quiet_pair() else { return };
    let b = lab.host("b");
    b.set_link_up(false).expect("down");
    let live = Live::stat(b, &["--json", "udp"]);
    b.set_link_up(true).expect("up");
    send(&lab, 7, 20);
    b.set_link_up(false).expect("down");
    b.set_link_up(true).expect("up");
    send(&lab, 7, 10);
    let done = live.interrupt().success();
    let told =
        done.stderr.matches("the interface is down (counting goes on when it is up)").count();
    assert_eq!((told, sums(&done)), (2, vec![frames(30), frames(30)]), "{done:?}");
}

#[test]
fn a_mistake_in_a_file_is_shown_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("filters");
    for (line, status) in [("tcp port 80000", 2), ("ip protochain 6", 1)] {
        fs::write(&file, format!("# ports\n\nudp\n{line} # here\n")).unwrap();
        let done = linerate(["stat", "-i", "lo", "-F", text(&file)]);
        assert_eq!(done.code(), status, "{done:?}");
        let place = format!("{}, line 4: filter", file.display());
        assert!(done.stderr.contains(&place), "{done:?}");
    }
}

#[test]
fn what_cannot_be_counted_is_named() {
    let loops = linerate(["stat", "-i", "lo", "tcp", "ip protochain 6"]);
    assert_eq!(loops.code(), 1);
    assert!(loops.stderr.contains("`ip protochain 6`"), "{loops:?}");
    let wrong = linerate(["stat", "-i", "lo", "tcp", "tcp port 80000"]);
    assert_eq!(wrong.code(), 2);
    assert!(wrong.stderr.contains("^^^^^"), "{wrong:?}");
    let missing = linerate(["stat", "-i", "l0"]);
    assert!(missing.stderr.contains("count packets on l0: "), "{missing:?}");
    assert!(missing.stderr.contains("is lo meant?"), "{missing:?}");
    let any = linerate(["stat", "-i", "any"]);
    assert!(any.stderr.contains("one interface"), "{any:?}");
}

#[test]
fn missing_capabilities_are_named() {
    if !need::root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(reachable(&folder));
    let done = finish(command.args(["stat", "-i", "lo"]).uid(NOBODY).gid(NOBODY));
    assert_eq!(done.code(), 1);
    assert!(done.stderr.contains("CAP_BPF"), "{done:?}");
}

#[test]
fn too_many_filters_are_refused_with_their_number() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("filters");
    fs::write(&file, "tcp\n".repeat(3000)).unwrap();
    let done = finish(Command::new(LINERATE).args(["stat", "-i", "lo", "-F", text(&file)]));
    assert_eq!(done.code(), 1);
    assert!(done.stderr.contains("3000 filters are more than 2047"), "{done:?}");
}
