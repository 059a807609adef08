//! Savefiles on disks: fast and slow, full, and cut off from their writer.

use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use linerate_lab::{Child, disk, need};

use crate::support::{
    Finished, LINERATE, Live, count, files, finish, linerate, quiet_pair, send, text,
};

const SIMULATE: [&str; 3] = ["capture", "--simulate", "capture"];

/// A capture of made-up packets, 300 MB a second, on its way.
fn simulated(file: &Path) -> Child {
    let mut command = Command::new(LINERATE);
    command.args(SIMULATE).args(["--simulate-size", "1000", "--simulate-rate", "300000"]);
    command.args(["--for", "60s", "-w", text(file)]);
    command.stdin(Stdio::null()).stderr(Stdio::piped());
    Child::start(command).expect("linerate starts")
}

fn wait_until_it_has(file: &Path, bytes: u64) {
    while fs::metadata(file).map_or(0, |meta| meta.len()) < bytes {
        sleep(Duration::from_millis(5));
    }
}

/// What another program says the file holds.
fn capinfos(file: &Path) -> u64 {
    let output = Command::new("capinfos").args(["-M", "-c", "-r", "-T", text(file)]).output();
    let found = String::from_utf8(output.expect("capinfos").stdout).unwrap();
    let number = found.trim().rsplit('\t').next().and_then(|word| word.parse().ok());
    number.unwrap_or_else(|| panic!("no count in {found:?}"))
}

#[test]
fn a_simulated_capture_says_what_the_disk_took() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f.pcapng");
    let done = linerate([&SIMULATE[..], &["-c", "100000", "-w", text(&file)]].concat()).success();
    assert!(
        done.stderr.contains("simulated: the packets were made up; 100,000 packets"),
        "{done:?}"
    );
    assert_eq!((done.captured(), count(&file)), (100_000, 100_000));
    let refused = linerate([&SIMULATE[..], &["-i", "lo", "-w", text(&file)]].concat());
    assert_eq!(refused.code(), 2);
}

#[test]
fn a_simulated_disk_keeps_nothing() {
    let Some(lab) = quiet_pair() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f.pcapng");
    let live = Live::start(lab.host("b"), &["--simulate", "disk", "-c", "100", "-w", text(&file)]);
    send(&lab, 7, 100);
    let done = live.wait().success();
    assert!(done.stderr.contains("simulated: nothing was written; 100 packets"), "{done:?}");
    assert_eq!(done.captured(), 100);
    assert!(!file.exists());
}

#[test]
fn a_slow_captures_file_grows_while_it_runs() {
    let Some(lab) = quiet_pair() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f.pcapng");
    let live = Live::start(lab.host("b"), &["-w", text(&file)]);
    for sent in [5, 10, 60] {
        send(&lab, 7, if sent == 60 { 50 } else { 5 });
        while count(&file) < sent {
            sleep(Duration::from_millis(50));
        }
    }
    assert_eq!(live.interrupt().success().captured(), 60);
    assert_eq!(count(&file), 60);
}

#[test]
fn sigterm_under_load_leaves_a_whole_file() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["f.pcapng", "f.pcap"] {
        let file = folder.path().join(name);
        let running = simulated(&file);
        wait_until_it_has(&file, 50 << 20);
        running.terminate().unwrap();
        let output = running.output().unwrap();
        let (stderr, stdout) = (String::from_utf8(output.stderr).unwrap(), String::new());
        let done = Finished { status: output.status, stdout, stderr }.success();
        assert_eq!(count(&file), done.captured(), "{done:?}");
        assert_eq!(done.captured() + done.summary("dropped\n"), done.summary("seen"), "{done:?}");
        if need::program("capinfos", "wireshark-common") {
            assert_eq!(capinfos(&file), done.captured());
        }
    }
}

#[test]
fn sigkill_under_load_leaves_a_file_without_holes_that_reads_up_to_the_cut() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["f.pcapng", "f.pcap"] {
        for bytes in [1 << 20, 30 << 20, 77 << 20] {
            let file = folder.path().join(name);
            let mut running = simulated(&file);
            wait_until_it_has(&file, bytes);
            running.kill().unwrap();
            running.wait().unwrap();
            let meta = fs::metadata(&file).unwrap();
            assert!(meta.blocks() * 512 >= meta.len(), "a hole: {meta:?}");
            let packets = count(&file);
            // A record has 1000 bytes and 16 to 44 more.
            assert!(packets >= bytes / 1044 && packets <= meta.len() / 1016, "{packets} {meta:?}");
            if need::program("capinfos", "wireshark-common") {
                assert_eq!(capinfos(&file), packets);
            }
        }
    }
}

