//! Capturing to the terminal and to files.

use std::fs;
use std::process::Command;
use std::time::Duration;

use ::linerate::base::{Source, TimestampSource};
use ::linerate::capture::open_file;
use serde_json::Value;

use crate::support::{
    BACKENDS, BOTH_WAYS, LINERATE, Live, count, finish, linerate, quiet_pair, send, text,
};

#[test]
fn every_packet_sent_is_captured_or_filtered() {
    let Some(lab) = quiet_pair() else { return };
    for backend in BACKENDS {
        let live = Live::start(lab.host("b"), &["--backend", backend, "udp port 7"]);
        send(&lab, 7, 300);
        send(&lab, 9, 200);
        let done = live.interrupt().success();
        assert_eq!(done.captured(), 300, "{done:?}");
        assert_eq!(done.stdout.lines().count(), 300);
        assert_eq!(done.summary("seen"), 500, "{done:?}");
        assert_eq!(done.summary("filtered"), 200, "{done:?}");
    }
}

#[test]
fn a_count_ends_the_capture() {
    let Some(lab) = quiet_pair() else { return };
    for backend in BACKENDS {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("f.pcapng");
        let args = ["--backend", backend, "-c", "10", "-w", text(&file)];
        let live = Live::start(lab.host("b"), &args);
        send(&lab, 7, 100);
        let done = live.wait().success();
        assert_eq!(done.captured(), 10);
        assert_eq!(count(&file), 10);
        assert_eq!(done.summary("seen"), 10 + done.summary("left in the buffer"), "{done:?}");
    }
}

#[test]
fn a_time_ends_the_capture_without_a_packet() {
    let Some(lab) = quiet_pair() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f.pcapng");
    let done = Live::start(lab.host("b"), &["--for", "200ms", "-w", text(&file)]).wait().success();
    assert_eq!(done.captured(), 0);
    assert_eq!(count(&file), 0);
}

#[test]
fn an_idle_capture_ends_on_sigterm_and_keeps_its_file() {
    let Some(lab) = quiet_pair() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f.pcap");
    let live = Live::start(lab.host("b"), &["-w", text(&file)]);
    live.signal("TERM");
    assert_eq!(live.wait().success().captured(), 0);
    assert_eq!(count(&file), 0);
}

#[test]
fn sigusr1_reports_and_goes_on() {
    let Some(lab) = quiet_pair() else { return };
    let live = Live::start(lab.host("b"), &[]);
    send(&lab, 7, 5);
    std::thread::sleep(Duration::from_millis(300));
    live.signal("USR1");
    std::thread::sleep(Duration::from_millis(300));
    send(&lab, 7, 5);
    let done = live.interrupt().success();
    assert_eq!(done.stderr.matches("packets captured").count(), 2, "{done:?}");
    assert_eq!(done.captured(), 5, "the report in between");
    assert_eq!(done.stdout.lines().count(), 10);
}

#[test]
fn packets_are_lines_or_json_objects() {
    let Some(lab) = quiet_pair() else { return };
    let live = Live::start(lab.host("b"), &["-c", "1", "--json"]);
    send(&lab, 7, 1);
    let done = live.wait().success();
    let object: Value = serde_json::from_str(&done.stdout).expect("JSON");
    assert_eq!(object["number"], 1);
    assert_eq!(object["length"], 142);
    assert_eq!(object["captured"], 142);
    let layers: Vec<_> = object["layers"].as_array().unwrap().iter().map(|l| &l["layer"]).collect();
    assert_eq!(layers[..3], ["ethernet", "ipv4", "udp"]);

    let live = Live::start(lab.host("b"), &["-c", "1", "-t"]);
    send(&lab, 7, 1);
    let line = live.wait().success().stdout;
    assert_eq!(line, "IP 10.0.0.1.5000 > 10.0.0.2.7: UDP, length 100\n");
}

#[test]
fn the_snaplen_cuts_packets_and_keeps_their_length() {
    let Some(lab) = quiet_pair() else { return };
    for backend in BACKENDS {
        let args = ["--backend", backend, "-c", "1", "-s", "60", "--json"];
        let live = Live::start(lab.host("b"), &args);
        send(&lab, 7, 1);
        let object: Value = serde_json::from_str(&live.wait().success().stdout).expect("JSON");
        assert_eq!(
            (&object["length"], &object["captured"]),
            (&142.into(), &60.into()),
            "{backend}"
        );
    }
}

