//! Rows of savefiles lose nothing and double nothing.

use std::fs;

use crate::support::{Live, count, files, quiet_pair, send, text};

#[test]
fn files_by_size_hold_every_packet_once() {
    let Some(lab) = quiet_pair() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f.pcapng");
    let live = Live::start(lab.host("b"), &["-C", "100k", "-c", "5000", "-w", text(&file)]);
    send(&lab, 7, 5000);
    let done = live.wait().success();
    let names = files(folder.path());
    assert!(names.len() > 5 && names[..2] == ["f.pcapng", "f.pcapng1"], "{names:?}");
    let total: u64 = names.iter().map(|name| count(&folder.path().join(name))).sum();
    assert_eq!((total, done.captured()), (5000, 5000));
}

#[test]
fn a_ring_of_files_keeps_the_newest() {
    let Some(lab) = quiet_pair() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f.pcap");
    let args = ["-C", "100k", "-W", "3", "-c", "5000", "-w", text(&file)];
    let live = Live::start(lab.host("b"), &args);
    send(&lab, 7, 5000);
    let done = live.wait().success();
    assert_eq!(files(folder.path()), ["f.pcap0", "f.pcap1", "f.pcap2"]);
    let kept: u64 = files(folder.path()).iter().map(|f| count(&folder.path().join(f))).sum();
    let gone = done.stderr.lines().find(|line| line.contains("overwritten")).unwrap();
    let gone: u64 = gone.split(' ').next().unwrap().replace(',', "").parse().unwrap();
    assert_eq!(kept + gone, done.captured(), "{done:?}");
    for name in files(folder.path()) {
        assert!(fs::metadata(folder.path().join(name)).unwrap().len() < 150_000);
    }
}

#[test]
fn files_by_time_end_after_the_count() {
    let Some(lab) = quiet_pair() else { return };
    let folder = tempfile::tempdir().unwrap();
    let pattern = folder.path().join("%Y%m%d-%H%M%S.pcapng");
    let live = Live::start(lab.host("b"), &["-G", "1", "-W", "2", "-w", text(&pattern)]);
    let lasting = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| live.wait().success());
        while !waiting.is_finished() {
            send(&lab, 7, 10);
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        waiting.join().unwrap()
    });
    let names = files(folder.path());
    assert_eq!(names.len(), 2, "{names:?}");
    let total: u64 = names.iter().map(|name| count(&folder.path().join(name))).sum();
    assert_eq!(total, lasting.captured());
}
