//! Replay, end to end: what leaves one host arrives at the other.

mod faults;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use linerate_lab::{Host, Lab, need};
use serde_json::Value;

use crate::support::{
    COMPLAINTS, Finished, LINERATE, Live, count, finish, linerate, live_pair, quiet_pair, text,
    tshark,
};

/// `linerate replay -i IF ARGS...` inside `host`.
fn replay(host: &Host, args: &[&str]) -> Finished {
    let mut command = host.command(LINERATE);
    finish(command.args(["replay", "-i", host.interface()]).args(args).stdin(Stdio::null()))
}

/// Has `send` send from one host while the other captures to a file.
fn captured<T>(lab: &Lab, file: &Path, send: impl FnOnce(&Host) -> T) -> T {
    let capture = Live::start(lab.host("b"), &["-Q", "in", "-w", text(file)]);
    let done = send(lab.host("a"));
    std::thread::sleep(Duration::from_millis(300));
    capture.interrupt().success();
    done
}

/// What is said at the end, for programs. The sum is checked.
fn report(done: &Finished) -> Value {
    let report = done.json();
    let number = |value: &Value| value.as_u64().unwrap();
    let skipped: u64 = report["skipped"].as_object().unwrap().values().map(number).sum();
    let [read, submitted, sent, refused, filtered] =
        ["read", "submitted", "sent", "refused", "filtered"].map(|name| number(&report[name]));
    assert_eq!(read, submitted + filtered + skipped, "{report}");
    assert_eq!(submitted, sent + refused, "{report}");
    report
}

/// The bytes of all packets of the files, one after another.
fn bytes(files: &[PathBuf]) -> String {
    let mut command = Command::new(LINERATE);
    command.args(["read", "-q", "-S", "-t", "-xx"]);
    finish(command.args(files.iter().flat_map(|file| ["-r", text(file)]))).success().stdout
}

/// A pcap file, with times to the nanosecond, of packets with a time, bytes and a length on the wire.
fn pcap(link_type: u32, packets: &[(u64, &[u8], u32)]) -> Vec<u8> {
    let words =
        |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>();
    let mut file = words(&[0xa1b2_3c4d, 4 << 16 | 2, 0, 0, 262_144, link_type]);
    for (time, data, length) in packets {
        let parts = ((time / 1_000_000_000) as u32, (time % 1_000_000_000) as u32);
        file.extend(words(&[1_700_000_000 + parts.0, parts.1, data.len() as u32, *length]));
        file.extend_from_slice(data);
    }
    file
}

/// A pcapng file of interfaces with these link types, and of packets of them.
fn pcapng(link_types: &[u32], packets: &[(u32, &[u8])]) -> Vec<u8> {
    let block = |kind: u32, words: &[u32], data: &[u8]| {
        let length = (12 + 4 * words.len() + data.len().next_multiple_of(4)) as u32;
        let mut block: Vec<u8> =
            [&[kind, length], words].concat().iter().flat_map(|word| word.to_le_bytes()).collect();
        block.extend_from_slice(data);
        block.resize(length as usize - 4, 0);
        block.extend(length.to_le_bytes());
        block
    };
    let mut file = block(0x0a0d_0d0a, &[0x1a2b_3c4d, 1, u32::MAX, u32::MAX], &[]);
    link_types.iter().for_each(|link_type| file.extend(block(1, &[*link_type, 0], &[])));
    for (interface, data) in packets {
        let length = data.len() as u32;
        file.extend(block(6, &[*interface, 0, 1, length, length], data));
    }
    file
}

const ETHERNET: u32 = 1;
const SECOND: u64 = 1_000_000_000;

/// An Ethernet frame of a type that nobody answers.
const FRAME: [u8; 60] = {
    let mut frame = [2; 60];
    (frame[12], frame[13]) = (0x88, 0xb5);
    frame
};