#[test]
fn changes_of_files_under_load_lose_and_double_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f.pcap");
    let args = ["--simulate-size", "1000", "-c", "100000", "-C", "5M", "-w", text(&file)];
    linerate([&SIMULATE[..], &args].concat()).success();
    let names = files(folder.path());
    assert!(names.len() > 19, "{names:?}");
    let total: u64 = names.iter().map(|name| count(&folder.path().join(name))).sum();
    assert_eq!(total, 100_000);
}

#[test]
fn a_disk_that_fills_up_keeps_what_was_written() {
    if !need::root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for (name, megabytes) in [("f.pcapng", 1), ("f.pcap", 1), ("f.pcapng", 50)] {
        disk::with_small_disk(folder.path(), (megabytes << 20) + 12_288, || {
            let file = folder.path().join(name);
            let done = finish(Command::new(LINERATE).args(SIMULATE).args(["-w", text(&file)]));
            assert_eq!(done.code(), 1, "{done:?}");
            assert!(done.stderr.contains("No space left on device"), "{done:?}");
            assert!(!done.stderr.contains("page cache"), "a direct write: {done:?}");
            let packets = count(&file);
            assert_eq!(done.captured(), packets, "{done:?}");
            let length = fs::metadata(&file).unwrap().len();
            assert!(length > (megabytes << 20) + 12_288 - 4096 - 1600, "{length}");
        })
        .expect("a disk");
    }
}

#[test]
fn disks_that_refuse_direct_writes_are_written_through_the_page_cache() {
    if !need::root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f.pcapng");
    let write = || {
        let mut command = Command::new(LINERATE);
        command.args(SIMULATE).args(["-c", "100000", "-w", text(&file)]);
        let done = finish(&mut command).success();
        assert_eq!(count(&file), 100_000);
        done.stderr
    };
    let told = disk::with_indirect_disk(folder.path(), write).expect("a disk");
    assert!(told.contains("through the page cache, which is slower: the file system"), "{told}");
}

#[test]
fn a_slow_disk_is_waited_for_and_the_rest_is_dropped_and_counted() {
    let Some(lab) = quiet_pair() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (file, pipe) = (folder.path().join("f.pcap"), folder.path().join("pipe"));
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    // The pipe takes nothing until the file `go` is there.
    let slow = "exec 3< pipe; until [ -e go ]; do sleep 0.1; done; exec cat <&3 > f.pcap";
    let mut reader = Command::new("sh");
    reader.args(["-c", slow]).current_dir(folder.path());
    let mut reader = Child::start(reader).expect("a shell");
    let args = ["--strict", "-B", "1M", "--format", "pcap", "-w", text(&pipe)];
    let live = Live::start(lab.host("b"), &args);
    send(&lab, 7, 20_000);
    // What does not fit the buffers is dropped by now.
    fs::write(folder.path().join("go"), "").unwrap();
    let done = live.interrupt();
    assert!(reader.wait().unwrap().success());
    assert_eq!(done.code(), 3, "{done:?}");
    assert!(done.stderr.contains("the disk was waited for"), "{done:?}");
    let dropped = done.summary("packets dropped");
    assert!(dropped > 0, "{done:?}");
    assert_eq!(done.captured() + dropped, 20_000, "{done:?}");
    assert_eq!(count(&file), done.captured());
}

#[test]
fn a_second_interrupt_ends_what_waits_for_a_pipe() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let mut hardly_read = fs::File::options().read(true).write(true).open(&pipe).unwrap();
    let mut running = simulated(&pipe);
    // From the first packet on, more come than the pipe holds.
    hardly_read.read_exact(&mut [0; 1 << 16]).unwrap();
    let status = loop {
        sleep(Duration::from_millis(100));
        running.interrupt().unwrap();
        if let Some(status) = running.try_wait().unwrap() {
            break status;
        }
    };
    assert_eq!(status.signal(), Some(2), "which a shell counts as 130");
}

#[test]
fn a_bench_of_the_disk_asks_for_a_disk() {
    if !need::root() {
        return;
    }
    let mut command = Command::new(LINERATE);
    let done = finish(command.args(["bench", "disk", "--quick"]).env("TMPDIR", "/dev/shm"));
    assert_eq!(done.code(), 1, "{done:?}");
    assert!(done.stderr.contains("in memory: name a folder on a disk with --dir"), "{done:?}");
}
