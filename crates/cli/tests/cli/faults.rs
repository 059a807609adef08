//! What goes wrong on real machines, and what the user then sees.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use linerate_lab::{MemoryGroup, disk};

use crate::support::{BACKENDS, LINERATE, Live, count, finish, linerate, quiet_pair, send, text};

#[test]
fn a_full_disk_is_reported_and_what_was_written_counts() {
    let Some(lab) = quiet_pair() else { return };
    let folder = tempfile::tempdir().unwrap();
    let copy = tempfile::tempdir().unwrap();
    for rotate in [&[][..], &["-C", "100k"]] {
        let kept = copy.path().join("kept");
        let _ = fs::remove_dir_all(&kept);
        let done = disk::with_small_disk(folder.path(), 1 << 20, || {
            let file = folder.path().join("f.pcapng");
            let args = [&["-w", text(&file)], rotate].concat();
            let live = Live::start(lab.host("b"), &args);
            send(&lab, 7, 20_000);
            let done = live.wait();
            // The disk is seen from this thread only: keep what is on it.
            let cp = Command::new("cp").arg("-r").args([folder.path(), kept.as_path()]).status();
            assert!(cp.expect("cp").success());
            done
        })
        .expect("a disk");
        assert_eq!(done.code(), 1, "{done:?}");
        assert!(done.stderr.contains("No space left on device"), "{done:?}");
        let files: Vec<_> = fs::read_dir(&kept).unwrap().map(|e| e.unwrap().path()).collect();
        assert_eq!(files.len() > 1, !rotate.is_empty(), "{files:?}");
        let total: u64 =
            files.iter().filter(|f| f.metadata().unwrap().len() > 0).map(|f| count(f)).sum();
        assert!(total > 1000, "{done:?}");
        assert_eq!(done.captured(), total, "{done:?}");
    }
}

#[test]
fn a_device_that_takes_nothing_is_reported() {
    let Some(lab) = quiet_pair() else { return };
    let mut command = lab.host("b").command(LINERATE);
    command.args(["capture", "-i", lab.host("b").interface(), "-w", "/dev/full"]);
    let done = finish(command.stdin(Stdio::null()));
    assert_eq!(done.code(), 1, "{done:?}");
    assert!(done.stderr.contains("/dev/full"), "{done:?}");
    assert!(done.stderr.contains("No space left on device"), "{done:?}");
}

const PRINTING: [&[&str]; 6] = [
    &["filter", "ip"],
    &["interfaces"],
    &["interfaces", "--json"],
    &["man"],
    &["completions", "bash"],
    &["capture", "-i", "lo", "-L"],
];

#[test]
fn standard_output_that_takes_nothing_is_reported() {
    for args in PRINTING {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let done = finish(Command::new(LINERATE).args(args).stdout(full).stderr(Stdio::piped()));
        assert_eq!(done.code(), 1, "{done:?}");
        assert!(done.stderr.contains("No space left on device"), "{done:?}");
    }
}

#[test]
fn output_that_nobody_reads_is_no_error() {
    for args in PRINTING {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = Command::new(LINERATE);
        let done = finish(command.args(args).stdout(writer.try_clone().unwrap()).stderr(writer));
        assert_eq!(done.code(), 0, "{args:?}");
    }
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let done = finish(Command::new(LINERATE).args(["filter", "nonsense and"]).stderr(writer));
    assert_eq!(done.code(), 2, "an error that nobody hears is one all the same");
}

#[test]
fn a_deleted_interface_ends_the_capture_with_an_error_and_keeps_the_packets() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f.pcapng");
    for backend in BACKENDS {
        let Some(lab) = quiet_pair() else { return };
        let live = Live::start(lab.host("b"), &["--backend", backend, "-w", text(&file)]);
        send(&lab, 7, 25);
        lab.host("b").delete_link().unwrap();
        let done = live.wait();
        assert_eq!(done.code(), 1, "{done:?}");
        assert_eq!(done.captured(), 25, "{done:?}");
        assert_eq!(count(&file), 25);
        assert!(done.stderr.contains("wire0"), "{done:?}");
    }
}

#[test]
fn an_interface_that_goes_down_and_up_is_captured_on() {
    let Some(lab) = quiet_pair() else { return };
    for backend in BACKENDS {
        let live = Live::start(lab.host("b"), &["--backend", backend, "-c", "10"]);
        send(&lab, 7, 5);
        lab.host("b").set_link_up(false).unwrap();
        std::thread::sleep(Duration::from_millis(300));
        lab.host("b").set_link_up(true).unwrap();
        while !lab.host("a").state().unwrap().is_running {
            std::thread::sleep(Duration::from_millis(10));
        }
        send(&lab, 7, 5);
        let done = live.wait().success();
        assert_eq!(done.captured(), 10, "{backend}: {done:?}");
        assert!(done.stderr.contains("waiting for it to come back"), "{backend}: {done:?}");
    }
}

#[test]
fn a_renamed_interface_is_captured_on() {
    for backend in BACKENDS {
        let Some(lab) = quiet_pair() else { return };
        let live = Live::start(lab.host("b"), &["--backend", backend, "-c", "10"]);
        send(&lab, 7, 5);
        lab.host("b").rename_link("other0").unwrap();
        send(&lab, 7, 5);
        assert_eq!(live.wait().success().captured(), 10, "{backend}");
    }
}

#[test]
fn a_ring_without_memory_says_what_to_lower() {
    let Some(lab) = quiet_pair() else { return };
    let mut command = lab.host("b").command(LINERATE);
    let interface = lab.host("b").interface();
    let done = finish(command.args(["capture", "-i", interface, "-B", "4000G"]));
    assert_eq!(done.code(), 1, "{done:?}");
    assert!(done.stderr.contains("-B") || done.stderr.contains("buffer"), "{done:?}");
}

/// The kernel would end the process that populates more memory than its control group has.
#[test]
fn a_ring_larger_than_the_control_groups_memory_is_refused() {
    let Some(lab) = quiet_pair() else { return };
    let Some(group) = MemoryGroup::new(256 << 20).unwrap() else { return };
    let b = lab.host("b");
    let capture = |backend, buffer| {
        let mut command = group.command(b, LINERATE);
        command.args(["capture", "-i", b.interface(), "--backend", backend, "--force"]);
        finish(command.args(["-B", buffer, "--for", "50ms", "udp port 7"]).stdin(Stdio::null()))
    };
    for backend in BACKENDS.into_iter().chain(["xdp"]).filter(|backend| *backend != "socket") {
        let done = capture(backend, "1G");
        assert_eq!(done.code(), 1, "{backend}: {done:?}");
        assert!(done.summary("MiB of memory are free") < 256, "{backend}: {done:?}");
        assert!(done.stderr.contains("lower --buffer"), "{backend}: {done:?}");
        capture(backend, "16M").success();
    }
}

#[test]
fn an_interface_that_is_not_there_is_named_with_a_near_one() {
    let done = linerate(["capture", "-i", "l0"]);
    assert_eq!(done.code(), 1);
    assert!(done.stderr.contains("l0") && done.stderr.contains("is lo meant?"), "{done:?}");
}