/// Frames at these times.
fn at(times: &[u64]) -> Vec<u8> {
    let packets: Vec<_> = times.iter().map(|time| (*time, &FRAME[..], 60)).collect();
    pcap(ETHERNET, &packets)
}

/// Files of Ethernet frames, none of them cut or longer than 1514 bytes: VLAN tags, tunnels, routing, 802.2.
const SAMPLES: [&str; 8] = [
    "802.1D_spanning_tree.pcap",
    "PIM-SM_join_prune.pcap",
    "ISIS_level2_adjacency.pcap",
    "various_gre.pcap",
    "ptp_ethernet.pcap",
    "geneve.pcap",
    "ssh.pcap",
    "OSPFv3_broadcast_adjacency.pcap",
];

#[test]
fn every_packet_of_several_files_arrives_as_it_was_and_in_order() {
    let Some(lab) = quiet_pair() else { return };
    let Some(samples) = need::captures() else { return };
    let folder = tempfile::tempdir().unwrap();
    let files = SAMPLES.map(|name| samples.join(name));
    let expected = bytes(&files);
    for backend in ["ring", "mmsg", "socket"] {
        let file = folder.path().join(format!("{backend}.pcapng"));
        let args = [
            &["--json", "--backend", backend, "-r", "20000"],
            &files.each_ref().map(|f| text(f))[..],
        ];
        let done = captured(&lab, &file, |a| replay(a, &args.concat()).success());
        let report = report(&done);
        assert_eq!(report["end"], "complete", "{report}");
        assert_eq!(
            (report["read"].as_u64(), &report["read"]),
            (Some(count(&file)), &report["sent"])
        );
        assert!(bytes(&[file]) == expected, "{backend}: other packets, or in another order");
    }
}

#[test]
fn loops_go_out_by_live_frames_where_the_device_takes_them() {
    let Some(lab) = live_pair() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (file, out) = (folder.path().join("f.pcap"), folder.path().join("out.pcapng"));
    let frames: Vec<_> = (0..200_usize)
        .map(|n| FRAME[..14].iter().copied().chain(vec![n as u8; 46 + n]).collect::<Vec<_>>())
        .collect();
    let packets: Vec<_> = frames.iter().map(|frame| (0, &frame[..], frame.len() as u32)).collect();
    fs::write(&file, pcap(ETHERNET, &packets)).unwrap();
    let done = captured(&lab, &out, |a| {
        replay(a, &["--json", "-r", "max", "--loop", "5", text(&file)]).success()
    });
    let report = report(&done);
    assert_eq!((&report["backend"], &report["sent"]), (&"live".into(), &1000.into()), "{report}");
    fs::write(&file, pcap(ETHERNET, &packets.repeat(5))).unwrap();
    assert!(bytes(&[out]) == bytes(&[file]), "other packets, or in another order");
}

#[test]
fn tcpreplay_sends_the_same() {
    let Some(lab) = quiet_pair() else { return };
    let Some(samples) = need::captures() else { return };
    if !need::program("tcpreplay", "tcpreplay") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let sample = samples.join("ssh.pcap");
    let (ours, theirs) = (folder.path().join("ours.pcapng"), folder.path().join("theirs.pcapng"));
    captured(&lab, &ours, |a| replay(a, &["-r", "1000", text(&sample)]).success());
    captured(&lab, &theirs, |a| {
        let mut command = a.command("tcpreplay");
        finish(command.args(["-q", "-p", "1000", "-i", a.interface(), text(&sample)])).success()
    });
    assert_eq!(bytes(&[ours]), bytes(&[theirs]));
}

