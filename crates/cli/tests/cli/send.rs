//! Sending, end to end.

use std::collections::HashSet;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use linerate_lab::{Host, Lab, need};

use crate::support::{
    COMPLAINTS, Finished, LINERATE, Live, count, finish, linerate, live_pair, quiet_pair, start,
    text, tshark, wait,
};

/// `linerate send -i IF ARGS...` inside `host`.
pub(crate) fn send(host: &Host, args: &[&str]) -> Finished {
    let mut command = host.command(LINERATE);
    finish(command.args(["send", "-i", host.interface()]).args(args).stdin(Stdio::null()))
}

/// Sends while the other host captures to a file, and returns what `send` said.
pub(crate) fn sent_to(lab: &Lab, file: &Path, args: &[&str]) -> Finished {
    let capture = Live::start(lab.host("b"), &["-Q", "in", "-w", text(file)]);
    let done = send(lab.host("a"), args).success();
    std::thread::sleep(Duration::from_millis(200));
    capture.interrupt().success();
    done
}

#[test]
fn packets_are_shown_without_sending_them() {
    let shown = linerate(["send", "-i", "lo", "--show=3", "IP(dst=\"10.0.0.0/30\")/UDP(dport=9)"]);
    let lines: Vec<_> = shown.success().stdout.lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), 3);
    assert!(lines[2].contains("IP 127.0.0.1.53 > 10.0.0.2.9: UDP, length 0"), "{lines:?}");
    let ten = linerate(["send", "-i", "lo", "--show", "--json", "ARP(pdst=\"10.0.0.0/24\")"]);
    assert_eq!(ten.success().stdout.lines().count(), 10);
    let two = linerate(["send", "-i", "lo", "--show", "-c", "2", "ARP(pdst=\"10.0.0.0/24\")"]);
    assert_eq!(two.success().stdout.lines().count(), 2);
    let all = linerate(["send", "-i", "lo", "--show", "-c", "all", "ARP(pdst=\"10.0.0.0/30\")"]);
    assert_eq!(all.success().stdout.lines().count(), 4);
    assert_eq!(linerate(["send", "-i", "lo", "--show=0", "ARP()"]).code(), 2);
}

#[test]
fn a_mistake_is_pointed_at() {
    let done = linerate(["send", "-i", "lo", "IP(dst=\"10.0.0.1\")/TCP(dport=80000)"]);
    assert_eq!(done.code(), 2);
    let expected = "at most 65535\n  IP(dst=\"10.0.0.1\")/TCP(dport=80000)\n";
    assert!(done.stderr.contains(expected) && done.stderr.ends_with("^^^^^\n"), "{done:?}");
}