#[test]
fn the_direction_is_heeded() {
    let Some(lab) = quiet_pair() else { return };
    let ways = [("a", "in", 0), ("a", "out", 20), ("a", "inout", 20)];
    for (host, way, expected) in ways.into_iter().chain([("b", "in", 20), ("b", "out", 0)]) {
        for backend in BOTH_WAYS {
            let live = Live::start(lab.host(host), &["--backend", backend, "-Q", way]);
            send(&lab, 7, 20);
            assert_eq!(live.interrupt().success().captured(), expected, "{backend}, {host} {way}");
        }
    }
}

#[test]
fn all_interfaces_at_once_are_cooked() {
    let Some(lab) = quiet_pair() else { return };
    let live = Live::start_with(lab.host("b"), &[], |command| {
        *command = lab.host("b").command(LINERATE);
        command.args(["capture", "-i", "any", "-c", "3", "-e", "-t", "udp port 7"]);
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    });
    send(&lab, 9, 3);
    send(&lab, 7, 3);
    let done = live.wait().success();
    assert!(done.stderr.contains("link type LINUX_SLL2"), "{done:?}");
    assert_eq!(done.stdout.lines().count(), 3);
    assert!(done.stdout.contains("10.0.0.1.5000 > 10.0.0.2.7"), "{done:?}");
}

#[test]
fn standard_output_takes_a_savefile() {
    let Some(lab) = quiet_pair() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f.pcapng");
    let live = Live::start_with(lab.host("b"), &["-c", "4", "-w", "-"], |command| {
        command.stdout(fs::File::create(&file).unwrap());
    });
    send(&lab, 7, 4);
    live.wait().success();
    assert_eq!(count(&file), 4);
}

#[test]
fn packets_reach_a_packet_buffered_file_at_once() {
    let Some(lab) = quiet_pair() else { return };
    for backend in BACKENDS {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("f.pcapng");
        let args = ["--backend", backend, "-U", "-w", text(&file)];
        let live = Live::start(lab.host("b"), &args);
        send(&lab, 7, 3);
        let begun = std::time::Instant::now();
        while count(&file) < 3 {
            assert!(begun.elapsed() < Duration::from_secs(20), "{backend}: nothing was written");
            std::thread::sleep(Duration::from_millis(20));
        }
        live.interrupt().success();
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let Some(lab) = quiet_pair() else { return };
    let script = format!("{LINERATE} capture -i {} -l | head -n 1", lab.host("b").interface());
    let mut shell = lab.host("b").command("sh");
    let shell = shell.args(["-c", &script]).stderr(std::process::Stdio::piped());
    let shell = std::thread::scope(|scope| {
        let run = scope.spawn(|| shell.output().expect("a shell"));
        while !run.is_finished() {
            send(&lab, 7, 5);
            std::thread::sleep(Duration::from_millis(50));
        }
        run.join().unwrap()
    });
    assert_eq!(String::from_utf8_lossy(&shell.stdout).lines().count(), 1);
    assert!(!String::from_utf8_lossy(&shell.stderr).contains("roken pipe"), "{shell:?}");
}

#[test]
fn a_killed_capture_leaves_a_file_that_reads_up_to_the_cut() {
    let Some(lab) = quiet_pair() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f.pcapng");
    let live = Live::start(lab.host("b"), &["-U", "-w", text(&file)]);
    send(&lab, 7, 50);
    while count(&file) < 50 {
        std::thread::sleep(Duration::from_millis(20));
    }
    live.signal("KILL");
    drop(live);
    let whole = fs::read(&file).unwrap();
    fs::write(&file, &whole[..whole.len() - 7]).unwrap();
    let read = linerate(["read", "--count", text(&file)]).success();
    assert_eq!(read.stdout, "49 packets\n");
    assert!(read.stderr.contains("f.pcapng: "), "a warning: {read:?}");
}

#[test]
fn a_capture_under_nohup_outlives_its_terminal() {
    let Some(lab) = quiet_pair() else { return };
    let interface = lab.host("b").interface();
    let live = Live::start_with(lab.host("b"), &[], |command| {
        *command = lab.host("b").command("sh");
        let script = format!("trap '' HUP; exec {LINERATE} capture -i {interface} -c 5");
        command.args(["-c", &script]);
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    });
    live.signal("HUP");
    std::thread::sleep(Duration::from_millis(300));
    send(&lab, 7, 5);
    assert_eq!(live.wait().success().captured(), 5);
}

#[test]
fn broadcasts_are_those_of_the_interfaces_network() {
    let Some(lab) = quiet_pair() else { return };
    let live = Live::start(lab.host("a"), &["-c", "3", "ip broadcast"]);
    send(&lab, 7, 2);
    let a = lab.host("a");
    a.run(|| {
        let socket = std::net::UdpSocket::bind((a.ipv4(), 0)).unwrap();
        socket.set_broadcast(true).unwrap();
        for _ in 0..3 {
            socket.send_to(b"all", "10.0.0.255:7").unwrap();
        }
    });
    let done = live.wait().success();
    assert_eq!(done.stdout.matches("> 10.0.0.255.7").count(), 3, "{done:?}");
}

#[test]
fn a_filter_that_only_user_space_can_run_is_run_there() {
    let Some(lab) = quiet_pair() else { return };
    let live = Live::start(lab.host("b"), &["-c", "3", "ip protochain 17"]);
    send(&lab, 7, 3);
    let done = live.wait().success();
    assert!(done.stderr.contains("filtering in user space"), "{done:?}");
    let shown = linerate(["capture", "-i", "lo", "-d", "ip protochain 17"]).success();
    assert!(shown.stdout.starts_with("(000) "), "{shown:?}");
}

#[test]
fn the_program_of_a_live_filter_is_shown() {
    let shown = Command::new(LINERATE).args(["capture", "-i", "lo", "-d", "ip"]).output().unwrap();
    assert!(String::from_utf8_lossy(&shown.stdout).starts_with("(000) "), "{shown:?}");
}

#[test]
fn savefiles_tell_who_stamped_their_packets() {
    let Some(lab) = quiet_pair() else { return };
    for source in [TimestampSource::Kernel, TimestampSource::Sampled, TimestampSource::Tsc] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("f.pcapng");
        let args = ["--timestamps", source.name(), "-c", "20", "-w", text(&file)];
        let live = Live::start(lab.host("b"), &args);
        send(&lab, 7, 20);
        assert_eq!(live.wait().success().captured(), 20);
        let saved = open_file(&file).unwrap();
        assert_eq!(saved.interfaces()[0].timestamps, Some(source));
    }
}