#[test]
fn the_recorded_time_is_kept_multiplied_or_cut() {
    let Some(lab) = quiet_pair() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f.pcap");
    let hour = 3600 * SECOND;
    for (times, args, least) in [
        (&[0, SECOND / 5, SECOND * 4 / 5][..], &[][..], 0.8),
        (&[0, 2 * SECOND, 4 * SECOND], &["--speed", "10x"], 0.4),
        (&[0, hour, 2 * hour], &["--max-gap", "200ms"], 0.4),
    ] {
        fs::write(&file, at(times)).unwrap();
        let done = replay(lab.host("a"), &[&["--json"], args, &[text(&file)]].concat()).success();
        let report = report(&done);
        let seconds = report["seconds"].as_f64().unwrap();
        assert!((least..least + 60.0).contains(&seconds), "{args:?}: {report}");
        assert_eq!((&report["sent"], &report["backwards"]), (&3.into(), &0.into()));
    }
    fs::write(&file, at(&[SECOND, SECOND / 2, SECOND])).unwrap();
    let done = replay(lab.host("a"), &["--json", text(&file)]).success();
    assert_eq!(report(&done)["backwards"], 1, "{done:?}");
}

#[test]
fn addresses_are_mapped_and_checksums_follow() {
    let Some(lab) = quiet_pair() else { return };
    if !need::program("tshark", "tshark") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (folder.path().join("1.pcapng"), folder.path().join("2.pcap"));
    let ether = "Ether(src=\"02:00:00:00:00:07\", dst=\"02:00:00:00:00:08\")";
    for (file, packets) in [
        (
            &one,
            format!(
                "{ether}/IP(src=\"10.1.0.0/24\", dst=\"10.2.0.9\")/TCP(sport=1025, dport=[1, 2], flags=\"S\")/Raw(size=random(0-100))"
            ),
        ),
        (
            &two,
            format!(
                "{ether}/Dot1Q(vlan=7)/IPv6(src=\"2001:db8::5\", dst=\"2001:db8:1::/112\")/UDP(sport=1025, dport=[9, 10])/Raw(size=random(0-100))"
            ),
        ),
    ] {
        linerate(["send", "-i", "lo", "-c", "50", "--seed", "1", "-w", text(file), &packets])
            .success();
    }
    let list = folder.path().join("blocked");
    fs::write(&list, "fd00:9:1::6-fd00:9:1::7\n").unwrap();
    let file = folder.path().join("f.pcapng");
    let done = captured(&lab, &file, |a| {
        let addresses = [
            "--map",
            "10.0.0.0/8=192.168.0.0/16",
            "--map",
            "2001:db8::/32=fd00:9::/32",
            "--mac-src",
            "02:00:00:00:00:01",
            "--mac-dst",
            "02:00:00:00:00:99",
            "--blocklist",
            text(&list),
        ];
        let rest = [
            "--json",
            "-r",
            "max",
            "--loop",
            "3",
            "-f",
            "port 1 or (vlan and port 9)",
            text(&one),
            text(&two),
        ];
        replay(a, &[&addresses[..], &rest].concat()).success()
    });
    let report = report(&done);
    let is_blocked = report["skipped"]["blocklist"].as_u64().unwrap();
    assert!(is_blocked > 0 && is_blocked.is_multiple_of(3), "{report}");
    assert_eq!(count(&file), report["sent"].as_u64().unwrap());
    assert_eq!(tshark(&file, COMPLAINTS, &["frame.number"]), [""; 0]);
    let found = |filter| tshark(&file, filter, &["frame.number"]).len() as u64;
    assert_eq!(found("eth.dst == 02:00:00:00:00:99 && eth.src == 02:00:00:00:00:01"), count(&file));
    let (mapped4, mapped6) = (
        found("ip.src == 192.168.0.0/24 && ip.dst == 192.168.0.9 && tcp.dstport == 1"),
        found(
            "vlan.id == 7 && ipv6.src == fd00:9::5 && ipv6.dst == fd00:9:1::/112 && udp.dstport == 9",
        ),
    );
    assert_eq!((mapped4, mapped4 + mapped6), (75, count(&file)), "{report}");
    // What memory held counts as if it were read again.
    assert_eq!((&report["read"], &report["filtered"]), (&300.into(), &150.into()), "{report}");
}