#[test]
fn more_than_a_field_or_a_count_holds_is_pointed_at() {
    for (packets, words, place) in [
        ("IPv6(dst=permute(\"2001:db8::/32\"))/UDP()", "more than 2^64 values", "^^^^"),
        ("IP(dst=\"10.0.0.1\", ttl=0-300)/UDP()", "IP.ttl has 8 bits: at most 255", "^^^^^"),
    ] {
        let done = linerate(["send", "-i", "lo", packets]);
        assert_eq!(done.code(), 2, "{done:?}");
        assert!(done.stderr.contains(words) && done.stderr.contains(place), "{done:?}");
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (args, words) in [
        (&["-r", "max", "--gaps", "poisson"][..], "--gaps: gaps that vary need a rate"),
        (&["--gaps", "0s/1s"], "--gaps: with no time to be on there is nothing but silence"),
        (&["-r", "1Mbps", "--ramp", "10/1s"], "--ramp: it goes from one rate to another"),
        (&["--threads", "9999"], "--threads 9999: each needs a core of its own"),
        (&["--queue", "1"], "--queue: only an AF_XDP socket has one"),
        (&["--backend", "rocket"], "they are live, xdp, ring, mmsg, socket"),
        (&["-c", "few"], "expected a number such as 500, 10k or 2M, found `few`"),
    ] {
        let done =
            linerate([&["send", "-i", "lo"], args, &["IP(dst=\"127.0.0.1\")/UDP()"]].concat());
        assert_eq!(done.code(), 2, "{done:?}");
        assert!(done.stderr.contains(words), "{args:?}: {done:?}");
    }
    let list = ["send", "-i", "lo", "--blocklist", "/nonexistent", "ARP()"];
    let done = linerate(list);
    assert_eq!(done.code(), 1, "{done:?}");
    assert!(done.stderr.contains("read the blocklist /nonexistent"), "{done:?}");
}

#[test]
fn nothing_at_all_is_refused_in_the_same_words() {
    for option in ["--rate", "--count", "--burst", "--threads", "--for", "--show"] {
        let given = format!("{option}=0");
        let done = linerate(["send", "-i", "lo", &given, "IP(dst=\"127.0.0.1\")/UDP()"]);
        assert_eq!(done.code(), 2, "{done:?}");
        let words = "expected more than 0, found `0`";
        assert!(done.stderr.contains(words) && done.stderr.contains(option), "{done:?}");
    }
    for option in ["--rate", "--count", "--burst", "--loop", "--for", "--show"] {
        let done = linerate(["replay", "-i", "lo", &format!("{option}=0"), "f.pcap"]);
        assert_eq!(done.code(), 2, "{done:?}");
        assert!(done.stderr.contains("expected more than 0, found `0`"), "{done:?}");
    }
}

#[test]
fn what_is_random_has_no_end() {
    let packets = "IP(dst=\"127.0.0.1\")/UDP(sport=random(1-9))";
    let done = linerate(["send", "-i", "lo", "-c", "all", packets]);
    assert_eq!(done.code(), 2, "{done:?}");
    assert!(done.stderr.contains("random values have no end; name a number"), "{done:?}");
}

#[test]
fn every_address_of_a_prefix_gets_one_packet_by_every_back_end() {
    let Some(lab) = quiet_pair() else { return };
    if !need::program("tshark", "tshark") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("blocked");
    std::fs::write(&list, "10.64.1.0/24 # nobody asks these\n10.64.3.7\n").unwrap();
    for backend in ["xdp", "ring", "mmsg", "socket"] {
        let file = folder.path().join(format!("{backend}.pcapng"));
        let packets = "Ether(dst=\"02:00:00:00:00:99\")/IP(dst=permute(\"10.64.0.0/22\"))/\
                       TCP(dport=80, flags=\"S\", sport=random(1024-65535), seq=random(0-4294967295))/Raw(size=18)";
        let args = ["--backend", backend, "--blocklist", text(&list), "-r", "max", packets];
        let done = sent_to(&lab, &file, &args);
        assert_eq!(done.summary("packets sent"), 1024 - 256 - 1, "{done:?}");
        assert_eq!(tshark(&file, COMPLAINTS, &["frame.number"]), [""; 0], "{backend}");
        let found = tshark(&file, "tcp.flags.syn == 1 && frame.len == 72", &["ip.dst"]);
        let unique: HashSet<_> = found.iter().collect();
        assert_eq!((found.len(), unique.len()), (767, 767), "{backend}");
        assert!(
            !found.iter().any(|address| address.starts_with("10.64.1.") || address == "10.64.3.7")
        );
    }
}

#[test]
fn tshark_has_no_complaint_about_any_kind_of_packet() {
    let Some(lab) = quiet_pair() else { return };
    if !need::program("tshark", "tshark") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (b4, b6) = (lab.host("b").ipv4(), lab.host("b").ipv6());
    for (number, packets) in [
        format!("IP(dst=\"{b4}\", id=0-99, ttl=random(1-255), tos=random(0-255))/UDP(sport=permute(1024-1123), dport=9)/Raw(size=\"imix\")"),
        format!("IP(dst=\"{b4}\")/ICMP(id=random(0-65535), seq=0-99)/Raw(size=random(0-1472))"),
        format!("IPv6(dst=\"{b6}\", fl=random(0-1048575))/TCP(dport=[1, 2, 3, 4], flags=[\"S\", \"A\", \"FA\", \"R\", \"PA\"], seq=0-4)/Raw(\"odd\")"),
        format!("IP(dst=\"{b4}\")/TCP(dport=[80, 443], seq=random(0-4294967295), options=[(\"MSS\", 1460), (\"SAckOK\", \"\"), (\"Timestamp\", (1, 0)), (\"NOP\", None), (\"WScale\", 7)])"),
        format!("IPv6(dst=\"{b6}\")/ICMPv6EchoRequest(id=7, seq=0-99, data=\"abc\")"),
        format!("IP(dst=\"{b4}\")/UDP(sport=random(1024-65535))/DNS(id=0-99, qd=DNSQR(qname=[\"example.org\", \"www.example.com\"], qtype=\"AAAA\"))"),
        "Ether()/Dot1Q(vlan=1-100)/IPv6(dst=\"ff02::1\")/ICMPv6ND_NS(tgt=\"2001:db8::1\")/ICMPv6NDOptSrcLLAddr()".into(),
        "ARP(pdst=\"10.9.9.0-10.9.9.99\")".into(),
    ]
    .iter()
    .enumerate()
    {
        let file = folder.path().join(format!("{number}.pcapng"));
        sent_to(&lab, &file, &["-c", "100", "-r", "max", "--seed", "1", packets]);
        assert_eq!(count(&file), 100, "{packets}");
        assert_eq!(tshark(&file, COMPLAINTS, &["frame.number"]), [""; 0], "{packets}");
    }
}

#[test]
fn tshark_does_complain_where_there_is_reason_to() {
    if !need::program("tshark", "tshark") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f.pcap");
    for (place, wrong) in
        [("IP", "len=2000"), ("IP", "chksum=1"), ("UDP", "len=99"), ("UDP", "chksum=1")]
    {
        let [ip, udp] = ["IP", "UDP"].map(|layer| if layer == place { wrong } else { "" });
        let packets = format!("IP(dst=\"127.0.0.1\", {ip})/UDP({udp})").replace(", )", ")");
        linerate(["send", "-i", "lo", "-w", text(&file), &packets]).success();
        assert_eq!(tshark(&file, COMPLAINTS, &["frame.number"]), ["1"], "{packets}");
    }
}

#[test]
fn without_a_rate_or_count_both_are_capped() {
    let Some(lab) = quiet_pair() else { return };
    let packets = "Ether(dst=\"02:00:00:00:00:99\")/IP(dst=\"10.64.0.0/10\")/UDP()";
    let mut command = lab.host("a").command(LINERATE);
    command.args(["send", "-i", lab.host("a").interface(), packets]);
    let child = start(command);
    std::thread::sleep(Duration::from_millis(300));
    child.interrupt().unwrap();
    let done = wait(child);
    assert!(done.stderr.contains("the first 10,000 are sent: `--count all` sends all"), "{done:?}");
    assert!(done.stderr.contains("asked: 1 kpps"), "{done:?}");
    assert!((1..10_000).contains(&done.summary("packets sent")), "{done:?}");
}

#[test]
fn an_interrupt_ends_it_with_the_balance() {
    let Some(lab) = quiet_pair() else { return };
    let (a, b) = (lab.host("a"), lab.host("b"));
    let before = b.counters().unwrap().received;
    let mut command = a.command(LINERATE);
    let packets = format!("IP(dst=\"{}\")/UDP(dport=9)", b.ipv4());
    command.args(["send", "-i", a.interface(), "--json", "-r", "2000", "--for", "1h", &packets]);
    let child = start(command);
    std::thread::sleep(Duration::from_millis(500));
    child.interrupt().unwrap();
    let done = wait(child).success();
    let value = done.json();
    let number = |name: &str| value[name].as_u64().unwrap();
    assert_eq!(value["end"], "stopped");
    assert_eq!(number("submitted"), number("sent") + number("refused"));
    assert_eq!(b.counters().unwrap().received - before, number("sent"));
}

#[test]
fn an_interface_with_a_default_route_needs_consent() {
    let Some(lab) = quiet_pair() else { return };
    if !need::program("ip", "iproute2") {
        return;
    }
    let (a, b) = (lab.host("a"), lab.host("b"));
    let gateway = b.ipv4().to_string();
    let packets = "IP(dst=\"192.0.2.1\")/UDP()";
    let route = |what, to, via: &str| {
        finish(a.command("ip").args(["route", what, to, "via", via])).success();
    };
    // VPNs have a half each instead of a default route.
    let gateway6 = b.ipv6().to_string();
    for (to, via) in [
        ("128.0.0.0/1", &gateway),
        ("2000::/3", &gateway6),
        ("8000::/1", &gateway6),
        ("default", &gateway),
    ] {
        route("add", to, via);
        let refused = send(a, &[packets]);
        assert_eq!(refused.code(), 2, "{to}: {refused:?}");
        assert!(refused.stderr.contains("--on-real-network"), "{to}: {refused:?}");
        if to != "default" {
            route("del", to, via);
        }
    }
    assert_eq!(send(a, &["--show=1", packets]).success().stdout.lines().count(), 1);
    assert_eq!(send(a, &["--on-real-network", packets]).success().summary("packets sent"), 1);
}

#[test]
fn packets_can_go_to_a_savefile() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f.pcap.zst");
    let packets = "IP(dst=permute(\"10.0.0.0/20\"))/UDP()/Raw(size=random(0-1000))";
    let done = linerate(["send", "-i", "lo", "-w", text(&file), packets]).success();
    assert_eq!((done.summary("packets written"), count(&file)), (4096, 4096));
    assert!(!done.stderr.contains(" sent"), "{done:?}");
}