#[test]
fn timestamps_that_nobody_has_are_refused_by_the_back_end_that_could_have_them() {
    let Some(lab) = quiet_pair() else { return };
    let interface = lab.host("b").interface();
    let mut command = lab.host("b").command(LINERATE);
    let done = finish(command.args(["capture", "-i", interface, "--timestamps", "hardware"]));
    assert_eq!(done.code(), 1, "{done:?}");
    assert!(done.stderr.contains(interface) && !done.stderr.contains("socket"), "{done:?}");
    for backend in ["xdp", "ring", "socket"] {
        let mut command = lab.host("b").command(LINERATE);
        command.args(["capture", "-i", interface, "--backend", backend, "--timestamps", "sampled"]);
        let done = finish(&mut command);
        assert_eq!(done.code(), 1, "{done:?}");
        assert!(done.stderr.contains("it has no sampled timestamps"), "{done:?}");
    }
}

#[test]
fn a_capture_is_split_by_filters_in_one_pass() {
    let Some(lab) = quiet_pair() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let split = |name: &str, filter: &str| format!("{}={filter}", text(&path(name)));
    let wanted = [
        split("seven.pcap", "port 7"),
        split("both.pcapng.zst", "port 7 or port 9"),
        split("none.pcapng", "tcp"),
        split("in.pcapng", "inbound and udp[8:4] >= 0"),
    ];
    let flags = wanted.iter().flat_map(|wanted| ["--split", wanted]);
    let args: Vec<_> = flags.chain(["--json", "not port 11"]).collect();
    let live = Live::start(lab.host("b"), &args);
    send(&lab, 7, 300);
    send(&lab, 9, 200);
    send(&lab, 11, 100);
    let done = live.interrupt().success();
    assert_eq!(done.stdout, "", "{done:?}");
    for (name, packets) in
        [("seven.pcap", 300), ("both.pcapng.zst", 500), ("none.pcapng", 0), ("in.pcapng", 500)]
    {
        assert_eq!(count(&path(name)), packets, "{name}: {done:?}");
        let told = format!("{name}: {packets} packets");
        assert!(done.stderr.contains(&told), "{done:?}");
    }
}

#[test]
fn a_split_names_its_mistakes() {
    for (split, told) in
        [("web.pcap", "a filter"), ("=tcp", "a filter"), ("a.pcap=tcp prt 80", "--split a.pcap")]
    {
        let done = linerate(["capture", "-i", "lo", "--split", split]);
        assert_eq!(done.code(), 2, "{done:?}");
        assert!(done.stderr.contains(told), "{done:?}");
    }
    let done = linerate(["capture", "-i", "lo", "--split", "a.pcap=tcp", "--split", "a.pcap=udp"]);
    assert!(done.code() == 2 && done.stderr.contains("twice"), "{done:?}");
}
