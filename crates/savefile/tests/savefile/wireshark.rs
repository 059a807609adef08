//! Wireshark's programs and tcpdump read what we write.

use std::path::Path;
use std::process::Command;

use linerate_base::{Direction, Interface, LinkType, Stats};
use linerate_lab::need;
use linerate_savefile::{Format, Options, Writer};

use crate::support::{MICROS, NANOS, Owned, ethernet, packet};

/// Runs a program that must not complain.
fn run(program: &str, arguments: &[&str], file: &Path) -> String {
    let output = Command::new(program).args(arguments).arg(file).output().unwrap();
    let complaints: Vec<_> = std::str::from_utf8(&output.stderr)
        .unwrap()
        .lines()
        .filter(|line| !line.contains("Running as user \"root\""))
        .collect();
    assert!(output.status.success() && complaints.is_empty(), "{program}: {complaints:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn packets() -> Vec<Owned> {
    let second = Owned {
        interface: 1,
        link_type: LinkType::RAW,
        direction: Direction::Out,
        length: 1500,
        ..packet(1_700_000_000_000_000_002, &[0x45; 21])
    };
    let first = packet(1_700_000_000_000_000_001, &[7; 64]);
    vec![Owned { direction: Direction::In, ..first }, second]
}

fn pcapng(path: &Path) {
    let interfaces = [
        Interface { filter: "tcp port 80".to_owned(), ..ethernet("eth7") },
        Interface { link_type: LinkType::RAW, ..ethernet("tun1") },
    ];
    let options = Options {
        format: Format::Pcapng,
        hardware: "a machine".to_owned(),
        os: "an operating system".to_owned(),
        application: "linerate test".to_owned(),
    };
    let file = std::fs::File::create(path).unwrap();
    let mut writer = Writer::new(file, &options, &interfaces).unwrap();
    for packet in packets() {
        writer.write(&packet.borrow()).unwrap();
    }
    writer.set_stats(
        0,
        Stats { seen: 12, delivered: 1, filtered: 3, dropped: 8, ..Stats::default() },
    );
    writer.finish().unwrap();
}

#[test]
fn capinfos_knows_all_that_pcapng_says() {
    if !need::program("capinfos", "wireshark-common") {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("f.pcapng");
    pcapng(&path);
    let text = run("capinfos", &[], &path);
    for expected in [
        "Wireshark/... - pcapng",
        "File timestamp precision:  nanoseconds (9)",
        "Number of packets:   2",
        "Capture hardware:    a machine",
        "Capture oper-sys:    an operating system",
        "Capture application: linerate test",
        "Name = eth7",
        "Name = tun1",
        "Filter string = tcp port 80",
        "Encapsulation = Raw IP",
        "Time precision = nanoseconds (9)",
        "Number of stat entries = 1",
    ] {
        assert!(text.contains(expected), "{expected} is not in\n{text}");
    }
}

#[test]
fn tshark_sees_times_interfaces_and_directions() {
    if !need::program("tshark", "tshark") {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("f.pcapng");
    pcapng(&path);
    let fields = ["frame.time_epoch", "frame.interface_name", "frame.len", "frame.cap_len"];
    let mut arguments = vec!["-T", "fields", "-E", "separator=|"];
    for field in fields.iter().chain(&["frame.packet_flags_direction"]) {
        arguments.extend(["-e", field]);
    }
    arguments.push("-r");
    let text = run("tshark", &arguments, &path);
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert!(lines[0].starts_with("1700000000.000000001|eth7|64|64|"), "{text}");
    assert!(lines[1].starts_with("1700000000.000000002|tun1|1500|21|"), "{text}");
    assert!(lines[0].ends_with('1') && lines[1].ends_with('2'), "{text}");
}

#[test]
fn pcap_of_either_precision_is_read() {
    if !need::program("capinfos", "wireshark-common") {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("f.pcap");
    for (format, name) in [(MICROS, "Wireshark/tcpdump/... - pcap"), (NANOS, "nanosecond pcap")] {
        std::fs::write(&path, crate::support::write(format, &[ethernet("e")], &packets()[..1]))
            .unwrap();
        let text = run("capinfos", &[], &path);
        assert!(text.contains(name) && text.contains("Number of packets:   1"), "{text}");
    }
}

#[test]
fn tcpdump_reads_both_formats() {
    if !need::program("tcpdump", "tcpdump") {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("f");
    for format in [MICROS, NANOS, Format::Pcapng] {
        let file = crate::support::write(format, &[ethernet("e")], &packets()[..1]);
        std::fs::write(&path, file).unwrap();
        let output = Command::new("tcpdump").args(["--count", "-nr"]).arg(&path).output().unwrap();
        assert!(output.status.success());
        assert_eq!(output.stdout, b"1 packet\n", "{format:?}");
    }
}
