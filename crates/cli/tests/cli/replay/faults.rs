//! What goes wrong with a replay, and what the user then sees.

use std::fs;
use std::time::{Duration, Instant};

use linerate_lab::{Child, Host, need};
use serde_json::Value;

use super::{ETHERNET, FRAME, SECOND, at, bytes, captured, pcap, pcapng, replay, report};
use crate::support::{
    LINERATE, count, kill_sender, linerate, live_pair, quiet_pair, start, text, wait,
};

/// `linerate replay` of a file, begun.
fn begin(host: &Host, args: &[&str]) -> Child {
    let mut command = host.command(LINERATE);
    command.args(["replay", "-i", host.interface(), "--json"]).args(args);
    start(command)
}

/// Waits until the host has sent so many packets more than `before`.
fn until_sent(host: &Host, before: u64, packets: u64) {
    let start = Instant::now();
    while host.counters().unwrap().sent < before + packets {
        assert!(start.elapsed() < Duration::from_secs(60), "nothing is sent");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn cut_long_and_foreign_packets_are_skipped_aloud() {
    let Some(lab) = quiet_pair() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (file, out) = (folder.path().join("f.pcap"), folder.path().join("out.pcapng"));
    let long = [FRAME.as_slice(), &[0; 1500]].concat();
    let packets =
        [(0, &FRAME[..], 60), (1, &FRAME[..40], 60), (2, &long, 1560), (3, &FRAME[..9], 9)];
    fs::write(&file, pcap(ETHERNET, &packets)).unwrap();
    let done = replay(lab.host("a"), &[text(&file)]).success();
    for line in [
        "4 read = 1 sent + 0 refused + 0 filtered + 3 skipped",
        "1 packet skipped: cut when they were recorded (--pad sends them with zeroes)",
        "1 packet skipped: longer than the MTU allows",
        "1 packet skipped: shorter than an Ethernet header",
    ] {
        assert!(done.stderr.contains(line), "{done:?}");
    }
    let done = captured(&lab, &out, |a| replay(a, &["--json", "--pad", text(&file)]).success());
    assert_eq!(report(&done)["sent"], 2);
    let padded = [&FRAME[..40], &[0; 20]].concat();
    fs::write(&file, pcap(ETHERNET, &[(0, &FRAME, 60), (0, &padded, 60)])).unwrap();
    assert_eq!(bytes(&[out]), bytes(&[file]));
}

#[test]
fn a_link_type_that_the_interface_does_not_have_is_refused_or_carried() {
    let Some(lab) = quiet_pair() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f.pcap");
    fs::write(&file, pcap(127, &[(0, &FRAME, 60)])).unwrap();
    let refused = replay(lab.host("a"), &[text(&file)]);
    assert_eq!(refused.code(), 1);
    assert!(refused.stderr.contains("link type 802.11 plus radiotap header"), "{refused:?}");
    let packets =
        "Ether()/IP(dst=\"10.9.9.9\", src=\"10.9.9.8\")/UDP(sport=1, dport=2)/Raw(size=20)";
    let (whole, out) = (folder.path().join("whole.pcap"), folder.path().join("out.pcap"));
    linerate(["send", "-i", "lo", "-w", text(&whole), packets]).success();
    let written = fs::read(&whole).unwrap();
    fs::write(&file, pcap(101, &[(0, &written[24 + 16 + 14..], 48)])).unwrap();
    let refused = replay(lab.host("a"), &[text(&file)]);
    assert_eq!(refused.code(), 1);
    assert!(refused.stderr.contains("with --mac-dst"), "{refused:?}");
    let macs = ["--mac-dst", "00:00:00:00:00:00", "--mac-src", "00:00:00:00:00:00"];
    let args = [&macs[..], &[text(&file)]].concat();
    captured(&lab, &out, |a| replay(a, &args).success());
    assert_eq!(bytes(&[out]), bytes(&[whole]));
}

#[test]
fn of_a_pcapng_file_with_several_link_types_each_packet_is_sent_as_its_own() {
    let Some(lab) = quiet_pair() else { return };
    let folder = tempfile::tempdir().unwrap();
    let [whole, file, out, expected] = ["whole.pcap", "f.pcapng", "out.pcapng", "expected.pcap"]
        .map(|name| folder.path().join(name));
    let addresses = "src=\"02:00:00:00:00:01\", dst=\"02:00:00:00:00:99\"";
    let packets =
        format!("Ether({addresses})/IP(dst=\"10.9.9.9\", src=\"10.9.9.8\")/UDP(sport=1, dport=2)");
    linerate(["send", "-i", "lo", "-w", text(&whole), &packets]).success();
    let frame = &fs::read(&whole).unwrap()[24 + 16..];
    let ip = &frame[14..];
    let (raw, radiotap) = (101, 127);
    let written = [(2, frame), (0, &FRAME[..]), (1, ip), (0, frame), (1, ip)];
    fs::write(&file, pcapng(&[ETHERNET, raw, radiotap], &written)).unwrap();
    let addresses = ["--mac-dst", "02:00:00:00:00:99", "--mac-src", "02:00:00:00:00:01"];
    let readdressed = [&frame[..12], &FRAME[12..]].concat();
    for (args, skipped, filtered, sent) in [
        (&[][..], 3, 0, &[&FRAME[..], frame][..]),
        (&addresses, 1, 0, &[&readdressed, frame, frame, frame]),
        (
            &["-f", "udp dst port 2", addresses[0], addresses[1], addresses[2], addresses[3]],
            0,
            2,
            &[frame; 3],
        ),
    ] {
        let args = [&["--json", "-r", "1000"], args, &[text(&file)]].concat();
        let done = captured(&lab, &out, |a| replay(a, &args).success());
        let report = report(&done);
        assert_eq!(report["skipped"]["link_type"], skipped, "{report}");
        assert_eq!(
            (&report["read"], &report["filtered"]),
            (&5.into(), &filtered.into()),
            "{report}"
        );
        assert_eq!(count(&out), sent.len() as u64);
        let sent: Vec<_> = sent.iter().map(|data| (0, *data, data.len() as u32)).collect();
        fs::write(&expected, pcap(ETHERNET, &sent)).unwrap();
        assert_eq!(bytes(std::slice::from_ref(&out)), bytes(std::slice::from_ref(&expected)));
    }
}

#[test]
fn of_a_file_whose_fitting_interface_comes_late_its_packets_are_sent() {
    let folder = tempfile::tempdir().unwrap();
    let [file, out] = ["f.pcapng", "out.pcap"].map(|name| folder.path().join(name));
    let (radiotap, long) = (127, [7; 1400]);
    let foreign = pcapng(&[radiotap], &[(0, &long[..]); 400]);
    let args = ["replay", "-i", "lo", "--json", "-r", "max", "-w", text(&out), text(&file)];
    fs::write(&file, [foreign.clone(), pcapng(&[ETHERNET], &[(0, &FRAME[..])])].concat()).unwrap();
    let report = report(&linerate(args).success());
    assert_eq!((&report["sent"], &report["skipped"]["link_type"]), (&1.into(), &400.into()));
    fs::write(&file, foreign).unwrap();
    let refused = linerate(args);
    assert_eq!(refused.code(), 1, "{refused:?}");
    assert!(refused.stderr.contains("link type 802.11 plus radiotap header"), "{refused:?}");
}

#[test]
fn what_comes_before_damage_is_sent() {
    let Some(lab) = quiet_pair() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f.pcap");
    fs::write(&file, [at(&[0, 1, 2]), vec![0xff; 64]].concat()).unwrap();
    let done = replay(lab.host("a"), &["--json", text(&file)]);
    assert_eq!(done.code(), 1);
    let report = report(&done);
    assert_eq!((&report["sent"], &report["end"]), (&3.into(), &Value::Null));
    assert!(done.stderr.contains("f.pcap: "), "{done:?}");
    let cut = at(&[0, 1, 2]);
    fs::write(&file, &cut[..cut.len() - 5]).unwrap();
    let done = replay(lab.host("a"), &[text(&file)]).success();
    assert_eq!(done.summary("packets sent"), 2, "{done:?}");
}

#[test]
fn mistakes_are_told_before_anything_is_sent() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f.pcap");
    fs::write(&file, at(&[0])).unwrap();
    let garbage = folder.path().join("garbage");
    fs::write(&garbage, "no packets at all").unwrap();
    for (args, code, words) in [
        (&["/nonexistent"][..], 1, "read /nonexistent"),
        (&[text(&garbage)], 1, "(pcap and pcapng are read, as they are or compressed"),
        (&["-f", "prot 80"], 2, "filter:"),
        (&["--map", "10.0.0.0/8"], 2, "expected 10.0.0.0/8=192.168.0.0/16"),
        (&["--mac-dst", "02:00"], 2, "expected an address such as"),
        (&["--speed", "0"], 2, "expected a speed"),
        (&["--queue", "1"], 2, "--queue: only an AF_XDP socket has one"),
        (&["-r", "1", "--speed", "2x"], 2, "cannot be used with"),
        (&["--loop", "2", "-"], 2, "can be read only once"),
        (&["--backend", "rocket"], 2, "there is no back end"),
    ] {
        let done = linerate([&["replay", "-i", "lo"], args, &[text(&file)]].concat());
        assert_eq!(done.code(), code, "{args:?}: {done:?}");
        assert!(done.stderr.contains(words), "{args:?}: {done:?}");
        assert!(!done.stderr.contains(" sent in"), "{args:?}: {done:?}");
    }
}

#[test]
fn an_interrupt_in_a_gap_of_an_hour_ends_it_with_the_balance() {
    let Some(lab) = quiet_pair() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f.pcap");
    fs::write(&file, at(&[0, 1, 3600 * SECOND])).unwrap();
    let before = lab.host("a").counters().unwrap().sent;
    let child = begin(lab.host("a"), &[text(&file)]);
    until_sent(lab.host("a"), before, 2);
    child.interrupt().unwrap();
    let report = report(&wait(child).success());
    assert_eq!((&report["sent"], &report["end"]), (&2.into(), &"stopped".into()), "{report}");
}

#[test]
fn a_link_that_goes_down_ends_it_with_the_balance() {
    let Some(lab) = quiet_pair() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f.pcap");
    fs::write(&file, at(&[0, 1])).unwrap();
    let before = lab.host("a").counters().unwrap().sent;
    let child = begin(lab.host("a"), &["-r", "2000", "--loop", "forever", text(&file)]);
    until_sent(lab.host("a"), before, 100);
    lab.host("a").set_link_up(false).unwrap();
    let done = wait(child);
    assert_eq!(done.code(), 1);
    assert!(done.stderr.contains("the interface went down"), "{done:?}");
    assert!(report(&done)["sent"].as_u64() >= Some(100));
}

#[test]
fn a_killed_replay_leaves_nothing_that_sends() {
    let Some(lab) = live_pair() else { return };
    let a = lab.host("a");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f.pcap");
    fs::write(&file, at(&[0, 1])).unwrap();
    for backend in ["live", "xdp", "ring", "mmsg", "socket"] {
        let args = ["--backend", backend, "-r", "2000"];
        let before = a.counters().unwrap().sent;
        let child = begin(a, &[&args[..], &["--loop", "forever", text(&file)]].concat());
        until_sent(a, before, 100);
        kill_sender(child, a, backend);
        let done = replay(a, &[&["--json"], &args[..], &[text(&file)]].concat()).success();
        assert_eq!(report(&done)["sent"], 2, "{backend}: {done:?}");
    }
}

#[test]
fn no_sample_makes_it_panic() {
    let Some(samples) = need::captures() else { return };
    for sample in fs::read_dir(samples).unwrap().map(|entry| entry.unwrap().path()) {
        let sample = text(&sample).to_owned();
        let mac = ["--mac-dst", "02:00:00:00:00:09", "--map", "0.0.0.0/0=10.0.0.0/8"];
        let args =
            [&["replay", "-i", "lo", "--json", "--pad", "-w", "/dev/null"], &mac[..], &[&sample]];
        let done = linerate(args.concat());
        assert!(!done.stderr.contains("panicked"), "{sample}: {done:?}");
        match done.code() {
            0 => assert_eq!(report(&done)["end"], "complete", "{sample}: {done:?}"),
            1 => assert!(done.stderr.contains(&sample), "{done:?}"),
            code => panic!("{code}, {sample}: {done:?}"),
        }
    }
}