#[test]
fn a_savefile_gets_the_times_at_which_packets_would_leave() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f.pcapng");
    // An hour of them, at once.
    let args = ["send", "-i", "lo", "-w", text(&file), "-r", "1", "-c", "3600", "ARP()"];
    linerate(args).success();
    let read = linerate(["read", "-r", text(&file), "-ttttt", "--nano"]).success();
    let last = read.stdout.lines().last().unwrap();
    assert!(last.trim_start().starts_with("00:59:59.000000000"), "{last}");
}

#[test]
fn programs_get_the_summary_as_the_last_line_of_standard_output() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f.pcap");
    let args = ["--json", "--seed", "77", "-c", "1k", "IP(dst=random(\"10.0.0.0/8\"))/UDP()"];
    let done = linerate([&["send", "-i", "lo", "-w", text(&file)], &args[..]].concat()).success();
    let value = done.json();
    assert_eq!((&value["seed"], &value["sent"]), (&77.into(), &1000.into()));
    assert_eq!((&value["backend"], &value["end"]), (&"file".into(), &"complete".into()));
    assert!(!done.stderr.contains('{'), "{done:?}");
}

#[test]
fn who_sends_on_loopback_is_told_that_the_host_receives_it() {
    if !need::root() {
        return;
    }
    let done = linerate(["send", "-i", "lo", "--json", "IP(dst=\"127.0.0.1\")/UDP(dport=9)"]);
    assert!(done.stderr.contains("lo: this host itself receives what is sent there"), "{done:?}");
    assert_eq!(done.success().json()["sent"], 1);
}

