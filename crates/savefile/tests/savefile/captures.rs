//! Real captures: what tcpdump reads of them is what we read.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use linerate_lab::need;

use crate::support::{Outcome, read};

fn savefiles(folder: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = paths.filter(|path| path.extension() != Some("md".as_ref())).collect();
    paths.sort();
    assert!(!paths.is_empty(), "no captures in {}", folder.display());
    paths
}

/// Times and lengths as `tcpdump -tt -q` prints them, one line per packet.
fn tcpdump(path: &Path) -> (Vec<String>, bool) {
    let output = Command::new("tcpdump")
        .args(["--nano", "-tt", "-nnq", "-K", "-r"])
        .arg(path)
        .env("TZ", "UTC")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let times = text.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit()));
    let times = times.filter_map(|line| line.split(' ').next()).map(str::to_owned);
    (times.collect(), output.status.success())
}

fn count_by_tcpdump(path: &Path) -> usize {
    let output = Command::new("tcpdump").args(["--count", "-nr"]).arg(path).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    text.split(' ').next().and_then(|count| count.parse().ok()).unwrap_or_default()
}

#[test]
fn every_capture_is_read() {
    let Some(folder) = need::captures() else { return };
    for path in savefiles(&folder) {
        let outcome = read(File::open(&path).unwrap());
        assert!(outcome.error.is_none(), "{}: {}", path.display(), outcome.error.unwrap());
        assert!(!outcome.packets.is_empty(), "{}", path.display());
    }
}

#[test]
fn tcpdump_counts_the_same_packets() {
    if !need::program("tcpdump", "tcpdump") {
        return;
    }
    let Some(folder) = need::captures() else { return };
    for path in savefiles(&folder) {
        let ours = read(File::open(&path).unwrap()).packets.len();
        assert_eq!(ours, count_by_tcpdump(&path), "{}", path.display());
    }
}

#[test]
fn tcpdump_stops_at_the_same_cut() {
    if !need::program("tcpdump", "tcpdump") {
        return;
    }
    let Some(folder) = need::captures() else { return };
    let scratch = tempfile::tempdir().unwrap();
    let cut = scratch.path().join("cut");
    for path in savefiles(&folder).iter().step_by(9) {
        let whole = fs::read(path).unwrap();
        let bytes = &whole[..whole.len() * 2 / 3];
        fs::write(&cut, bytes).unwrap();
        let (times, clean) = tcpdump(&cut);
        let ours = read(bytes);
        let name = path.display();
        assert_eq!(ours.packets.len(), times.len(), "{name}");
        assert_eq!(is_clean(&ours), clean, "{name}: {:?}", ours.warnings);
    }
}

fn is_clean(outcome: &Outcome) -> bool {
    let cut =
        |w: &linerate_savefile::Warning| matches!(w, linerate_savefile::Warning::RecordCut { .. });
    outcome.error.is_none() && !outcome.warnings.iter().any(cut)
}

/// Captures with times that tcpdump does not print: far more than a million microseconds, which make its
/// arithmetic wrap, and times after 2038, which some releases take for negative.
const ODD_TIMES: [&str; 5] = [
    "atm-oam-loopback-print-overrun.pcap",
    "time_2038_overflow.pcap",
    "time_2039.pcap",
    "time_2106_max.pcap",
    "time_2107.pcapng",
];

#[test]
fn times_after_2038_are_read() {
    let Some(folder) = need::captures() else { return };
    for (name, seconds) in [
        ("time_2038_max.pcap", i64::from(i32::MAX)),
        ("time_2038_overflow.pcap", i64::from(i32::MAX) + 1),
        ("time_2106_max.pcap", i64::from(u32::MAX)),
    ] {
        let packets = read(File::open(folder.join(name)).unwrap()).packets;
        assert_eq!(packets[0].time.seconds(), seconds, "{name}");
    }
}

fn has_odd_times(path: &Path) -> bool {
    ODD_TIMES.iter().any(|name| path.ends_with(name))
}

#[test]
fn tcpdump_prints_the_same_times() {
    if !need::program("tcpdump", "tcpdump") {
        return;
    }
    let Some(folder) = need::captures() else { return };
    for path in savefiles(&folder).iter().filter(|path| !has_odd_times(path)) {
        let ours = read(File::open(path).unwrap()).packets;
        // For an empty packet tcpdump prints no time.
        let ours: Vec<_> = ours
            .iter()
            .filter(|p| p.length > 0 && !p.data.is_empty())
            .map(|p| format!("{}.{:09}", p.time.seconds(), p.time.subsec_nanos()))
            .collect();
        assert_eq!(ours, tcpdump(path).0, "{}", path.display());
    }
}