#[test]
fn a_savefile_gets_the_times_at_which_packets_would_leave() {
    let folder = tempfile::tempdir().unwrap();
    let [file, out] = ["f.pcap", "out.pcap"].map(|name| folder.path().join(name));
    let hour = 3600 * SECOND;
    fs::write(&file, at(&[0, 1, hour, hour])).unwrap();
    for (args, times) in [
        (&[][..], &[0, 1, hour, hour][..]),
        (&["--speed", "0.5x"], &[0, 2, 2 * hour, 2 * hour]),
        (&["-r", "10"], &[0, SECOND / 10, SECOND / 5, SECOND * 3 / 10]),
        (&["--for", "1m"], &[0, 1]),
    ] {
        let args = [&["replay", "-i", "lo", "-w", text(&out)], args, &[text(&file)]].concat();
        linerate(args).success();
        assert!(fs::read(&out).unwrap() == at(times), "{times:?}");
    }
}

#[test]
fn standard_input_is_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let (file, out) = (folder.path().join("f.pcap"), folder.path().join("out.pcap"));
    fs::write(&file, at(&[0, 1, 2])).unwrap();
    let mut command = Command::new(LINERATE);
    command.args(["replay", "-i", "lo", "-w", text(&out), "-"]);
    let done = finish(command.stdin(fs::File::open(&file).unwrap())).success();
    assert_eq!((done.summary("packets written"), count(&out)), (3, 3));
}

#[test]
fn packets_are_shown_as_they_would_leave() {
    let folder = tempfile::tempdir().unwrap();
    let [whole, file] = ["whole.pcap", "f.pcap"].map(|name| folder.path().join(name));
    let packets = "IP(src=\"10.0.0.1\", dst=\"10.0.0.2-10.0.0.20\")/UDP(sport=7, dport=9)";
    linerate(["send", "-i", "lo", "-r", "1", "-w", text(&whole), packets]).success();
    let args = ["replay", "-i", "lo", "--map", "10.0.0.0/8=192.168.0.0/16", "--speed", "2x"];
    let shown = |more: &[&str]| linerate([&args[..], more, &[text(&whole)]].concat()).success();
    let three = shown(&["--show=3", "-ttttt"]);
    let lines: Vec<_> = three.stdout.lines().collect();
    assert_eq!(lines.len(), 3, "{three:?}");
    assert!(lines[2].contains("00:00:01.000000 IP 192.168.0.1.7 > 192.168.0.4.9"), "{lines:?}");
    assert_eq!(shown(&["--show"]).stdout.lines().count(), 10);
    assert_eq!(shown(&["--show", "-f", "dst host 10.0.0.5"]).stdout.lines().count(), 1);
    assert_eq!(shown(&["--show", "-c", "2"]).stdout.lines().count(), 2);
    // What is shown is what would be written.
    linerate([&args[..], &["-w", text(&file), text(&whole)]].concat()).success();
    let written = linerate(["read", "--json", "-r", text(&file)]).success().stdout;
    assert_eq!(shown(&["--show=99", "--json"]).stdout, written);
}

#[test]
fn bursts_leave_together() {
    let folder = tempfile::tempdir().unwrap();
    let [file, out] = ["f.pcap", "out.pcap"].map(|name| folder.path().join(name));
    fs::write(&file, at(&[0, 1, 2, 3])).unwrap();
    let args = ["replay", "-i", "lo", "-r", "10", "--burst", "2", "-w", text(&out), text(&file)];
    linerate(args).success();
    assert!(fs::read(&out).unwrap() == at(&[0, 0, SECOND / 5, SECOND / 5]));
    let without = linerate(["replay", "-i", "lo", "--burst", "2", text(&file)]);
    assert_eq!(without.code(), 2, "{without:?}");
}