#[test]
fn what_a_link_cannot_take_is_said_before_anything_is_sent() {
    let Some(lab) = quiet_pair() else { return };
    let (a, b) = (lab.host("a"), lab.host("b"));
    let packets = format!("IP(dst=\"{}\")/UDP()/Raw(size=1-1473)", b.ipv4());
    let done = send(a, &[&packets]);
    assert_eq!(done.code(), 1);
    assert!(done.stderr.contains("MTU of 1500 bytes"), "{done:?}");
    assert!(!done.stderr.contains("sent in"), "{done:?}");
}

#[test]
fn a_prefix_goes_out_by_live_frames_where_the_device_takes_them() {
    let Some(lab) = live_pair() else { return };
    if !need::program("tshark", "tshark") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f.pcapng");
    let packets = "Ether(dst=\"02:00:00:00:00:99\")/IP(dst=permute(\"10.64.0.0/20\"))/TCP(flags=\"S\")/Raw(size=18)";
    let done = sent_to(&lab, &file, &["-r", "300kpps", packets]);
    assert!(done.stderr.contains("back end live"), "{done:?}");
    assert_eq!(done.summary("packets sent"), 4096, "{done:?}");
    assert_eq!(tshark(&file, COMPLAINTS, &["frame.number"]), [""; 0]);
    let found = tshark(&file, "tcp.flags.syn == 1 && frame.len == 72", &["ip.dst"]);
    let unique: HashSet<_> = found.iter().collect();
    assert_eq!((found.len(), unique.len()), (4096, 4096));
}

#[test]
fn where_it_does_not_take_them_a_line_says_so() {
    let Some(lab) = quiet_pair() else { return };
    let packets = "Ether(dst=\"02:00:00:00:00:99\")/IP(dst=\"10.64.0.0/20\")/UDP()";
    let done = send(lab.host("a"), &["-r", "max", packets]).success();
    assert!(done.stderr.contains("the peer must have GRO switched on"), "{done:?}");
    assert!(done.stderr.contains("back end ring"), "{done:?}");
}

#[test]
fn an_interrupt_ends_live_frames_and_nothing_is_left() {
    let Some(lab) = live_pair() else { return };
    let a = lab.host("a");
    let mut command = a.command(LINERATE);
    let packets = "Ether(dst=\"02:00:00:00:00:99\")/IP(dst=\"10.64.0.1\")/UDP()";
    command.args([
        "send",
        "-i",
        a.interface(),
        "--backend",
        "live",
        "-r",
        "20000",
        "--for",
        "1h",
        packets,
    ]);
    let child = start(command);
    std::thread::sleep(Duration::from_millis(700));
    child.interrupt().unwrap();
    let done = wait(child).success();
    assert!(done.summary("packets sent") > 0, "{done:?}");
}
